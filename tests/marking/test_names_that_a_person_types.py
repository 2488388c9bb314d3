"""A person may name a student by any name or id that the student ever had; what could be two students is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from marked_class import ADA, COURSE, graded, row

from grader.errors import UserError
from grader.gradebook import Extension, Gradebook, LookedAt, Override, row_of
from grader.intake.roster import Student
from grader.marking.given import give_comment, give_points, give_time
from grader.marking.rubric import Marking


def listed(out: Path, *students: Student) -> None:
    """A class list, which a run brings that finds no work."""
    with Gradebook.open_existing(out) as book:
        book.finish_run(book.start_run(COURSE.name, "h", 1, "key", {}, students=students))


def given_to(out: Path, name: str) -> dict[str, tuple[float, float]]:
    return row(out, name).given


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Work of ``ada_l``, then of ``Ada Lee`` with the same id, whom the class list calls ``Lee, Ada``; and Bob."""
    graded(tmp_path, {"ada_l": ADA, "bob": ADA}, {"ada_l": "4711", "bob": "12"})
    graded(tmp_path, {"Ada Lee": ADA, "bob": ADA}, {"Ada Lee": "4711", "bob": "12"})
    listed(tmp_path, Student("Lee, Ada", ("4711", "al99", "ada@uni.example")), Student("Bob", ("12",)))
    return tmp_path


NAMES = ("ada_l", "Ada Lee", "Lee, Ada", "4711", "al99", "AL99", "ada@uni.example")


@pytest.mark.parametrize("name", NAMES)
def test_any_name_that_a_student_ever_had_finds_them(out: Path, name: str) -> None:
    list(give_points(out, name, "moving_average", "1.5", "a typo", "me"))
    list(give_comment(out, name, "moving_average", "see conv1d", "me"))
    lines = list(give_time(out, name, "2026-10-08", "ill", "me"))
    assert lines[0].startswith("Ada Lee: until 2026-10-08") and "no submission" not in " ".join(lines)
    with Gradebook.open_existing(out) as book:
        marked = list(Marking(book, COURSE, "me").mark_one("report", name, "1,3", None))
    assert marked[0].startswith("Ada Lee: findings.report: 3/4")
    ada = row(out, "Ada Lee")
    assert ada.given == {"curves.moving_average": (1.5, 2.0), "findings.report": (3.0, 4.0)}
    assert [one.text for one in ada.comments] == ["see conv1d"] and ada.due.startswith("2026-10-08")
    assert given_to(out, "bob") == {}
    with Gradebook.open_existing(out) as book:
        assert row_of(book.results(), name).result.submission == "Ada Lee", "for regrade, too"


def test_a_name_may_be_typed_in_another_form_of_unicode(tmp_path: Path) -> None:
    graded(tmp_path, {unicodedata.normalize("NFD", "Zoë Åström"): ADA})
    for name in (unicodedata.normalize("NFC", "Zoë Åström"), "Zoë\u00a0Åström "):
        (line, *_) = give_points(tmp_path, name, "moving_average", "1", "x", "me")
        assert "1/2" in line


@pytest.mark.parametrize(
    "names",
    [("Zoë", "Zoé"), ("किरण", "करण"), ("李明", "李"), ("ゆき", "ゆぎ")],
    ids=["accents", "marks", "part", "voiced"],
)
def test_a_similar_name_is_not_the_same(tmp_path: Path, names: Sequence[str]) -> None:
    graded(tmp_path, {names[0]: ADA})
    with pytest.raises(UserError, match="no submission of"):
        list(give_points(tmp_path, names[1], "moving_average", "1", "x", "me"))


def test_two_students_of_a_name_are_both_named_and_nothing_is_given(tmp_path: Path) -> None:
    graded(tmp_path, {"ada": ADA}, {"ada": "11"})
    graded(tmp_path, {"Ada Lee": ADA, "ada": ADA}, {"Ada Lee": "11", "ada": "12"})
    message = re.escape("`ada` could be Ada Lee (11) or ada (12)")
    for give in (
        lambda: list(give_points(tmp_path, "ada", "moving_average", "1", "x", "me")),
        lambda: list(give_comment(tmp_path, "ada", "moving_average", "hm", "me")),
        lambda: list(give_time(tmp_path, "ada", "2026-10-08", "ill", "me")),
    ):
        with pytest.raises(UserError, match=message) as caught:
            give()
        assert caught.value.fix == "name one by the id"
    list(give_points(tmp_path, "12", "moving_average", "1", "x", "me"))
    assert given_to(tmp_path, "ada") == {"curves.moving_average": (1.0, 2.0)} and given_to(tmp_path, "Ada Lee") == {}


