"""Simulated GPUs against real ones: every right and wrong answer that the project owns gets the same verdicts on both.

Needs a CUDA device, and enough time: hundreds of submissions are graded twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from test_device_variants import CHECKPOINTS, DEVICES, EFFICIENCY

from grader import machine
from grader.course import Course, misconceptions_of
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

COURSE = Course.load(None)
TOPICS = ("devices", "training", "checkpoints", "efficiency")
VARIANTS = {"devices": DEVICES, "training": {}, "checkpoints": CHECKPOINTS, "efficiency": EFFICIENCY}
LIMITS = Limits(check_seconds=60.0, topic_seconds=900.0)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(machine.why_no_gpu() is not None, reason="needs a CUDA device"),
]


def answers(topic: str) -> dict[str, tuple[str, str]]:
    """Name of each answer -> the exercise that it is about (empty: all of the topic's), and its module's text."""
    solution = COURSE.solution_file(topic).read_text(encoding="utf-8")
    wrong = COURSE.misconceptions_file(topic).read_text(encoding="utf-8")
    wrong = wrong.replace("from __future__ import annotations\n", "")
    found = {"solution": ("", solution)}
    found |= {way: ("", text) for way, text in VARIANTS[topic].items()}
    for mistake in misconceptions_of(COURSE, topic):
        text = f"{solution}\n\n{wrong}\n\n{mistake.part} = {mistake.function}\n"
        found[mistake.name] = (mistake.exercise, text)
    return found


@pytest.fixture(scope="module", params=TOPICS)
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def workers(topic: str) -> Iterator[dict[machine.Devices, Worker]]:
    names = tuple(exercise.full_name for exercise in COURSE.topic(topic).exercises)
    made: dict[machine.Devices, Worker] = {}
    for devices in ("simulated", "auto"):
        made[devices] = Worker()
        made[devices].configure(WorkerOptions(exercises=names, limits=LIMITS, misconceptions=False, devices=devices))
    yield made
    for worker in made.values():
        worker.end()


def test_real_and_simulated_devices_give_equal_verdicts(topic: str, workers: dict[machine.Devices, Worker]) -> None:
    different = []
    for name, (exercise, text) in answers(topic).items():
        verdicts: list[dict[str, str]] = []
        for worker in workers.values():
            result = worker.grade(Submission(name, {f"{topic}.py": text.encode()}), patience=2000)
            assert isinstance(result, SubmissionResult), result
            verdicts.append(
                {
                    f"{one.name}, {check.name}": check.verdict
                    for one in result.exercises
                    if exercise in ("", one.name)
                    for check in one.checks
                }
            )
        simulated, real = verdicts
        assert simulated.keys() == real.keys()
        different += [
            f"{name}: {check}: {simulated[check]} on simulated devices, {real[check]} on real ones"
            for check in simulated
            # A check that is about real devices, or wants more than there are, has nothing to compare.
            if "skipped" not in (simulated[check], real[check]) and simulated[check] != real[check]
        ]
    assert not different, "\n".join(different)
