"""Ctrl-C and SIGTERM while a class is graded: the grading stops, and the results so far are kept."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopOnInterrupt:
    """In its ``with`` block the first signal calls `stop` and goes on; a second one raises KeyboardInterrupt.

    Attributes:
        interrupted: whether a signal came.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self.interrupted = False
        self._stop = stop
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopOnInterrupt:
        self._previous = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in _SIGNALS:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        for again in _SIGNALS:
            signal.signal(again, signal.default_int_handler)
        self._stop()
