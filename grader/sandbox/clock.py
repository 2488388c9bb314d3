"""How long a submission has had: time that it waited for a processor is not its own, so a busy machine fails nobody."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

CAP: Final = 4.0
"""By the clock, what runs may take this many times its limit."""
_NEARLY: Final = 0.005
"""Less time than this (s) is not worth another look."""


class Deadline:
    """When the time is over of something that submitted code does.

    Time that its processes waited for a processor is added, up to `CAP` times the limit by the clock.

    Args:
        seconds: the limit.
        waited: gives how long the processes have waited for a processor since they began (s).
        paused: gives for how long since any moment nothing was asked of them (s): that is nobody's time.
    """

    def __init__(
        self,
        seconds: float,
        waited: Callable[[], float] = lambda: 0.0,
        paused: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._begin = time.monotonic()
        self._seconds = seconds
        self._waited = waited
        self._paused = paused
        self._paused_before = paused()
        self.at = self._begin + seconds
        """On the monotonic clock, as far as it is known now."""

    def left(self) -> float:
        """Seconds until then; what was waited is looked up only when they seem to be over."""
        now = time.monotonic()
        if now >= self.at - _NEARLY:
            paused = self._paused() - self._paused_before
            self.at = self._begin + paused + min(self._seconds + self._waited(), CAP * self._seconds)
        return max(self.at - now - _NEARLY, 0.0)

    def is_over(self) -> bool:
        """Whether no time is left."""
        return not self.left()

    def allow(self, seconds: float) -> None:
        """Lets it take so long from now, if it has less."""
        paused = self._paused() - self._paused_before
        self._seconds = max(self._seconds, time.monotonic() - self._begin - paused + seconds)
        self.at = max(self.at, self._begin + paused + self._seconds)
