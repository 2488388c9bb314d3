"""The judge's side of a student process, a transport with a deadline; and of a topic's processes, however started."""

from __future__ import annotations

import abc
import contextlib
import re
import select
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

from grader.border import wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import (
    MEMORY_SHORT,
    BadReply,
    ImportFailure,
    KilledBySystem,
    NoAnswer,
    OutOfMemory,
    SubmissionCrashed,
    SubmissionRaised,
    SubmissionTimeout,
    is_out_of_memory,
    one_line,
    out_of_memory,
    raised_error,
)
from grader.border.frames import frame
from grader.border.messages import Definitions, Imported, Raised
from grader.border.transport import Process
from grader.machine import memory_kills
from grader.results import Flag, Frame
from grader.sandbox.clock import Deadline
from grader.student import audit
from grader.student.endings import how_it_ended
from grader.student.one_at_a_time import one_at_a_time
from grader.student.prints import Prints
from grader.student.socket_process import SocketProcess

DUMP_SECONDS: Final = 2.0
"""How long a process whose time is over may take to write where it is (s)."""
DUMP_BYTES: Final = 20_000
"""Bytes of a stack dump that are kept; submitted code can write there, so it may be of any length."""
MAX_DUMP_LINES: Final = 64
"""Lines of a stack dump that are read."""
_OUTERMOST: Final = ("in serve", "in import_and_serve")
"""What a whole stack dump ends with: one of these functions of the student process calls submitted code."""


class TopicProcesses(abc.ABC):
    """The processes of one topic of one submission, which share a work folder.

    Args:
        files: the submission's files by name.
        bindings: for the course's own wrong answers: which name is answered by which of them; None for a submission.

    Attributes:
        definitions: how processes import the topic from now on; None: as it is.
        layers: those of the sandbox; none if there is no sandbox.
    """

    layers: tuple[str, ...] = ()

    def __init__(self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None) -> None:
        self.bindings = bindings
        self.definitions: Definitions | None = None
        self._topic = topic
        self._files = files
        self._count = 0
        self._held_too_much = 0  # bytes
        self._memory_kills = memory_kills()

    @abc.abstractmethod
    def deadline(self, seconds: float) -> Deadline:
        """This many seconds of the processes' own time, from now on."""

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

    def wait(self, number: int) -> None:  # noqa: B027 - for those that must wait
        """Returns when a process has ended; soon in any case."""

    @abc.abstractmethod
    def exit_code(self, number: int) -> int | None:
        """The exit code of a process, or minus the signal that ended it; None if that is not known soon."""

    def why_it_ended(self, number: int) -> SubmissionCrashed:
        """The crash that the end of a process comes to."""
        if self._held_too_much:
            held, self._held_too_much = self._held_too_much, 0
            return OutOfMemory(held=held)
        why = how_it_ended(self.exit_code(number), memory_was_short=memory_kills() > self._memory_kills)
        return KilledBySystem(why) if why == MEMORY_SHORT else SubmissionCrashed(why)

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


