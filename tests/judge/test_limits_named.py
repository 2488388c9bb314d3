"""A limit that stops a submission is named with its amount and the student's line: time, memory, the topic's time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from answer_files import COURSES
from odd_course import with_own, write_odd_course
from shared import REPO, Warm, WarmUp, check_of

from grader.results import Cause, SpentTime, SubmissionResult, TooMuchMemory

SECONDS = 2.0
MEMORY = 512 << 20


@pytest.fixture(scope="session")
def odd_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_odd_course(tmp_path_factory.mktemp("limits"))


@pytest.fixture
def odd(warm: WarmUp, odd_course: Path) -> Warm:
    return warm(odd_course, check_seconds=SECONDS, memory_bytes=MEMORY)


def line_of(text: str, part: str) -> int:
    return max(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def cause_of(result: SubmissionResult, check: str) -> Cause:
    cause = check_of(result, check).cause
    assert cause is not None
    return cause


def test_a_call_that_never_ends_is_shown_with_the_limit_and_its_line(odd: Warm) -> None:
    text = with_own(secret="while True:\n        pass")
    cause = cause_of(odd.grade(odd=text), "secret")
    assert cause.time == SpentTime(SECONDS)
    line = line_of(text, "while True:")
    assert cause.advice == f"no answer in 2 s; it was in line {line} of odd.py, in secret: while True:"


def test_calls_that_end_but_are_slow_are_counted_and_the_slowest_is_measured(odd: Warm) -> None:
    counts = "global calls\n    calls = globals().get('calls', 0) + 1\n    print(calls)\n    "
    text = with_own(double=f"{counts}__import__('time').sleep(0.3)\n    return 2 * x")
    cause = cause_of(odd.grade(odd=text), "twice_every_number")
    begun = int(cause.prints)  # the print of the call that was stopped
    assert cause.time is not None and cause.time.longest >= 0.29
    assert cause.time.answered >= 1 and cause.time.answered in (begun - 1, begun)
    line = line_of(text, "sleep(0.3)")
    assert cause.advice.startswith(f"too slow: only {cause.time.answered} calls were answered in 2 s, the slowest in ")
    assert f"stopped in line {line} of odd.py, in double: __import__('time').sleep(0.3)" in cause.advice


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("__import__('torch').empty(10**10)", 4 * 10**10),
        ("kept = []\n    while True: kept.append(bytearray(10**6))", 0),
    ],
)
def test_memory_that_the_process_cannot_get_is_named_with_its_line(odd: Warm, body: str, asked: int) -> None:
    text = with_own(secret=body)
    cause = cause_of(odd.grade(odd=text), "secret")
    assert cause.kind == "crash" and cause.memory == TooMuchMemory(MEMORY, asked=asked)
    amount = "torch asked for 37.3 GiB more, and the limit is 512 MiB" if asked else "the limit is 512 MiB"
    assert cause.advice.startswith(f"your code used more memory than it may: {amount}; it was in line ")
    assert f"in line {line_of(text, body.splitlines()[-1].strip())} of odd.py, in secret: " in cause.advice


FORKS = """
    import os, time
    for _ in range(4):
        if os.fork() == 0:
            kept = bytearray(300 << 20)
            kept[::4096] = b"x" * len(kept[::4096])
            time.sleep(60)
            os._exit(0)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_memory_that_is_measured_from_outside_is_named(odd: Warm) -> None:
    cause = cause_of(odd.grade(odd=with_own(secret=FORKS.strip())), "secret")
    assert cause.memory is not None and cause.memory.held > MEMORY and not cause.memory.asked
    assert cause.advice.startswith("your code used more memory than it may: it held ")
    assert cause.advice.endswith("iB, and the limit is 512 MiB")


def test_memory_of_ranks_that_is_measured_from_outside_is_named(warm: WarmUp) -> None:
    hold = "kept = bytearray(300 << 20)\n    kept[::4096] = b'x' * len(kept[::4096])\n    time.sleep(60)"
    team = warm(COURSES / "team", check_seconds=SECONDS, memory_bytes=MEMORY)
    result = team.grade(team=f"import time\n\n\ndef alone():\n    return 1\n\n\ndef total(rank):\n    {hold}\n")
    causes = [check.cause for exercise in result.exercises for check in exercise.checks if check.cause]
    assert causes and causes[0].memory is not None and causes[0].memory.held > MEMORY
    assert causes[0].advice.startswith("your code used more memory than it may: it held ")


def test_memory_at_import_is_named(odd: Warm) -> None:
    """A whole import counts here: with definitions alone, what is beside them would only be left out."""
    text = "import torch\n\n\ndef double(x, y=torch.empty(10**10)):\n    return x\n"
    cause = cause_of(odd.grade(odd=text), "twice_every_number")
    assert (cause.stage, cause.memory) == ("import", TooMuchMemory(MEMORY, asked=4 * 10**10))
    assert "importing odd.py used more memory than it may: torch asked for 37.3 GiB more" in cause.advice


SLEEPERS = """
import time


def first():
    time.sleep(4)
    return True


second = third = first
"""


@pytest.mark.slow
def test_a_topic_whose_time_is_used_up_says_what_used_it(warm: WarmUp) -> None:
    course = REPO / "tests" / "courses" / "reuse"
    result = warm(course, check_seconds=5.2, topic_seconds=8.0).grade(state=SLEEPERS)
    last = result.exercises[-1].checks[0].cause
    assert last is not None and last.time is not None
    used = dict(last.time.used)
    assert used["state.first"] >= 4.0 and all(spent >= 0.4 for spent in used.values())
    assert "state.first took " in last.advice
