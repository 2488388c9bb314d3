"""The call that is shown for each misconception can be pasted into Python, as the student's page says.

Run as a script: prints the calls of the first failure of every misconception of the topics that are its arguments.
"""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from pasting import code_among, complaints
from shared import REPO, but_nightly

from grader.course import Course, misconceptions_of
from grader.judge.judge import Judge
from grader.judge.misconceptions import files_with_misconceptions
from grader.sandbox import kernel

TOPICS = [
    "tensor_ops",
    "autograd",
    "parameters",
    "datasets",
    "training",
    "devices",
    "checkpoints",
    "efficiency",
    "ddp",
    "debugging",
    "spirals",
]
CODE = {"ddp": 9}
"""How many calls look like code if most calls of a topic cannot: those on ranks must not. Else a quarter of all."""


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
@pytest.mark.parametrize(
    "topic", but_nightly(TOPICS, "autograd", "datasets", "training", "devices", "checkpoints", "ddp", "spirals")
)
def test_the_call_of_every_misconceptions_failure_can_be_pasted(topic: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__, topic],
        cwd=REPO,
        env={"PYTHONPATH": f"{REPO}:{REPO / 'tests'}", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = msgspec.json.decode(done.stdout, type=dict[str, str])
    assert shown.keys() == {one.name for one in misconceptions_of(Course.load(None), topic)}
    calls = code_among(topic, shown.values())
    assert len(calls) >= CODE.get(topic, len(shown) / 4), shown
    assert all(shown.values()), [name for name, call in shown.items() if not call]
    assert not (wrong := complaints(topic, calls)), wrong


def calls_of(judge: Judge, topic: str) -> dict[str, str]:
    """By misconception, the call of the first check that does not pass; empty if there is none in it."""
    shown = {}
    files = files_with_misconceptions(judge.course, topic)
    for one in misconceptions_of(judge.course, topic):
        with judge.desk(topic, files) as desk:  # each has the whole time of a topic
            desk.replace_functions(((one.part, one.function),))
            desk.begin_again()
            for check in judge.checks.of(one.exercise):
                result, _ = judge.checks.run(check, desk)
                if result.verdict not in ("passed", "skipped"):
                    shown[one.name] = result.cause.call if result.cause else ""
                    break
    return shown


def main(topics: list[str]) -> None:
    """Prints the calls of all misconceptions of these topics."""
    from test_promises import with_judge_of

    found = with_judge_of(topics, lambda judge: {k: v for topic in topics for k, v in calls_of(judge, topic).items()})
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
