"""How long submitted code has had, counted so that a busy machine fails nobody.

A deadline is over when the processes have used its seconds, or when the clock is `CAP` times that. They use what they
work, and the time in which the judge waits for them while all of them sleep. Time that they wait for a processor is
neither. Nothing is subtracted, stretched or counted for others.
"""

import time
from collections.abc import Callable
from typing import Final

from grader.sandbox import process_tree
from grader.sandbox.process_tree import Look

CAP: Final = 10.0
"""By the clock, what waits for a processor may take this many times its limit."""
LOOK_SECONDS: Final = 0.1
"""How often processes are looked at while the judge waits for them (s)."""
MOST_AT_ONCE: Final = 0.25
"""The sleep that one look can find (s): a judge that could not look for longer was waiting for a processor itself."""
_LITTLE: Final = 0.1
"""The share of a processor up to which processes count as asleep where the system does not say whether they are."""
_IDLE: Final = 0.5
"""So much of one processor must have been free meanwhile, or else they may have waited for it."""


class Meter:
    """Adds up the time that some processes use.

    Args:
        look: returns their work up to now, and whether they sleep; if left out, they always do.

    Attributes:
        used: the time that they have used (s).
    """

    def __init__(self, look: Callable[[], Look] = lambda: Look(0.0, at_rest=True)) -> None:
        self.used = 0.0
        self._look = look
        self._at = 0.0
        self._worked: float | None = None
        self._idle = 0.0
        self._has_dropped = False

    def look(self, *, is_waiting: bool = False) -> None:
        """Adds what they have used since the last look; does nothing if that was less than `LOOK_SECONDS` ago.

        Args:
            is_waiting: whether the judge waits for them: only then can sleep be theirs.
        """
        now = time.monotonic()
        passed = now - self._at
        if self._worked is not None and passed < LOOK_SECONDS:
            return
        worked, at_rest = self._look()
        done = self._work_since(worked)
        self._at = now
        if at_rest is None:
            before, self._idle = self._idle, process_tree.idle_seconds()
            at_rest = done <= _LITTLE * passed and self._idle - before >= _IDLE * passed
        self.used += max(done, min(passed, MOST_AT_ONCE) if is_waiting and at_rest else 0.0)

    def _work_since(self, worked: float) -> float:
        """The work since the last look. A sum that is lower than before is believed only when it is seen twice.

        The processes are read one by one: the work of one that ends meanwhile is missing until the next look.
        """
        before = worked if self._worked is None else self._worked
        self._has_dropped = worked < before and not self._has_dropped
        self._worked = before if self._has_dropped else worked
        return max(worked - before, 0.0)

    def seconds_to_look(self) -> float:
        """How long until the next look has something to do (s)."""
        return max(self._at + LOOK_SECONDS - time.monotonic(), 0.0)


class Deadline:
    """The deadline of something that submitted code does.

    Args:
        seconds: the limit, from now on.
        meter: of the processes; if left out, the clock alone decides.

    Attributes:
        seconds: the limit, with all that was allowed since.
    """

    def __init__(self, seconds: float, meter: Meter | None = None) -> None:
        self.seconds = seconds
        self.meter = meter or Meter()
        self.meter.look()
        self._used_before = self.meter.used
        self._began = time.monotonic()

    def left(self, *, is_waiting: bool = False) -> float:
        """The seconds that they may still use, at most 0 if there are none.

        Args:
            is_waiting: whether the judge waits for the processes.
        """
        self.meter.look(is_waiting=is_waiting)
        by_clock = CAP * self.seconds - (time.monotonic() - self._began)
        return max(min(self.seconds - self._used(), by_clock), 0.0)

    def is_over(self) -> bool:
        """True if no time is left, asked while the judge waits."""
        return not self.left(is_waiting=True)

    def allow(self, seconds: float) -> None:
        """Lets it use so much from now on, if it has less."""
        self.meter.look()
        self.seconds = max(self.seconds, self._used() + seconds)

    def _used(self) -> float:
        return self.meter.used - self._used_before
