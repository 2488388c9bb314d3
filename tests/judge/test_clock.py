"""What counts as a submission's own time: not what it waits for a processor, so a busy machine fails nobody."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from shared import REPO, WarmUp

from grader.sandbox import clock
from grader.sandbox.clock import CAP, MORE_WORK, Deadline, Effort, lost_seconds

COURSE = REPO / "tests" / "courses" / "reuse"
BURNS = """
import time

def burn():
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    return True

first = second = third = burn
"""


@pytest.fixture(autouse=True)
def lost(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that nobody could use; nothing was lost if a test does not say so."""
    seconds = [0.0]
    monkeypatch.setattr(clock, "lost_seconds", lambda: seconds[0])
    return seconds


def begun(seconds: float, ago: float, effort: Callable[[], Effort]) -> Deadline:
    """A limit that began some time ago, and was not looked at since.

    In minutes: what this test itself waits for a processor must make no difference.
    """
    deadline = Deadline(seconds, effort)
    deadline._begin = deadline._looked = time.monotonic() - ago
    deadline.at = deadline._begin + seconds
    return deadline


def test_a_deadline_moves_by_what_was_waited() -> None:
    assert begun(1000.0, 1100.0, lambda: Effort(waited=50.0)).is_over()
    assert 50.0 < begun(1000.0, 1100.0, lambda: Effort(waited=200.0)).left() <= 100.0


def test_a_deadline_moves_by_what_the_grader_and_the_machine_lost(lost: list[float]) -> None:
    """Before the grader could ask, or while the machine's own host ran something else: then its processes sleep."""
    lost[0] = 5000.0
    deadline = begun(1000.0, 1100.0, Effort)
    lost[0] += 200.0
    assert 50.0 < deadline.left() <= 100.0
    assert begun(1000.0, 1100.0, Effort).is_over(), "what was lost before the limit buys nothing"


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="the system does not say what was lost")
@pytest.mark.usefixtures("busy")
def test_what_is_lost_is_what_this_thread_waits_for() -> None:
    """Beside eight busy processes, most of the time; none of it is read off anything that a submission can write."""
    before, begin, worked = lost_seconds(), time.monotonic(), time.thread_time()
    while time.thread_time() < worked + 0.1:
        pass
    by_the_clock = time.monotonic() - begin
    assert lost_seconds() - before >= 0.5 * (by_the_clock - 0.1)


def test_what_waits_is_looked_at_again_soon() -> None:
    """So what has waited for long has no more time than it needs once it works."""
    worked = [0.0]
    deadline = begun(1000.0, 1000.0, lambda: Effort(worked[0], 1e6))
    assert 0 < deadline.left() <= 250.0
    worked[0] = 2000.0 * MORE_WORK
    deadline.at = 0.0
    assert deadline.is_over()


def test_what_was_waited_before_buys_no_more_than_the_limit_again() -> None:
    """Many threads can wait for hours together, and then sleep."""
    deadline = begun(1000.0, 1100.0, lambda: Effort(waited=360_000.0))
    assert not deadline.is_over()
    deadline._begin -= 1000.0
    deadline._looked = time.monotonic()
    deadline.at = 0.0
    assert deadline.is_over()


def test_but_not_for_what_sleeps() -> None:
    assert 50.0 < begun(1000.0, 900.0, Effort).left() <= 100.0
    assert begun(1000.0, 1100.0, Effort).is_over()


def test_and_not_beyond_the_cap() -> None:
    assert begun(1000.0, 1000.0 * CAP + 1.0, lambda: Effort(waited=1e6)).is_over()


def test_nor_by_threads_of_its_own() -> None:
    """They wait for each other all the time, and work."""
    worked = [5.0]
    deadline = begun(1000.0, 1100.0, lambda: Effort(worked[0], 1e6))
    assert not deadline.is_over()
    worked[0] += 2000.0 * MORE_WORK
    deadline.at = 0.0
    assert deadline.is_over()


def test_a_part_of_what_is_left_is_of_its_own_time() -> None:
    """An exercise gives its checks what it has left: what the first one waited must not be taken from the second."""
    assert begun(1000.0, 900.0, lambda: Effort(waited=800.0)).own_left(500.0) == pytest.approx(900.0, abs=10.0)
    left = begun(1000.0, 300.0, lambda: Effort(waited=200.0)).own_left(500.0)
    assert left == pytest.approx(700.0, abs=10.0), "not looked up"
    assert begun(1000.0, 900.0, Effort).own_left(500.0) == pytest.approx(100.0, abs=10.0)
    assert begun(1000.0, 1100.0, Effort).own_left(500.0) == 0.0


def test_allowed_time_counts_from_now() -> None:
    deadline = Deadline(0.01)
    deadline.allow(5000.0)
    assert 4000.0 < deadline.left() <= 5000.0
    deadline.allow(1.0)
    assert deadline.left() > 4000.0


LIMITS = {"check_seconds": 0.6, "topic_seconds": 1.8}


@pytest.mark.slow
def test_a_right_answer_passes_beside_eight_busy_processes(warm: WarmUp, request: pytest.FixtureRequest) -> None:
    """By the clock its calls take several times as long as they may, each and the two of an exercise together."""
    worker = warm(COURSE, **LIMITS)
    worker.grade(state="")  # before the others begin, as its start is not what they must not harm
    request.getfixturevalue("busy")
    result = worker.grade(state=BURNS)
    assert [check.cause for exercise in result.exercises for check in exercise.checks] == [None] * 4


def test_an_endless_one_does_not(warm: WarmUp) -> None:
    result = warm(COURSE, **LIMITS).grade(
        state="def first():\n    while True:\n        pass\n\ndef second(): return True\n\nthird = second\n"
    )
    assert [check.verdict for check in result.exercises[0].checks] == ["timeout", "timeout"]
