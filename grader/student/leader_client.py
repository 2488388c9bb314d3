"""The judge's side of a topic's leader: starts student processes through it, and never waits without a limit."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import MEMORY_SHORT, OUT_OF_MEMORY, KilledBySystem, SubmissionCrashed, SubmissionTimeout
from grader.border.frames import BrokenFrame
from grader.border.messages import Definitions, Ended, Forked, FromLeader, Keep, SetUp, Start, Stop, Tidied, Tidy
from grader.machine import memory_kills
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline, Effort
from grader.student import audit
from grader.student.client import HostClient, HostGone
from grader.student.prints import Prints, receive
from grader.student.student_process import DUMP_BYTES, StudentProcess

T = TypeVar("T", bound=FromLeader)

START_SECONDS: Final = 20.0
"""How long the leader may take to answer on a loaded machine before it counts as lost (s)."""
END_SECONDS: Final = 1.0
"""How long the leader may take to report the end of a process whose socket has closed (s)."""


class LeaderGone(Exception):
    """The leader has ended or does not answer: submitted code can do that where there is no PID namespace."""


class LeaderClient:
    """One sandbox with one topic of one submission; makes its student processes.

    Args:
        bindings: for the course's own wrong answers: which name is answered by which of them.

    Attributes:
        definitions: how processes import the topic from now on; None: as it is.
        process: the leader's process id.
    """

    def __init__(
        self,
        host: HostClient,
        topic: str,
        files: Mapping[str, bytes],
        bindings: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self._host = host
        self._topic = topic
        self._files = files
        self.bindings = bindings
        self.definitions: Definitions | None = None
        self._memory_kills = memory_kills()
        self._count = 0
        self._endings: dict[int, int] = {}
        self._started: set[int] = set()
        self._open()

    def _open(self) -> None:
        self._sock, theirs = socket.socketpair()
        with theirs:
            self._number, self.process = self._host.spawn(theirs)
        self._sock.settimeout(START_SECONDS)
        setup = SetUp(self._topic, dict(self._files), "mount-namespace" in self._host.layers)
        self._send(setup)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the sandbox."""
        return self._host.layers

    def start_afresh(self) -> StudentProcess:
        """Ends every process but the leader, makes the work folder new, and starts a process that imports the topic.

        Raises:
            HostGone: not even a new leader can do it.
        """
        if "pid-namespace" not in self.layers:
            self._host.sweep(self._number)
        try:
            return self._start(imports=True, afresh=True)
        except LeaderGone:
            self.close()
            self._open()
        try:
            return self._start(imports=True, afresh=True)
        except LeaderGone as error:
            raise HostGone("no student process can be started") from error

    def start(self, *, imports: bool = True) -> StudentProcess:
        """Starts a further process.

        Raises:
            SubmissionCrashed: it cannot be started.
        """
        try:
            return self._start(imports=imports, afresh=False)
        except LeaderGone as error:
            if memory_kills() > self._memory_kills:
                raise KilledBySystem(MEMORY_SHORT) from error
            raise SubmissionCrashed("ended the process that had started it") from error

    def _start(self, *, imports: bool, afresh: bool) -> StudentProcess:
        self._count += 1
        ours, theirs = socket.socketpair()
        prints = Prints(self._host.limits.print_bytes)
        errors = prints if afresh else Prints(self._host.limits.print_bytes)
        dumps = Prints(DUMP_BYTES)
        arena = Arena.create() if afresh else None
        events = Prints(audit.MOST_BYTES + 1)
        try:
            with theirs:
                roles = {
                    "calls": theirs.fileno(),
                    "prints": prints.writer,
                    "errors": errors.writer if errors is not prints else os.dup(prints.writer),
                    "dumps": dumps.writer,
                }
                if arena is not None:
                    roles |= {"arena": arena.descriptor, "events": events.writer}
                bindings = None if self.bindings is None else list(self.bindings)
                order = Start(self._count, [*roles], imports, afresh, bindings, self.definitions)
                try:
                    self._send(order, [*roles.values()])
                finally:
                    if errors is prints:
                        os.close(roles["errors"])
            for pipe in (prints, errors, dumps, events):
                pipe.close_writer()
            inner = self._receive(Forked).process
        except BaseException:
            ours.close()
            for pipe in (prints, errors, dumps, events):
                pipe.close()
            if arena is not None:
                arena.close()
            raise
        below = process_tree.descendants(self.process)
        pid = process_tree.find_by_inner_id(below, inner) or -1
        self._started.add(pid)
        return StudentProcess(self, self._count, pid, ours, prints, errors, dumps, events, arena)

    def keep_files(self) -> None:
        """What is in the work folder now stays when it is tidied; nothing happens where the leader has gone."""
        with contextlib.suppress(LeaderGone):
            self._send(Keep())

    def tidy(self) -> None:
        """Removes what calls have left in the work folder.

        Raises:
            LeaderGone: the leader does not answer.
        """
        self._send(Tidy())
        self._receive(Tidied)

    def effort(self) -> Effort:
        """What all processes of the submission have done up to now."""
        return process_tree.effort(process_tree.descendants(self.process))

    def deadline(self, seconds: float) -> Deadline:
        """So many seconds of the processes' own time, from now on."""
        return Deadline(seconds, self.effort)

    def has_left_something(self, main: StudentProcess, threads: int) -> bool:
        """Whether more runs than what the judge started: another process, or more threads in the main one."""
        below = [pid for pid in process_tree.descendants(self.process) if pid not in self._started]
        return any(map(process_tree.is_alive, below)) or process_tree.count_threads(main.pid) > threads

    def ask_where(self, process: StudentProcess) -> None:
        """Makes a process write where it is."""
        self._host.dump(self._number, process.pid)

    def stop(self, process: StudentProcess) -> None:
        """Ends a process."""
        try:
            self._send(Stop(process.number))
        except LeaderGone:
            self._host.sweep(self._number)

    def wait(self, number: int) -> None:
        """Returns when a process has ended; soon in any case."""
        until = time.monotonic() + END_SECONDS
        with contextlib.suppress(LeaderGone):
            while number not in self._endings:
                self._take(until)

    def why_it_ended(self, number: int) -> str:
        """How a process ended, in words; completes "your code …"."""
        if self._host.ran_out_of_memory(self._number):
            return OUT_OF_MEMORY
        self.wait(number)
        code = self._endings.get(number)
        if code is None:
            return "ended the process"
        if code == -signal.SIGKILL and memory_kills() > self._memory_kills:
            return MEMORY_SHORT
        if code < 0:
            return f"was ended by signal {-code} ({_signal_name(-code)})"
        return f"ended the process with exit code {code}"

    def _send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        try:
            frames.send_with_descriptors(self._sock, wire.pack(message), descriptors)
        except OSError as error:
            raise LeaderGone from error

    def _receive(self, kind: type[T]) -> T:
        until = time.monotonic() + START_SECONDS
        while not isinstance(message := self._take(until), kind):
            pass
        return message

    def _take(self, until: float) -> FromLeader:
        try:
            message: FromLeader = receive(self._sock, until, None, FromLeader)
        except (OSError, SubmissionTimeout, SubmissionCrashed, WireError, BrokenFrame) as error:
            raise LeaderGone from error
        if isinstance(message, Ended):
            self._endings[message.number] = message.code
        return message

    def close(self) -> None:
        """Ends the leader and all that it started."""
        self._sock.close()
        self._host.end(self._number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
