"""`grader regrade`: grades the kept work of one student again, and records the result only once somebody agrees."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from grader.course import Course, content_hash, pictured
from grader.errors import UserError
from grader.gradebook import Gradebook, Row, row_of, selection_key
from grader.grading.local_workers import LocalWorkers
from grader.grading.sandbox_needed import require_sandbox
from grader.grading.settings import GradingSettings, settings_that_matter, worker_options
from grader.intake.submission import Note, Submission
from grader.machine import versions
from grader.reports.status import compare, marks
from grader.results import SubmissionResult


def regrade(course: Course, out: Path, student: str, names: Sequence[str], agreed: Callable[[], bool]) -> Iterator[str]:
    """Yields the difference, asks, records the result if it counts, and yields the marks.

    Args:
        names: topics or exercises; empty means all.
        agreed: asks whether the new result counts; called only if there is a difference.

    Raises:
        UserError: no such student or exercise, work that is not kept, or differing work of a group.
    """
    with Gradebook.open_existing(out) as book:
        row = row_of(list(book.results()), student)
        if row.differing:
            raise UserError(
                row.differing, fix="decide whose work counts, and grade that upload again: grader grade PATH"
            )
        files = book.files(row.digest)
        if not files and not row.notes:
            raise UserError(f"{book.path} has no files of {student}", fix="grade the upload again: grader grade PATH")
        require_sandbox(1, no_sandbox=False)
        settings = GradingSettings(names=tuple(names), seed=book.keep_seed(), pictures=pictured(course))
        options = worker_options(course, settings, settings.names)
        submission = _kept(book, course, row, files)
        with LocalWorkers(course, options) as workers:
            graded = workers.grade(submission)
        if graded.fault:
            raise UserError(f"the grader itself failed: {graded.fault}", fix="nothing was changed")
        new = msgspec.structs.replace(row, result=graded.result)
        wanted = {exercise.name for exercise in graded.result.exercises}
        changes = [move for move in compare([_part(row, wanted)], [new])]
        if not changes:
            yield f"{row.result.submission}: the same points as before: {marks(row)}"
            return
        for move in changes:
            yield f"{move.exercise}: {_shown(move.before)} → {_shown(move.after)}"
        if not agreed():
            yield "nothing was changed"
            return
        run = book.start_run(
            course.name,
            content_hash(course),
            options.seed,
            selection_key(options.exercises, settings_that_matter(options)),
            versions(),
            expected=1,
            late=book.policy(row.run),
            exercises=[exercise.full_name for exercise in course.all_exercises],
            resubmissions=course.marks.resubmissions,
        )
        book.record_arrival(run, submission, row.digest)
        book.record(run, graded.result, row.digest, graded.seconds)
        book.finish_run(run)
        after = row_of(list(book.results()), student)
        yield f"{row.result.submission}: {marks(row)} before, {marks(after)} now (run {run})"


def _kept(book: Gradebook, course: Course, row: Row, files: dict[str, bytes]) -> Submission:
    """The work as it was handed in."""
    name, person = row.result.submission, row.arrival.student
    notes = tuple(Note(*line.split(": ", 1)) if ": " in line else Note("./", line) for line in row.notes)
    granted = book.granted(course.name, name, person)
    return Submission(name, files, notes, row.arrival, row.result.unread, granted)


def _part(row: Row, names: set[str]) -> Row:
    exercises = tuple(one for one in row.result.exercises if one.name in names)
    result: SubmissionResult = msgspec.structs.replace(row.result, exercises=exercises)
    return msgspec.structs.replace(row, result=result)


def _shown(value: float | None) -> str:
    return "not graded" if value is None else f"{value:g}"
