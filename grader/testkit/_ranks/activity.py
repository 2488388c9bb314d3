"""Whether ranks still do anything: seen from outside, in what the kernel counts.

Time by the clock says little on a busy machine, where a rank may wait long for its turn; a thread that waits for its
turn is not at rest, and one that has had no turn has used no processor time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from grader.testkit._ranks.handle import Rank

AFTERMATH_SECONDS: Final = 0.15
"""How long the others may still work, or rest, once a rank has raised or died (s).

So the same mistake gives the same report."""
LONGEST_AFTERMATH: Final = 1.0
"""The same by the clock, for a rank that does a little again and again."""


class Activity(NamedTuple):
    """What a process has done: whether all its threads sleep, and their processor time (seconds)."""

    at_rest: bool
    worked: float


def activity(process: int) -> Activity:
    """What a process has done up to now; never at rest where the system does not say."""
    at_rest, worked = True, 0
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/stat", encoding="utf-8", errors="replace") as stat:
                at_rest &= stat.read().rpartition(")")[2].split()[0] in "SZX"
            with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as ran:
                worked += int(ran.read().split()[0])
    except (OSError, IndexError, ValueError):
        return Activity(False, 0.0)
    return Activity(at_rest, worked / 1e9)


class Quiet:
    """Measures for how long no unfinished rank has done anything."""

    def __init__(self, ranks: Sequence[Rank]) -> None:
        self._ranks = ranks
        self._seen: list[Activity] = []
        self._from = time.monotonic()

    def since(self, now: float) -> float:
        """Seconds of quiet up to now."""
        seen = [activity(rank.process) for rank in self._ranks if not rank.done]
        if seen != self._seen or not all(one.at_rest for one in seen):
            self._seen, self._from = seen, now
        return now - self._from

    def restart(self, now: float) -> None:
        self._from = now


class Aftermath:
    """Measures what the others have done since a rank has raised or died."""

    def __init__(self, ranks: Sequence[Rank], now: float) -> None:
        self._ranks = ranks
        self._begin = now
        self._quiet = Quiet(ranks)
        self._worked = {rank.number: activity(rank.process).worked for rank in ranks if not rank.done}

    def is_over(self, now: float) -> bool:
        """Whether nothing more is to be expected: each has finished, or rests, or works on regardless."""
        left = [rank for rank in self._ranks if not rank.done]
        worked = all(activity(rank.process).worked - self._worked[rank.number] > AFTERMATH_SECONDS for rank in left)
        return worked or self._quiet.since(now) > AFTERMATH_SECONDS or now - self._begin > LONGEST_AFTERMATH
