"""What counts as a submission's own time, work and sleep, so that a busy machine fails nobody."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from shared import REPO, WarmUp

from grader.border.frames import frame
from grader.sandbox import clock, process_tree
from grader.sandbox.clock import CAP, LOOK_SECONDS, MOST_AT_ONCE, Deadline, Meter
from grader.sandbox.process_tree import Look
from grader.student.prints import Prints
from grader.student.socket_process import StudentProcess

STEP = 0.125
"""How often the judge looks in these tests (s): rarely enough, and a number that sums exactly."""
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


class World:
    """Some processes and a clock, both made up, and a judge that waits for them."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.worked = 5.0
        self.at_rest: bool | None = False
        self.idle = 0.0
        self.looks = 0
        self.tick = 0.0

    def monotonic(self) -> float:
        self.now += self.tick
        return self.now

    def look(self) -> Look:
        self.looks += 1
        return Look(self.worked, self.at_rest)

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, Meter(self.look))

    def wait(self, deadline: Deadline, seconds: float, works: float = 0.0, step: float = STEP) -> float:
        """What is left after so long, in which the processes work that share of the time."""
        end = self.now + seconds
        while self.now < end:
            self.now += step
            self.worked += works * step
            deadline.left(is_waiting=True)
        return deadline.left(is_waiting=True)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World()
    monkeypatch.setattr(clock.time, "monotonic", made.monotonic)
    monkeypatch.setattr(clock.process_tree, "idle_seconds", lambda: made.idle)
    yield made


def test_work_counts_whoever_does_it_and_whether_or_not_anybody_waits(world: World) -> None:
    deadline = world.deadline(10.0)
    assert world.wait(deadline, 4.0, works=1.0) == pytest.approx(6.0)
    assert world.wait(deadline, 1.0, works=3.0) == pytest.approx(3.0), "threads buy nothing"
    world.now += 50.0
    world.worked += 2.0
    assert deadline.left() == pytest.approx(1.0)


def test_sleep_counts_while_the_judge_waits(world: World) -> None:
    deadline = world.deadline(10.0)
    world.at_rest = True
    assert world.wait(deadline, 4.0) == pytest.approx(6.0)
    world.now += 20.0  # the judge has work of its own
    assert deadline.left() == pytest.approx(6.0)
    assert world.wait(deadline, 6.0) == 0.0


def test_waiting_for_a_processor_does_not_but_for_the_cap(world: World) -> None:
    deadline = world.deadline(10.0)
    assert world.wait(deadline, 90.0) == pytest.approx(10.0)
    assert world.wait(deadline, 9.0) == pytest.approx(1.0)
    assert world.wait(deadline, 1.0) == 0.0
    assert world.now == pytest.approx(1000.0 + CAP * 10.0)


def test_one_second_is_not_counted_twice(world: World) -> None:
    deadline = world.deadline(10.0)
    world.at_rest = True  # as it seems at each look
    assert world.wait(deadline, 4.0, works=0.5) == pytest.approx(6.0)


def test_a_judge_that_is_kept_waiting_itself_charges_little_for_it(world: World) -> None:
    deadline = world.deadline(10.0)
    world.at_rest = True
    assert world.wait(deadline, 20.0, step=2.0) == pytest.approx(10.0 - 10 * MOST_AT_ONCE)


def test_a_process_that_has_answered_does_not_pay_until_the_judge_reads_it(world: World) -> None:
    """On a busy machine the judge reads each answer late, and a check may ask for hundreds."""
    ours, theirs = socket.socketpair()
    team: Any = SimpleNamespace(meter=Meter(world.look), layers=())
    arena: Any = None
    process = StudentProcess(team, 1, os.getpid(), ours, [Prints(100) for _ in range(4)], arena, True)
    process.deadline = Deadline(1.0, team.meter)
    world.at_rest, world.tick = True, STEP
    with ours, theirs:
        for _ in range(8):
            theirs.sendall(frame(b"answer"))
            assert process.call(b"question") == b"answer"
    assert team.meter.used == 0.0


def test_no_more_looks_are_taken_than_needed(world: World) -> None:
    deadline = world.deadline(10.0)
    world.wait(deadline, 1.0, step=2.0**-10)
    assert 8 <= world.looks <= 12
    assert 0.0 < deadline.meter.seconds_to_look() <= LOOK_SECONDS


def test_work_that_one_look_misses_is_neither_lost_nor_counted_twice(world: World) -> None:
    """A process that ends while it is looked at is in neither sum: of those that run, and that ended."""
    deadline = world.deadline(10.0)
    world.wait(deadline, 3.0, works=1.0)
    world.worked -= 2.0
    assert world.wait(deadline, STEP) == pytest.approx(7.0)
    world.worked += 2.5
    assert world.wait(deadline, STEP) == pytest.approx(6.5)


