"""Follows the ranks of one run: takes their replies, and notices when nothing more can come.

It runs in the judge. It must never wait without a limit.
"""

import select
import time
from collections.abc import Callable, Sequence
from typing import Final

from grader.border.transport import Activity
from grader.sandbox.clock import Deadline
from grader.testkit._ranks.members import Member, is_joining, is_whole
from grader.testkit._ranks.states import State

TURN_SECONDS: Final = 0.02
"""How long one wait for news takes at most."""
QUIET_SECONDS: Final = 0.4
"""When no rank has done anything for this long (s), each is asked where it is.

If all wait in a collective, it is a deadlock."""
LOCATE_SECONDS: Final = 0.3
"""How long the ranks may take to write where they are."""
AT_REST_SECONDS: Final = 0.04
"""When no rank has done anything for this long (s) while one is held, the others are asked where they are."""


class RankWatch:
    """Follows ranks until each has replied to all, or nothing more is to be expected of the rest.

    Args:
        deadline: when the time of the run is over.
    """

    def __init__(self, members: Sequence[Member], deadline: Deadline) -> None:
        self._members = members
        self._deadline = deadline
        self._quiet = Quiet(members)
        self._aftermath: Aftermath | None = None

    def follow(self) -> None:
        """Returns when all have replied, one has failed and the others had their time, or all are stuck."""
        self._quiet.restart()
        while not all(member.done for member in self._members):
            self._listen()
            now = time.monotonic()
            if self._is_deadlocked(now):
                return
            if self._deadline.is_over() or self._is_aftermath_over(now):
                locate(self._members)
                return

    def follow_until_others_wait(self, held: Member, open_gate: Callable[[], object]) -> list[int]:
        """While a rank is held, follows the others until each has returned or waits; then lets the held one go on.

        Args:
            open_gate: lets it go on; gives whether it has been held at all.

        Returns:
            Those of the others whose function has returned while the rank was held.
        """
        others = [member for member in self._members if member is not held]
        quiet = Quiet(self._members)
        reserve = 0.25 * self._deadline.left()
        while not self._has_failure() and not all(member.done for member in self._members):
            self._listen()
            now = time.monotonic()
            if self._deadline.own_left(reserve) <= reserve:
                break
            if quiet.since(now) > AT_REST_SECONDS:  # the held one is at the gate then, or waits for the others
                if all(state.what != "runs" for state in locate(others)):
                    break
                quiet.restart()
        early = [member.number for member in others if member.has_returned]
        return early if open_gate() else []

    def _listen(self) -> None:
        """Takes the replies and prints that have come, waiting for at most one turn."""
        waiting = [member for member in self._members if not member.done]
        # The prints too: a rank that prints much stands still while nobody reads.
        select.select([source for member in waiting for source in member.process.sources()], [], [], TURN_SECONDS)
        for member in waiting:
            member.read()

    def _has_failure(self) -> bool:
        return any(member.has_failed for member in self._members)

    def _is_deadlocked(self, now: float) -> bool:
        """Whether nobody does anything and each unfinished rank waits in a collective."""
        if self._has_failure() or self._quiet.since(now) < QUIET_SECONDS:
            return False
        states = locate(self._members)
        if states and all(state.what == "waits" and not is_joining(state) for state in states):
            return True
        self._quiet.restart()
        return False

    def _is_aftermath_over(self, now: float) -> bool:
        """Whether a rank has failed, and the others have had the time to do what follows from that."""
        if not self._has_failure():
            return False
        if self._aftermath is None:
            self._aftermath = Aftermath(self._members, now)
        return self._aftermath.is_over(now)


def locate(members: Sequence[Member]) -> list[State]:
    """Asks the ranks that have not finished where they are."""
    asked = [member for member in members if not member.done]
    for member in asked:
        member.process.ask_where()
    until = time.monotonic() + LOCATE_SECONDS
    while time.monotonic() < until and not all(is_whole(member.process.stacks()) for member in asked):
        select.select([source for member in asked for source in member.process.sources()], [], [], 0.001)
        for member in asked:
            member.read()
        asked = [member for member in asked if not member.done]
    return [member.state() for member in asked]


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
