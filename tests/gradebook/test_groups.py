"""Groups: the mark of one upload goes to every member; differing uploads are no mark; who handed in nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from grader.course.due import LatePolicy
from grader.gradebook import Extension, Gradebook, LookedAt, Mark, MarkedItem, Override, Row
from grader.intake.roster import Student
from grader.intake.submission import Arrival, Submission
from grader.reports.feedback import to_look_at
from grader.results import ExerciseResult, Manual, SubmissionResult

ADA = Student("Ada", ("1", "ada@x"), group="Rho")
BEN = Student("Ben", ("2",), group="Rho")
CY = Student("Cy", ("3",), group="Tau")
DEE = Student("Dee", ("4",))
EVE = Student("Eve", ("5",), group="Phi")
CLASS = (ADA, BEN, CY, DEE, EVE)
DUE = datetime(2026, 10, 1, tzinfo=timezone.utc)


def upload(name: str, person: str, points: float, *, work: str = "", at: str = "") -> tuple[Submission, str, float]:
    return Submission(name, {}, (), Arrival(student=person, submitted=at, by="roster")), work or name, points


def graded(
    out: Path, *uploads: tuple[Submission, str, float], students: tuple[Student, ...] | None = CLASS
) -> list[Row]:
    """One more run of these uploads; the rows of the class after it."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        late = LatePolicy(DUE, 0.5)
        run = book.start_run("course", "course", 0, "key", {}, expected=len(uploads), late=late, students=students)
        for submission, work, points in uploads:
            exercises = (
                ExerciseResult(name="t.e", score=points, max=2.0),
                ExerciseResult(name="t.report", score=0.0, max=0.0, manual=Manual(4.0, "report.txt")),
            )
            result = SubmissionResult(submission=submission.name, score=points, max=2.0, exercises=exercises)
            book.record_arrival(run, submission, work)
            book.record(run, result, work, 0.1)
        book.finish_run(run)
        return list(book.results())


def marks(rows: list[Row]) -> dict[str, float]:
    return {row.result.submission: row.final for row in rows}


def no_shows(book: Gradebook) -> list[Student]:
    return [one.student for one in book.absent() if one.handed_in_nothing]


def test_one_upload_is_the_mark_of_every_member(tmp_path: Path) -> None:
    rows = graded(tmp_path, upload("Ada", "1", 2.0), upload("Cy", "3", 1.0), upload("Dee", "4", 0.5))
    assert marks(rows) == {"Ada": 2.0, "Ben": 2.0, "Cy": 1.0, "Dee": 0.5}
    of = {row.result.submission: row for row in rows}
    assert of["Ben"].arrival.student == "2" and of["Ben"].group == "Rho" and not of["Dee"].group
    assert of["Ben"].notes == ("the work of group Rho, handed in by Ada",) and of["Ada"].notes == ()
    assert not any(to_look_at(row) for row in rows)


@pytest.mark.parametrize("person", ["ada@x", "", "1"])
def test_a_member_is_known_by_each_id_and_by_the_name(tmp_path: Path, person: str) -> None:
    assert marks(graded(tmp_path, upload("Ada", person, 2.0))) == {"Ada": 2.0, "Ben": 2.0}


def test_the_same_work_of_two_members_is_one_work(tmp_path: Path) -> None:
    rows = graded(tmp_path, upload("Ada", "1", 2.0, work="same"), upload("Ben", "2", 2.0, work="same"))
    assert marks(rows) == {"Ada": 2.0, "Ben": 2.0} and not any(to_look_at(row) for row in rows)


def test_differing_work_is_no_mark_until_one_of_them_is_graded_again(tmp_path: Path) -> None:
    two = upload("Ada", "1", 0.0, at="2026-09-01T10:00:00+00:00"), upload("Ben", "2", 2.0)
    rows = graded(tmp_path, *two)
    assert [to_look_at(row) for row in rows] == [["group Rho handed in differing work: Ben; Ada"]] * 2
    assert all(row.unread for row in rows)
    rows = graded(tmp_path, two[1])
    assert marks(rows) == {"Ada": 2.0, "Ben": 2.0} and not any(row.unread for row in rows)


def test_the_latest_run_and_then_the_latest_time_counts(tmp_path: Path) -> None:
    graded(tmp_path, upload("Ada", "1", 2.0))
    rows = graded(tmp_path, upload("Ben", "2", 1.0, at="2026-09-01T10:00:00+00:00"))
    assert marks(rows) == {"Ada": 1.0, "Ben": 1.0}
    assert rows[0].before == 2.0, "the note on work that is worth less is for all"


