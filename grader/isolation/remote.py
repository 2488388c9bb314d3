"""The judge's side of student processes: starts them through the host, talks to them, and never waits for ever."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from grader.errors import UserError
from grader.isolation import wire
from grader.isolation.limits import Limits
from grader.isolation.proxies import (
    OUT_OF_MEMORY,
    SourceLine,
    SubmissionCrashed,
    SubmissionTimeout,
    is_out_of_memory,
)
from grader.isolation.student import receive_with_fds, send_with_fds
from grader.isolation.transport import PlanLeft
from grader.isolation.wire import Inbox, Tree, WireError

START_SECONDS: Final = 10.0
"""How long a fork may take on a loaded machine before it counts as failed."""


DUMP_SECONDS: Final = 2.0
"""How long to wait for an overdue process to say where it is."""

MOST_AHEAD: Final = 32 << 20
"""Bytes of replies that are taken ahead of the check that asks for them."""


LEAVE_SECONDS: Final = 0.3
"""How long an exercise's process may take to end by itself once its calls are over."""
REAP_SECONDS: Final = 2.0
"""How long the topic's process may take to say so; or to fork, when the topic's time is nearly up."""
MOST_FRAMES: Final = 64
"""Lines of a stack dump that are looked at: what dumps it is submitted code."""


class HostGone(BaseException):
    """The warm host does not answer: the grader's fault. Not an `Exception`, so that no check blames a submission."""


class HostClient:
    """Orders to the warm host, one question and one answer at a time."""

    def __init__(self, control: socket.socket, process: int, limits: Limits) -> None:
        self._control = control
        self.process = process
        self.limits = limits
        self._layers: tuple[str, ...] = ()
        self._preparing = False
        self._count = 0

    def prepare(self, hidden: Sequence[str], preload: Sequence[str]) -> None:
        """Sets limits, hides folders and loads modules, before the first submission; does not wait until it is done."""
        import msgspec

        self._tell(["prepare", msgspec.to_builtins(self.limits), [*hidden], [*preload]])
        self._preparing = True

    @property
    def layers(self) -> tuple[str, ...]:
        """The sandbox's active layers."""
        self.finish_preparing()
        return self._layers

    def finish_preparing(self) -> None:
        """Waits until the host is ready.

        Raises:
            UserError: when a module of ``preload`` cannot be loaded.
        """
        if self._preparing:
            self._preparing = False
            answer = self._answer()
            if answer[0] == "refused":
                raise UserError(f"course.toml: {answer[1]}")
            self._layers = tuple(str(layer) for layer in answer[1:])

    def ask(self, order: list[object], fds: Sequence[int] = ()) -> list[object]:
        """Raises `HostGone` when no answer comes."""
        self.finish_preparing()
        self._tell(order, fds)
        return self._answer()

    def _tell(self, order: list[object], fds: Sequence[int] = ()) -> None:
        try:
            send_with_fds(self._control, order, list(fds))
        except OSError as error:
            raise HostGone(str(error)) from error

    def _answer(self) -> list[object]:
        try:
            answer, _ = receive_with_fds(self._control)
        except (OSError, WireError) as error:
            raise HostGone(str(error)) from error
        if not isinstance(answer, list):
            raise HostGone("the warm host has ended")
        return answer

    def topic(self, name: str, files: Mapping[str, bytes], deadline: float) -> TopicProcess:
        """Starts a student process and has it import a topic."""
        self._count += 1
        return TopicProcess(self, self._count, name, files, deadline)

    def settle(self) -> None:
        """Takes 0.3 s to make later forks cheaper: worth it before the second submission, not before the only one."""
        self.ask(["settle"])

    def close(self) -> None:
        """Ends the host and with it every student process."""
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)


class Prints:
    """What a submission printed: read as it comes, kept up to a limit, the rest thrown away."""

    def __init__(self, limit: int) -> None:
        self.fd, self.theirs = os.pipe()
        os.set_blocking(self.fd, False)
        self._limit = limit
        self._kept = bytearray()
        self.cut = False
        self.open = True

    def drain(self) -> None:
        """Takes what is there now; bounded, so that endless prints cannot hold the judge."""
        for _ in range(64):
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                return
            if not data:
                self.open = False
                return
            room = self._limit - len(self._kept)
            self._kept += data[: max(room, 0)]
            self.cut = self.cut or len(data) > room

    def take(self) -> str:
        """What was printed since the last `take`."""
        self.drain()
        text = self._kept.decode("utf-8", "replace")
        self._kept.clear()
        return text + ("\n(cut here: too much was printed)" if self.cut else "")

    def hand_over(self) -> None:
        """Closes the writing end here, once the student process has it."""
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def close(self) -> None:
        self.hand_over()
        os.close(self.fd)


