"""The end of `grader grade`: it writes results.jsonl, and prints the table and notes. Makes no verdict."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.errors import UserError
from grader.files import write_atomically
from grader.gradebook import Gradebook, Row
from grader.grading.exit_codes import Tally
from grader.grading.settings import ClassSettings, GradingSettings
from grader.reports.feedback import to_look_at
from grader.reports.status import Unmarked, untimed, worth_less
from grader.reports.terminal import NoteList, print_note
from grader.results import SubmissionResult, to_json
from grader.student import engine
from grader.text import counted, points

_FLAGS_NOTED = 3
"""Flags of one submission that are notes; the class page has more of them."""


def report_class(book: Gradebook, run: int, settings: ClassSettings, grading: GradingSettings) -> int:
    """Writes results.jsonl (not for a trial), prints the table and the notes, returns the exit code.

    Raises:
        UserError: the file cannot be written.
    """
    from grader.reports.terminal import make_console, show_class

    notes = NoteList("; all of them: grader status --notes")
    tally = Tally(grading.fail_under, grading.skipped_ok)
    unmarked = Unmarked()
    counts: Counter[str] = Counter()

    def latest() -> Iterator[SubmissionResult]:
        """Everybody's latest results; work of this run that is worth less than the work before it gets a note."""
        for row in book.each_result():
            if row.run == run and (less := worth_less(row)):
                notes.add(f"{row.result.submission}: {less}", urgent=True)
            counts["written"] += 1
            yield row.result

    def counted_and_noted() -> Iterator[Row]:
        """The rows of the run, one at a time: those of a class need not fit in memory."""
        faults: dict[str, list[str]] = {}  # of the course: all submissions that meet one share a note
        for row in book.each_result(run):
            looks = to_look_at(row)
            tally.add(row.result)
            unmarked.add(row)
            counts.update(graded=1, untimed=row.untimed, to_look_at=bool(looks))
            _note(row, looks, notes)
            for exercise in row.result.exercises:
                for check in exercise.checks:
                    if check.cause and check.cause.kind == "grader_fault" and check.cause.stage == "check":
                        fault = f"{exercise.name}: check {check.name} ended in an error: {check.message}"
                        faults.setdefault(fault, []).append(row.result.submission)
            yield row
        for fault, names in faults.items():
            who = names[0] if len(names) == 1 else counted(len(names), "submission")
            notes.add(f"{who}: {fault}", urgent=True)

    # One for each assignment: a later one must not replace the marks of an earlier one.
    file = settings.out / (f"results-{book.assignment}.jsonl" if book.assignment else "results.jsonl")
    if not settings.trial:
        try:
            write_jsonl(latest(), file)
        except OSError as problem:
            raise UserError(f"{file}: {problem.strerror}", fix="the results are safe in the gradebook") from problem
    show_class(counted_and_noted(), make_console())
    sys.stdout.flush()
    notes.print()
    for line in untimed(counts["untimed"]):
        print_note(line)
    for line in unmarked.lines():
        print(line)
    if counts["to_look_at"]:
        print(f"needs a look: {counts['to_look_at']} (see: grader status)")
    if tally.is_incomplete:
        print("points that are not assessed count as missing for the exit code (--skipped-ok: they do not)")
    has_been_printed = settings.dask is None and engine.choose().engine != "forked"
    if tally.missing_layers and not has_been_printed:
        print(f"sandbox without: {', '.join(sorted(tally.missing_layers))} (see: grader doctor)")
    print(f"gradebook: {book.path}")
    if settings.trial:
        compare = f"grader diff RUN {run} --out {settings.out}"
        print(f"run {run} was a trial: no report or export shows it; compare it: {compare}")
    else:
        earlier = counts["written"] - counts["graded"]
        more = f" (with {counted(earlier, 'student')} of earlier runs)" if earlier > 0 else ""
        print(f"results:   {file}{more}")
    return tally.code


def _note(row: Row, looks: Sequence[str], notes: NoteList) -> None:
    name = row.result.submission
    for look in looks:
        notes.add(f"{name}: {look}", urgent=True)
    for note in (note for note in row.notes if not any(note in look for look in looks)):
        notes.add(f"{name}: {note}", urgent=row.result.score == 0)
    for flag in row.result.flags[:_FLAGS_NOTED]:
        notes.add(f"{name}: {flag}", urgent=True)
    if row.lates:
        marks = f"{points(row.score, row.max)} before, {points(row.final, row.max)} after"
        notes.add(f"{name}: {row.late_words}; {marks}")


def write_jsonl(results: Iterable[SubmissionResult], path: Path) -> None:
    """Writes a line of JSON for each result, in one step.

    Raises:
        OSError: it cannot be written.
    """
    write_atomically(path, (to_json(result) + b"\n" for result in results))
