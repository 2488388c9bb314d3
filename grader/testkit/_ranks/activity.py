"""Whether ranks still do anything: seen from outside, in what the kernel counts.

Time by the clock says little on a busy machine, where a rank may wait long for its turn; a thread that waits for its
turn is not at rest, and one that has had no turn has used no processor time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from grader.border.transport import Activity
from grader.testkit._ranks.members import Member

AFTERMATH_SECONDS: Final = 0.15
"""How long the others may still work, or rest, once a rank has raised or died (s).

So the same mistake gives the same report."""
LONGEST_AFTERMATH: Final = 1.0
"""The same by the clock, for a rank that does a little again and again."""


class Quiet:
    """Measures for how long no unfinished rank has done anything."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._seen: list[Activity] = []
        self._from = time.monotonic()

    def since(self, now: float) -> float:
        """Seconds of quiet up to now."""
        seen = [member.process.activity() for member in self._members if not member.done]
        if seen != self._seen or not all(one.at_rest for one in seen):
            self._seen, self._from = seen, now
        return now - self._from

    def restart(self, now: float) -> None:
        self._from = now


class Aftermath:
    """Measures what the others have done since a rank has raised or died."""

    def __init__(self, members: Sequence[Member], now: float) -> None:
        self._members = members
        self._begin = now
        self._quiet = Quiet(members)
        self._worked = {member.number: member.process.activity().worked for member in members if not member.done}

    def is_over(self, now: float) -> bool:
        """Whether nothing more is to be expected: each has finished, or rests, or works on regardless."""
        left = [member for member in self._members if not member.done]
        worked = all(
            member.process.activity().worked - self._worked[member.number] > AFTERMATH_SECONDS for member in left
        )
        return worked or self._quiet.since(now) > AFTERMATH_SECONDS or now - self._begin > LONGEST_AFTERMATH
