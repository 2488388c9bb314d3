"""Student processes that the warm host forks: the judge's side of the host, and of the leader of each topic.

The host only forks. The judge measures and ends those processes, and never waits for submitted code without a limit.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import MEMORY_SHORT, KilledBySystem, SubmissionCrashed
from grader.border.frames import BrokenFrame
from grader.border.messages import Ended, Forked, FromLeader, Keep, SetUp, Start, Stop, Tidied, Tidy
from grader.errors import UserError
from grader.machine import memory_kills
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline, Effort
from grader.sandbox.limits import Limits
from grader.student import audit, orders
from grader.student.endings import HostGone
from grader.student.interfaces import Host
from grader.student.prints import Prints
from grader.student.process import DUMP_SIGNAL
from grader.student.student_process import DUMP_BYTES, StudentProcess, TopicProcesses

T = TypeVar("T", bound=FromLeader)

START_SECONDS: Final = 20.0
"""How long the leader may take to answer on a loaded machine before it counts as lost (s)."""
END_SECONDS: Final = 1.0
"""How long a process whose socket has closed may take to end, until its end is known (s)."""
MOST_ROUNDS: Final = 20
"""How often what takes too much memory is ended and measured again, before all that there is ends."""


class HostClient(Host):
    """Orders to the warm host, one question and one answer at a time.

    Attributes:
        baseline: memory of the host, which each process that it forks has as well (bytes).
    """

    def __init__(self, control: socket.socket, process: int, limits: Limits) -> None:
        super().__init__(limits)
        self._control = control
        self.process = process
        self._layers: tuple[str, ...] = ()
        self._preparing = False
        self.baseline = 0

    def _send_settings(self, order: orders.Prepare) -> None:
        self._send(order)
        self._preparing = True

    @property
    def layers(self) -> tuple[str, ...]:
        self.finish_preparing()
        return self._layers

    def finish_preparing(self) -> None:
        if self._preparing:
            self._preparing = False
            match self._receive():
                case orders.Refused(reason):
                    raise UserError(f"course.toml: {reason}")
                case orders.Ready(layers=layers):
                    self._layers = layers
                    self.baseline = process_tree.memory_of([self.process], 0)
                case answer:
                    raise HostGone(f"an unexpected answer: {answer}")

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> LeaderClient:
        """A new leader for one topic of a submission."""
        return LeaderClient(self, topic, files, bindings)

    def spawn(self, control: socket.socket) -> int:
        """Starts a topic's leader, which gets one end of a socket; its process id.

        Raises:
            HostGone: no process could be started.
        """
        self.finish_preparing()
        self._send(orders.Spawn(), [control.fileno()])
        match self._receive():
            case orders.Spawned(process):
                return process
            case answer:
                raise HostGone(f"cannot start a student process: {answer}")

    def _send(self, order: orders.Order, descriptors: Sequence[int] = ()) -> None:
        try:
            frames.send_with_descriptors(self._control, wire.pack(order), descriptors)
        except OSError as error:
            raise HostGone(str(error)) from error

    def _receive(self) -> orders.Answer:
        try:
            payload = frames.receive(self._control.recv)
            if payload is None:
                raise HostGone("the warm host has ended")
            answer: orders.Answer = wire.unpack(payload, orders.Answer)
        except (OSError, BrokenFrame, WireError) as error:
            raise HostGone(str(error)) from error
        return answer

    def close(self) -> None:
        """Ends the host and with it every student process."""
        self.watch.close()
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)


class LeaderGone(Exception):
    """The leader has ended or does not answer: submitted code can do that where there is no PID namespace."""


class LeaderClient(TopicProcesses):
    """One sandbox with one topic of one submission; makes its student processes.

    Attributes:
        process: the leader's process id.
    """

    def __init__(
        self,
        host: HostClient,
        topic: str,
        files: Mapping[str, bytes],
        bindings: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        super().__init__(topic, files, bindings)
        self._host = host
        self.layers = host.layers
        self._endings: dict[int, int] = {}
        self._started: set[int] = set()
        self._open()

    def _open(self) -> None:
        self._sock, theirs = socket.socketpair()
        with theirs:
            self.process = self._host.spawn(theirs)
        self._handle = os.pidfd_open(self.process)
        self._held_too_much = 0
        self._host.watch.add(self)
        setup = SetUp(self._topic, dict(self._files), "mount-namespace" in self.layers)
        self._send(setup)

    def start_afresh(self) -> StudentProcess:
        if "pid-namespace" not in self.layers:
            process_tree.kill_tree_below(self.process)
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
        with contextlib.suppress(LeaderGone):
            self._send(Keep())

    def tidy(self) -> None:
        self._send(Tidy())
        self._receive(Tidied)

    def effort(self) -> Effort:
        """The work of all processes of the submission up to now."""
        return process_tree.effort(process_tree.descendants(self.process))

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, self.effort)

    def has_left_something(self, main: StudentProcess, threads: int) -> bool:
        below = [pid for pid in process_tree.descendants(self.process) if pid not in self._started]
        return any(map(process_tree.is_alive, below)) or process_tree.count_threads(main.pid) > threads

    def ask_where(self, process: StudentProcess) -> None:
        assert DUMP_SIGNAL is not None
        if process.pid in process_tree.descendants(self.process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, DUMP_SIGNAL)

    def stop(self, process: StudentProcess) -> None:
        try:
            self._send(Stop(process.number))
        except LeaderGone:
            process_tree.kill_tree_below(self.process)

    def wait(self, number: int) -> None:
        until = time.monotonic() + END_SECONDS
        with contextlib.suppress(LeaderGone):
            while number not in self._endings:
                self._take(until)

    def exit_code(self, number: int) -> int | None:
        self.wait(number)
        return self._endings.get(number)

    def watch(self) -> None:
        for _ in range(MOST_ROUNDS):
            below = process_tree.descendants(self.process)
            held = process_tree.memory_of([self.process, *below], self._host.baseline)
            if held <= self._host.most_bytes:
                return
            self._held_too_much = held
            # Only those that were measured: a fresh one may have been started in the meantime.
            process_tree.kill_all(below)
        self._kill()

    def _send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        try:
            self._sock.settimeout(START_SECONDS)
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
            self._sock.settimeout(max(until - time.monotonic(), 0.001))
            message: FromLeader = wire.unpack(frames.receive(self._sock.recv) or b"", FromLeader)
        except (OSError, WireError, BrokenFrame) as error:
            raise LeaderGone from error
        if isinstance(message, Ended):
            self._endings[message.number] = message.code
        return message

    def close(self) -> None:
        self._host.watch.remove(self)
        self._sock.close()
        self._kill()
        select.select([self._handle], [], [], START_SECONDS)  # its folder is made new for the next one
        os.close(self._handle)

    def _kill(self) -> None:
        """Ends all processes; in a PID namespace, they end with the leader."""
        if "pid-namespace" not in self.layers:
            process_tree.kill_tree_below(self.process)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
