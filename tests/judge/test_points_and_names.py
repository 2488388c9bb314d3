"""Decisions of the judge about exercises, made in this process: blocking, names, checks left out, and reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from judge_here import HostHere, grade_here, of_modules
from odd_course import ODD, with_own
from shared import OWN_COURSE, check_of, exercise_of

from grader.course import Course
from grader.judge import cause as causes
from grader.judge.attempt import Attempt
from grader.judge.judge import open_judge
from grader.judge.listener import Listener, NotRun, Place, place_of
from grader.results import Cause, ExerciseResult, SpentTime, SubmissionResult

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()


def verdicts(result: SubmissionResult, exercise: str) -> list[str]:
    return [check.verdict for check in exercise_of(result, exercise).checks]


def test_an_exercise_whose_needs_are_unmet_is_blocked() -> None:
    (result,) = grade_here(ODD, {"odd": with_own(double="return x")})
    assert verdicts(result, "after") == ["blocked"]
    assert check_of(result, "after").message == "odd.double must pass first"
    assert (exercise_of(result, "after").score, exercise_of(result, "after").max) == (0, 2)


def test_a_misconception_is_named_however_it_is_written() -> None:
    bodies = ("return x * x", "return x ** 2", "y = x.clone()\n    y *= x\n    return y", "return +x")
    graded = grade_here(ODD, *({"odd": with_own(double=body)} for body in bodies), names=True)
    names = [exercise_of(one, "double").misconception for one in graded]
    assert names == ["squares", "squares", "squares", "leaves_it"]


def test_a_mistake_in_a_helper_is_named_where_the_solution_calls_the_helper(
    own_course: Path, edit: Callable[[Path, str, str], None]
) -> None:
    """The misconception takes the place of `normalize` in the solution's module, as `cosine` calls it there."""
    wrong = """
@misconception("cosine", part="normalize", tell="You divide by the largest number of a row, not by its length.")
def divides_by_the_largest(x: Tensor) -> Tensor:
    largest = x.abs().amax(dim=1, keepdim=True)
    return x / torch.where(largest == 0, 1.0, largest)
"""
    with (own_course / "solutions" / "misconceptions" / "vectors.py").open("a") as file:
        file.write(wrong)
    edit(own_course / "course.toml", 'needs = ["normalize"]\n', "")
    same = SOLUTION.replace("torch.linalg.vector_norm(x, dim=1, keepdim=True)", "x.abs().amax(1, True)")
    (result,) = grade_here(own_course, {"vectors": same}, names=True)
    assert exercise_of(result, "cosine").misconception == "divides_by_the_largest"


def test_only_the_very_same_mistake_is_named() -> None:
    bodies = ("return x * x + 1", "return x * x if x.dim() else x", "return 0", "raise ValueError")
    graded = grade_here(ODD, *({"odd": with_own(double=body)} for body in bodies), names=True)
    found = [exercise_of(one, "double") for one in graded]
    assert [(one.score, one.misconception) for one in found] == [(0, None)] * 4


def test_no_mistake_is_named_if_the_topics_time_ended_before_the_last_check(monkeypatch: pytest.MonkeyPatch) -> None:
    used_up = causes.topic_timeout(SpentTime(limit=60.0, answered=0, longest=0.0, used=()))
    monkeypatch.setattr(Attempt, "_no_time_left", lambda attempt: used_up if attempt.results else None)
    (result,) = grade_here(ODD, {"odd": with_own(double="return x * x")}, only=["odd.double"], names=True)
    assert verdicts(result, "double") == ["failed", "timeout"]
    assert exercise_of(result, "double").misconception is None


def test_a_misconception_passes_where_the_answer_passed_and_fails_where_it_failed() -> None:
    bodies = (
        "return x + x",
        "return x + x + x",
        "return 2 * x if factor == 3 else 5 * x",  # like `always_doubles` in one check, unlike it in the other
        "return 2 * x if factor == 3 else x + 1",
    )
    graded = grade_here(ODD, *({"odd": with_own(scaled=body)} for body in bodies), names=True)
    names = [exercise_of(one, "scaled").misconception for one in graded]
    assert names == ["always_doubles", "triples", None, None]


def test_a_parameter_of_pytest_goes_with_generated_values() -> None:
    text = with_own(scaled="return factor + factor * x if factor == 3 else 2 * x")
    (result,) = grade_here(ODD, {"odd": text})
    assert verdicts(result, "scaled") == ["passed", "failed"]
    assert "scaled(0, 3): 3 where 0 was expected" in check_of(result, "scaled[3]").message.splitlines()[0]


def test_a_check_is_left_out_of_the_submission_that_ended_a_judge_and_of_no_other() -> None:
    course = Course.load(OWN_COURSE)
    submission = of_modules({"vectors": SOLUTION})
    with open_judge(course, HostHere(course)) as judge:
        name = judge.checks.of("vectors.normalize")[0].name
        not_run = NotRun(place_of("vectors.normalize", name), Cause(kind="grader_fault", reason="it ended the judge"))
        without, whole = judge.grade(submission, not_run=[not_run]), judge.grade(submission)
    assert [verdicts(one, "normalize")[0] for one in (without, whole)] == ["error", "passed"]
    assert {whole.score, whole.max, without.score, without.max} == {3.0}


class Kept(Listener):
    """Keeps the news."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def began(self, place: Place) -> None:
        self.events.append(place)

    def known(self, exercise: ExerciseResult) -> None:
        self.events.append(exercise)


def test_exercises_are_reported_in_order_as_they_are_known() -> None:
    course = Course.load(OWN_COURSE)
    listener = Kept()
    with open_judge(course, HostHere(course), listener=listener) as judge:
        result = judge.grade(of_modules({"vectors": SOLUTION}))
    events = listener.events
    assert [one for one in events if isinstance(one, ExerciseResult)] == list(result.exercises)
    first = events.index(result.exercises[0])
    before = [one.exercise for one in events[:first] if isinstance(one, Place)]
    after = [one.exercise for one in events[first:] if isinstance(one, Place)]
    assert set(before) == {"", "vectors.normalize"} and set(after) == {"vectors.cosine", ""}
