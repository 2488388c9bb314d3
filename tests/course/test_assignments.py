"""`[[assignments]]` and `[term]` of course.toml: their keys, the inherited ones, and every refusal with its line."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.course import Course, CourseError, UnknownName, content_hash
from grader.course.assignments import Term
from grader.course.due import LatePolicy
from grader.course.tables import ALWAYS

COURSE = """\
[course]
name = "c"
title = "C"
late_penalty_per_day = 0.1
late_cap = 0.5
letters = { A = 90, F = 0 }
resubmissions = "best"
hidden_until = 2026-12-24
"""
TOPICS = """
[[topics]]
name = "vectors"
title = "Vectors"

[[topics.exercises]]
name = "length"
points = 1

[[topics.exercises]]
name = "angle"
points = 2
hidden_until = 2026-10-05
needs = ["length"]

[[topics]]
name = "lines"
title = "Lines"

[[topics.exercises]]
name = "fit"
points = 3
needs = ["vectors.length"]

[[topics.exercises]]
name = "report"
kind = "manual"
file = "report.md"
[[topics.exercises.rubric]]
text = "says why"
points = 4

[[topics]]
name = "more"
title = "More"

[[topics.exercises]]
name = "play"
points = 1
"""
WEEK1 = """
[[assignments]]
name = "week1"
exercises = ["vectors"]
"""
WEEK2 = """
[[assignments]]
name = "week2"
title = "Lines, and what they are for"
exercises = ["report", "lines.fit"]
due = "2026-11-13T18:00"
late_penalty_per_day = 0.25
late_grace_minutes = 30
late_cap = 1
late_until = 2026-11-20
hidden_until = 2026-11-21
resubmissions = "first"
weight = 2
"""
TERM = """
[term]
drop_lowest = 1
late_days = 3
letters = { P = 50, F = 0 }
"""


def written(folder: Path, *tables: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "course.toml").write_text("".join(tables), encoding="utf-8")
    return folder


def load(folder: Path, *tables: str) -> Course:
    return Course.load(written(folder, *tables), complete=False)


def here(*numbers: int) -> datetime.datetime:
    return datetime.datetime(*numbers).astimezone()  # type: ignore[arg-type]


def test_every_key_of_an_assignment_is_read_and_the_others_are_those_of_the_course(tmp_path: Path) -> None:
    course = load(tmp_path, COURSE, TOPICS, WEEK1, WEEK2, TERM)
    first, second = course.plan.assignments
    assert (first.name, first.title, first.exercises) == ("week1", "week1", ("vectors.length", "vectors.angle"))
    assert (first.late, first.resubmissions, first.weight) == (LatePolicy(None, 0.1, 0.0, 0.5), "best", None)
    assert (second.title, second.exercises) == ("Lines, and what they are for", ("lines.fit", "lines.report"))
    late = LatePolicy(here(2026, 11, 13, 18), 0.25, 30.0, 1.0, here(2026, 11, 20, 23, 59, 59))
    assert (second.late, second.resubmissions, second.weight) == (late, "first", 2.0)
    assert course.term == Term(drop_lowest=1, late_days=3, letters=(("P", 50.0), ("F", 0.0)))
    assert course.plan.is_term


def test_a_term_without_letters_has_those_of_the_course(tmp_path: Path) -> None:
    plain = load(tmp_path, COURSE, TOPICS, WEEK1)
    assert plain.term == Term(letters=(("A", 90.0), ("F", 0.0)))
    assert load(tmp_path, COURSE, TOPICS, WEEK1, "[term]\nlate_days = 2\n").term.letters == plain.term.letters


def test_without_assignments_the_course_is_one(tmp_path: Path) -> None:
    course = load(tmp_path, COURSE, TOPICS)
    (whole,) = course.plan.assignments
    assert not course.plan.is_term and course.assignments == ()
    assert (whole.name, whole.title, whole.late, whole.resubmissions) == ("", "C", course.late, "best")
    assert whole.exercises == tuple(one.full_name for one in course.all_exercises)


def test_checks_are_hidden_as_the_exercise_says_else_its_assignment_else_the_course(tmp_path: Path) -> None:
    hiding = WEEK1 + "hidden_until = 2026-10-20\n"
    course = load(tmp_path, COURSE, TOPICS, hiding, WEEK2)
    days = {one.full_name: one.hidden_until[:10] for one in course.exercises}
    assert days == {
        "vectors.length": "2026-10-20",
        "vectors.angle": "2026-10-05",
        "lines.fit": "2026-11-21",
        "more.play": "2026-12-24",
    }
    never = load(tmp_path, COURSE.replace("hidden_until", "# hidden_until"), TOPICS, WEEK1)
    assert never.exercise("vectors.length").hidden_until == ALWAYS


def test_a_name_of_an_assignment_means_its_exercises(tmp_path: Path) -> None:
    course = load(tmp_path, COURSE, TOPICS, WEEK1, WEEK2)
    assert course.select(["week2"]) == ["lines.fit", "lines.report"]
    assert course.select(["week2", "angle"]) == ["vectors.angle", "lines.fit", "lines.report"]
    with pytest.raises(UnknownName, match="unknown assignment, topic or exercise `week3`; did you mean `week"):
        course.select(["week3"])
    assert course.plan.named("week1").title == "week1"
    with pytest.raises(UnknownName, match="no assignment `weak2`; did you mean `week2`"):
        course.plan.named("weak2")


def test_what_was_handed_out_is_the_topics_of_assignments_and_what_they_need(tmp_path: Path) -> None:
    course = load(tmp_path, COURSE, TOPICS, WEEK1, WEEK2)
    first, second = course.part_of(["week1"]), course.part_of(["week2"])
    assert [topic.name for topic in first.topics] == ["vectors"]
    assert [topic.name for topic in second.topics] == ["vectors", "lines"]  # `lines.fit` needs `vectors.length`
    assert [one.name for one in second.assignments] == ["week2"]
    assert not first.is_whole and not second.is_whole and course.is_whole
    assert course.part_of([]) is course and course.part_of(["renamed since"]) is course


FAULTS = {
    "unknown key": (WEEK1 + 'dew = "x"\n', 5, "unknown key `dew`; did you mean `due`"),
    "no name": ('\n[[assignments]]\nexercises = ["vectors"]\n', 2, "missing key `name`"),
    "no exercises": ('\n[[assignments]]\nname = "week1"\n', 2, "missing key `exercises`"),
    "an empty list": ('\n[[assignments]]\nname = "week1"\nexercises = []\n', 4, "assignment `week1` has no exercises"),
    "a name of spaces": (WEEK1.replace("week1", "week 1"), 3, "`week 1` must be letters and digits, with - and _"),
    "a name like an exercise's": (WEEK1.replace("week1", "vectors.length"), 3, "`vectors.length` must be letters"),
    "a name like a path": (WEEK1.replace("week1", "../week1"), 3, "must be letters and digits"),
    "a topic's name": (WEEK1.replace("week1", "lines"), 3, "a topic or an exercise is called `lines` already"),
    "an exercise's": (WEEK1.replace("week1", "report"), 3, "a topic or an exercise is called `report` already"),
    "twice": (WEEK1 + WEEK2.replace("week2", "week1"), 7, "line 50 has the assignment `week1` already"),
    "twice but for case": (WEEK1 + WEEK2.replace("week2", "Week1"), 7, "line 50 has the assignment `week1` already"),
    "unknown": (
        WEEK1.replace('"vectors"', '"vector"'),
        4,
        "no topic or exercise `vector` in this course; did you mean",
    ),
    "in two": (
        WEEK1 + WEEK2.replace('"report"', '"angle"'),
        9,
        "exercises: `vectors.angle` is in the assignment `week1` already",
    ),
    "a topic in two": (WEEK1 + WEEK2.replace('"report"', '"vectors"'), 9, "is in the assignment `week1` already"),
    "a weight below 0": (WEEK1 + "weight = -1\n", 5, "weight must be a number from 0 on, not -1"),
    "a weight without end": (WEEK1 + "weight = inf\n", 5, "weight must be a number from 0 on, not inf"),
    "a weight of words": (WEEK1 + 'weight = "2"\n', 5, '`weight` must be a number, not "2"'),
    "no weight at all": (WEEK1 + "weight = 0\n", 5, "every assignment has 0"),
    "no date": (WEEK1 + 'due = "soon"\n', 5, "due: 'soon' is not a date"),
    "no fraction": (WEEK1 + "late_penalty_per_day = 10\n", 5, "late_penalty_per_day: 10 is not a fraction"),
    "no cap": (WEEK1 + "late_cap = 2\n", 5, "late_cap: 2 is not a fraction"),
    "no minutes": (WEEK1 + "late_grace_minutes = -5\n", 5, "late_grace_minutes: -5 is not a number of minutes"),
    "nor hidden": (WEEK1 + "hidden_until = 7\n", 5, "hidden_until: 7 is not a date"),
    "until before due": (WEEK1 + "due = 2026-11-06\nlate_until = 2026-11-05\n", 6, "last date is before the due date"),
    "which work": (WEEK1 + 'resubmissions = "newest"\n', 5, '`resubmissions` must be "best", "first" or "latest"'),
    "all dropped": (WEEK1 + "\n[term]\ndrop_lowest = 1\n", 7, "drop_lowest must be a number from 0 to 0, not 1"),
    "dropped": (WEEK1 + "\n[term]\ndrop_lowest = -1\n", 7, "drop_lowest must be a number from 0 to 0, not -1"),
    "half a drop": (WEEK1 + "\n[term]\ndrop_lowest = 0.5\n", 7, "`drop_lowest` must be a whole number, not 0.5"),
    "late days": (WEEK1 + "\n[term]\nlate_days = -2\n", 7, "late_days must be a number from 0 to 366, not -2"),
    "letters": (WEEK1 + "\n[term]\nletters = { A = 101 }\n", 7, "letters: `A` must be a percentage from 0 to 100"),
    "a key of the term": (
        WEEK1 + "\n[term]\ndrop_lowst = 1\n",
        7,
        "unknown key `drop_lowst`; did you mean `drop_lowest`",
    ),
    "a term of nothing": ("\n[term]\nlate_days = 1\n", 2, r"\[term\] is for a course with \[\[assignments\]\]"),
}


@pytest.mark.parametrize(("tables", "line", "said"), FAULTS.values(), ids=FAULTS)
def test_a_wrong_assignment_is_refused_with_its_line(tmp_path: Path, tables: str, line: int, said: str) -> None:
    with pytest.raises(CourseError, match=said) as error:
        load(tmp_path, COURSE, TOPICS, tables)
    assert error.value.line == len((COURSE + TOPICS).splitlines()) + line


def test_a_name_that_two_topics_have_is_refused(tmp_path: Path) -> None:
    topics = TOPICS.replace('name = "play"', 'name = "fit"')
    with pytest.raises(CourseError, match=r"exercises: `fit` could be lines\.fit or more\.fit") as error:
        load(tmp_path, COURSE, topics, WEEK1.replace('"vectors"', '"fit"'))
    assert error.value.line == len((COURSE + topics).splitlines()) + 4


def test_a_last_date_of_the_course_before_an_assignments_due_date_is_refused(tmp_path: Path) -> None:
    course = COURSE + "late_until = 2026-11-01\n"
    with pytest.raises(CourseError, match="the last date is before the due date") as error:
        load(tmp_path, course, TOPICS, WEEK1 + "due = 2026-11-06\n")
    assert error.value.line == len((course + TOPICS).splitlines()) + 2


@pytest.mark.parametrize(
    "tables",
    [
        (WEEK1, "hidden"),
        (WEEK1, WEEK2.replace("hidden_until", "# hidden_until"), TERM),
        (WEEK1, WEEK1.replace("week1", "again").replace('"vectors"', '\n    "lines",  # [all]\n    "more",\n'), TERM),
    ],
    ids=["one", "every key", "many lines"],
)
def test_results_stay_valid_when_assignments_and_a_term_are_declared(tmp_path: Path, tables: Sequence[str]) -> None:
    plain = content_hash(load(tmp_path, COURSE, TOPICS))
    assert content_hash(load(tmp_path, COURSE, TOPICS, *(one for one in tables if one != "hidden"))) == plain
    assert content_hash(load(tmp_path, COURSE, *(one for one in tables if one != "hidden"), TOPICS)) == plain
    if "hidden" in tables:  # results say until when students do not see them
        assert content_hash(load(tmp_path, COURSE, TOPICS, WEEK1 + "hidden_until = 2026-11-21\n")) != plain
