"""The judge's side of an exercise's process: a transport with a deadline, which can send a check's calls ahead."""

from __future__ import annotations

import re
import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from grader.border.arena import Arena
from grader.border.failures import BadReply, SubmissionCrashed, SubmissionTimeout
from grader.border.frames import BrokenFrame, FrameReader, frame
from grader.border.messages import SourceLine
from grader.border.transport import PlanLeft
from grader.student.prints import Prints

DUMP_SECONDS: Final = 2.0
"""How long a process whose time is over may take to write where it is (s)."""
MAX_AHEAD_BYTES: Final = 32 << 20
"""Bytes of replies that are read before the check asks for them."""
MAX_DUMP_LINES: Final = 64
"""Lines of a stack dump that are read; submitted code writes the dump, so it may be of any length."""


class Parent(Protocol):
    """The topic's process that an exercise's process is forked from, as the judge sees it."""

    @property
    def layers(self) -> tuple[str, ...]: ...

    def dump_stacks(self) -> None: ...

    def sweep(self) -> None: ...

    def why_it_ended(self) -> str: ...

    def collect_ending(self) -> None: ...


class ExerciseProcess:
    """A forked process that answers the calls of one exercise; a `Transport`.

    Attributes:
        deadline: when the time of the running check is over, on the monotonic clock.
        alive: whether the process may still answer.
        arena: the memory shared with the process.
        stopped_at: where a call was that ran out of time, innermost line first; empty until then.
    """

    def __init__(self, topic: Parent, sock: socket.socket, prints: Prints, arena: Arena) -> None:
        self._topic = topic
        self._sock = sock
        self._prints = prints
        self.arena = arena
        self.kept: dict[str, object] = {}
        self._replies = FrameReader()
        self._plan: list[bytes] = []
        self._planned = 0
        self._ahead: deque[bytes] = deque()
        self._ending: BaseException | None = None
        self._unsent = bytearray()
        self.deadline = 0.0
        self.alive = True
        self.stopped_at: tuple[SourceLine, ...] = ()
        self._printed = ""
        sock.setblocking(False)

    def prime(self, plan: Sequence[bytes]) -> None:
        """Sends a whole check's requests ahead: `call` then finds their replies under way."""
        self._plan = list(reversed(plan))
        self._planned = len(plan)
        for request in plan:
            self._unsent += frame(request)

    @property
    def pending(self) -> bool:
        """Whether a reply to a request that was sent ahead has not been taken."""
        return bool(self._plan)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the sandbox that the process is in."""
        return self._topic.layers

    def allow(self, seconds: float) -> None:
        """Lets the running check take ``seconds`` from now, if it has less time left."""
        self.deadline = max(self.deadline, time.monotonic() + seconds)

    def call(self, request: bytes) -> bytes:
        """One request and its reply.

        Raises:
            SubmissionTimeout: when the deadline passes first.
            SubmissionCrashed: when the process ends or sends something that is not a frame.
            PlanLeft: when requests were sent ahead and this is not the next one.
        """
        if self._plan:
            if self._plan.pop() != request:
                raise PlanLeft
            if self._ahead:
                return self._ahead.popleft()
        if self._ending is not None:
            raise self._ending
        if not self.alive:
            raise SubmissionCrashed("ended the process")
        if not self._planned:
            self._unsent += frame(request)
        self._planned = max(self._planned - 1, 0)
        return self._next_reply()

    def call_outside(self, request: bytes) -> bytes:
        """Like `call`."""
        return self.call(request)

    def take_ahead(self) -> list[bytes]:
        """The replies to all requests that were sent ahead, or none when not all come; `call` gives them again."""
        size = 0
        try:
            while self._planned and size <= MAX_AHEAD_BYTES:
                self._ahead.append(self._next_reply())
                self._planned -= 1
                size += len(self._ahead[-1])
        except (SubmissionTimeout, SubmissionCrashed) as ending:
            self._ending = ending
        return [] if self._planned else list(self._ahead)

    def drop_ahead(self) -> None:
        """Counts the replies that were sent ahead as taken."""
        self._plan.clear()
        self._ahead.clear()

    def _next_reply(self) -> bytes:
        while True:
            try:
                reply = self._replies.next()
            except BrokenFrame as error:
                raise self._crash(str(error)) from None
            if reply is not None:
                return reply
            self._wait()

    def _wait(self) -> None:
        """Sends what can be sent, reads what has come, and otherwise sleeps until one of the two is possible."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            self._locate()
            self.alive = False
            raise SubmissionTimeout
        if self._unsent:
            try:
                sent = self._sock.send(memoryview(self._unsent)[: 1 << 16])
                del self._unsent[:sent]
            except BlockingIOError:
                pass
            except OSError:
                self._unsent.clear()
        sources: list[socket.socket | int] = [self._sock, self._prints.reader] if self._prints.is_open else [self._sock]
        readable, _, _ = select.select(sources, [self._sock] if self._unsent else [], [], min(left, 1.0))
        if self._prints.reader in readable:
            self._prints.drain()
        if self._sock in readable:
            try:
                data = self._sock.recv(1 << 18)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                raise self._crash("")
            self._replies.feed(data)

    def _crash(self, reason: str) -> SubmissionCrashed:
        self.alive = False
        if reason:
            return BadReply(f"sent something that is no answer ({reason})")
        return SubmissionCrashed(self._topic.why_it_ended())

    def _locate(self) -> None:
        """Asks the process where it is before it is ended; it may not answer."""
        before = self._prints.take()
        self._topic.dump_stacks()
        until = time.monotonic() + DUMP_SECONDS
        dump = ""
        # The dump comes in pieces, innermost frame first: `_serve_exercise` called the student's function.
        while time.monotonic() < until and "in _serve_exercise" not in dump and self._prints.is_open:
            select.select([self._prints.reader], [], [], 0.05)
            dump += self._prints.take()
        self.stopped_at = tuple(
            SourceLine(name.rsplit("/", 1)[-1][:100], int(line), function[:100], "")
            for name, line, function in re.findall(r'File "([^"]+)", line (\d{1,9}) in (\S+)', dump[:20_000])[
                :MAX_DUMP_LINES
            ]
        )
        self._printed = before

    def prints(self) -> str:
        """What was printed since last asked."""
        text, self._printed = self._printed, ""
        return text + ("" if self.stopped_at else self._prints.take())

    def close(self) -> None:
        """Ends the process."""
        hung = not self.alive
        self.alive = False
        self._sock.close()
        self._prints.close()
        self.arena.close()
        if hung:
            self._topic.sweep()
        self._topic.collect_ending()
