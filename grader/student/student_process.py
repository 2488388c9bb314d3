"""The judge's side of student processes: a host that starts them, those of a topic, and each of them.

`HostClient` forks them, `PortableHost` spawns them; the judge knows the interfaces here alone. Each process answers
requests on a socket of its own. Nothing here waits for submitted code without a deadline. A process that can give no
more answers (its time is over, it has ended, sent something that is no answer, or took too much memory) is killed
before anything else happens: `StudentProcess.kill` is the only way.
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

from msgspec.structs import replace

from grader.border import failures, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import NoAnswer, SubmissionCrashed, SubmissionRaised, one_line
from grader.border.frames import frame
from grader.border.messages import Imported, LoadOrder, Raised
from grader.border.transport import Process
from grader.kit import Kit
from grader.locks import lock
from grader.machine import Devices, affordable
from grader.results import Flag, Frame
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline, Meter
from grader.sandbox.limits import CUDA_BYTES, Limits
from grader.sandbox.process_tree import Look
from grader.student import audit
from grader.student.memory import MemoryUse
from grader.student.prints import Prints
from grader.student.process import Prepare
from grader.student.socket_process import SocketProcess

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
        threading.Thread(target=self._watch, daemon=True, name="memory-watch").start()

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
        """What earlier processes were ended for says nothing about the next one."""
        self._memory = MemoryUse(self._host.most_bytes)

    def deadline(self, seconds: float) -> Deadline:
        """This many seconds of the processes' own time, from now on."""
        return Deadline(seconds, self.meter)

    @abc.abstractmethod
    def look(self) -> Look:
        """The work of all processes of the submission up to now, with those that have ended."""

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
    def end(self, process: StudentProcess) -> None:
        """Kills a process and all that it has started; with the main process, every other one of the topic.

        Returns when the system has let go of them. A portable process that only the course's own answers have used may
        be kept for the next ones, if it is alive.
        """

    @abc.abstractmethod
    def exit_code(self, number: int) -> int | None:
        """The exit code of a process that is about to end, or minus the signal; None if that is not known soon."""

    def why_it_ended(self, number: int) -> SubmissionCrashed:
        """The crash that the end of a process comes to; its words complete "your code …"."""
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
        """Ends all processes, and returns when the system has let go of them. Does nothing the second time."""


