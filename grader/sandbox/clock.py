"""How long a submission has had: time that it waited for a processor is not its own, so a busy machine fails nobody.

Nor is time that the grader waited before it could ask or read on, or that the machine itself did not run.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Final, NamedTuple

CAP: Final = 40.0
"""By the clock, what waits for a processor may take this many times its limit.

Beside eight busy processes on two cores it has a ninth of the two, so that four times would be too little."""
MORE_WORK: Final = 1.0
"""What has worked this many times its limit since the limit came was kept waiting by its own threads."""
_AGAIN: Final = 0.25
"""After this share of the limit more, what waits is looked at again: it may have begun to work, or to sleep."""
_STOLEN: Final = 8
"""The word in /proc/stat that says for how long virtual processors waited for real ones."""
_NEARLY: Final = 0.005
"""Less time than this (s) is not worth another look."""


class Effort(NamedTuple):
    """The work of some processes up to now, and how long they waited for a processor, all together (s)."""

    worked: float = 0.0
    waited: float = 0.0


def lost_seconds() -> float:
    """For how long this thread has waited for a processor, and a virtual machine for its host's; 0 where none says."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as counted:
            waited = int(counted.read(100).split()[1]) / 1e9
        with open("/proc/stat", "rb", buffering=0) as times:
            return waited + int(times.read(200).split()[_STOLEN]) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Deadline:
    """When the time is over of something that submitted code does.

    Time that its processes waited for a processor is added, as it passes: up to `CAP` times the limit by the clock, and
    until they have worked `MORE_WORK` times the limit after it. So neither more threads than processors buy more time,
    nor what they waited before.

    Args:
        seconds: the limit.
        effort: gives the work of the processes since they began.
        paused: gives for how long since any moment nothing was asked of them (s): that is nobody's time.

    Attributes:
        seconds: the limit, with all that was allowed since.
        at: when it is over, on the monotonic clock, as far as it is known now.
    """

    def __init__(
        self, seconds: float, effort: Callable[[], Effort] = Effort, paused: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.seconds = seconds
        self._effort = effort
        self._paused = paused
        self._looked = time.monotonic()
        self._begin = self._looked - paused()
        self._worked_before: float | None = None
        self._waited_before = lost_seconds()
        self._counted = 0.0
        self.at = self._looked + seconds

    def left(self) -> float:
        """Seconds until then; what was waited is looked up only when they seem to be over."""
        now = time.monotonic()
        if now >= self.at - _NEARLY:
            again = now + max(_AGAIN * self.seconds, 2 * _NEARLY)
            self.at = min(self._end(now), max(self._begin + self._paused() + self.seconds, again))
        return max(self.at - now - _NEARLY, 0.0)

    def own_left(self, enough: float) -> float:
        """Seconds of its own until then: what was waited up to now is counted, or else at least `enough` are left.

        A part of what is left is given out by this, as `left` says less the longer a busy machine lets others run.
        """
        now = time.monotonic()
        if self.at - now < enough:
            self.at = max(self.at, self._end(now))
        return max(self.at - now, 0.0)

    def _end(self, now: float) -> float:
        """When the time is over, with the part of what they waited that counts: none once they have worked enough."""
        worked, waited = self._effort()
        if self._worked_before is None:
            self._worked_before = worked
        # No more than the time that has passed: the first look also sees what they waited before this limit began.
        waited += lost_seconds()
        self._counted += max(0.0, min(waited - self._waited_before, now - self._looked))
        self._waited_before, self._looked = waited, now
        counted = 0.0 if worked - self._worked_before >= MORE_WORK * self.seconds else self._counted
        return self._begin + self._paused() + min(self.seconds + counted, CAP * self.seconds)

    def is_over(self) -> bool:
        """Whether no time is left."""
        return not self.left()

    def allow(self, seconds: float) -> None:
        """Lets it take so long from now, if it has less."""
        begin = self._begin + self._paused()
        self.seconds = max(self.seconds, time.monotonic() - begin + seconds)
        self.at = max(self.at, begin + self.seconds)
