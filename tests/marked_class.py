"""A graded class of the course with work that a person marks, without grading anything: for marks, reports, exports."""

from __future__ import annotations

from pathlib import Path

from shared import MARKED_COURSE

from grader.course import Course, content_hash
from grader.gradebook import Gradebook, Row
from grader.intake.by_hand import works_of
from grader.intake.submission import Arrival, Submission, digest
from grader.judge.points import manual_of, wanted_by_hand
from grader.results import CheckResult, ExerciseResult, SubmissionResult

COURSE = Course.load(MARKED_COURSE)
CODE = b"def moving_average(x, width):\n    return x.unfold(0, width, 1).mean(dim=1)\n"
ADA = {"curves.py": CODE, "plot.png": b"\x89PNG\r\n\x1a\n\0", "report.md": b"# Mine\n\nWider is smoother.\n"}
BOB = {"curves.py": CODE, "report.md": (MARKED_COURSE / "exercises" / "report.md").read_bytes()}


def result_of(submission: Submission) -> SubmissionResult:
    """What the judge would say of it; the exercise with checks has passed."""
    checks = (CheckResult(name="mean_of_every_window", verdict="passed"),)
    exercises = [ExerciseResult(name="curves.moving_average", score=2.0, max=2.0, checks=checks)]
    instead = works_of(submission.files, *wanted_by_hand(COURSE))
    for one in COURSE.manual:
        manual = manual_of(one, submission.files, COURSE.template_file(one), instead.get(one.work_file, ()))
        exercises.append(ExerciseResult(name=one.full_name, score=0.0, max=0.0, manual=manual))
    return SubmissionResult(submission=submission.name, score=2.0, max=2.0, exercises=tuple(exercises))


def graded(out: Path, works: dict[str, dict[str, bytes]], ids: dict[str, str] | None = None) -> Path:
    """The gradebook's folder, with one more run of these files of each student; `ids` are the LMS's."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        run = book.start_run(COURSE.name, content_hash(COURSE), book.keep_seed(1), "key", {}, expected=len(works))
        for name, files in works.items():
            submission = Submission(name, files, arrival=Arrival(student=(ids or {}).get(name, "")))
            book.record_arrival(run, submission, digest(submission))
            book.record(run, result_of(submission), digest(submission), 0.1)
        book.finish_run(run)
    return out


def row(out: Path, name: str, run: int | None = None) -> Row:
    """A student's row as reports see it."""
    with Gradebook.open_existing(out) as book:
        return next(one for one in book.results(run) if one.result.submission == name)
