"""Facts about processes for `process_tree.py` if the system has no /proc: by psutil, which is imported when needed.

Nothing here decides anything. A process that is not there, or may not be looked at, counts nothing.
"""

from __future__ import annotations

import contextlib
import time
from typing import Final

_SLEEPING: Final = ("sleeping", "disk-sleep", "idle", "stopped", "zombie", "dead")


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, parents first."""
    import psutil

    with contextlib.suppress(psutil.Error):
        return [process.pid for process in psutil.Process(pid).children(recursive=True)]
    return []


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    import psutil

    with contextlib.suppress(psutil.Error, ValueError):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def kill(pid: int) -> None:
    """Ends a process at once, if it is there."""
    import psutil

    with contextlib.suppress(psutil.Error, ValueError):
        psutil.Process(pid).kill()


def memory(pid: int) -> int:
    """The memory that a process holds (bytes)."""
    import psutil

    with contextlib.suppress(psutil.Error, ValueError):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def count_threads(pid: int) -> int:
    """How many threads a process has."""
    import psutil

    with contextlib.suppress(psutil.Error, ValueError):
        return int(psutil.Process(pid).num_threads())
    return 0


def sleeps(pid: int) -> bool:
    """Whether a process sleeps; always, where the system does not say."""
    import psutil

    with contextlib.suppress(psutil.Error, ValueError):
        return psutil.WINDOWS or psutil.Process(pid).status() in _SLEEPING
    return True


def processor_time(pid: int) -> float:
    """The processor time of a process (s)."""
    import psutil

    with contextlib.suppress(psutil.Error, ValueError):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


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
