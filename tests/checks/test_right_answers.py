"""Every right answer in ``answers/right`` earns full points, however it is written.

With an exercise a neighbour in the topic is graded, the one after it if possible. A whole module is graded under two
seeds; so is an exercise that computes what is compared within rounding, under the second seed alone. Elsewhere a seed
only changes which numbers are carried along.
Where the contract of an exercise is silent, no check may decide. A new file there is a new case here.
"""

from __future__ import annotations

import pytest
from answer_files import Answer, every, with_neighbour
from shared import WarmUp, exercises_of

from grader.course import Course

CHECK_SECONDS = 40.0
"""Enough on a busy machine, also for loaders that have worker processes."""
SECOND_SEED = 41
COMPUTE = (
    "tensor_ops",
    "autograd",
    "parameters",
    "training",
    "efficiency",
    "ddp.average_gradients",
    "ddp.global_accuracy",
    "ddp.train",
)
"""Topics and exercises whose answers may round in another way than the solution."""


def cases() -> list[tuple[Answer, int]]:
    """Each answer with each seed that it is graded under: all of the first seed, then those of the second."""
    found = every("right")
    again = [one for one in found if not one.exercise or one.topic in COMPUTE or one.exercise in COMPUTE]
    return [(one, 0) for one in found] + [(one, SECOND_SEED) for one in again]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "seed"), cases(), ids=str)
def test_right_answer_earns_full_points(warm: WarmUp, answer: Answer, seed: int) -> None:
    only = [answer.exercise] if seed and answer.exercise else with_neighbour(answer)
    result = warm(answer.course, seed=seed, check_seconds=CHECK_SECONDS).of(answer.submission(), *only)
    assert not (answer.is_honest and result.flags), result.flags
    graded = exercises_of(result, answer.topic)
    not_right = [
        f"{exercise.name}, {check.name}: {check.verdict}: {check.message}"
        for exercise in graded
        for check in exercise.checks
        if check.verdict != "passed" and (check.verdict, check.message) != ("skipped", "needs a CUDA device")
    ]
    assert not not_right, "\n\n".join(not_right)
    points = {one.full_name: one.points for one in Course.load(answer.course).topic(answer.topic).exercises}
    assert {exercise.name for exercise in graded} >= (set(only) or points.keys())
    assert all(exercise.score == points[exercise.name] for exercise in graded)
