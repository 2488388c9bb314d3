"""The points of an exercise, from the results of its checks."""

from __future__ import annotations

from collections.abc import Sequence

from grader.course import Exercise
from grader.results import NOT_ASSESSED, CheckResult, ExerciseResult


def with_points(
    exercise: Exercise, checks: Sequence[CheckResult], misconception: str | None = None, resembles: str | None = None
) -> ExerciseResult:
    """The exercise's result: all its points if every check that could be assessed passed, else none.

    An exercise of which no check could be assessed leaves the total: its ``max`` is 0.
    """
    assessed = [check for check in checks if check.verdict not in NOT_ASSESSED]
    points = float(exercise.points)
    right = all(check.verdict == "passed" for check in assessed)
    return ExerciseResult(
        name=exercise.full_name,
        score=points if assessed and right else 0.0,
        max=points if assessed else 0.0,
        misconception=misconception,
        resembles=resembles,
        checks=tuple(checks),
        not_assessed=0.0 if assessed else points,
    )


def meets_needs(result: ExerciseResult) -> bool:
    """Whether exercises that need this one may be graded: it has all its points, or only faulty checks.

    One that is not assessed here unlocks nothing: `needs.Assessment` takes what depends on it out of the total too.
    """
    if result.max > 0:
        return result.score == result.max
    return any(check.verdict == "error" for check in result.checks)
