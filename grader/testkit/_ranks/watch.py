"""Follows the ranks of one run: takes their replies, and notices when nothing more can come.

It runs in the judge. It must never wait without a limit.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Final

from grader.border.transport import Activity
from grader.sandbox.clock import Deadline, Effort
from grader.testkit._ranks.members import Member, State, is_joining, is_whole

TURN_SECONDS: Final = 0.02
"""How long one wait for news takes at most."""
QUIET_SECONDS: Final = 0.4
"""When no rank has done anything for this long (s), each is asked where it is.

If all wait in a collective, it is a deadlock."""
LOCATE_SECONDS: Final = 0.3
"""How long the ranks may take to write where they are."""
AT_REST_SECONDS: Final = 0.04
"""When no rank has done anything for this long (s) while one is held, the others are asked where they are."""
AFTERMATH_SECONDS: Final = 0.15
"""Once a rank has raised or died, the others may go on until none has done anything for this long (s).

So the same mistake gives the same report."""
LONGEST_AFTERMATH: Final = 1.0
"""The most that they may go on (s)."""
LITTLE_WORK: Final = 0.05
"""The share of a processor up to which a rank counts as idle."""
LEAST_WORK: Final = 0.001
"""The same for a short moment (s)."""


class RankWatch:
    """Follows ranks until each has replied to all, or nothing more is to be expected of the rest.

    Args:
        seconds: how much time they have from now on.
    """

    def __init__(self, members: Sequence[Member], seconds: float) -> None:
        self._members = members
        self._deadline = Deadline(seconds, self._effort)

    def follow(self, held: Member | None = None) -> None:
        """Returns when all have replied, one has failed and the others had their time, or all are stuck.

        Args:
            held: a rank that is held: then it returns when one has failed, or each of the others has returned or waits.
        """
        others = [member for member in self._members if member is not held]
        patience = QUIET_SECONDS if held is None else AT_REST_SECONDS
        deadline = self._deadline if held is None else Deadline(0.75 * self._deadline.left(), self._effort)
        quiet = Quiet(self._members)
        aftermath: Deadline | None = None
        while not all(member.done for member in self._members):
            self._listen()
            if aftermath is None and any(member.has_failed for member in self._members):
                if held is not None:
                    return
                aftermath = Deadline(LONGEST_AFTERMATH, self._effort)
                quiet.restart()
            if aftermath is None and quiet.seconds() >= patience:
                quiet.restart()
                states = [state for state in locate(others) if held is None or state.what != "returned"]
                waits = all(state.what == "waits" and not is_joining(state) for state in states)
                if waits and (states or held is not None):
                    return
            has_ended = aftermath is not None and (quiet.seconds() > AFTERMATH_SECONDS or aftermath.is_over())
            if has_ended or deadline.is_over():
                locate(self._members)
                return

    def _effort(self) -> Effort:
        """The work of the ranks that are not done: the most that one has worked, because each has the whole limit."""
        done = [member.process.activity() for member in self._members if not member.done]
        return Effort(max((one.worked for one in done), default=0.0), sum(one.waited for one in done))

    def _listen(self) -> None:
        """Takes the replies and prints that have come, waiting for at most one turn."""
        waiting = [member for member in self._members if not member.done]
        # The prints too: a rank that prints much stands still while nobody reads.
        select.select([source for member in waiting for source in member.process.sources()], [], [], TURN_SECONDS)
        for member in waiting:
            member.read()


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

    def seconds(self) -> float:
        """Seconds of quiet up to now."""
        now = time.monotonic()
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