class TopicProcess:
    """One sandboxed process that has imported one topic of one submission.

    Attributes:
        failure: why it cannot be imported: ``["raise", …]``, ``["crashed", text]`` or ``["timeout", text]``; else None.
        prints: what the import printed.
    """

    def __init__(self, host: HostClient, number: int, name: str, files: Mapping[str, bytes], deadline: float) -> None:
        self.host = host
        self.number = number
        self._ending_read = False
        self._stuck = False
        self._until = deadline
        self._sock, theirs = socket.socketpair()
        prints = Prints(host.limits.print_bytes)
        try:
            with theirs:
                answer = host.ask(["spawn", number], [theirs.fileno()])
            if answer[0] != "spawned":
                raise HostGone(f"cannot start a student process: {answer[1:]}")
            self.failure = self._import(name, files, prints, deadline)
            self.prints = prints.take()
        finally:
            prints.close()

    def _import(self, name: str, files: Mapping[str, bytes], prints: Prints, deadline: float) -> Tree:
        try:
            self._sock.settimeout(START_SECONDS)
            send_with_fds(self._sock, [name, [[key, value] for key, value in files.items()]], [prints.theirs])
        except OSError:
            return ["crashed", self.why_it_ended()]
        finally:
            prints.hand_over()
        try:
            reply = _receive(self._sock, deadline, prints)
        except SubmissionTimeout:
            return ["timeout", f"import of {name}.py did not end"]
        except SubmissionCrashed:
            return ["crashed", self.why_it_ended()]
        except WireError as error:
            return ["crashed", f"sent something that is no answer ({error})"]
        match reply:
            case ["ok", None]:
                return None
            case ["raise", str(kind), _, str(message), _] if is_out_of_memory(kind, message):
                return ["crashed", OUT_OF_MEMORY]
        return reply

    def exercise(self, bind: Iterable[tuple[str, str]] = ()) -> ExerciseProcess | None:
        """Forks a process for one exercise off the imported topic; None if the topic's process cannot any more."""
        if self._stuck:
            return None
        ours, theirs = socket.socketpair()
        prints = Prints(self.host.limits.print_bytes)
        self._ending_read = False
        now = time.monotonic()
        try:
            with theirs:
                send_with_fds(self._sock, [list(pair) for pair in bind], [theirs.fileno(), prints.theirs])
            prints.hand_over()
            _receive(ours, min(now + START_SECONDS, max(self._until, now + REAP_SECONDS)), prints)
        except (OSError, SubmissionTimeout, SubmissionCrashed, WireError):
            ours.close()
            prints.close()
            return None
        return ExerciseProcess(self, ours, prints)

    def why_it_ended(self) -> str:
        """The end of the process at hand in words; asks the host, and believes the process only for its exit code."""
        answer = self.host.ask(["why", self.number])
        if answer[1:] != [0]:
            return OUT_OF_MEMORY
        try:
            message = _receive(self._sock, time.monotonic() + 1.0, None)
        except (SubmissionTimeout, SubmissionCrashed, WireError, OSError):
            return "ended the process"
        self._ending_read = True
        match message:
            case ["ended", int(code)] if code < 0:
                return f"was ended by signal {-code} ({_signal_name(-code)})"
            case ["ended", int(code)]:
                return f"ended the process with exit code {code}"
        return "ended the process"

    def collect_ending(self) -> None:
        """Reads the topic process's note about the exercise that ended, so that it does not meet the next one."""
        for patience in () if self._ending_read else (LEAVE_SECONDS, REAP_SECONDS):
            try:
                _receive(self._sock, time.monotonic() + patience, None)
                return
            except SubmissionTimeout:
                self.sweep()  # its calls are over, so it has nothing left to do
            except (SubmissionCrashed, WireError, OSError):
                return
        self._stuck = not self._ending_read

    def sweep(self) -> None:
        """Ends every process below the topic's own."""
        self.host.ask(["sweep", self.number])

    def close(self) -> None:
        """Ends the process and all that it started."""
        self._sock.close()
        self.host.ask(["end", self.number])


