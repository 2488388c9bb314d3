"""Checks with ``hidden="all"`` as students see them: only their number and whether they pass, until their release.

Results keep all of it for the instructor; everything that a student may read is made by these functions.
"""

import datetime
import itertools
from typing import Final

from msgspec.structs import replace

from grader.results import Cause, CheckResult, ExerciseResult, SubmissionResult

NAME: Final = "hidden_check"
_SAID: Final = "a hidden check does not pass"
_OPEN: Final = frozenset(("blocked", "not_assessed", "memory_short", "unwritten", "judge_ended", "grader_fault"))
"""Kinds of causes that reveal nothing about a check."""


def for_students(result: SubmissionResult, now: datetime.datetime | None = None) -> SubmissionResult:
    """The same result without the checks that are hidden at this time; None means now."""
    exercises = tuple(exercise_for_students(one, now) for one in result.exercises)
    return result if exercises == result.exercises else replace(result, exercises=exercises)


def exercise_for_students(exercise: ExerciseResult, now: datetime.datetime | None = None) -> ExerciseResult:
    """The same exercise without the checks that are hidden at this time; None means now."""
    if not any(check.hidden_until for check in exercise.checks):
        return exercise
    now = now or datetime.datetime.now(datetime.timezone.utc)
    shown = [check for check in exercise.checks if not _is_hidden(check, now)]
    numbers = itertools.count(1)
    checks = tuple(
        check if check in shown else _without_content(check, next(numbers), exercise.name) for check in exercise.checks
    )
    if all(check.verdict == "passed" for check in shown):  # else a mistake would be named that no shown check finds
        exercise = replace(exercise, misconception=None, explanation=None)
    return replace(exercise, checks=checks)


def _is_hidden(check: CheckResult, now: datetime.datetime) -> bool:
    if not check.hidden_until:
        return False
    try:
        return now < datetime.datetime.fromisoformat(check.hidden_until)
    except (ValueError, TypeError):  # "always"
        return True


def _without_content(check: CheckResult, number: int, exercise: str) -> CheckResult:
    check = replace(check, name=f"{NAME}_{number}")
    cause = check.cause
    if cause is None or cause.kind in _OPEN or cause.stage != "check":
        return check
    if cause.kind == "missing" and cause.names == (exercise.partition(".")[2],):
        return check
    bare = Cause(kind=cause.kind, advice=_SAID, reason=_SAID)
    return replace(check, message=_SAID, cause=bare)
