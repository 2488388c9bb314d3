"""One rule for statistics: work that could not be read is in no share, mean or count of failures."""

from __future__ import annotations

from classrooms import check, entry, exercise
from msgspec.structs import replace
from shared import OWN_COURSE

from grader.course import Course
from grader.gradebook import Override
from grader.reports.entries import Entry
from grader.reports.html import class_page
from grader.reports.terminal import make_console, show_class
from grader.results import SubmissionResult, Unread

COURSE = Course.load(OWN_COURSE)
RIGHT = (exercise("vectors.normalize", check()), exercise("vectors.cosine", check(), points=2))
WRONG = (
    exercise("vectors.normalize", check(verdict="failed", message="it is empty")),
    exercise("vectors.cosine", check(verdict="failed", message="it is empty"), points=2),
)


def of(name: str, exercises: tuple, unread: bool = False) -> Entry:  # type: ignore[type-arg]
    score, most = sum(one.score for one in exercises), sum(one.max for one in exercises)
    reason = (Unread("vectors", "a PDF"),) if unread else ()
    return entry(SubmissionResult(submission=name, score=score, max=most, exercises=exercises, unread=reason))


CLASS = [of("ann", RIGHT), of("bob", WRONG), of("pia", WRONG, unread=True)]


def test_unread_work_is_in_no_share_mean_or_count() -> None:
    page = class_page(CLASS, COURSE, {one.result.submission: "" for one in CLASS})
    facts = page.facts
    assert facts["mean"] == facts["median"] == "50.0%" and facts["submissions"] == "3"
    (cells,) = page.topics.values()
    assert [(cell.passed, cell.assessed) for cell in cells] == [(1, 2), (1, 2)]
    assert {page.counts[one] for one in page.failures} == {1}
    assert {(page.counts[one], page.assessed[one]) for found in page.checks.values() for one in found} == {(1, 2)}


def test_points_that_a_person_gave_bring_an_exercise_back(capsys) -> None:  # type: ignore[no-untyped-def]
    given = Override(student="pia", exercise="vectors.normalize", points=1.0, max=1.0, why="-", who="me", made="")
    by_hand = [*CLASS[:2], Entry(replace(CLASS[2].row, overrides=(given,)))]
    page = class_page(by_hand, COURSE, {one.result.submission: "" for one in by_hand})
    (cells,) = page.topics.values()
    assert [(cell.passed, cell.assessed) for cell in cells] == [(2, 3), (1, 2)]
    show_class([one.row for one in CLASS], make_console())
    assert "3 submissions, mean 50.0% of the 2 that could be read" in capsys.readouterr().out
