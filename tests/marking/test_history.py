"""A mark's history: every result and all that people gave, who and when, the oldest first."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from marked_class import ADA, BOB, COURSE, graded

from grader.course import content_hash
from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.intake.roster import Student
from grader.intake.submission import Arrival, Submission
from grader.marking.given import give_comment, give_points, give_time
from grader.marking.history import history_lines
from grader.marking.rubric import Marking
from grader.results import ExerciseResult, SubmissionResult


def lines(out: Path, student: str = "ada", exercise: str | None = None, width: int | None = None) -> list[str]:
    """The history, each line without its time, which is there."""
    found = list(history_lines(out, student, exercise, width))
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d  ", line) for line in found[:-1]) or width
    return [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d  ", "", line) for line in found]


def another_run(
    out: Path, score: float, *, trial: bool = False, at: str = "", name: str = "ada", person: str = ""
) -> None:
    with Gradebook.open_existing(out) as book:
        run = book.start_run(COURSE.name, content_hash(COURSE), 1, "key", {}, trial=trial)
        submission = Submission(name, {}, arrival=Arrival(student=person, submitted=at, by="roster"))
        exercise = ExerciseResult(name="curves.moving_average", score=score, max=2.0)
        result = SubmissionResult(submission=name, score=score, max=2.0, exercises=(exercise,))
        book.record_arrival(run, submission, f"work of {score}")
        book.record(run, result, f"work of {score}", 0.1)
        book.finish_run(run)


def test_everything_that_made_the_mark_is_there_in_its_order(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    with Gradebook.open_existing(out) as book:
        marking = Marking(book, COURSE, "ann")
        (task, _) = marking.tasks("report")
        for given in ({0}, {0, 1}):
            marking.save(task, given, done=False)
        marking.save(task, {0, 2}, done=True)
    list(give_points(out, "ada", "moving_average", "1.5", "a typo", "ben"))
    another_run(out, 1.0, at="2026-10-01T12:00:00+00:00")
    list(give_comment(out, "ada", "moving_average", "see\nconv1d", "ann"))
    list(give_time(out, "ada", "2026-10-08T12:00", "was ill", "cy"))
    list(give_points(out, "ada", "moving_average", "auto", "no typo", "ben"))
    another_run(out, 0.0, trial=True)
    found = lines(out)
    assert found[:2] == ["run 1: 2/2", "mark: findings.report: 3/4 (items: 1, 3) by ann"]
    assert found[2] == "override: curves.moving_average: 1.5/2 (automatic: 2) by ben: a typo"
    assert found[3].startswith("run 2: 1/2 (curves.moving_average 2 → 1), handed in 2026-10-0")
    assert found[4] == "comment: curves.moving_average: by ann: see / conv1d"
    assert found[5] == "extension: until 2026-10-08 12:00 by cy: was ill"
    assert found[6] == "override: curves.moving_average: the automatic points again (automatic: 1) by ben: no typo"
    assert found[7] == "run 3: 0/2 (curves.moving_average 1 → 0), a trial: counts nothing"
    assert found[8].startswith("now: ada: ") and len(found) == 9
    assert lines(out, "bob") == ["run 1: 2/2", "now: bob: 2/2"]


def test_of_one_exercise_only_what_is_about_it(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    list(give_points(out, "ada", "report", "4", "appeal", "ben"))
    list(give_points(out, "ada", "moving_average", "1", "copied", "ben"))
    list(give_time(out, "ada", "2026-10-08T12:00", "was ill", "cy"))
    assert lines(out, exercise="report") == [
        "run 1: findings.report: a person marks it",
        "override: findings.report: 4/4 (automatic: 0) by ben: appeal",
        "extension: until 2026-10-08 12:00 by cy: was ill",
        "now: ada: 5/6",
    ]
    assert lines(out, exercise="moving_average")[0] == "run 1: curves.moving_average: 2/2"
    with pytest.raises(UserError, match="no exercise `essay`"):
        lines(out, exercise="essay")


def test_a_mark_that_is_only_begun_is_one_line_whatever_the_keys(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    with Gradebook.open_existing(out) as book:
        marking = Marking(book, COURSE, "ann")
        (task,) = marking.tasks("report")
        for given in ({0}, {0, 1}, {1}):
            marking.save(task, given, done=False)
    assert lines(out)[1:-1] == ["mark: findings.report: 1/4 (items: 2) by ann, only begun"]


def test_a_result_that_was_taken_over_is_not_another_one(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    with sqlite3.connect(out / "gradebook.sqlite") as db:
        digest, selection = db.execute("SELECT digest, selection FROM submissions, runs").fetchone()
    db.close()
    with Gradebook.open_existing(out) as book:
        run = book.start_run(COURSE.name, content_hash(COURSE), 1, selection, {})
        assert book.lookup("ada", digest, content_hash(COURSE), 1, selection, reuse_in=run) is not None
        book.finish_run(run)
    assert lines(out) == ["run 1: 2/2", "run 2: the same result as in run 1, not graded again", "now: ada: 2/2"]


def test_results_under_an_earlier_name_and_those_of_the_group_are_there(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada_l": ADA}, {"ada_l": "1"})
    another_run(out, 1.0, name="Ada", person="1")
    students = [Student("Ada", ("1",), group="Rho"), Student("Cy", ("3",), group="Rho")]
    with Gradebook.open_existing(out) as book:
        book.finish_run(book.start_run(COURSE.name, "h", 1, "key", {}, students=students))
    list(give_comment(out, "Cy", "moving_average", "well done", "ann"))
    list(give_points(out, "Cy", "moving_average", "2", "did all of it", "ann"))
    both = [
        "run 1: 2/2",
        "run 2: 1/2 (curves.moving_average 2 → 1)",
        "comment: curves.moving_average: by ann: well done",
    ]
    assert lines(out, "ada_l")[:-1] == both, "an override is Cy's own"
    assert lines(out, "3")[:-1] == [*both, "override: curves.moving_average: 2/2 (automatic: 1) by ann: did all of it"]


def test_long_lines_are_broken_on_a_terminal_and_nothing_is_lost(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    words = [f"word{n}" for n in range(300)]
    list(give_comment(out, "ada", "moving_average", " ".join(words), "ann"))
    found = list(history_lines(out, "ada", None, 60))
    assert max(map(len, found)) <= 60 and all(line.startswith("    ") for line in found[2:-1])
    assert [word for word in " ".join(found).split() if word.startswith("word")] == words
    assert len(list(history_lines(out, "ada", None))) == 3


def test_one_who_has_handed_in_nothing_yet_has_a_history_too(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    with Gradebook.open_existing(out) as book:
        students = [Student("Cy", ("3", "cy@uni.example"))]
        book.finish_run(book.start_run(COURSE.name, "h", 1, "key", {}, students=students))
    list(give_time(out, "Cy", "2026-10-08T12:00", "was ill", "ann"))
    expected = ["extension: until 2026-10-08 12:00 by ann: was ill", "now: Cy: no work is graded yet"]
    assert lines(out, "cy@uni.example") == expected
    with pytest.raises(UserError, match="no submission of `dee`"):
        lines(out, "dee")
