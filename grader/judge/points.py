"""The points of an exercise, from the results of its checks or, later, from a person."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from grader.course import Course, Exercise, Misconception
from grader.course.tables import ALWAYS
from grader.judge.check import Check
from grader.results import NOT_ASSESSED, CheckResult, ExerciseResult, Manual, total_points


def with_points(
    exercise: Exercise, checks: Sequence[Check], results: Iterable[CheckResult], *, as_handed_out: bool = False
) -> ExerciseResult:
    """The exercise's result. Points that no check could assess leave the total.

    With the credit ``all`` it earns all its points if every check passed that could be assessed, else none; with
    ``per-check`` those of the checks that passed. A bonus comes on top; with ``all``, only if all is right.

    Args:
        checks: the exercise's checks, in the order of their results.
        as_handed_out: see `ExerciseResult`.
    """
    functions = [check.name.partition("[")[0] for check in checks]
    cases = Counter(functions)  # a check with parameters is worth as much as one without
    weights = [check.weight / cases[function] for check, function in zip(checks, functions, strict=True)]
    is_shared = exercise.credit == "per-check"
    bonuses = {
        function: iter(_split(check.bonus, [1.0] * cases[function]))
        for check, function in zip(checks, functions, strict=True)
    }
    found = []
    shares = _split(exercise.points, weights)
    for check, function, worth, result in zip(checks, functions, shares, results, strict=True):
        hidden = (exercise.hidden_until or ALWAYS) if check.is_secret else ""
        result = replace(result, is_bonus=bool(check.bonus), hidden_until=hidden)
        # Else it has no points of its own, and none are written into the results.
        if check.bonus or (is_shared and not check.is_example):
            most = next(bonuses[function]) if check.bonus else worth
            result = replace(result, max=most, score=most if result.verdict == "passed" else 0.0)
        found.append(result)
    assessed = [one for one in found if not one.is_bonus and one.verdict not in NOT_ASSESSED]
    points = float(exercise.points)
    most = (total_points(one.max for one in assessed) if is_shared else points) if assessed else 0.0
    is_right = bool(assessed) and all(one.verdict == "passed" for one in assessed)
    score = most if is_right else total_points(one.score for one in assessed)
    if not is_shared and not is_right:
        found = [replace(one, score=0.0) if one.is_bonus else one for one in found]
    bonus = total_points(one.score for one in found if one.is_bonus)
    return ExerciseResult(
        name=exercise.full_name,
        score=total_points((score, bonus)),
        max=most,
        checks=tuple(found),
        not_assessed=total_points((points, -most)),
        bonus=bonus,
        as_handed_out=as_handed_out,
    )


def named(result: ExerciseResult, misconception: Misconception | None) -> ExerciseResult:
    """The same result with the misconception that was recognised, if one was."""
    if misconception is None:
        return result
    return replace(result, misconception=misconception.name, explanation=" ".join(misconception.tell.split()))


def manual_of(exercise: Exercise, files: Mapping[str, bytes], template: Path, instead: Sequence[str] = ()) -> Manual:
    """The work that a person marks, which earns no points here. Reads bytes only.

    Args:
        files: the submission's files, by path.
        template: the file that students began with; there may be none.
        instead: the files that it is in instead of its own.
    """
    file = exercise.work_file
    if instead:
        return Manual(exercise.points, file, instead=tuple(instead))
    if file not in files:
        return Manual(exercise.points, file, "missing")
    with contextlib.suppress(OSError):
        if template.read_bytes() == files[file]:
            return Manual(exercise.points, file, "untouched")
    return Manual(exercise.points, file)


def wanted_by_hand(course: Course) -> tuple[frozenset[str], dict[str, bytes]]:
    """The files that a person marks, and those of them that students began with."""
    templates = {one.work_file: course.template_file(one) for one in course.manual}
    return frozenset(templates), {name: file.read_bytes() for name, file in templates.items() if file.is_file()}


def _split(points: float, weights: Sequence[float]) -> list[float]:
    """Points in parts by their weights. The parts are rounded and make up the whole: 1.666667, 1.666666, 1.666667."""
    whole = sum(weights) or 1.0
    ends = [total_points([points * end / whole]) for end in itertools.accumulate(weights)]
    return [total_points((end, -begin)) for begin, end in itertools.pairwise([0.0, *ends])]
