"""The watch over the memory of a topic's processes: whose fault it is that memory is short, and its last resort against
forks that are faster than its kills."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from grader import machine
from grader.border.failures import KilledBySystem, OutOfMemory
from grader.sandbox import process_tree
from grader.sandbox.process_tree import why_not_forked
from grader.student import memory

pytestmark = pytest.mark.skipif(bool(why_not_forked()), reason="nothing can be forked here")


@pytest.mark.parametrize(("rounds", "lives"), [(3, True), (10_000, False)])
def test_the_leader_ends_only_if_new_processes_keep_holding_too_much(
    monkeypatch: pytest.MonkeyPatch, rounds: int, lives: bool
) -> None:
    from grader.student.forked import LeaderClient

    leader = os.fork()
    if not leader:
        signal.pause()
    topic: Any = object.__new__(LeaderClient)
    topic.process, topic.layers, topic._memory = leader, ("pid-namespace",), memory.MemoryUse(1000)
    topic._host = SimpleNamespace(baseline=0, most_bytes=1000)
    topic._handle = os.pidfd_open(leader)
    held = iter([2000] * rounds)
    monkeypatch.setattr(process_tree, "memory_of_forks", lambda pids, baseline, exact_from: next(held, 0))
    try:
        topic.watch()
        crash = topic._memory.crash(-signal.SIGKILL)
        assert isinstance(crash, OutOfMemory) and crash.held == 2000
        ended = select.select([topic._handle], [], [], 0 if lives else 10)[0]
        assert (not ended) == lives
    finally:
        os.kill(leader, signal.SIGKILL)
        os.waitpid(leader, 0)
        os.close(topic._handle)


MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("held", "kills", "found"),
    [
        (2 * GIB + 1, 0, "used more memory than it may"),
        (2 * GIB, 1, "took most of the memory that the machine had left"),
        (600 * MIB, 1, "took most of the memory that the machine had left"),
        (400 * MIB, 1, "the machine's memory was short, and the system ended the process"),
        (10 * MIB, 1, "the machine's memory was short, and the system ended the process"),
        (600 * MIB, 0, None),
    ],
)
def test_who_held_most_of_what_was_left_is_why_the_system_ended_it(
    monkeypatch: pytest.MonkeyPatch, held: int, kills: int, found: str | None
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: GIB)
    monkeypatch.setattr(memory, "memory_kills", lambda: 0)
    use = memory.MemoryUse(2 * GIB)
    use.is_too_much(held)
    use.is_too_much(10)  # another look, when most of them have ended
    monkeypatch.setattr(memory, "memory_kills", lambda: kills)
    crash = use.crash(-signal.SIGKILL)
    assert (str(crash) if crash else None) == found
    assert isinstance(crash, KilledBySystem) == (found is not None and "system" in found)


@pytest.mark.parametrize(
    ("before", "held", "left", "ends"),
    [
        (8 * GIB, GIB, 100 * MIB, False),  # others have taken the most
        (8 * GIB, 5 * GIB, 100 * MIB, True),
        (8 * GIB, 5 * GIB, GIB, False),  # there is enough
        (300 * MIB, 200 * MIB, 10 * MIB, False),  # so much may everybody use
        (300 * MIB, 260 * MIB, 10 * MIB, True),
        (300 * MIB, 260 * MIB, 100 * MIB, False),  # little was left from the start
    ],
)
def test_the_machine_is_kept_from_swapping_by_who_takes_most_of_it(
    monkeypatch: pytest.MonkeyPatch, before: int, held: int, left: int, ends: bool
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: before)
    use = memory.MemoryUse(8 * GIB)
    monkeypatch.setattr(memory, "available_bytes", lambda: left)
    assert use.is_too_much(held) == ends


@pytest.mark.parametrize(
    ("machine_has", "asked", "given"),
    [
        (64 * GIB, 2 * GIB, 2 * GIB),
        (2 * GIB, 2 * GIB, 1536 * MIB),
        (600 * MIB, 2 * GIB, 256 * MIB),
        (600 * MIB, 100 * MIB, 100 * MIB),
        (None, 2 * GIB, 2 * GIB),
    ],
)
def test_a_small_machine_lowers_the_limit_for_everybody(
    monkeypatch: pytest.MonkeyPatch, machine_has: int | None, asked: int, given: int
) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: machine_has)
    assert machine.affordable(asked) == given


@pytest.fixture
def sharers() -> Iterator[list[int]]:
    """A process that holds 64 MiB, and three below it that share them."""
    code = (
        "import os, time; data = b'x' * (64 << 20); [os.fork() or time.sleep(60) for _ in range(3)]; print(flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", f"{code}; time.sleep(60)"], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        yield [first.pid, *process_tree.descendants(first.pid)]
        process_tree.kill_tree_below(first.pid)
        first.kill()


def test_shared_memory_counts_once_also_if_processes_end_while_it_is_measured(
    sharers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    share, ended = process_tree._share, iter(sharers[1:])

    def one_ends_after_each(pid: int, resident: int, baseline: int) -> int:
        found = share(pid, resident, baseline)
        if (next_one := next(ended, None)) is not None:
            process_tree.kill_all([next_one])
        return found

    exactly = process_tree.memory_of_forks(sharers, 0, 0)
    monkeypatch.setattr(process_tree, "_share", one_ends_after_each)
    assert 64 * MIB < process_tree.memory_of_forks(sharers, 0, 0) <= exactly < 128 * MIB


def test_a_process_lives_and_holds_its_memory_when_its_first_thread_has_ended() -> None:
    code = """
import ctypes, os, threading, time

def hold():
    data = b"x" * (64 << 20)
    print(flush=True)
    time.sleep(60)

threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while process_tree._stat(f"/proc/{process.pid}")[0] != "Z":
            time.sleep(0.01)
        assert process_tree.is_alive(process.pid) and not process_tree.is_ending(process.pid)
        for exact_from in 0, GIB:
            assert process_tree.memory_of_forks([process.pid], 0, exact_from) > 64 * MIB
        process_tree.kill_all([process.pid])
        assert process_tree.is_ending(process.pid)
