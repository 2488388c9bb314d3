"""The end of `grader grade`: it writes results.jsonl, and prints the table and notes. Makes no verdict."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.errors import UserError
from grader.files import write_atomically
from grader.gradebook import Gradebook, Row
from grader.grading.exit_codes import Tally
from grader.grading.settings import ClassSettings
from grader.reports.feedback import to_look_at
from grader.reports.status import Unmarked, untimed, worth_less
from grader.reports.terminal import NoteList, print_note
from grader.results import SubmissionResult, to_json
from grader.student import engine
from grader.text import counted, points

_FLAGS_NOTED = 3
"""Flags of one submission that are notes; the class page has more of them."""


def report_class(
    book: Gradebook, run: int, settings: ClassSettings, fail_under: float | None, skipped_ok: bool = False
) -> int:
    """Writes results.jsonl (not for a trial), prints the table and the notes, returns the exit code.

    Raises:
        UserError: the file cannot be written.
    """
    from grader.reports.terminal import make_console, show_class

    file = settings.out / "results.jsonl"
    written = 0
    notes = NoteList("; all of them: grader status --notes")
    if not settings.trial:
        try:
            written = write_jsonl(_results(book, run, notes), file)
        except OSError as problem:
            raise UserError(f"{file}: {problem.strerror}", fix="the results are safe in the gradebook") from problem
    tally = Tally(fail_under, skipped_ok)
    graded = _Graded()
    show_class(_counted_and_noted(book.results(run), tally, notes, graded), make_console())
    sys.stdout.flush()
    notes.print()
    for line in untimed(graded.untimed):
        print_note(line)
    for line in graded.unmarked.lines():
        print(line)
    if graded.to_look_at:
        print(f"needs a look: {graded.to_look_at} (see: grader status)")
    if tally.is_incomplete:
        print("points that are not assessed count as missing for the exit code (--skipped-ok: they do not)")
    if tally.missing_layers and (
        settings.dask is not None or engine.choose().engine == "forked"
    ):  # else it has been printed
        print(f"sandbox without: {', '.join(sorted(tally.missing_layers))} (see: grader doctor)")
    print(f"gradebook: {book.path}")
    if settings.trial:
        compare = f"grader diff RUN {run} --out {settings.out}"
        print(f"run {run} was a trial: no report or export shows it; compare it: {compare}")
    else:
        earlier = written - graded.count
        more = f" (with {counted(earlier, 'student')} of earlier runs)" if earlier > 0 else ""
        print(f"results:   {file}{more}")
    return tally.code


def _results(book: Gradebook, run: int, notes: NoteList) -> Iterator[SubmissionResult]:
    """Everybody's latest results; work of this run that is worth less than the work before it gets a note."""
    for row in book.results():
        if row.run == run and (less := worth_less(row)):
            notes.add(f"{row.result.submission}: {less}", urgent=True)
        yield row.result


class _Graded:
    """How many submissions the run has, how many of them nobody knows the time of, and how many need a look."""

    count = untimed = to_look_at = 0

    def __init__(self) -> None:
        self.unmarked = Unmarked()

    def add(self, row: Row) -> None:
        self.count += 1
        self.untimed += row.untimed
        self.to_look_at += bool(to_look_at(row))
        self.unmarked.add(row)


def _counted_and_noted(rows: Iterable[Row], tally: Tally, notes: NoteList, graded: _Graded) -> Iterator[Row]:
    """The same rows, one at a time: the rows of a class need not fit in memory."""
    faults: dict[str, list[str]] = {}
    for row in rows:
        tally.add(row.result)
        graded.add(row)
        _note(row, notes)
        for fault in _faults_of_checks(row.result):
            faults.setdefault(fault, []).append(row.result.submission)
        yield row
    for fault, names in faults.items():
        who = names[0] if len(names) == 1 else counted(len(names), "submission")
        notes.add(f"{who}: {fault}", urgent=True)


def _note(row: Row, notes: NoteList) -> None:
    name = row.result.submission
    looks = to_look_at(row)
    for what in looks:
        notes.add(f"{name}: {what}", urgent=True)
    for note in (note for note in row.notes if not any(note in what for what in looks)):
        notes.add(f"{name}: {note}", urgent=row.result.score == 0)
    for flag in row.result.flags[:_FLAGS_NOTED]:
        notes.add(f"{name}: {flag}", urgent=True)
    for exercise in row.result.exercises:
        for check in exercise.checks:
            if check.cause and check.cause.kind == "judge_ended":
                ended = "the grader's own process ended more than once at this exercise, which earns nothing"
                notes.add(f"{name}: {exercise.name}: {ended}: have a look at the code", urgent=True)
                break
    if row.late is not None:
        marks = f"{points(row.score, row.max)} before, {points(row.final, row.max)} after"
        notes.add(f"{name}: {row.late}; {marks}")


def _faults_of_checks(result: SubmissionResult) -> Iterator[str]:
    """The checks that ended in an error: a fault of the course, so all submissions that met it share one note."""
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.cause and check.cause.kind == "grader_fault" and check.cause.stage == "check":
                yield f"{exercise.name}: check {check.name} ended in an error: {check.message}"


def write_jsonl(results: Iterable[SubmissionResult], path: Path) -> int:
    """Writes a line of JSON for each result, in one step, and returns the number of lines.

    Raises:
        OSError: it cannot be written.
    """
    lines = 0

    def encoded() -> Iterator[bytes]:
        nonlocal lines
        for result in results:
            lines += 1
            yield to_json(result) + b"\n"

    write_atomically(path, encoded())
    return lines
