"""Every right answer in ``answers/right`` earns full points, however it is written.

Answers to different exercises of a topic are graded together, so that each meets others' leavings; one for which there
is no other, with a neighbour in the topic, the one after it if possible. What computes what is compared within rounding
is graded under two seeds: one topic in the suite, and the others nightly. Elsewhere a seed only changes which numbers
are carried along. Of each exercise one answer is in the suite, and of each topic one module; the others are nightly.
Where the contract of an exercise is silent, no check may decide. A new file there is a new case here.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from answer_files import Answer, every, name_of, together, with_neighbour
from shared import WarmUp, as_nightly, exercises_of

from grader.course import Course

CHECK_SECONDS = 40.0
"""Enough on a busy machine, also for loaders that have worker processes."""
SECOND_SEED = 41
COMPUTE = ("tensor_ops",)
"""Topics whose answers may round in another way than the solution."""
COMPUTE_AT_NIGHT = (
    "autograd",
    "graph",
    "layers",
    "parameters",
    "training",
    "efficiency",
    "debugging",
    "ddp.average_gradients",
    "ddp.global_accuracy",
    "ddp.train",
    "spirals",
)
"""Further topics and exercises of this kind."""
OF_ONE_KIND = 1
"""Answers to one exercise, or modules of one topic, that are in the suite."""
DEAR = ("spirals/by_hand", "spirals/by_other_tools")
"""Modules as each other topic has one in the suite; they take as long as ten of those. `ada` of the sample class has
another right one.
"""


def by_day_and_night() -> tuple[list[Answer], list[Answer]]:
    """The answers that are graded in the suite, and the others."""
    seen: Counter[tuple[Path | None, str]] = Counter()
    day, night = [], []
    for one in every("right"):
        kind = (one.course, one.exercise or one.topic)
        seen[kind] += 1
        (night if str(one) in DEAR or seen[kind] > OF_ONE_KIND else day).append(one)
    return day, night


def cases() -> list[Any]:
    """The answers of each module with each seed that they are graded under: all of the first seed, then the second."""
    day, night = by_day_and_night()
    second = [one for one in day if one.topic in COMPUTE]
    second_at_night = [one for one in night if one.topic in COMPUTE]
    second_at_night += [
        one for one in [*day, *night] if one.topic in COMPUTE_AT_NIGHT or one.exercise in COMPUTE_AT_NIGHT
    ]
    by_day = [*((module, 0) for module in together(day)), *((module, SECOND_SEED) for module in together(second))]
    at_night = [(module, 0) for module in together(night)]
    at_night += [(module, SECOND_SEED) for module in together(second_at_night)]
    return [*by_day, *map(as_nightly, at_night)]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "seed"), cases(), ids=name_of)
def test_right_answers_earn_full_points(warm: WarmUp, module: tuple[Answer, ...], seed: int) -> None:
    first, *others = module
    only = [one.exercise for one in module] if others or (seed and first.exercise) else with_neighbour(first)
    result = warm(first.course, seed=seed, check_seconds=CHECK_SECONDS).of(first.submission(*others), *only)
    assert not (first.is_honest and result.flags), result.flags
    graded = exercises_of(result, first.topic)
    not_right = [
        f"{exercise.name}, {check.name}: {check.verdict}: {check.message}"
        for exercise in graded
        for check in exercise.checks
        if check.verdict != "passed" and (check.verdict, check.message) != ("skipped", "needs a CUDA device")
    ]
    assert not not_right, "\n\n".join([*map(str, module), *not_right])
    points = {one.full_name: one.points for one in Course.load(first.course).topic(first.topic).exercises}
    assert {exercise.name for exercise in graded} >= (set(only) or points.keys())
    assert all(exercise.score == points[exercise.name] for exercise in graded)
