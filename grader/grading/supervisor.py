"""Watches a worker while it grades, and ends it when it is stuck where it cannot end itself: deep in C.

Decides by the worker's messages (`AtPlace`, `Alive`) and by the system's count of its processor time, so that a busy
machine ends no worker. Never reads a result.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Final

from grader.grading.worker import STACK_SIGNAL
from grader.judge.marks import Place
from grader.judge.time_limit import BLOCKED_FACTOR
from grader.sandbox import process_tree

_LOOK_SECONDS: Final = 1.0
_DUMP_SECONDS: Final = 5.0
"""How long a stuck worker may take to write where it is."""
_UNKNOWN_FACTOR: Final = 15.0
"""How many times its limit a worker may be silent where its processor time is not known."""


class Supervisor:
    """Watches one worker for one submission; use it in a ``with`` statement.

    Args:
        seconds: the judge's limit: processor time without a sign of life.
        timeout: wall-clock seconds for all of the submission.
        has_written: whether the worker has written where it is.

    Attributes:
        place: the worker's place; None before it has begun.
        reason: why the worker was ended; empty if it was not.
        is_overrun: whether that was because it took too much of its own time for one step.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        seconds: float,
        timeout: float,
        has_written: Callable[[], bool] = lambda: True,
    ) -> None:
        self.place: Place | None = None
        self.reason = ""
        self.is_overrun = False
        self._process = process
        self._seconds = seconds
        self._until = time.monotonic() + timeout
        self._timeout = timeout
        self._has_written = has_written
        self._signs = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="supervisor")

    def __enter__(self) -> Supervisor:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def sign_of_life(self, place: Place | None = None) -> None:
        """The worker lives, and does `place` from now on, if that is given."""
        self._signs += 1
        if place is not None:
            self.place = place

    def _watch(self) -> None:
        seen = -1
        heard, before, slept = 0.0, 0.0, 0.0
        while not self._over.wait(_LOOK_SECONDS):
            now, (sleeps, worked, _) = time.monotonic(), process_tree.activity(self._process.pid)
            if now > self._until:
                self._end(f"no answer in {self._timeout:g} s")
                return
            if self.place is None:
                continue
            if seen != self._signs:
                seen, heard, slept = self._signs, now, 0.0
                before = worked
                continue
            if not worked:
                is_stuck = now - heard > _UNKNOWN_FACTOR * self._seconds
            else:
                slept = slept + _LOOK_SECONDS if sleeps else 0.0
                is_stuck = worked - before > self._seconds or slept > BLOCKED_FACTOR * self._seconds
            if is_stuck:
                self.is_overrun = True
                self._end("it did not end, and could not be interrupted")
                return

    def _end(self, reason: str) -> None:
        self.reason = reason
        if STACK_SIGNAL is not None:
            with contextlib.suppress(OSError):
                os.kill(self._process.pid, STACK_SIGNAL)
                until = time.monotonic() + _DUMP_SECONDS
                while not self._has_written() and time.monotonic() < until and not self._over.wait(0.05):
                    pass
        with contextlib.suppress(OSError):
            self._process.kill()
