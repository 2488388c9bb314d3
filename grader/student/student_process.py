"""The judge's side of student processes: a host that starts them, and those of a topic.

There are three ways to start one: `forked.py` forks it in the sandbox, `portable.py` makes a new Python, and
`judge/in_process.py` forks it from this process. All above a socket, the outputs and a kill is here and
in `socket_process.py`, for all of them.
"""

from __future__ import annotations

import abc
import contextlib
import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from grader.border.arena import Arena
from grader.border.failures import SubmissionCrashed
from grader.border.messages import Bindings, LoadOrder, Start
from grader.kit import Kit
from grader.machine import Devices, affordable
from grader.results import Flag
from grader.sandbox.clock import Deadline, Meter
from grader.sandbox.limits import CUDA_BYTES, Limits
from grader.sandbox.process_tree import Look
from grader.student import audit
from grader.student.memory import MemoryUse
from grader.student.prints import Prints
from grader.student.process import Prepare
from grader.student.socket_process import DUMP_BYTES, StudentProcess, TopicProcess

WATCH_SECONDS: Final = 0.05
"""How often the memory of student processes is measured (s)."""
END_SECONDS: Final = 1.0
"""How long a process whose socket has closed may take to end, until its end is known (s)."""


class HostGone(BaseException):
    """No process can be started: the grader's fault. Not an `Exception`, so that no check blames a submission."""


