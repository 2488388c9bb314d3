"""The judge's own time limit: ends a check that loops or blocks in the judge itself, at a line of the check.

The judge's processor time counts, and the time that it blocks without waiting for a student process; so neither
a slow submission nor a busy machine uses any of it. Code deep in C cannot be interrupted from here: then the judge's
signs of life end, and the main process ends the worker (`grading/worker_process.py`).
"""

import _thread
import contextlib
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

from grader.results import Frame

JUDGE_SECONDS: Final = 20.0
"""Processor time of the judge for one run of a check's body (seconds)."""
BLOCKED_FACTOR: Final = 3.0
"""How many times that a check may block, without using the processor and without waiting for a student process."""
_TICK_SECONDS: Final = 1.0
_IDLE: Final = 0.01
"""Below this share of a tick's time on the processor, the judge was blocked; on the busiest machine it gets more."""
_PACKAGE: Final = Path(__file__).resolve().parent.parent
_WAIT_FILES: Final = ("student/", "testkit/_ranks/members.py", "testkit/_ranks/launch.py")
_WAITS: Final = tuple(str(_PACKAGE / part) for part in _WAIT_FILES)
"""The files in which the judge waits for student processes."""
_MOST_RAISED: Final = 3
_TICK_SIGNAL: Final[signal.Signals | None] = getattr(signal, "SIGALRM", getattr(signal, "SIGBREAK", None))
"""The signal of a tick; the second one on Windows."""


class Overrun(BaseException):
    """A check took too much of the judge's own time. Not an `Exception`, so that no check takes it for an answer.

    Remedy: a bound in the check on its work with a value that came from a submission.

    Attributes:
        seconds: how much it may take.
        line: the check's line that was running; None if it was elsewhere.
    """

    def __init__(self, seconds: float, line: Frame | None) -> None:
        super().__init__(f"it did not end: {seconds:g} s of the judge's own time were over")
        self.seconds = seconds
        self.line = line


class TimeLimit:
    """Counts the judge's time while checks run, and gives signs of life; for the main thread of a process.

    Args:
        seconds: see `JUDGE_SECONDS`.
        alive: called about once a second while Python code can run.

    Attributes:
        overrun: says that the last check was too long; None if it was not.
    """

    def __init__(self, seconds: float = JUDGE_SECONDS, alive: Callable[[], None] = lambda: None) -> None:
        self.seconds = seconds
        self._alive = alive
        self._file: Path | None = None
        self._used = self._blocked = self._processor_time = 0.0
        self._raised = 0
        self.overrun: Overrun | None = None

    @contextlib.contextmanager
    def ticking(self) -> Iterator[None]:
        """Gives signs of life while it lasts; only then are checks interrupted."""
        if _TICK_SIGNAL is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        with contextlib.ExitStack() as stack:
            stack.callback(signal.signal, _TICK_SIGNAL, signal.signal(_TICK_SIGNAL, self._tick))
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
                stack.callback(signal.setitimer, signal.ITIMER_REAL, 0)
            else:
                is_over = threading.Event()
                thread = threading.Thread(target=_interrupt_until, args=[is_over], daemon=True, name="time-limit")
                thread.start()
                stack.callback(thread.join)
                stack.callback(is_over.set)
            yield

    @contextlib.contextmanager
    def counting(self, file: Path) -> Iterator[None]:
        """Limits each run of a check's body by itself while the context lasts; `overrun` says if one was too long.

        Args:
            file: the check's file.

        Raises:
            Overrun: in the middle of the check.
        """
        self.overrun, self._raised = None, 0
        self.restart()
        self._file = file
        try:
            yield
        finally:
            self._file = None

    def restart(self) -> None:
        """Begins to count anew: this thread's processor time, as another one watches the memory of submissions."""
        self._used = self._blocked = 0.0
        self._processor_time = time.thread_time()

    def timed(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """A check's body whose every run has the full time."""

        def run(*args: Any, **kwargs: Any) -> Any:
            self.restart()
            return body(*args, **kwargs)

        return run

    def _tick(self, number: int, frame: FrameType | None) -> None:
        before, self._processor_time = self._processor_time, time.thread_time()
        worked = self._processor_time - before
        lines = list(traceback.walk_stack(frame))
        is_waiting = any(one.f_code.co_filename.startswith(_WAITS) for one, _ in lines)
        if self._file is not None and not is_waiting:
            self._used += worked
            self._blocked = 0.0 if worked > _IDLE * _TICK_SECONDS else self._blocked + _TICK_SECONDS
            if self._used > self.seconds or self._blocked > BLOCKED_FACTOR * self.seconds:
                self._raised += 1
                own = ((one.f_code.co_name, line) for one, line in lines if one.f_code.co_filename == str(self._file))
                name, line = next(own, ("", 0))
                self.overrun = Overrun(self.seconds, Frame(self._file.name, line, name) if line else None)
                if self._raised > _MOST_RAISED:
                    return  # The check swallows it: without signs of life, the main process ends this one.
                raise self.overrun
        self._alive()


def _interrupt_until(is_over: threading.Event) -> None:
    """On systems without interval timers, a thread has Python call the signal's handler."""
    while _TICK_SIGNAL is not None and not is_over.wait(_TICK_SECONDS):
        _thread.interrupt_main(_TICK_SIGNAL)
