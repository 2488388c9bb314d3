"""The judge's side of student processes: a host that starts them, those of a topic, and each of them.

There are three ways to start one: `forked.py` forks it in the sandbox, `portable.py` makes a new Python, and
`judge/in_process.py` forks it from this process. All above a socket, the outputs and a kill is here, for all of them.
Nothing here waits for submitted code without a deadline. A process that can give no more answers (its time is over, it
has ended, sent something that is no answer, or took too much memory) is killed before anything else happens:
`StudentProcess.kill` is the only way. What comes is read as bytes: descriptors that come along are not taken, so the
system closes them.
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
from typing import Final

from msgspec.structs import replace

from grader.border import failures, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import NoAnswer, SubmissionCrashed, SubmissionRaised, one_line
from grader.border.frames import BrokenFrame, FrameReader, frame
from grader.border.messages import Bindings, Imported, LoadOrder, Raised, Start
from grader.border.transport import Activity, Process
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

WATCH_SECONDS: Final = 0.05
"""How often the memory of student processes is measured (s)."""
END_SECONDS: Final = 1.0
"""How long a process whose socket has closed may take to end, until its end is known (s)."""
DUMP_SECONDS: Final = 2.0
"""How long a process may take to write where it is after a timeout (s)."""
DUMP_BYTES: Final = 20_000
"""Bytes of a stack dump that are kept; submitted code can write there, so it may be of any length."""
MAX_DUMP_LINES: Final = 64
"""Lines of a stack dump that are read."""
_OUTERMOST: Final = ("in serve", "in import_and_serve")
"""What a whole stack dump ends with: one of these functions of the student process calls submitted code."""


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


class TopicProcess(abc.ABC):
    """Answers the calls of a topic's checks, and starts further processes: a `Transport` and a `Starter`.

    Attributes:
        pid: its process id here.
        arena: the memory shared with submitted code.
        deadline: when the time of the running check is over.
        alive: whether it may still answer; once it may not, its process has been killed.
        imported: the parts that were left out of the topic; untrusted.
        stopped_at: where a call was that ran out of time, innermost line first; empty until then.
        layers: those of the sandbox around it.
    """

    def __init__(self, team: TopicProcesses, pid: int, arena: Arena) -> None:
        self._team = team
        self.pid = pid
        self.arena = arena
        self.layers = team.layers
        self.deadline = Deadline(0.0)
        self.alive = True
        self.imported = Imported()
        self.stopped_at: tuple[Frame, ...] = ()
        self.kept: dict[str, object] = {}
        self._further: list[StudentProcess] = []

    @abc.abstractmethod
    def finish_import(self, deadline: Deadline) -> failures.ImportFailure | None:
        """Waits until the topic has been imported; why it cannot be, else None."""

    @abc.abstractmethod
    def call(self, request: bytes) -> bytes:
        """One request and its reply.

        Raises:
            failures.SubmissionTimeout: when the deadline passes first.
            SubmissionCrashed: when the process ends or sends something that is not a frame.
        """

    @abc.abstractmethod
    def call_outside(self, request: bytes) -> bytes:
        """Like `call`, in a process beside this one that never imports the submission."""

    @abc.abstractmethod
    def take_prints(self) -> str:
        """All prints since this was last called, those of ranks last."""

    @abc.abstractmethod
    def add_prints(self, text: str) -> None:
        """Adds the prints of further processes to those that the student is shown."""

    @abc.abstractmethod
    def end(self) -> None:
        """Ends it, and the processes that were started by way of it."""

    def allow(self, seconds: float) -> None:
        """Lets the running check take ``seconds`` from now, if it has less time left."""
        self.deadline.allow(seconds)

    def processes(self, count: int, imports: bool = True) -> list[Process]:
        """Starts further processes of the same submission; they end with this one at the latest."""
        before = len(self._further)
        for _ in range(count):
            self._further.append(self._team.start(imports=imports))
        return [*self._further[before:]]

    def new_deadline(self, seconds: float) -> Deadline:
        """This many seconds for what further processes do, by the time that all of the topic use."""
        return self._team.deadline(seconds)

    def own_network(self) -> AbstractContextManager[None]:
        """Keeps others of this user from opening ports meanwhile, where the sandbox has no network of its own."""
        return contextlib.nullcontext() if "net-namespace" in self.layers else one_at_a_time()

    def end_others(self) -> None:
        """Ends the processes that were started by way of this one."""
        for other in self._further:
            other.end()
        self._further.clear()
        self.kept.clear()


class StudentProcess(TopicProcess):
    """A process that answers calls on a socket; a further one is a `Process`.

    Args:
        number: its number among the processes of the topic.
        outputs: its prints, its errors, its stack, and notes on the actions of submitted code.
        is_main: whether it answers the calls of checks, so that no other process of the topic outlives it.
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
        super().__init__(team, pid, arena)
        self.number = number
        self.is_main = is_main
        self._sock = sock
        self._outputs = outputs
        self._prints, self._errors, self._dumps, self._notes = outputs
        self._replies = FrameReader()
        self._unsent = bytearray()
        self._outside: StudentProcess | None = None
        self._is_imported = False
        self._has_closed_notes = False
        self._printed = ""
        self._has_ended = False
        sock.setblocking(False)

    def finish_import(self, deadline: Deadline) -> failures.ImportFailure | None:
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

    def call(self, request: bytes) -> bytes:
        if not self.alive:
            raise SubmissionCrashed("ended the process")
        self._unsent += frame(request)
        return self._next_reply()

    def call_outside(self, request: bytes) -> bytes:
        try:
            if self._outside is None or not self._outside.alive:
                self._outside = self._team.start(imports=False)
                self._further.append(self._outside)
                self._outside.deadline = self.deadline
                self._outside._next_reply()
            self._outside.deadline = self.deadline
            return self._outside.call(request)
        except NoAnswer:
            self.kill()
            raise

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

    # ---------------------------------------------------------------- the socket

    def _exchange(self, seconds: float) -> None:
        """Sends and reads as much as is possible now; if that is nothing, waits for at most this timeout (s)."""
        self._send()
        pipes = [one for one in {*self._outputs} - {self._dumps} if one.reader >= 0]
        sources: list[socket.socket | int] = [self._sock, *(one.reader for one in pipes)]
        readable, _, _ = select.select(sources, [self._sock] if self._unsent else [], [], seconds)
        for pipe in pipes:
            if pipe.reader in readable:
                pipe.drain()
        if self._sock in readable:
            self._read()

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

    def _crash(self, reason: str) -> SubmissionCrashed:
        """The crash that the end of the process is or, for the reason given, its bad reply."""
        if reason:
            crash: SubmissionCrashed = failures.BadReply(f"sent something that is no answer ({reason})")
        else:
            crash = self._team.why_it_ended(self.number)
        self.kill()
        return crash

    # ---------------------------------------------------------------- several processes at a time; nothing here waits

    def sources(self) -> list[int]:
        return [self._sock.fileno(), *(one.reader for one in (self._prints, self._errors) if one.reader >= 0)]

    def post(self, request: bytes) -> None:
        self._team.meter.look()
        self._unsent += frame(request)
        self._send()

    def poll(self) -> bytes | None:
        if (reply := self._taken()) is None:
            self._exchange(0.0)
            reply = self._taken()
        if reply is None:
            self._team.meter.look(is_waiting=True)
        elif not self._is_imported:
            try:
                self._note_import(reply)
            except (SubmissionRaised, NoAnswer):
                raise SubmissionCrashed("cannot be imported a second time") from None
            self.prints()  # of the import: they are no part of what a call prints
            return self.poll()
        return reply

    def activity(self) -> Activity:
        return Activity(*process_tree.activity(self.pid))

    # ---------------------------------------------------------------- its prints, its stack, its notes

    def prints(self) -> tuple[str, str]:
        return self._prints.take(), self._errors.take()

    def take_prints(self) -> str:
        text, self._printed = self._prints.take() + self._printed, ""
        return text

    def add_prints(self, text: str) -> None:
        self._printed += text

    def ask_where(self) -> None:
        self._dumps.take()
        self._team.ask_where(self)

    def stacks(self) -> str:
        return self._dumps.seen()

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

    def flags(self) -> list[Flag]:
        """The actions of submitted code here that no exercise needs; untrusted, as its process writes them."""
        return [*audit.read(self._notes.seen().encode()), *([audit.closed()] if self._has_closed_notes else [])]

    def _look_at_notes(self) -> None:
        """Remembers whether the process has closed its notes: they have ended, and it has not begun to end."""
        self._notes.drain()
        if self._notes.has_ended and not self._has_closed_notes and self._sock.fileno() >= 0:
            socket_end = select.poll()  # if it has come, another process may have the number by now
            socket_end.register(self._sock, select.POLLHUP)
            self._has_closed_notes = not socket_end.poll(0) and not process_tree.is_ending(self.pid)

    # ---------------------------------------------------------------- its end

    def kill(self) -> None:
        """Ends the process for good: it can give no more answers. Its prints can still be read."""
        self.alive = False
        if not self._has_ended:
            self._end()

    def end(self) -> None:
        """Ends the process, and those that were started by way of it, and keeps the flags of each."""
        if not self._has_ended:
            self._end()
        if self._team.bindings is None:  # not the course's own
            self._team.flags |= dict.fromkeys(self.flags())
        self.end_others()
        self.alive = False
        self._sock.close()
        for output in self._outputs:
            output.close()
        self.arena.close()

    def _end(self) -> None:
        self._has_ended = True
        for one in (self, *self._further):  # before they end, with which their notes do as well
            one._look_at_notes()
        self._team.end(self)

    def wait(self) -> None:
        self._team.exit_code(self.number)

    def end_others(self) -> None:
        super().end_others()
        self._outside = None


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
