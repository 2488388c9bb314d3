"""Follows the ranks of one run from above: reads what they send, opens the gate, notices when nothing more can come.

It runs in the student process. It must never wait without a limit, and it decides nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Sequence
from typing import IO, Final

from grader.testkit._ranks.activity import Aftermath, Quiet
from grader.testkit._ranks.handle import Rank
from grader.testkit._ranks.job import DUMP_SIGNAL, Job
from grader.testkit._ranks.states import State
from grader.testkit._ranks.where import is_joining, state_of

TURN_SECONDS: Final = 0.02
"""How long one wait for news takes at most."""
QUIET_SECONDS: Final = 0.4
"""When no rank has done anything for this long (s), each is asked where it is.

If all wait in a collective, it is a deadlock."""
LOCATE_SECONDS: Final = 0.3
"""How long the ranks may take to write where they are."""

_OUTERMOST: Final = b" in live\n"
"""How the last line of interest of a stack dump ends: `rank.live` is a rank's outermost function."""


class Watch:
    """Follows ranks until each has finished, or nothing more is to be expected of the rest.

    Args:
        ready: gives one byte for each rank that has joined its group and waits for the gate.
        gate: the ranks' functions start when it is closed.
    """

    def __init__(self, ranks: Sequence[Rank], job: Job, ready: IO[bytes], gate: IO[bytes]) -> None:
        self._ranks = ranks
        self._job = job
        self._ready = ready.fileno()
        self._gate = gate
        self._not_ready = len(ranks)
        self._until = time.monotonic() + job.seconds
        self._quiet = Quiet(ranks)
        self._aftermath: Aftermath | None = None

    def follow(self) -> None:
        """Returns when all ranks have finished, one has failed and the others had their time, or all are stuck."""
        while not all(rank.done for rank in self._ranks):
            self._listen()
            if self._has_failure() or not self._not_ready:
                self._gate.close()
            now = time.monotonic()
            if self._is_deadlocked(now):
                return
            if now >= self._until or self._is_aftermath_over(now):
                locate(self._ranks, self._job)
                return

    def _listen(self) -> None:
        """Takes what has come, for at most one turn, and notices who has ended."""
        pipes = {fd: (rank, which) for rank in self._ranks for which, fd in rank.fds.items()}
        listened = list(pipes) if self._gate.closed else [*pipes, self._ready]
        for fd in select.select(listened, [], [], TURN_SECONDS)[0]:
            if fd == self._ready:
                self._count_ready()
            else:
                rank, which = pipes[fd]
                rank.read(which)
        for rank in self._ranks:
            if rank.report is None:
                rank.look_if_alive()

    def _count_ready(self) -> None:
        arrived = len(os.read(self._ready, self._not_ready))
        at_end = not arrived  # every rank has closed its end: none waits at the gate
        self._not_ready = 0 if at_end else self._not_ready - arrived

    def _has_failure(self) -> bool:
        return any(rank.has_failed for rank in self._ranks)

    def _is_deadlocked(self, now: float) -> bool:
        """Whether nobody does anything and each unfinished rank waits in a collective."""
        if self._has_failure() or self._quiet.since(now) < QUIET_SECONDS:
            return False
        states = locate(self._ranks, self._job)
        if all(state.what == "waits" and not is_joining(state) for state in states):
            return True
        self._quiet.restart(now)
        return False

    def _is_aftermath_over(self, now: float) -> bool:
        """Whether a rank has failed, and the others have had the time to do what follows from that."""
        if not self._has_failure():
            return False
        if self._aftermath is None:
            self._aftermath = Aftermath(self._ranks, now)
        return self._aftermath.is_over(now)


def locate(ranks: Sequence[Rank], job: Job) -> list[State]:
    """Asks the ranks that have not finished where they are."""
    asked = [rank for rank in ranks if not rank.done]
    for rank in asked:
        rank.dump.clear()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(rank.process, DUMP_SIGNAL)
    until = time.monotonic() + LOCATE_SECONDS
    while time.monotonic() < until and any(_OUTERMOST not in rank.dump for rank in asked):
        dumps = {rank.fds["dumps"]: rank for rank in asked if "dumps" in rank.fds}
        for fd in select.select(list(dumps), [], [], TURN_SECONDS)[0]:
            dumps[fd].read("dumps")
    return [place_of(rank, job) for rank in asked]


def place_of(rank: Rank, job: Job) -> State:
    """Where a rank was when it was last asked."""
    return state_of(rank.dump.decode("utf-8", "replace"), job.folder)