def test_one_who_has_handed_in_and_one_of_the_class_list_of_that_name_are_two(tmp_path: Path) -> None:
    graded(tmp_path, {"Max Schmidt": ADA}, {"Max Schmidt": "8"})
    listed(tmp_path, Student("Max Schmidt", ("8",)), Student("Max Schmidt", ("9",)))
    with pytest.raises(UserError, match=r"could be Max Schmidt \(8\) or Max Schmidt \(9\)"):
        list(give_time(tmp_path, "Max Schmidt", "2026-10-08", "ill", "me"))
    with pytest.raises(UserError, match="Max Schmidt is in the class list, but no work of theirs is graded yet"):
        list(give_points(tmp_path, "9", "moving_average", "1", "x", "me"))


def test_an_extension_of_one_who_has_not_handed_in_yet_counts_when_they_have(tmp_path: Path) -> None:
    """By a name or an id of the class list, though the LMS calls them by another one."""
    graded(tmp_path, {"bob": ADA}, {"bob": "12"})
    students = (Student("Lee, Ada", ("al99", "4711")), Student("Bob", ("12",)))
    listed(tmp_path, *students)
    lines = list(give_time(tmp_path, "Lee, Ada", "2026-10-08", "ill", "me"))
    assert lines[-1] == "no submission of `Lee, Ada` is graded yet: this counts once there is one"
    graded(tmp_path, {"Ada Lee": ADA}, {"Ada Lee": "4711"})
    assert row(tmp_path, "Ada Lee").due.startswith("2026-10-08") and not row(tmp_path, "bob").due


def test_a_second_extension_under_another_name_replaces_the_first(tmp_path: Path) -> None:
    for name, day in (("bob", "2026-10-08"), ("Bobby", "2026-10-09")):
        graded(tmp_path, {name: ADA}, {name: "12"})
        list(give_time(tmp_path, name, day, "ill", "me"))
    with Gradebook.open_existing(tmp_path) as book:
        assert [(one.student, one.due[:10]) for one in book.extensions(COURSE.name)] == [("Bobby", "2026-10-09")]


def test_what_was_given_under_an_earlier_name_without_an_id_stays(tmp_path: Path) -> None:
    graded(tmp_path, {"ada_l": ADA})
    list(give_points(tmp_path, "ada_l", "moving_average", "0.5", "copied", "me"))
    graded(tmp_path, {"ada_l": ADA}, {"ada_l": "4711"})
    graded(tmp_path, {"Ada Lee": ADA, "bob": ADA}, {"Ada Lee": "4711", "bob": "12"})
    assert given_to(tmp_path, "Ada Lee") == {"curves.moving_average": (0.5, 2.0)} and given_to(tmp_path, "bob") == {}


def test_what_was_given_under_a_name_that_two_had_goes_to_neither_by_an_earlier_name(tmp_path: Path) -> None:
    graded(tmp_path, {"ada": ADA}, {"ada": "11"})
    graded(tmp_path, {"Ada Lee": ADA, "ada": ADA}, {"Ada Lee": "11", "ada": "12"})
    given = Override(student="ada", exercise="curves.moving_average", points=1.0, max=2.0, why="", who="me", made="")
    with Gradebook.open_existing(tmp_path) as book:
        book.give(COURSE.name, given, LookedAt())
    assert given_to(tmp_path, "Ada Lee") == {} and given_to(tmp_path, "ada") != {}


def test_one_who_is_nowhere_gets_an_extension_under_the_name_that_was_typed(tmp_path: Path) -> None:
    graded(tmp_path, {"bob": ADA})
    list(give_time(tmp_path, "zoe", "2026-10-08", "ill", "me"))
    with Gradebook.open_existing(tmp_path) as book:
        assert [(type(one), one.student) for one in book.extensions(COURSE.name)] == [(Extension, "zoe")]
