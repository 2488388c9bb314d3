"""Why processes of submissions end: too much memory, which is watched here, or in their own way."""

import contextlib
import signal
import threading
from typing import Final, Protocol

from grader.border.failures import MEMORY_SHORT

WATCH_SECONDS: Final = 0.05
"""How often the memory of student processes is measured (s)."""


class HostGone(BaseException):
    """No process can be started: the grader's fault. Not an `Exception`, so that no check blames a submission."""


class Watched(Protocol):
    """The processes of one topic."""

    def watch(self) -> None:
        """Ends them if they hold too much memory; another thread calls it."""


class MemoryWatch:
    """A thread of the judge's that looks at the memory of open topics."""

    def __init__(self) -> None:
        self._topics: list[Watched] = []
        self._has_some = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="memory-watch")

    def add(self, topic: Watched) -> None:
        """Watches a topic from now on."""
        self._topics.append(topic)
        self._has_some.set()
        if not self._thread.is_alive():
            self._thread.start()

    def remove(self, topic: Watched) -> None:
        """A topic that is closed needs no watching."""
        with contextlib.suppress(ValueError):
            self._topics.remove(topic)
        if not self._topics:
            self._has_some.clear()

    def close(self) -> None:
        """Watches nothing any more."""
        self._closed.set()
        self._has_some.set()

    def _run(self) -> None:
        while not self._closed.wait(WATCH_SECONDS):
            for topic in list(self._topics):
                with contextlib.suppress(OSError):
                    topic.watch()
            self._has_some.wait()


def how_it_ended(code: int | None, *, memory_was_short: bool) -> str:
    """How a process ended, in words; completes "your code …".

    Args:
        code: its exit code, or minus the signal that ended it; None if that is not known.
        memory_was_short: whether the system has ended processes in the meantime because memory was short.
    """
    if code is None:
        return "ended the process"
    if code == -9 and memory_was_short:
        return MEMORY_SHORT
    if code >= 0:
        shown = f"{code:#x}" if code > 0xFFFF else str(code)  # on Windows, what the system ended a process for
        return f"ended the process with exit code {shown}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return f"was ended by signal {-code} ({name})"