class StudentProcess(SocketProcess):
    """A process that answers calls within a deadline; a `Transport`, a `Starter` and a `Process`.

    Args:
        number: its number among the processes of the topic.
        outputs: its prints, its errors, its stack, and notes on the actions of submitted code.
        is_main: whether it answers the calls of checks, so that no other process of the topic outlives it.

    Attributes:
        deadline: when the time of the running check is over.
        alive: whether the process may still answer; once it may not, it has been killed.
        arena: the memory shared with the process.
        stopped_at: where a call was that ran out of time, innermost line first; empty until then.
        imported: the parts that were left out of the topic, as the process says: it is the submission's word.
        layers: those of the sandbox around it.
    """

    def __init__(
        self,
        team: TopicProcesses,
        number: int,
        pid: int,
        sock: socket.socket,
        outputs: Sequence[Prints],
        arena: Arena,
        is_main: bool,
    ) -> None:
        super().__init__(pid, sock, *outputs)
        self._team = team
        self.number = number
        self.is_main = is_main
        self.arena = arena
        self.layers = team.layers
        self._further: list[StudentProcess] = []
        self._outside: StudentProcess | None = None
        self._is_imported = False
        self._notes = outputs[3]
        self._has_closed_notes = False
        self._printed = ""
        self.kept: dict[str, object] = {}
        self.deadline = Deadline(0.0)
        self.alive = True
        self._has_ended = False
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
            reply: Imported | Raised = wire.unpack_untrusted(payload, Imported | Raised)
        except WireError as error:
            raise self._crash(str(error)) from None
        if isinstance(reply, Raised):
            self.kill()
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
        try:
            if self._outside is None or not self._outside.alive:
                (self._outside,) = self._start_further(1, imports=False)
                self._outside.deadline = self.deadline
                self._outside._next_reply()
            self._outside.deadline = self.deadline
            return self._outside.call(request)
        except NoAnswer:
            self.kill()
            raise

    def processes(self, count: int, imports: bool = True) -> list[Process]:
        """Starts further processes of the same submission; they end with this one at the latest."""
        return [*self._start_further(count, imports=imports)]

    def _start_further(self, count: int, *, imports: bool) -> list[StudentProcess]:
        before = len(self._further)
        for _ in range(count):
            self._further.append(self._team.start(imports=imports))
        return self._further[before:]

    def new_deadline(self, seconds: float) -> Deadline:
        """This many seconds for what further processes do, by the time that all of the topic use."""
        return self._team.deadline(seconds)

    def _next_reply(self) -> bytes:
        left = self.deadline.left()
        while (reply := self._taken()) is None:
            self._exchange(min(left, self.deadline.meter.seconds_to_look()))
            if not left and (reply := self._taken()) is not None:
                break  # it has come in time, however late this process looks
            if not left:
                self._locate()
                self.kill()
                raise failures.SubmissionTimeout
            left = self.deadline.left(is_waiting=True)
        if self._notes.has_ended:
            self._look_at_notes()
        return reply

    def _exchange(self, seconds: float) -> None:
        """Sends and reads as much as is possible now; if that is nothing, waits for at most so long."""
        self._send()
        pipes = [one for one in (self._prints, self._notes) if one.reader >= 0]
        sources: list[socket.socket | int] = [self._sock, *(one.reader for one in pipes)]
        readable, _, _ = select.select(sources, [self._sock] if self._unsent else [], [], seconds)
        for pipe in pipes:
            if pipe.reader in readable:
                pipe.drain()
        if self._sock in readable:
            self._read()

    def _crash(self, reason: str) -> SubmissionCrashed:
        if reason:
            crash: SubmissionCrashed = failures.BadReply(f"sent something that is no answer ({reason})")
        else:
            crash = self._team.why_it_ended(self.number)
        self.kill()
        return crash

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
        return [*audit.read(self._notes.seen().encode()), *([audit.closed()] if self._has_closed_notes else [])]

    def _look_at_notes(self) -> None:
        """Remembers whether the process has closed its notes: they have ended, and it has not begun to end."""
        self._notes.drain()
        if self._notes.has_ended and not self._has_closed_notes and self._sock.fileno() >= 0:
            socket_end = select.poll()  # if it has come, another process may have the number by now
            socket_end.register(self._sock, select.POLLHUP)
            self._has_closed_notes = not socket_end.poll(0) and not process_tree.is_ending(self.pid)

    def add_prints(self, text: str) -> None:
        """Adds the prints of further processes to those that the student is shown."""
        self._printed += text

    def own_network(self) -> AbstractContextManager[None]:
        """Keeps others of this user from opening ports meanwhile, where the sandbox has no network of its own."""
        return contextlib.nullcontext() if "net-namespace" in self._team.layers else one_at_a_time()

    # ---------------------------------------------------------------- several processes at a time

    def post(self, request: bytes) -> None:
        self._team.meter.look()
        super().post(request)

    def poll(self) -> bytes | None:
        reply = super().poll()
        if reply is None:
            self._team.meter.look(is_waiting=True)
        elif not self._is_imported:
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

    def kill(self) -> None:
        """Ends the process for good: it can give no more answers. Its prints can still be read."""
        self.alive = False
        self._end()

    def end(self) -> None:
        """Ends the process, and those that were started by way of it, and keeps the flags of each."""
        self._end()
        if self._team.bindings is None:  # not the course's own
            self._team.flags |= dict.fromkeys(self.flags())
        self.end_others()
        self.close()

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            for one in (self, *self._further):  # before they end, with which their notes do as well
                one._look_at_notes()
            self._team.end(self)

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
