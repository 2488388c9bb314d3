"""Exercises that a person marks: what their tables may say, and that nothing which runs checks sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_here import run_here
from shared import MARKED_COURSE

from grader.course import Course, CourseError, content_hash
from grader.course.handout import init
from grader.course.home import Origin
from grader.course.stubs import release
from grader.course.update import update
from grader.grading.settings import topics_of

HEAD = """\
[course]
name = "tiny"
title = "Tiny"

[[topics]]
name = "first"
title = "First"
"""
EXERCISE = '[[topics.exercises]]\nname = "report"\nkind = "manual"\nfile = "report.md"\n'
ITEM = '[[topics.exercises.rubric]]\ntext = "says why"\npoints = 1\n'


def written(folder: Path, *parts: str) -> Course:
    (folder / "course.toml").write_text("\n".join([HEAD, *parts]))
    return Course.load(folder)


def test_manual_exercises_are_apart_from_those_with_checks() -> None:
    course = Course.load(MARKED_COURSE)
    assert [one.full_name for one in course.exercises] == ["curves.moving_average"]
    assert [one.full_name for one in course.manual] == ["curves.style", "findings.plot", "findings.report"]
    assert [topic.name for topic in course.modules] == ["curves"]
    assert [one.points for one in course.manual] == [1.5, 2, 4]
    assert [one.work_file for one in course.manual] == ["curves.py", "plot.png", "report.md"]
    assert course.select(["findings"]) == ["findings.plot", "findings.report"]
    assert course.select(["style"]) == ["curves.style"]
    assert course.with_needs(()) == tuple(one.full_name for one in course.all_exercises)
    assert release(course, check=True) == []
    assert topics_of(course).files == {"plot.png", "report.md"} and topics_of(course).names == {"curves"}


def test_a_topic_without_checks_needs_no_file_but_course_toml(tmp_path: Path) -> None:
    course = written(tmp_path, EXERCISE, ITEM)
    assert course.exercises == () and course.exercise("first.report").points == 1
    content_hash(course)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((EXERCISE, ITEM.replace("1", "-1")), "points of an item must be a number above 0, not -1"),
        ((EXERCISE, ITEM.replace("1", "0")), "above 0"),
        ((EXERCISE, ITEM.replace("1", "nan")), "above 0"),
        ((EXERCISE, ITEM.replace("1", '"=1+1"')), '`points` must be a number, not "=1.1"'),
        ((EXERCISE,), r"has no \[\[topics.exercises.rubric\]\]"),
        ((EXERCISE, ITEM, ITEM), "two items have the text `says why`"),
        ((EXERCISE, *(ITEM.replace("why", f"why {n}") for n in range(10))), "at most 9 items, not 10"),
        ((EXERCISE, ITEM.replace("says why", " ")), "one line of plain text"),
        ((EXERCISE, ITEM.replace("says why", r"\u001b[31mred")), "one line of plain text"),
        ((EXERCISE, ITEM.replace("says why", r"one\ntwo")), "one line of plain text"),
        ((EXERCISE, ITEM.replace("says why", "x" * 201)), "at most 200 characters, not 201"),
        ((EXERCISE, ITEM.replace("text =", "txt =")), "unknown key `txt`"),
        ((EXERCISE + "points = 2\n", ITEM), "points: 2, but the items of the rubric make 1"),
        ((EXERCISE + 'needs = ["x"]\n', ITEM), "`needs` is for exercises with checks"),
        ((EXERCISE + 'credit = "all"\n', ITEM), "`credit` is for exercises with checks"),
        ((EXERCISE.replace('kind = "manual"', 'kind = "by hand"'), ITEM), '"automatic" or "manual", not "by hand"'),
        ((EXERCISE.replace('kind = "manual"\n', "points = 1\n"), ITEM), "`rubric` is for what a person marks"),
        ((EXERCISE.replace('kind = "manual"\n', "points = 1\n"),), "`file` is for what a person marks"),
        ((EXERCISE.replace("report.md", "../report.md"), ITEM), "must be a path below"),
        ((EXERCISE.replace("report.md", "/etc/passwd"), ITEM), "must be a path below"),
        ((EXERCISE.replace("report.md", "C:/report.md"), ITEM), "must be a path below"),
        ((EXERCISE.replace("report.md", ""), ITEM), "must be a path below"),
        ((EXERCISE.replace("report.md", ".report.md"), ITEM), "no name of a student's file"),
        ((EXERCISE.replace("report.md", "solutions/a.md"), ITEM), "no name of a student's file"),
        ((EXERCISE.replace("report.md", "report.ipynb"), ITEM), "cannot be looked at"),
        ((EXERCISE.replace("report.md", "report.zip"), ITEM), "cannot be looked at"),
        ((EXERCISE.replace('file = "report.md"\n', ""), ITEM), "needs a `file`"),
        (
            (EXERCISE, ITEM, '[[topics.exercises]]\nname = "one"\npoints = 1\nneeds = ["report"]'),
            "needs `first.report`, which a person marks",
        ),
        (('[[topics.exercises]]\nname = "one"',), "missing key `points`"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line_with_its_place(
    tmp_path: Path, parts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CourseError, match=message) as caught:
        written(tmp_path, *parts)
    assert caught.value.line is not None and caught.value.line > 4
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)


def test_the_line_of_an_item_is_that_of_its_points(tmp_path: Path) -> None:
    with pytest.raises(CourseError) as caught:
        written(tmp_path, EXERCISE, ITEM, ITEM.replace("why", "how").replace("1", "-1"))
    lines = (tmp_path / "course.toml").read_text().splitlines()
    assert caught.value.line == lines.index("points = -1") + 1


def test_init_hands_out_what_the_work_begins_with_and_no_stub_of_it(tmp_path: Path) -> None:
    course = Course.load(MARKED_COURSE)
    init(course, tmp_path / "work", Origin(has_course=True))
    found = {path.name for path in (tmp_path / "work").iterdir() if not path.name.startswith(".")}
    assert found == {"curves.py", "report.md", "README.md"}
    assert "says why the ends of the curve are lost (1)" in (tmp_path / "work" / "README.md").read_text()
    handed_out = Course.load(tmp_path / "work" / ".torchkata" / "course")
    assert [one.points for one in handed_out.manual] == [1.5, 2, 4]
    (tmp_path / "work" / "report.md").write_text("mine")
    assert update(course, tmp_path / "work") == [] and (tmp_path / "work" / "report.md").read_text() == "mine"
    (tmp_path / "work" / "report.md").unlink()
    assert [one.text for one in update(course, tmp_path / "work")] == ["report.md: new"]


def test_commands_about_checks_say_that_a_person_marks_it(tmp_path: Path) -> None:
    listed = run_here("list", "--course", MARKED_COURSE).stdout
    assert "2 points\nand 7.5 points that a person marks: curves.style, findings.plot, findings.report" in listed
    assert "      0.5  names say what they hold" in listed
    for command in ("reset", "debug", "solution"):
        ended = run_here(command, "findings.report", "--course", MARKED_COURSE, cwd=tmp_path)
        assert ended.returncode == 4 and "has no checks: a person marks it" in ended.stderr, ended.stderr
    hint = run_here("hint", "findings.report", "--course", MARKED_COURSE)
    assert hint.returncode == 4 and "has no hints" in hint.stderr
