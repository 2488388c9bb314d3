"""What `grader grade` prints and writes when a class is graded: results.jsonl, the table, notes. Makes no verdict."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from grader.errors import UserError
from grader.gradebook import Gradebook, Row
from grader.grading.exit_codes import Tally
from grader.grading.settings import ClassSettings
from grader.reports.jsonl import write_jsonl
from grader.reports.notes import NoteList
from grader.student import engine
from grader.text import points

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
    if not settings.trial:
        try:
            write_jsonl((row.result for row in book.results(run)), file)
        except OSError as problem:
            raise UserError(f"{file}: {problem.strerror}", fix="the results are safe in the gradebook") from problem
    tally = Tally(fail_under, skipped_ok)
    notes = NoteList("; all of them: grader status --notes")
    show_class(_counted_and_noted(book.results(run), tally, notes), make_console())
    sys.stdout.flush()
    notes.print()
    if tally.is_incomplete:
        print("points that are not assessed count as missing for the exit code (--skipped-ok: they do not)")
    if tally.missing_layers and (settings.dask is not None or engine.choose().engine == "forked"):  # else it was said
        print(f"sandbox without: {', '.join(sorted(tally.missing_layers))} (see: grader doctor)")
    print(f"gradebook: {book.path}")
    if settings.trial:
        compare = f"grader diff RUN {run} --out {settings.out}"
        print(f"run {run} was a trial: no report or export shows it; compare it: {compare}")
    else:
        print(f"results:   {file}")
    return tally.code


def _counted_and_noted(rows: Iterable[Row], tally: Tally, notes: NoteList) -> Iterator[Row]:
    """The same rows, one at a time: the rows of a class need not fit in memory."""
    for row in rows:
        tally.add(row.result)
        _note(row, notes)
        yield row


def _note(row: Row, notes: NoteList) -> None:
    name = row.result.submission
    for note in row.notes:
        notes.add(f"{name}: {note}", urgent=row.result.score == 0)
    for flag in row.result.flags[:_FLAGS_NOTED]:
        notes.add(f"{name}: {flag}", urgent=True)
    for exercise in row.result.exercises:
        for check in exercise.checks:
            if check.cause and check.cause.kind == "judge_ended":
                ended = "the grader's own process ended more than once at this exercise, which earns nothing"
                notes.add(f"{name}: {exercise.name}: {ended}: have a look at the code", urgent=True)
                break
            if check.cause and check.cause.kind == "grader_fault" and check.cause.stage == "check":
                what = f"check {check.name} ended in an error: {check.message}"
                notes.add(f"{name}: {exercise.name}: {what}", urgent=True)
    if row.late is not None:
        marks = f"{points(row.score, row.max)} before, {points(round(row.final, 4), row.max)} after"
        notes.add(f"{name}: {row.late}; {marks}")
