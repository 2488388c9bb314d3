"""The judge's side of student processes: a host that starts them, those of a topic, and each of them.

`HostClient` forks them, `PortableHost` spawns them; the judge knows the interfaces here alone. Each process answers
requests on a socket of its own. Nothing here waits for submitted code without a deadline.
"""

from __future__ import annotations

import abc
import contextlib
import os
import re
import select
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, TypeAlias

from grader.border import failures, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import NoAnswer, SubmissionCrashed, SubmissionRaised, one_line
from grader.border.frames import BrokenFrame, FrameReader, frame
from grader.border.messages import Imported, LoadOrder, Raised
from grader.border.transport import Activity, Process
from grader.kit import Kit
from grader.locks import lock
from grader.machine import Devices, memory_kills
from grader.results import Flag, Frame
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline, Effort
from grader.sandbox.limits import CUDA_BYTES, Limits
from grader.student import audit
from grader.student.prints import Prints
from grader.student.process import Prepare

WATCH_SECONDS: Final = 0.05
"""How often the memory of student processes is measured (s)."""
END_SECONDS: Final = 1.0
"""How long a process whose socket has closed may take to end, until its end is known (s)."""
DUMP_SECONDS: Final = 2.0
"""How long a process whose time is over may take to write where it is (s)."""
DUMP_BYTES: Final = 20_000
"""Bytes of a stack dump that are kept; submitted code can write there, so it may be of any length."""
MAX_DUMP_LINES: Final = 64
"""Lines of a stack dump that are read."""
_OUTERMOST: Final = ("in serve", "in import_and_serve")
"""What a whole stack dump ends with: one of these functions of the student process calls submitted code."""
Bindings: TypeAlias = Sequence[tuple[str, str]] | None
"""For the course's own wrong answers: which name is answered by which of them; None for a submission."""


class HostGone(BaseException):
    """No process can be started: the grader's fault. Not an `Exception`, so that no check blames a submission."""


class Host(abc.ABC):
    """Makes the processes of submissions, one topic at a time.

    Attributes:
        limits: of each submission.
        layers: those of the sandbox that are active, once it is ready; none where there is no sandbox.
        topics: those that are open; a thread looks at their memory.
        most_bytes: memory that a topic's processes may hold together, beyond what each held before (bytes).
    """

    layers: tuple[str, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.most_bytes = limits.memory_bytes
        self.topics: set[TopicProcesses] = set()
        self._is_closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="memory-watch").start()

    def _watch(self) -> None:
        while not self._is_closed.wait(WATCH_SECONDS):
            for topic in list(self.topics):
                with contextlib.suppress(OSError):
                    topic.watch()

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

    def close(self) -> None:
        """Ends every process."""
        self._is_closed.set()