class Host(abc.ABC):
    """Makes the processes of submissions, one topic at a time.

    Attributes:
        limits: of each submission; less memory than was asked for if the machine has not as much.
        layers: those of the sandbox that are active, once it is ready; none where there is no sandbox.
        topics: those that are open; a thread looks at their memory.
        most_bytes: memory that a topic's processes may hold together, beyond what each held before (bytes).
    """

    layers: tuple[str, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self.limits = replace(limits, memory_bytes=affordable(limits.memory_bytes))
        self.most_bytes = self.limits.memory_bytes
        self.topics: set[TopicProcesses] = set()
        self._is_closed = threading.Event()

    def _watch(self) -> None:
        seconds = WATCH_SECONDS
        while not self._is_closed.wait(seconds):
            began = time.monotonic()
            for topic in list(self.topics):
                with contextlib.suppress(OSError):
                    topic.watch()
            seconds = max(WATCH_SECONDS, time.monotonic() - began)  # at most half of a processor

    def prepare(
        self, hidden: Sequence[str], preload: Sequence[str], devices: Devices = "simulated", kit: Kit | None = None
    ) -> None:
        """Hides folders and loads modules and the course's kit. Does not wait until it is done."""
        self.most_bytes += 0 if devices == "simulated" else CUDA_BYTES
        place = (kit.name, str(kit.folder)) if kit else None
        threading.Thread(target=self._watch, daemon=True, name="memory-watch").start()
        self._send_settings(Prepare(self.limits, [*hidden], [*preload], devices, place))

    @abc.abstractmethod
    def _send_settings(self, order: Prepare) -> None:
        """Sends the first order to the process that runs or forks submitted code."""

    @abc.abstractmethod
    def finish_preparing(self) -> None:
        """Waits until it is ready.

        Raises:
            UserError: when a module of ``preload`` or the kit cannot be loaded.
        """

    @abc.abstractmethod
    def open_topic(self, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> TopicProcesses:
        """The processes for a topic of a submission, whose files are given by name."""

    def close(self) -> None:
        """Ends every process."""
        self._is_closed.set()


class TopicProcesses(abc.ABC):
    """The processes of one topic of one submission, which share a work folder.

    Attributes:
        load_order: how processes load the topic from now on; None to import it as a whole.
        layers: those of the sandbox.
        flags: of actions that no exercise needs, as far as the processes of the submission that have ended say.
        meter: the time that all processes have used together.
    """

    def __init__(self, host: Host, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> None:
        self._host = host
        self.layers = host.layers
        self.bindings = bindings
        self.load_order: LoadOrder | None = None
        self._topic = topic
        self._files = files
        self._count = 0
        self.flags: dict[Flag, None] = {}
        self.meter = Meter(self.look)
        self._clear_counters()

    def _clear_counters(self) -> None:
        """The next process does not pay for what earlier ones were killed for."""
        self._memory = MemoryUse(self._host.most_bytes)

    def deadline(self, seconds: float) -> Deadline:
        """This many seconds of the processes' own time, from now on."""
        return Deadline(seconds, self.meter)

    @abc.abstractmethod
    def look(self) -> Look:
        """The work of all processes of the submission up to now, with those that have ended."""

    @abc.abstractmethod
    def start_afresh(self) -> TopicProcess:
        """Ends every process, makes the work folder new, and starts a process that imports the topic.

        Raises:
            HostGone: no process can be started.
            SubmissionCrashed: none can be started, because of what the submission has left running.
        """

    @abc.abstractmethod
    def start(self, *, imports: bool = True) -> StudentProcess:
        """Starts a further process.

        Raises:
            SubmissionCrashed: it cannot be started.
        """

    def _start(self, *, imports: bool, afresh: bool) -> StudentProcess:
        """Starts a process with outputs and an arena of its own; `afresh` says that it is the main process."""
        self._count += 1
        with contextlib.ExitStack() as on_failure:
            limit = self._host.limits.print_bytes
            prints = self._output("prints", limit)
            errors = prints if afresh else self._output("errors", limit)
            dumps, notes = self._output("dumps", DUMP_BYTES), self._output("events", audit.MOST_BYTES + 1)
            outputs, arena = [prints, errors, dumps, notes], self._arena()
            for output in outputs:
                on_failure.callback(output.close)
            on_failure.callback(arena.close)
            order = Start(self._count, imports, afresh, self.bindings, self.load_order)
            pid, sock = self._launch(order, outputs, arena)
            on_failure.pop_all()
        return StudentProcess(self, self._count, pid, sock, outputs, arena, is_main=afresh)

    def _output(self, name: str, limit: int) -> Prints:
        """A new output for the process that is about to start, of which this many bytes are kept."""
        return Prints(limit)

    def _arena(self) -> Arena:
        return Arena.create()

    @abc.abstractmethod
    def _launch(self, order: Start, outputs: Sequence[Prints], arena: Arena) -> tuple[int, socket.socket]:
        """Starts a process; its id here, and the socket on which it answers."""

    @abc.abstractmethod
    def ask_where(self, process: StudentProcess) -> None:
        """Makes a process write where it is."""

    @abc.abstractmethod
    def end(self, process: StudentProcess) -> None:
        """Kills a process and all that it has started; with the main process, every other one of the topic.

        Returns when the system has let go of them. A portable process that only the course's own answers have used may
        be kept for the next ones, if it is alive.
        """

    @abc.abstractmethod
    def exit_code(self, number: int) -> int | None:
        """The exit code of a process that is about to end, or minus the signal; None if that is not known soon."""

    def why_it_ended(self, number: int) -> SubmissionCrashed:
        """The crash of a process that has ended; its text completes "your code …"."""
        code = self.exit_code(number)
        if crash := self._memory.crash(code):
            return crash
        if code is None:
            return SubmissionCrashed("ended the process")
        if code >= 0:
            shown = f"{code:#x}" if code > 0xFFFF else str(code)  # on Windows, what the system ended a process for
            return SubmissionCrashed(f"ended the process with exit code {shown}")
        name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
        return SubmissionCrashed(f"was ended by signal {-code} ({name})")

    @abc.abstractmethod
    def tidy(self, main: TopicProcess, threads: int) -> bool:
        """Removes all files from the work folder but the submission's, so that the main process can be used again.

        Returns:
            True if nothing is running but what the judge started: no other process, nor more threads.
        """

    @abc.abstractmethod
    def watch(self) -> None:
        """Ends the processes if they hold too much memory; a thread of the host's calls it."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends all processes, and returns when the system has let go of them. Does nothing the second time."""
