"""Simulated GPUs against real ones: every right and wrong answer that the project owns gets the same verdicts on both.

Needs a CUDA device, and enough time: hundreds of submissions are graded twice.
"""

from __future__ import annotations

import pytest
from answer_files import answers
from shared import Warm, WarmUp

from grader import machine
from grader.course import Course, misconceptions_of
from grader.intake.submission import Submission

COURSE = Course.load(None)
TOPICS = ("devices", "training", "checkpoints", "efficiency")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(machine.why_no_gpu() is not None, reason="needs a CUDA device"),
]


def owned_answers(topic: str) -> dict[str, tuple[str, str]]:
    """Name of each answer -> the exercise that it is about (empty: all of the topic's), and its module's text."""
    solution = COURSE.solution_file(topic).read_text(encoding="utf-8")
    wrong = COURSE.misconceptions_file(topic).read_text(encoding="utf-8")
    wrong = wrong.replace("from __future__ import annotations\n", "")
    found = {"solution": ("", solution)}
    found |= {one.file.stem: ("", one.module(one.text).decode()) for one in answers("right", topic=topic)}
    for mistake in misconceptions_of(COURSE, topic):
        text = f"{solution}\n\n{wrong}\n\n{mistake.part} = {mistake.function}\n"
        found[mistake.name] = (mistake.exercise, text)
    return found


@pytest.mark.parametrize("topic", TOPICS)
def test_real_and_simulated_devices_give_equal_verdicts(warm: WarmUp, topic: str) -> None:
    def worker(devices: machine.Devices) -> Warm:
        return warm(only=(topic,), devices=devices, check_seconds=60.0, topic_seconds=900.0)

    different = []
    for name, (exercise, text) in owned_answers(topic).items():
        verdicts: list[dict[str, str]] = []
        for devices in ("simulated", "auto"):
            result = worker(devices).of(Submission(name, {f"{topic}.py": text.encode()}))
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