class TopicProcesses(abc.ABC):
    """The processes of one topic of one submission, which share a work folder.

    Attributes:
        load_order: how processes load the topic from now on; None to import it as a whole.
        starting_seconds: for how long the judge has waited for new processes (s): that is nobody's time.
        layers: those of the sandbox.
    """

    starting_seconds = 0.0

    def __init__(self, host: Host, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> None:
        self._host = host
        self.layers = host.layers
        self.bindings = bindings
        self.load_order: LoadOrder | None = None
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
        """The crash that the end of a process comes to; its words complete "your code …"."""
        if self._held_too_much:
            held, self._held_too_much = self._held_too_much, 0
            return failures.OutOfMemory(held=held)
        code = self.exit_code(number)
        if code is None:
            return SubmissionCrashed("ended the process")
        if code == -9 and memory_kills() > self._memory_kills:
            return failures.KilledBySystem(failures.MEMORY_SHORT)
        if code >= 0:
            shown = f"{code:#x}" if code > 0xFFFF else str(code)  # on Windows, what the system ended a process for
            return SubmissionCrashed(f"ended the process with exit code {shown}")
        name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
        return SubmissionCrashed(f"was ended by signal {-code} ({name})")

    @abc.abstractmethod
    def tidy(self, main: StudentProcess, threads: int) -> bool:
        """Removes all files from the work folder but the submission's, so that the main process can be used again.

        Returns:
            Whether that is so, and no more is running than the judge started: no other process, nor more threads.
        """

    @abc.abstractmethod
    def watch(self) -> None:
        """Ends the processes if they hold too much memory; a thread of the host's calls it."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends all processes."""


class SocketProcess(abc.ABC):
    """The part of a `Process` that is the same wherever it runs. Never waits.

    Args:
        pid: its process id here.
        outputs: its prints, its errors, where it writes its stack, and others that are closed with it.
    """

    def __init__(self, pid: int, sock: socket.socket, *outputs: Prints) -> None:
        self.pid = pid
        self._sock = sock
        self._outputs = outputs
        self._prints, self._errors, self._dumps = outputs[:3]
        self._replies = FrameReader()
        self._unsent = bytearray()
        sock.setblocking(False)

    def sources(self) -> list[int]:
        return [self._sock.fileno(), *(one.reader for one in (self._prints, self._errors) if one.reader >= 0)]

    def post(self, request: bytes) -> None:
        self._unsent += frame(request)
        self._send()

    def poll(self) -> bytes | None:
        self._send()
        for source in (self._prints, self._errors):
            source.drain()
        if (reply := self._taken()) is None and select.select([self._sock], [], [], 0)[0]:
            self._read()
            reply = self._taken()
        return reply

    def stacks(self) -> str:
        return self._dumps.seen()

    def activity(self) -> Activity:
        return Activity(*process_tree.activity(self.pid))

    def prints(self) -> tuple[str, str]:
        return self._prints.take(), self._errors.take()

    @abc.abstractmethod
    def _crash(self, reason: str) -> SubmissionCrashed:
        """The crash that the end of the process is, or its bad reply, for the reason given."""

    def _send(self) -> None:
        """Sends as much as is possible now; if nobody reads, `_read` will say so."""
        if self._unsent:
            try:
                sent = self._sock.send(memoryview(self._unsent)[: 1 << 16])
                del self._unsent[:sent]
            except BlockingIOError:
                pass
            except OSError:
                self._unsent.clear()

    def _read(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise self._crash("")
        self._replies.feed(data)

    def _taken(self) -> bytes | None:
        try:
            return self._replies.next()
        except BrokenFrame as error:
            raise self._crash(str(error)) from None


class StudentProcess(SocketProcess):
    """A process that answers calls within a deadline; a `Transport`, a `Starter` and a `Process`.

    Args:
        number: its number among the processes of the topic.
        outputs: its prints, its errors, its stack, and notes on the actions of submitted code.

    Attributes:
        deadline: when the time of the running check is over.
        alive: whether the process may still answer.
        arena: the memory shared with the process.
        stopped_at: where a call was that ran out of time, innermost line first; empty until then.
        imported: the parts that were left out of the topic, as the process says: it is the submission's word.
        layers: those of the sandbox around it.
    """

    def __init__(
        self, team: TopicProcesses, number: int, pid: int, sock: socket.socket, outputs: list[Prints], arena: Arena
    ) -> None:
        super().__init__(pid, sock, *outputs)
        self._team = team
        self.number = number
        self.arena = arena
        self.layers = team.layers
        self._further: list[StudentProcess] = []
        self._outside: StudentProcess | None = None
        self._is_imported = False
        self._printed = ""
        self.kept: dict[str, object] = {}
        self.deadline = Deadline(0.0)
        self.alive = True
        self.imported = Imported()
        self.stopped_at: tuple[Frame, ...] = ()

    def finish_import(self, deadline: Deadline) -> failures.ImportFailure | None:
        """Waits until the topic has been imported; why it cannot be, else None."""
        self.deadline = deadline
        try:
            self._note_import(self._next_reply())
        except (SubmissionRaised, NoAnswer) as failure:
            return failure
        return None

    def _note_import(self, payload: bytes) -> None:
        try:
            reply: Imported | Raised = wire.unpack(payload, Imported | Raised)
        except WireError as error:
            raise self._crash(str(error)) from None
        if isinstance(reply, Raised):
            self.alive = False
            raise failures.out_of_memory(reply) or failures.raised_error(reply)
        self._is_imported, self.imported = True, reply

    # ---------------------------------------------------------------- one call after the other

    def allow(self, seconds: float) -> None:
        """Lets the running check take ``seconds`` from now, if it has less time left."""
        self.deadline.allow(seconds)

    def call(self, request: bytes) -> bytes:
        """One request and its reply.

        Raises:
            failures.SubmissionTimeout: when the deadline passes first.
            SubmissionCrashed: when the process ends or sends something that is not a frame.
        """
        if not self.alive:
            raise SubmissionCrashed("ended the process")
        self._unsent += frame(request)
        return self._next_reply()

    def call_outside(self, request: bytes) -> bytes:
        """Like `call`, in a process beside this one that never imports the submission."""
        if self._outside is None or not self._outside.alive:
            self._outside = self._team.start(imports=False)
            self._further.append(self._outside)
            self._outside.deadline = self.deadline
            self._outside._next_reply()
        self._outside.deadline = self.deadline
        return self._outside.call(request)

    def processes(self, count: int, imports: bool = True) -> list[Process]:
        """Starts further processes of the same submission; they end with this one at the latest."""
        started = [self._team.start(imports=imports) for _ in range(count)]
        self._further += started
        return [*started]

    def _next_reply(self) -> bytes:
        while (reply := self._taken()) is None:
            self._wait()
        return reply

    def _wait(self) -> None:
        """Sends and reads as much as is possible now, and otherwise sleeps until one of the two is."""
        left = self.deadline.left()
        self._send()
        sources: list[socket.socket | int] = (
            [self._sock] if self._prints.reader < 0 else [self._sock, self._prints.reader]
        )
        readable, _, _ = select.select(sources, [self._sock] if self._unsent else [], [], min(left, 1.0))
        if self._prints.reader in readable:
            self._prints.drain()
        if self._sock in readable:
            self._read()
        elif not left:  # a reply that has come in time counts, however late this process looks
            self._locate()
            self.alive = False
            raise failures.SubmissionTimeout

    def _crash(self, reason: str) -> SubmissionCrashed:
        self.alive = False
        if reason:
            return failures.BadReply(f"sent something that is no answer ({reason})")
        return self._team.why_it_ended(self.number)

    def _locate(self) -> None:
        """Asks the process where it is before it is ended; it may not answer."""
        self.ask_where()
        until = time.monotonic() + DUMP_SECONDS
        # The dump comes in pieces, innermost frame first.
        while time.monotonic() < until and not any(name in self.stacks() for name in _OUTERMOST):
            if not self._dumps.wait(0.05):
                break
        lines = re.findall(r'File "([^"]+)", line (\d{1,9}) in (\S+)', self.stacks()[:DUMP_BYTES])
        self.stopped_at = tuple(
            Frame(one_line(name.rsplit("/", 1)[-1]), int(line), one_line(function))
            for name, line, function in lines[:MAX_DUMP_LINES]
        )

    def take_prints(self) -> str:
        """All prints since this was last called, those of ranks last."""
        text, self._printed = self._prints.take() + self._printed, ""
        return text

    def flags(self) -> list[Flag]:
        """The actions of submitted code here that no exercise needs, as far as its process says."""
        return audit.read(self._outputs[3].seen().encode())

    def add_prints(self, text: str) -> None:
        """Adds the prints of further processes to those that the student is shown."""
        self._printed += text

    def own_network(self) -> AbstractContextManager[None]:
        """Keeps others of this user from opening ports meanwhile, where the sandbox has no network of its own."""
        return contextlib.nullcontext() if "net-namespace" in self._team.layers else one_at_a_time()

    # ---------------------------------------------------------------- several processes at a time

    def poll(self) -> bytes | None:
        reply = super().poll()
        if reply is not None and not self._is_imported:
            try:
                self._note_import(reply)
            except (SubmissionRaised, NoAnswer):
                raise SubmissionCrashed("cannot be imported a second time") from None
            super().prints()  # of the import: they are no part of what a call prints
            return self.poll()
        return reply

    def ask_where(self) -> None:
        self._dumps.take()
        self._team.ask_where(self)

    def end(self) -> None:
        """Ends the process, and those that were started by way of it."""
        self.end_others()
        if self.alive:
            self._team.stop(self)
        self.close()

    def wait(self) -> None:
        self._team.exit_code(self.number)

    def end_others(self) -> None:
        """Ends the processes that were started by way of this one."""
        for other in self._further:
            other.end()
        self._further.clear()
        self._outside = None
        self.kept.clear()

    def close(self) -> None:
        """Closes the socket, the pipes and the arena of the process."""
        self.alive = False
        self._sock.close()
        for pipe in self._outputs:
            pipe.close()
        self.arena.close()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Only one process of this user is in here at a time, where the system has locks.

    Submissions choose fixed ports, and the graders of a user may share a network.
    """
    with contextlib.ExitStack() as stack:
        user = os.getuid() if hasattr(os, "getuid") else ""  # on Windows, each user has a folder for temporary files
        path = os.path.join(tempfile.gettempdir(), f"torchkata-ranks-{user}.lock")
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            stack.callback(os.close, fd)
            lock(fd)
        yield
