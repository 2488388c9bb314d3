"""Where the processes of submissions come from: a host, and for each topic of a submission its processes.

`HostClient` forks them, `PortableHost` spawns them; the judge knows these interfaces alone. Here is also why processes
of submissions end: too much memory, which is watched here, or in their own way.
"""

from __future__ import annotations

import abc
import contextlib
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from grader.border.failures import MEMORY_SHORT, KilledBySystem, OutOfMemory, SubmissionCrashed
from grader.border.messages import Definitions
from grader.kit import Kit
from grader.machine import Devices, memory_kills
from grader.sandbox.clock import Deadline, Effort
from grader.sandbox.limits import CUDA_BYTES, Limits
from grader.student.orders import Prepare

if TYPE_CHECKING:
    from grader.student.student_process import StudentProcess

WATCH_SECONDS: Final = 0.05
"""How often the memory of student processes is measured (s)."""
END_SECONDS: Final = 1.0
"""How long a process whose socket has closed may take to end, until its end is known (s)."""
Bindings: TypeAlias = Sequence[tuple[str, str]] | None
"""For the course's own wrong answers: which name is answered by which of them; None for a submission."""


class HostGone(BaseException):
    """No process can be started: the grader's fault. Not an `Exception`, so that no check blames a submission."""


class Host(abc.ABC):
    """Makes the processes of submissions, one topic at a time.

    Attributes:
        limits: of each submission.
        layers: those of the sandbox that are active, once it is ready; none where there is no sandbox.
        watch: looks at the memory of the topics that are open.
        most_bytes: memory that a topic's processes may hold together, beyond what each held before (bytes).
    """

    layers: tuple[str, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.watch = MemoryWatch()
        self.most_bytes = limits.memory_bytes

    def prepare(
        self, hidden: Sequence[str], preload: Sequence[str], devices: Devices = "simulated", kit: Kit | None = None
    ) -> None:
        """Hides folders and loads modules and the course's kit. Does not wait until it is done."""
        self.most_bytes += 0 if devices == "simulated" else CUDA_BYTES
        place = (kit.name, str(kit.folder)) if kit else None
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

    @abc.abstractmethod
    def close(self) -> None:
        """Ends every process."""


class TopicProcesses(abc.ABC):
    """The processes of one topic of one submission, which share a work folder.

    Attributes:
        definitions: how processes import the topic from now on; None: as it is.
        starting_seconds: for how long the judge has waited for new processes (s): that is nobody's time.
        layers: those of the sandbox.
    """

    starting_seconds = 0.0

    def __init__(self, host: Host, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> None:
        self.layers = host.layers
        self.bindings = bindings
        self.definitions: Definitions | None = None
        self._topic = topic
        self._files = files
        self._count = 0
        self._held_too_much = 0  # bytes
        self._memory_kills = memory_kills()

    def deadline(self, seconds: float) -> Deadline:
        """This many seconds of the processes' own time, from now on."""
        return Deadline(seconds, self.effort, lambda: self.starting_seconds)

    @abc.abstractmethod
    def effort(self) -> Effort:
        """The work of all processes of the submission up to now."""

    @abc.abstractmethod
    def start_afresh(self) -> StudentProcess:
        """Ends every process, makes the work folder new, and starts a process that imports the topic.

        Raises:
            HostGone: no process can be started.
        """

    @abc.abstractmethod
    def start(self, *, imports: bool = True) -> StudentProcess:
        """Starts a further process.

        Raises:
            SubmissionCrashed: it cannot be started.
        """

    @abc.abstractmethod
    def ask_where(self, process: StudentProcess) -> None:
        """Makes a process write where it is."""

    @abc.abstractmethod
    def stop(self, process: StudentProcess) -> None:
        """Ends a process."""

    @abc.abstractmethod
    def exit_code(self, number: int) -> int | None:
        """The exit code of a process that is about to end, or minus the signal; None if that is not known soon."""

    def why_it_ended(self, number: int) -> SubmissionCrashed:
        """The crash that the end of a process comes to."""
        if self._held_too_much:
            held, self._held_too_much = self._held_too_much, 0
            return OutOfMemory(held=held)
        code = self.exit_code(number)
        if code == -9 and memory_kills() > self._memory_kills:
            return KilledBySystem(MEMORY_SHORT)
        return SubmissionCrashed(_how_it_ended(code))

    @abc.abstractmethod
    def keep_files(self) -> None:
        """The files that are in the work folder now stay when it is tidied."""

    @abc.abstractmethod
    def tidy(self) -> None:
        """Removes the files that calls have left in the work folder.

        Raises:
            LeaderGone: the process that does so does not answer.
        """

    @abc.abstractmethod
    def has_left_something(self, main: StudentProcess, threads: int) -> bool:
        """Whether more is running than the judge started: another process, or more threads in the main one."""

    @abc.abstractmethod
    def watch(self) -> None:
        """Ends the processes if they hold too much memory; another thread calls it."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends all processes."""


def _how_it_ended(code: int | None) -> str:
    """How a process ended, in words that complete "your code …"."""
    if code is None:
        return "ended the process"
    if code >= 0:
        shown = f"{code:#x}" if code > 0xFFFF else str(code)  # on Windows, what the system ended a process for
        return f"ended the process with exit code {shown}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return f"was ended by signal {-code} ({name})"


class MemoryWatch:
    """A thread of the judge's that looks at the memory of open topics."""

    def __init__(self) -> None:
        self.topics: list[TopicProcesses] = []
        self._has_some = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="memory-watch")

    def add(self, topic: TopicProcesses) -> None:
        """Watches a topic from now on."""
        self.topics.append(topic)
        self._has_some.set()
        if not self._thread.is_alive():
            self._thread.start()

    def remove(self, topic: TopicProcesses) -> None:
        """A topic that is closed needs no watching."""
        with contextlib.suppress(ValueError):
            self.topics.remove(topic)
        if not self.topics:
            self._has_some.clear()

    def close(self) -> None:
        """Watches nothing any more."""
        self._closed.set()
        self._has_some.set()

    def _run(self) -> None:
        while not self._closed.wait(WATCH_SECONDS):
            for topic in list(self.topics):
                with contextlib.suppress(OSError):
                    topic.watch()
            self._has_some.wait()
