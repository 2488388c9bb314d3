"""Which work of several counts: the latest, the best or the first, as course.toml says."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from grader.course.due import LatePolicy
from grader.course.marks import Resubmissions
from grader.gradebook import Gradebook, Row
from grader.intake.submission import Arrival, Submission
from grader.results import ExerciseResult, SubmissionResult, Unread

DUE = datetime(2026, 10, 1, tzinfo=timezone.utc)
IN_TIME, LATE = "2026-09-30T12:00:00+00:00", "2026-10-01T12:00:00+00:00"


def work_at(time: str) -> Submission:
    return Submission("ann", {}, (), Arrival(student="7", submitted=time, by="roster"))


def shown(out: Path, rule: Resubmissions, *works: tuple[float, str, bool]) -> Row:
    """The row of a student who handed in these works, each in a run: points, time, whether it could be read."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        for number, (points, at, is_read) in enumerate(works):
            late = LatePolicy(DUE, 0.5)
            run = book.start_run("course", "course", 0, "key", {}, late=late, resubmissions=rule, exercises=["t.e"])
            exercises = (ExerciseResult(name="t.e", score=points, max=4.0),)
            unread = () if is_read else (Unread("t", "a .rar"),)
            result = SubmissionResult(submission="ann", score=points, max=4.0, exercises=exercises, unread=unread)
            book.record_arrival(
                run, Submission("ann", {}, (), Arrival(student="7", submitted=at, by="roster")), f"work {number}"
            )
            book.record(run, result, f"work {number}", 0.1)
            book.finish_run(run)
        (row,) = book.results()
    return row


@pytest.mark.parametrize(("rule", "points"), [("latest", 1.0), ("best", 3.0), ("first", 2.0)])
def test_the_rule_says_which_work_counts(tmp_path: Path, rule: Resubmissions, points: float) -> None:
    row = shown(tmp_path, rule, (2.0, IN_TIME, True), (3.0, IN_TIME, True), (1.0, IN_TIME, True))
    assert row.final == points
    assert row.before == (3.0 if rule == "latest" else None)


def test_the_best_is_the_best_after_lateness(tmp_path: Path) -> None:
    assert shown(tmp_path, "best", (3.0, IN_TIME, True), (4.0, LATE, True)).final == 3.0


def test_of_equally_good_works_the_last_one_counts(tmp_path: Path) -> None:
    assert shown(tmp_path, "best", (3.0, IN_TIME, True), (3.0, IN_TIME, True)).digest == "work 1"


def test_work_that_could_not_be_read_may_be_the_best(tmp_path: Path) -> None:
    """Unless nothing can be better than what there is."""
    assert shown(tmp_path, "best", (3.0, IN_TIME, True), (0.0, IN_TIME, False)).unread
    assert not shown(tmp_path / "full", "best", (4.0, IN_TIME, True), (0.0, IN_TIME, False)).unread


def test_the_same_work_in_two_runs_is_no_resubmission(tmp_path: Path) -> None:
    """A check was mended in between: the newer result of the first work counts."""
    row = shown(tmp_path, "first", (1.0, IN_TIME, True), (4.0, IN_TIME, True))
    with Gradebook.open_existing(tmp_path) as book:
        run = book.start_run("course", "course", 0, "key", {}, resubmissions="first", exercises=["t.e"])
        again = SubmissionResult(
            submission="ann", score=2.0, max=4.0, exercises=(ExerciseResult(name="t.e", score=2.0, max=4.0),)
        )
        book.record_arrival(
            run, Submission("ann", {}, (), Arrival(student="7", submitted=IN_TIME, by="roster")), row.digest
        )
        book.record(run, again, row.digest, 0.1)
        assert [one.score for one in book.results()] == [2.0]