def test_what_has_gone_for_good_is_not_given_back(world: World) -> None:
    """A process whose parent does not want to know of its end leaves no trace of its work."""
    deadline = world.deadline(10.0)
    for _ in range(3):
        world.wait(deadline, 2.0, works=1.0)
        world.worked -= 2.0
        world.wait(deadline, 2 * STEP)
    assert deadline.left() == pytest.approx(4.0)


def test_where_the_system_does_not_say_who_sleeps(world: World) -> None:
    """Without progress while a processor is free they sleep; while none is, they may wait for one."""
    world.at_rest = None
    deadline = world.deadline(10.0)
    assert world.wait(deadline, 2.0) == pytest.approx(10.0)

    def wait_beside_a_free_processor(seconds: float) -> float:
        for _ in range(round(seconds / STEP)):
            world.idle += STEP
            world.wait(deadline, STEP)
        return deadline.left()

    assert wait_beside_a_free_processor(2.0) == pytest.approx(8.0)


def test_a_deadline_within_another_has_its_own_seconds(world: World) -> None:
    meter = Meter(world.look)
    whole = Deadline(10.0, meter)
    world.wait(whole, 4.0, works=1.0)
    part = Deadline(5.0, meter)
    assert world.wait(part, 2.0, works=1.0) == pytest.approx(3.0)
    assert whole.left() == pytest.approx(4.0)


def test_allowed_time_counts_from_now(world: World) -> None:
    deadline = world.deadline(1.0)
    world.wait(deadline, 1.0, works=1.0)
    deadline.allow(5.0)
    assert deadline.left() == pytest.approx(5.0)
    deadline.allow(2.0)
    assert deadline.left() == pytest.approx(5.0)


def test_without_processes_the_clock_decides() -> None:
    assert not Deadline(1000.0).is_over()
    assert Deadline(0.0).is_over()


LIMITS = {"check_seconds": 0.6, "topic_seconds": 1.8}


ABOVE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.readline()
while True:
    pass
"""
"""Starts a process that sleeps; sleeps too until a line tells it to work."""


@pytest.mark.skipif(not process_tree.HAS_PROC, reason="needs /proc")
def test_processes_do_not_rest_while_the_one_above_them_has_work_for_them() -> None:
    """It reaps them, for example: on a busy machine that takes long, and they may wait for it."""
    above = subprocess.Popen([sys.executable, "-c", ABOVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert above.stdin is not None and above.stdout is not None
        below = [int(above.stdout.readline())]
        _until(lambda: process_tree.look(below, reaper=above.pid).at_rest is True)
        above.stdin.write(b"work\n")
        above.stdin.flush()
        _until(lambda: process_tree.look(below, reaper=above.pid).at_rest is False)
        assert process_tree.look(below).at_rest is True
    finally:
        process_tree.kill_tree_below(above.pid)
        above.kill()
        above.communicate()


def _until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until


@pytest.mark.slow
def test_a_right_answer_passes_beside_eight_busy_processes(warm: WarmUp, request: pytest.FixtureRequest) -> None:
    """By the clock its calls take several times as long as they may, each and the two of an exercise together."""
    worker = warm(COURSE, **LIMITS)
    worker.grade(state="")  # before the others begin, as its start is not what they must not harm
    request.getfixturevalue("busy")
    result = worker.grade(state=BURNS)
    assert [check.cause for exercise in result.exercises for check in exercise.checks] == [None] * 4


SLOW = {
    "works": "while True: pass",
    "sleeps": "time.sleep(1e6)",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "waits for a child that works": "fork() or burn()\n    os.wait()",
    "waits for children that work one after the other": """
    while True:
        if not fork():
            until = time.process_time() + 0.05
            while time.process_time() < until: pass
            os._exit(0)
        os.wait()""",
    "waits for its own threads": """
    threads = [threading.Thread(target=burn) for _ in range(4)]
    for one in threads: one.start()
    for one in threads: one.join()""",
    "prints now and then": """
    while True:
        print("here", flush=True)
        time.sleep(0.02)""",
}


@pytest.mark.parametrize("body", SLOW)
def test_what_does_not_end_has_its_limit_and_not_much_more(warm: WarmUp, body: str) -> None:
    text = f"""
import os, signal, threading, time

def fork():
    return os.fork()

def burn():
    while True:
        pass

def first():
    {SLOW[body]}

def second(): return True

third = second
"""
    result = warm(COURSE, **LIMITS).grade(state=text)
    assert [check.verdict for check in result.exercises[0].checks] == ["timeout", "timeout"]
    assert [one.score for one in result.exercises] == [0, 2, 4]