class StudentProcess(SocketProcess):
    """A process that answers calls; a `Transport`, a `Starter` and a `Process`.

    Args:
        number: its number for the leader.
        pid: its process id here.

    Attributes:
        deadline: when the time of the running check is over.
        alive: whether the process may still answer.
        arena: the memory shared with the process, if any.
        stopped_at: where a call was that ran out of time, innermost line first; empty until then.
        imported: the parts that were left out of the topic, as the process says: it is the submission's word.
    """

    def __init__(
        self,
        team: TopicProcesses,
        number: int,
        pid: int,
        sock: socket.socket,
        prints: Prints,
        errors: Prints,
        dumps: Prints,
        events: Prints,
        arena: Arena | None,
    ) -> None:
        super().__init__(pid, sock, prints, errors, dumps)
        self._team = team
        self.number = number
        self._events = events
        self.arena = arena
        self._further: list[StudentProcess] = []
        self._outside: StudentProcess | None = None
        self._is_imported = False
        self._printed = ""
        self.kept: dict[str, object] = {}
        self.deadline = Deadline(0.0)
        self.alive = True
        self.imported = Imported()
        self.stopped_at: tuple[Frame, ...] = ()

    def finish_import(self, deadline: Deadline) -> ImportFailure | None:
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
        if isinstance(reply, Imported):
            self._is_imported = True
            self.imported = reply
            return
        self.alive = False
        raise out_of_memory(reply) if is_out_of_memory(reply) else raised_error(reply)

    # ---------------------------------------------------------------- one call after the other

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the sandbox that the process is in."""
        return self._team.layers

    def allow(self, seconds: float) -> None:
        """Lets the running check take ``seconds`` from now, if it has less time left."""
        self.deadline.allow(seconds)

    def call(self, request: bytes) -> bytes:
        """One request and its reply.

        Raises:
            SubmissionTimeout: when the deadline passes first.
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
        while True:
            if (reply := self._taken()) is not None:
                return reply
            self._wait()

    def _wait(self) -> None:
        """Sends and reads as much as is possible now, and otherwise sleeps until one of the two is."""
        left = self.deadline.left()
        self._send()
        sources: list[socket.socket | int] = [self._sock, self._prints.reader] if self._prints.is_open else [self._sock]
        readable, _, _ = select.select(sources, [self._sock] if self._unsent else [], [], min(left, 1.0))
        if self._prints.reader in readable:
            self._prints.drain()
        if self._sock in readable:
            self._read()
        elif not left:  # a reply that has come in time counts, however late this process looks
            self._locate()
            self.alive = False
            raise SubmissionTimeout

    def _crash(self, reason: str) -> SubmissionCrashed:
        self.alive = False
        if reason:
            return BadReply(f"sent something that is no answer ({reason})")
        return self._team.why_it_ended(self.number)

    def _locate(self) -> None:
        """Asks the process where it is before it is ended; it may not answer."""
        self.ask_where()
        until = time.monotonic() + DUMP_SECONDS
        # The dump comes in pieces, innermost frame first.
        while time.monotonic() < until and not any(name in self._dumps.seen() for name in _OUTERMOST):
            if not self._dumps.wait(0.05):
                break
        self.stopped_at = tuple(
            Frame(one_line(name.rsplit("/", 1)[-1]), int(line), one_line(function))
            for name, line, function in re.findall(
                r'File "([^"]+)", line (\d{1,9}) in (\S+)', self.stacks()[:DUMP_BYTES]
            )[:MAX_DUMP_LINES]
        )

    def take_prints(self) -> str:
        """All prints since this was last called, those of ranks last."""
        text, self._printed = self._prints.take() + self._printed, ""
        return text

    def flags(self) -> list[Flag]:
        """The actions of submitted code here that no exercise needs, as far as its process says."""
        return audit.read(self._events.seen().encode())

    def add_prints(self, text: str) -> None:
        """Adds the prints of further processes to those that the student is shown."""
        self._printed += text

    def own_network(self) -> AbstractContextManager[None]:
        """Keeps others of this user from opening ports meanwhile, where the sandbox has no network of its own."""
        return contextlib.nullcontext() if "net-namespace" in self.layers else one_at_a_time()

    # ---------------------------------------------------------------- several processes at a time

    def poll(self) -> bytes | None:
        reply = super().poll()
        if reply is not None and not self._is_imported:
            try:
                self._note_import(reply)
            except (SubmissionRaised, NoAnswer):
                raise SubmissionCrashed("cannot be imported a second time") from None
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
        self._team.wait(self.number)

    def end_others(self) -> None:
        """Ends the processes that were started by way of this one."""
        for other in [*self._further, *([self._outside] if self._outside else [])]:
            other.end()
        self._further.clear()
        self._outside = None
        self.kept.clear()

    def close(self) -> None:
        """Closes the socket, the pipes and the arena of the process."""
        self.alive = False
        self._sock.close()
        for pipe in (self._prints, self._errors, self._dumps, self._events):
            pipe.close()
        if self.arena is not None:
            self.arena.close()
