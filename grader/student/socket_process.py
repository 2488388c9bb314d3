"""A process that submitted code runs in, as the judge has it: its socket, its outputs, its deadline and its end.

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
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from grader.border import failures, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import NoAnswer, SubmissionCrashed, SubmissionRaised, one_line
from grader.border.frames import BrokenFrame, FrameReader, frame
from grader.border.messages import Imported, Raised
from grader.border.transport import Activity, Process
from grader.locks import lock
from grader.results import Flag, Frame
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline, Meter
from grader.student import audit
from grader.student.prints import Prints

if TYPE_CHECKING:
    from grader.student.student_process import TopicProcesses

DUMP_SECONDS: Final = 2.0
"""How long a process may take to write where it is after a timeout (s); what it waits for a processor is left out."""
DUMP_BYTES: Final = 20_000
"""Bytes of a stack dump that are kept; submitted code can write there, so it may be of any length."""
MAX_DUMP_LINES: Final = 64
"""Lines of a stack dump that are read."""
_OUTERMOST: Final = ("in serve", "in import_and_serve")
"""What a whole stack dump ends with: one of these functions of the student process calls submitted code."""


class TopicProcess(abc.ABC):
    """Answers the calls of a topic's checks, and starts further processes: a `Transport` and a `Starter`.

    Attributes:
        pid: its process id here.
        arena: the memory shared with submitted code.
        deadline: when the time of the running check is over.
        alive: whether it may still answer; once it may not, its process has been killed.
        imported: the parts that were left out of the topic; untrusted.
        stopped_at: where a call was that ran out of time, innermost line first, with whole paths; empty until then.
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
            if (reply := self._taken()) is not None:
                break  # in time, however late this process looks: it sleeps because it has answered
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
        pipes = [one for one in self._outputs if one is not self._dumps and one.reader >= 0]
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
        deadline = Deadline(DUMP_SECONDS, Meter(self._team.look))  # no part of the time of the topic
        # The dump comes in pieces, innermost frame first.
        while not deadline.is_over() and not any(name in self.stacks() for name in _OUTERMOST):
            if not self._dumps.wait(0.05):
                break
        lines = re.findall(r'File "([^"]+)", line (\d{1,9}) in (\S+)', self.stacks()[:DUMP_BYTES])
        self.stopped_at = tuple(
            Frame(one_line(name), int(line), one_line(function)) for name, line, function in lines[:MAX_DUMP_LINES]
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
