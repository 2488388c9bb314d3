"""Whether ranks still do anything: seen from outside, by the kernel's counters.

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
LITTLE_WORK: Final = 0.05
"""The share of a processor up to which a rank counts as idle."""
LEAST_WORK: Final = 0.001
"""The same for a short moment (s)."""


class Quiet:
    """Measures for how long no unfinished rank has done anything.

    Time in which one waits for a processor does not count. A rank that waits for others uses a little processor time:
    gloo's thread looks round every hundredth of a second.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._seen: dict[int, Activity] = {}
        self._at = time.monotonic()
        self._quiet = 0.0

    def since(self, now: float) -> float:
        """Seconds of quiet up to now."""
        seen = {member.number: member.process.activity() for member in self._members if not member.done}
        passed, before = now - self._at, self._seen
        self._seen, self._at = seen, now
        if seen.keys() != before.keys() or any(
            one.worked - before[number].worked > LITTLE_WORK * passed + LEAST_WORK for number, one in seen.items()
        ):
            self._quiet = 0.0
        elif all(one.at_rest for one in seen.values()):
            self._quiet += passed
        return self._quiet

    def restart(self) -> None:
        """Begins anew."""
        self._quiet = 0.0


class Aftermath:
    """Measures the work of the others since a rank has raised or died."""

    def __init__(self, members: Sequence[Member], now: float) -> None:
        self._members = members
        self._begin = now
        self._quiet = Quiet(members)
        self._quiet.since(now)
        self._worked = {member.number: member.process.activity().worked for member in members if not member.done}

    def is_over(self, now: float) -> bool:
        """Whether nothing more is to be expected: each has finished, or rests, or works on regardless."""
        left = [member for member in self._members if not member.done]
        worked = all(
            member.process.activity().worked - self._worked[member.number] > AFTERMATH_SECONDS for member in left
        )
        return worked or self._quiet.since(now) > AFTERMATH_SECONDS or now - self._begin > LONGEST_AFTERMATH
