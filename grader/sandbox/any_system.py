"""Facts about processes for `process_tree.py` if the system has no /proc: by psutil, which is imported when needed.

Nothing here decides anything. A process that is not there, or may not be looked at, counts nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    import psutil

T = TypeVar("T")

_SLEEPING: Final = ("sleeping", "disk-sleep", "idle", "stopped", "zombie", "dead")


def _ask(pid: int, question: Callable[[psutil.Process], T], otherwise: T) -> T:
    """The answer about a process; another one if it is not there, or may not be looked at."""
    import psutil

    try:
        return question(psutil.Process(pid))
    except (psutil.Error, ValueError):
        return otherwise


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, parents first."""
    return _ask(pid, lambda process: [one.pid for one in process.children(recursive=True)], [])


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    return _ask(pid, lambda process: process.status() != "zombie", False)


def kill(pid: int) -> None:
    """Ends a process at once, if it is there."""
    _ask(pid, lambda process: process.kill(), None)


def memory(pid: int) -> int:
    """The memory that a process holds (bytes)."""
    return _ask(pid, lambda process: int(process.memory_info().rss), 0)


def count_threads(pid: int) -> int:
    """How many threads a process has."""
    return _ask(pid, lambda process: int(process.num_threads()), 0)


def sleeps(pid: int) -> bool:
    """Whether a process sleeps; always, where the system does not say."""
    return _ask(pid, lambda process: sys.platform == "win32" or process.status() in _SLEEPING, True)


def processor_time(pid: int) -> float:
    """The processor time of a process (s)."""
    return _ask(pid, lambda process: sum(process.cpu_times()[:2]), 0.0)


class Stopwatch:
    """Time by the clock, and how long at least one processor of the machine had nothing to do in it."""

    def __init__(self) -> None:
        self._began, self._idle = time.monotonic(), _idle_seconds()

    def all_busy(self) -> float:
        """For how long all processors can have been busy at most (s): only then does anybody wait for one."""
        import psutil

        passed = time.monotonic() - self._began
        return max(0.0, passed - (_idle_seconds() - self._idle) / (psutil.cpu_count() or 1))


def _idle_seconds() -> float:
    import psutil

    return float(psutil.cpu_times().idle)