class ExerciseProcess:
    """A forked process that answers the calls of one exercise; a `Transport`.

    Attributes:
        deadline: when the check at hand is out of time, on the monotonic clock.
    """

    def __init__(self, topic: TopicProcess, sock: socket.socket, prints: Prints) -> None:
        self._topic = topic
        self._sock = sock
        self._prints = prints
        self._inbox = Inbox()
        self._plan: list[bytes] = []
        self._planned = 0
        self._ahead: deque[bytes] = deque()
        self._ending: BaseException | None = None
        self._unsent = bytearray()
        self.deadline = 0.0
        self.alive = True
        self.stopped_at: tuple[SourceLine, ...] = ()
        sock.setblocking(False)

    def prime(self, plan: Sequence[bytes]) -> None:
        """Sends a whole check's requests ahead: `call` then finds their replies under way."""
        self._plan = list(reversed(plan))
        self._planned = len(plan)
        for request in plan:
            self._unsent += wire.frame(request)

    @property
    def pending(self) -> bool:
        """Whether requests were sent ahead whose replies nobody took."""
        return bool(self._plan)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the sandbox that the process is in."""
        return self._topic.host.layers

    def allow(self, seconds: float) -> None:
        """Lets the check at hand take ``seconds`` from now, if that is more than it has."""
        self.deadline = max(self.deadline, time.monotonic() + seconds)

    def call(self, request: bytes) -> bytes:
        """One request and its reply.

        Raises:
            SubmissionTimeout: when the deadline passes first.
            SubmissionCrashed: when the process ends or sends what is no frame.
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
            self._unsent += wire.frame(request)
        self._planned = max(self._planned - 1, 0)
        return self._next_reply()

    def take_ahead(self) -> list[bytes]:
        """The replies to all requests that were sent ahead, or none when not all come; `call` gives them again."""
        size = 0
        try:
            while self._planned and size <= MOST_AHEAD:
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
                reply = self._inbox.next()
            except WireError as error:
                raise self._crash(str(error)) from None
            if reply is not None:
                return reply
            self._wait()

    def _wait(self) -> None:
        """Sends what can be sent, reads what is there, and sleeps until one of both is possible."""
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
        sources: list[socket.socket | int] = [self._sock, self._prints.fd] if self._prints.open else [self._sock]
        readable, _, _ = select.select(sources, [self._sock] if self._unsent else [], [], min(left, 1.0))
        if self._prints.fd in readable:
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
            self._inbox.feed(data)

    def _crash(self, reason: str) -> SubmissionCrashed:
        self.alive = False
        return SubmissionCrashed(
            f"sent something that is no answer ({reason})" if reason else self._topic.why_it_ended()
        )

    def _locate(self) -> None:
        """Asks the process where it is, best effort, before it is ended."""
        before = self._prints.take()
        self._topic.host.ask(["dump", self._topic.number])
        until = time.monotonic() + DUMP_SECONDS
        dump = ""
        # Its lines come piece by piece, the last one of interest is the service's own.
        while time.monotonic() < until and "in _serve_exercise" not in dump and self._prints.open:
            select.select([self._prints.fd], [], [], 0.05)
            dump += self._prints.take()
        self.stopped_at = tuple(
            SourceLine(name.rsplit("/", 1)[-1][:100], int(line), function[:100], "")
            for name, line, function in re.findall(r'File "([^"]+)", line (\d{1,9}) in (\S+)', dump[:20_000])[
                :MOST_FRAMES
            ]
        )
        self._printed = before

    _printed = ""

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
        if hung:
            self._topic.sweep()
        self._topic.collect_ending()


def _receive(sock: socket.socket, deadline: float, prints: Prints | None) -> Tree:
    """One message before the deadline, draining prints on the way.

    Raises:
        SubmissionTimeout, SubmissionCrashed, WireError: as they say.
    """
    inbox = Inbox()
    while (payload := inbox.next()) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise SubmissionTimeout
        sources: list[socket.socket | int] = [sock, prints.fd] if prints is not None and prints.open else [sock]
        readable, _, _ = select.select(sources, [], [], min(left, 1.0))
        if prints is not None and prints.fd in readable:
            prints.drain()
        if sock in readable:
            try:
                data = sock.recv(inbox.missing())
            except OSError:
                data = b""
            if not data:
                raise SubmissionCrashed("")
            inbox.feed(data)
    return wire.unpack(payload)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