def test_a_later_list_moves_a_student_to_another_group(tmp_path: Path) -> None:
    graded(tmp_path, upload("Ada", "1", 2.0), upload("Cy", "3", 1.0))
    moved = (ADA, Student("Ben", ("2",), group="Tau"), CY, DEE)
    rows = graded(tmp_path, upload("Dee", "4", 0.0), students=moved)
    assert marks(rows) == {"Ada": 2.0, "Ben": 1.0, "Cy": 1.0, "Dee": 0.0}
    assert marks(graded(tmp_path, upload("Dee", "4", 2.0), students=None))["Ben"] == 1.0, "the list is kept"


def test_points_and_time_of_one_member_are_theirs_alone(tmp_path: Path) -> None:
    graded(tmp_path, upload("Ada", "1", 2.0, at="2026-10-01T12:00:00+00:00"))
    with Gradebook.open_existing(tmp_path) as book:
        assert marks(list(book.results())) == {"Ada": 1.0, "Ben": 1.0}
        extension = Extension(student="Ben", due="2026-10-05T00:00:00+00:00", why="ill", who="x", made="")
        book.give("course", extension, LookedAt("2"))
        assert marks(list(book.results())) == {"Ada": 1.0, "Ben": 2.0}
        given = Override(student="Ada", exercise="t.e", points=0.0, max=2.0, why="was absent", who="x", made="")
        book.give("course", given, LookedAt("1", "Ada"))
        assert marks(list(book.results())) == {"Ada": 0.0, "Ben": 2.0}


def test_a_mark_by_the_rubric_and_a_comment_are_about_the_work_of_all(tmp_path: Path) -> None:
    rows = graded(tmp_path, upload("Ada", "1", 2.0))
    with Gradebook.open_existing(tmp_path) as book:
        items = (MarkedItem("text", 4.0, True),)
        mark = Mark(student="Ben", exercise="t.report", items=items, points=4.0, max=4.0, who="x", made="")
        book.give("course", mark, LookedAt(person="2", digest=rows[0].digest, file="report.txt", work=""))
        assert marks(list(book.results())) == {"Ada": 6.0, "Ben": 6.0}


def test_who_handed_in_nothing_has_no_group_that_did(tmp_path: Path) -> None:
    graded(tmp_path, upload("Ada", "1", 2.0), upload("Cy", "", 2.0))
    with Gradebook.open_existing(tmp_path) as book:
        assert no_shows(book) == [DEE, EVE]


def test_who_may_be_meant_by_work_without_an_owner_has_not_handed_in_nothing(tmp_path: Path) -> None:
    students = (Student("Ann Lee", ("1",)), Student("José Ruiz", ("2",)), Student("Jose Ruiz", ("3",)), DEE)
    graded(tmp_path, upload("Ann Lee Smith", "", 2.0), upload("jose_ruiz", "", 1.0), students=students)
    with Gradebook.open_existing(tmp_path) as book:
        assert no_shows(book) == [DEE]


def test_a_class_without_a_list_has_no_groups_and_no_such_students(tmp_path: Path) -> None:
    rows = graded(tmp_path, upload("Ada", "1", 2.0), students=None)
    assert marks(rows) == {"Ada": 2.0}
    with Gradebook.open_existing(tmp_path) as book:
        assert no_shows(book) == []


def test_an_extension_in_the_list_is_that_of_its_own_student(tmp_path: Path) -> None:
    students = (ADA, replace(BEN, extension="2026-10-05T00:00:00+00:00"), CY, DEE, EVE)
    rows = graded(tmp_path, upload("Ada", "1", 2.0, at="2026-10-01T12:00:00+00:00"), students=students)
    assert marks(rows) == {"Ada": 1.0, "Ben": 2.0}


def test_work_that_differs_in_a_group_is_not_called_worth_less_than_that_of_the_others(tmp_path: Path) -> None:
    rows = graded(tmp_path, upload("Ada", "1", 2.0), upload("Ben", "2", 1.0))
    assert [row.before for row in rows] == [None, None] and all(row.unread for row in rows)


def test_a_member_with_an_id_that_the_list_does_not_have_is_known_by_the_name(tmp_path: Path) -> None:
    """As in a download of Moodle, whose numbers are its own, beside a list of the office."""
    rows = graded(tmp_path, upload("Ada", "m-501", 2.0), upload("Dee", "m-502", 1.0))
    assert marks(rows) == {"Ada": 2.0, "Ben": 2.0, "Dee": 1.0}
    with Gradebook.open_existing(tmp_path) as book:
        assert [one.name for one in no_shows(book)] == ["Cy", "Eve"]
