"""The points of an exercise, from the results of its checks or, later, from a person."""

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from grader.course import Exercise, Misconception
from grader.course.manifest import ALWAYS
from grader.judge.check import Check
from grader.results import NOT_ASSESSED, CheckResult, ExerciseResult, Manual


def with_points(
    exercise: Exercise,
    checks: Sequence[Check],
    results: Iterable[CheckResult],
    misconception: Misconception | None = None,
    *,
    as_handed_out: bool = False,
) -> ExerciseResult:
    """The exercise's result. Points that no check could assess leave the total.

    With the credit ``all`` it earns all its points if every check passed that could be assessed, else none; with
    ``per-check`` those of the checks that passed. A bonus comes on top; with ``all``, only if all is right.

    Args:
        checks: the exercise's checks, in the order of their results.
        as_handed_out: see `ExerciseResult`.
    """
    cases = Counter(_function(check) for check in checks)  # a check with parameters is worth as much as one without
    results = [
        _marked(result, check, exercise, cases[_function(check)]) for check, result in zip(checks, results, strict=True)
    ]
    if exercise.credit == "per-check":
        weights = [check.weight / cases[_function(check)] for check in checks]
        results = _shared_out(exercise, weights, results)
    parts = [one for one in results if not one.is_bonus]
    assessed = [one for one in parts if one.verdict not in NOT_ASSESSED]
    points = float(exercise.points)
    right = bool(assessed) and all(one.verdict == "passed" for one in assessed)
    if exercise.credit == "per-check" and assessed:
        most = _sum(one.max for one in assessed)
        score = most if right else _sum(one.score for one in assessed)
    else:
        most = points if assessed else 0.0
        score = points if right else 0.0
    if exercise.credit == "all" and not right:
        results = [replace(one, score=0.0) if one.is_bonus else one for one in results]
    bonus = _sum(one.score for one in results if one.is_bonus)
    return ExerciseResult(
        name=exercise.full_name,
        score=_sum((score, bonus)),
        max=most,
        misconception=None if misconception is None else misconception.name,
        explanation=None if misconception is None else " ".join(misconception.tell.split()),
        checks=tuple(results),
        not_assessed=_sum((points, -most)),
        bonus=bonus,
        as_handed_out=as_handed_out,
    )


def manual_of(exercise: Exercise, files: Mapping[str, bytes], template: Path) -> Manual:
    """The work that a person marks, which earns no points here. Reads bytes only.

    Args:
        files: the submission's files, by path.
        template: the file that students began with; there may be none.
    """
    file = exercise.work_file
    if file not in files:
        return Manual(exercise.points, file, "missing")
    with contextlib.suppress(OSError):
        if template.read_bytes() == files[file]:
            return Manual(exercise.points, file, "untouched")
    return Manual(exercise.points, file)


def _function(check: Check) -> str:
    return check.name.partition("[")[0]


def _marked(result: CheckResult, check: Check, exercise: Exercise, cases: int) -> CheckResult:
    """The result with its check's bonus and, if the check is hidden, the time until which students do not see it."""
    if check.bonus:
        worth = check.bonus / cases
        result = replace(result, is_bonus=True, max=worth, score=worth if result.verdict == "passed" else 0.0)
    return replace(result, hidden_until=exercise.hidden_until or ALWAYS) if check.is_secret else result


def _shared_out(exercise: Exercise, weights: Sequence[float], results: Sequence[CheckResult]) -> list[CheckResult]:
    """The results with the points of the exercise, in the proportion of the weights."""
    total = math.fsum(weights) or 1.0
    shared = []
    for weight, result in zip(weights, results, strict=True):
        if not result.is_bonus:
            worth = exercise.points * weight / total
            result = replace(result, max=worth, score=worth if result.verdict == "passed" else 0.0)
        shared.append(result)
    return shared


def _sum(numbers: Iterable[float]) -> float:
    """A sum in which thirds make up a whole."""
    return round(math.fsum(numbers), 9)
