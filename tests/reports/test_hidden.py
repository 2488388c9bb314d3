"""What students may read holds nothing of a hidden check; what instructors read holds all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from classrooms import OWN, check, entry, exercise, gradebook, result
from msgspec.structs import replace

from grader.course import Course, Misconception
from grader.exports.write import FILES, READ_BY_STUDENTS, ExportSettings, export
from grader.reports.entries import exercise_for_students
from grader.reports.html_feedback import feedback_page, heading_of
from grader.results import Cause

SECRET = replace(
    check("zebra", "failed", "it was zebra", cause=Cause(kind="assertion", call="f(zebra)", reason="zebra")),
    hidden_until="always",
)
MISTAKE = Misconception(
    name="zebra",
    exercise="vectors.cosine",
    tell="You draw a zebra.",
    topic="vectors",
    function="zebra",
    part="cosine",
    line=1,
)
GIVEN = result("ada", exercise("vectors.cosine", check("shown"), SECRET, misconception=MISTAKE, points=2))


@pytest.mark.parametrize("kind", ["csv", "json", "junit", "gradescope", "gitlab"])
def test_an_export_for_students_says_no_more_than_that_there_is_one(kind: str, tmp_path: Path) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [entry(GIVEN)])
    export(kind, ExportSettings(grades=tmp_path, course=OWN, to=tmp_path / "out"))
    written = (tmp_path / "out").read_text()
    assert ("zebra" in written) == (kind == "json")
    assert kind == "csv" or kind == "json" or "hidden" in written


def test_every_format_is_for_students_or_for_instructors() -> None:
    assert set(FILES) - READ_BY_STUDENTS == {"csv", "json", "canvas", "brightspace", "blackboard"}


def test_feedback_pages_are_for_students() -> None:
    part = feedback_page(entry(GIVEN), Course.load(OWN), 10**6).topics[0].others[0]
    assert "zebra" not in repr(part) and heading_of(part.first[0]) == "hidden check 1"


def test_a_mistake_that_a_shown_check_finds_is_named() -> None:
    shown = check("shown", "failed", "wrong")
    one = exercise("vectors.cosine", shown, SECRET, misconception=MISTAKE)
    assert exercise_for_students(one) == replace(one, checks=exercise_for_students(one).checks)
    kept_back = exercise_for_students(GIVEN.exercises[0])
    assert kept_back.misconception is kept_back.explanation is None
