"""Due dates as students read them, and which assignment is the one at hand."""

from __future__ import annotations

import datetime
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from classrooms import exercise, result
from msgspec.structs import replace
from rich.console import Console
from shared import OWN_COURSE, TERM_COURSE

from grader.course import Course
from grader.course.assignments import Assignment
from grader.course.due import LatePolicy, read_due
from grader.course.home import LastCheck
from grader.reports.check_report import CheckReport
from grader.reports.states import due_lines, next_lines
from grader.reports.where import Locations, about, due_words, in_order, list_lines, next_of, where_lines
from grader.results import Cause, CheckResult, ExerciseResult
from grader.text import points

NOON = datetime.datetime(2026, 11, 3, 12, 0)
"""A Tuesday; a local time."""
PASSED, FAILING = LastCheck("passed", 1, 1), LastCheck("failing", 0, 1)


@pytest.fixture
def in_auckland(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Thirteen hours before UTC in summer."""
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def due(text: str | None, name: str = "week1", until: str | None = None, *exercises: str) -> Assignment:
    dates = (None if one is None else read_due(one) for one in (text, until))
    first, last = dates
    return Assignment(name=name, title=name, exercises=exercises or (f"{name}.x",), late=LatePolicy(first, until=last))


@pytest.mark.parametrize(
    ("date", "said"),
    [
        ("2026-11-06", "due Fri 6 Nov 23:59, in 3 days"),
        ("2026-11-04", "due Wed 4 Nov 23:59, tomorrow"),
        ("2026-11-04T00:01", "due Wed 4 Nov 00:01, tomorrow"),
        ("2026-11-03T12:00", "due Tue 3 Nov 12:00, today"),
        ("2026-11-03T11:59", "was due Tue 3 Nov 11:59"),
        ("2026-10-30", "was due Fri 30 Oct 23:59"),
        ("2027-01-08", "due Fri 8 Jan 2027 23:59, in 66 days"),
    ],
)
def test_a_due_date_is_said_with_its_day_and_how_far_off_it_is(date: str, said: str) -> None:
    assert due_words(due(date), NOON) == said


def test_a_due_date_elsewhere_is_said_in_local_time(in_auckland: None) -> None:
    assert due_words(due("2026-11-06T12:00:00+00:00"), NOON) == "due Sat 7 Nov 01:00, in 4 days"


def test_without_a_date_only_the_names_are_said() -> None:
    assert due_words(due(None), NOON) == ""
    assert about(due(None), NOON) == "week1"
    assert about(replace(due("2026-11-06"), title="Lines"), NOON) == "week1  Lines  (due Fri 6 Nov 23:59, in 3 days)"


def test_the_assignment_at_hand_is_the_next_one_due_that_is_not_done() -> None:
    weeks = [
        due("2026-10-16", "closed", "2026-10-20"),
        due("2026-10-23", "early"),
        due("2026-10-30", "late"),
        due(None, "always"),
        due("2026-11-13", "next"),
        due("2026-11-06", "now"),
    ]

    def names(**done: LastCheck) -> list[str]:
        progress = {f"{name}.x": last for name, last in done.items()}
        return [one.name for one in in_order(weeks, progress, NOON.astimezone())]

    assert names() == ["now", "next", "always", "late", "early", "closed"]
    assert names(now=FAILING) == names()
    assert names(now=PASSED) == ["next", "always", "late", "early", "closed", "now"]
    assert names(now=PASSED, next=PASSED, always=PASSED)[:2] == ["late", "early"]


def term(*dates: int) -> Course:
    """The course of the examples, its weeks due in these numbers of days."""
    course, now = Course.load(TERM_COURSE), datetime.datetime.now().astimezone()
    late = [LatePolicy(now + datetime.timedelta(days=days)) for days in dates]
    changed = [replace(one, late=policy) for one, policy in zip(course.assignments, late, strict=True)]
    return replace(course, assignments=tuple(changed))


def test_the_next_exercise_is_of_the_assignment_at_hand() -> None:
    course = term(-5, 2, 9)

    def next_name(**done: LastCheck) -> str | None:
        found = next_of(course, {name.replace("_", ".", 1): last for name, last in done.items()})
        return found and found.full_name

    assert next_name() == "lines.heights"
    assert next_name(samples_mean=FAILING) == "lines.heights"
    assert next_name(lines_heights=PASSED) == "lines.loss"
    assert next_name(lines_heights=PASSED, lines_loss=PASSED) == "descent.step"
    late = {"lines_heights": PASSED, "lines_loss": PASSED, "descent_step": PASSED, "descent_fit": PASSED}
    assert next_name(**late) == "samples.mean"
    assert next_name(**late, samples_mean=PASSED, samples_centered=PASSED) is None


def test_what_the_assignment_at_hand_needs_of_another_one_comes_first() -> None:
    course = term(-5, 2, 9)
    topics = [
        replace(topic, exercises=tuple(replace(one, needs=("samples.mean",)) for one in topic.exercises))
        if topic.name == "lines"
        else topic
        for topic in course.topics
    ]
    found = next_of(replace(course, topics=tuple(topics)), {})
    assert found and found.full_name == "samples.mean"


def test_where_you_are_begins_with_the_assignment_at_hand_and_names_the_others(tmp_path: Path) -> None:
    course = term(-5, 2, 9)
    lines = list(where_lines(course, tmp_path, {"samples.mean": PASSED}, 80))
    headings = [line for line in lines if line.startswith("week")]
    assert [line.split("  ")[:2] for line in headings] == [
        ["week2", "Lines"],
        ["week1", "Samples"],
        ["week3", "Fitting a line"],
    ]
    assert ", in 2 days)" in headings[0] and "(was due " in headings[1] and ", in 9 days)" in headings[2]
    bars = [(line.split()[0], line.split()[-1]) for line in lines if "░" in line]
    assert bars == [("lines", "0/3"), ("samples", "1/3"), ("descent", "0/5")]
    assert "next: lines.heights  lines.py" in lines
    listed = [line for line in list_lines(course, {}) if line.startswith("week")]
    assert listed == headings


def test_a_topic_of_two_assignments_is_shown_in_both(tmp_path: Path) -> None:
    course = term(-5, 2, 9)
    first, second, third = course.assignments
    first = replace(first, exercises=("samples.mean",))
    second = replace(second, exercises=("samples.centered", "lines.heights"))
    course = replace(course, assignments=(first, second, third))
    lines = list(where_lines(course, tmp_path, {}, 80))
    bars = [(line.split()[0], line.split()[-1]) for line in lines if "░" in line]
    week2, week1, week3 = [("samples", "0/2"), ("lines", "0/1")], [("samples", "0/1")], [("descent", "0/5")]
    assert bars == [*week2, *week1, *week3, ("lines", "0/2")]
    assert "in no assignment" in lines


def test_nothing_changes_for_a_course_without_assignments(tmp_path: Path) -> None:
    course = Course.load(OWN_COURSE)
    assert list(where_lines(course, tmp_path, {}, 80))[:4] == [
        "Vectors in a week",
        "",
        f"  vectors  {'░' * 20}      0/3",
        "",
    ]
    assert list(list_lines(course, {}))[:4] == [
        "Vectors in a week: 3 points",
        "",
        "vectors  Vectors: length, direction, angle",
        f"  {'vectors.normalize':<40}   1",
    ]


def test_check_goes_on_with_the_assignment_at_hand_and_says_the_dates() -> None:
    course = term(-5, 2, 9)
    wrong = CheckResult(name="c", verdict="failed", cause=Cause(kind="assertion", reason="wrong"))
    results = [exercise(one.full_name, wrong) for one in course.exercises]
    assert next_lines(results, course, Locations(Path("nowhere"))) == ["next: lines.heights  lines.py"]
    dates = [due_words(one) for one in course.assignments]
    asked = course.select(["week1", "week2"])
    assert due_lines(results, course, asked) == [
        f"week2: {points_of(results[2:4])} points, {dates[1]}",
        f"week1: {points_of(results[:2])} points, {dates[0]}",
    ]
    assert due_lines(results[:1], course, ["samples.mean"]) == [f"week1: {dates[0]}"]
    assert due_lines(results, term_without_dates(course), asked) == []


def test_after_an_assignment_has_passed_the_next_one_follows() -> None:
    course = term(-5, 2, 9)
    passed = [exercise(name, CheckResult(name="c", verdict="passed")) for name in course.select(["week2"])]
    assert next_lines(passed, course, Locations(Path("nowhere"))) == ["next: descent.step  descent.py"]


def test_the_failure_that_is_explained_is_of_the_assignment_at_hand() -> None:
    course, stream = term(-5, 2, 9), io.StringIO()
    wrong = CheckResult(name="c", verdict="failed", cause=Cause(kind="assertion", reason="wrong"))
    results = [exercise("samples.mean", wrong), exercise("lines.heights", wrong)]
    report = CheckReport(course, Console(file=stream, width=80, highlight=False, markup=False))
    report.end(result("me", *results))
    assert "\n✗ lines.heights\n" in stream.getvalue() and "\n✗ samples.mean\n" not in stream.getvalue()


@pytest.mark.parametrize(("names", "is_finished"), [([], True), (["week1"], False)])
def test_only_the_whole_course_is_finished(names: list[str], is_finished: bool) -> None:
    course, stream = Course.load(TERM_COURSE).part_of(names), io.StringIO()
    passed = [exercise(one.full_name, CheckResult(name="c", verdict="passed")) for one in course.exercises]
    CheckReport(course, Console(file=stream, width=80)).end(result("me", *passed))
    assert ("You have finished Straight lines." in stream.getvalue()) == is_finished


def points_of(results: Sequence[ExerciseResult]) -> str:
    return points(sum(one.score for one in results), sum(one.max for one in results))


def term_without_dates(course: Course) -> Course:
    return replace(course, assignments=tuple(replace(one, late=LatePolicy()) for one in course.assignments))
