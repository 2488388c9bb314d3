"""Student processes that the warm host forks: the judge's side of the host, and of the leader of each topic.

The host only forks. The judge measures and ends those processes, and never waits for submitted code without a limit.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Final

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import MEMORY_SHORT, KilledBySystem, SubmissionCrashed
from grader.border.frames import BrokenFrame
from grader.border.messages import Ended, Forked, FromLeader, HowEnded, SetUp, Start, Tidy
from grader.errors import UserError
from grader.machine import memory_kills
from grader.sandbox import process_tree
from grader.sandbox.clock import Effort
from grader.sandbox.limits import Limits
from grader.student import audit, student_process
from grader.student.prints import Prints
from grader.student.process import DUMP_SIGNAL, Answer, Loading, Prepare, Ready, Refused, Spawn
from grader.student.student_process import Bindings, Host, HostGone, StudentProcess, TopicProcesses

START_SECONDS: Final = 20.0
"""How long the leader may take to answer on a loaded machine before it counts as lost (s)."""
_MOST_ROUNDS: Final = 20
"""How often processes that hold too much memory are ended and measured again before all of the topic end."""


class LeaderGone(Exception):
    """The leader has ended or does not answer: submitted code can do that where there is no PID namespace."""


class _Line:
    """A socket to a trusted process, which answers in time.

    Args:
        kind: the structs that it may send.
        gone: raised when it does not answer.
        seconds: how long it may take; None: as long as it likes.
    """

    def __init__(self, sock: socket.socket, kind: Any, gone: type[BaseException], seconds: float | None = None) -> None:
        sock.settimeout(seconds)
        self._sock = sock
        self._kind = kind
        self._gone = gone

    def send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        """Sends a message, with descriptors."""
        try:
            frames.send(self._sock, wire.pack(message), descriptors)
        except OSError as error:
            raise self._gone(str(error)) from error

    def receive(self) -> Any:
        """The answer to a message that was sent."""
        try:
            return wire.unpack(frames.receive(self._sock.recv) or b"", self._kind)
        except (OSError, WireError, BrokenFrame) as error:
            self.close()  # a late answer must not be taken for that to another message
            raise self._gone(str(error)) from error

    def ask(self, message: Any, descriptors: Sequence[int] = ()) -> Any:
        """The answer to a message."""
        self.send(message, descriptors)
        return self.receive()

    def close(self) -> None:
        """Hangs up."""
        self._sock.close()


class HostClient(Host):
    """Orders to the warm host, one question and one answer at a time.

    Attributes:
        baseline: memory of the host, which each process that it forks has as well (bytes).
    """

    def __init__(self, control: socket.socket, process: int, limits: Limits) -> None:
        super().__init__(limits)
        self._line = _Line(control, Answer | Loading, HostGone)
        self.process = process
        try:
            self._end = os.pidfd_open(process)
        except OSError as error:
            raise HostGone("it has not started") from error
        self.baseline = 0

    def _send_settings(self, order: Prepare) -> None:
        self._line.send(order)

    def finish_preparing(self) -> None:
        setting = ""
        while True:
            try:
                answer = self._line.receive()
            except HostGone as error:
                if setting:
                    raise UserError(f"course.toml: {setting} ends the process that loads it") from error
                raise
            match answer:
                case Loading(what):
                    setting = what
                case Refused(reason):
                    raise UserError(f"course.toml: {reason}")
                case Ready(layers):
                    self.layers = layers
                    self.baseline = process_tree.memory_of([self.process], 0)
                    return

    def open_topic(self, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> LeaderClient:
        """A new leader for one topic of a submission."""
        return LeaderClient(self, topic, files, bindings)

    def spawn(self, control: socket.socket) -> int:
        """Starts a topic's leader, which gets one end of a socket; its process id.

        Raises:
            HostGone: no process could be started.
        """
        match self._line.ask(Spawn(), [control.fileno()]):
            case Ready(process=process):
                return process
            case answer:
                raise HostGone(f"cannot start a student process: {answer}")

    def close(self) -> None:
        """Ends the host and with it every student process."""
        super().close()
        self._line.close()
        if self._end >= 0:
            select.select([self._end], [], [])
            os.close(self._end)
            self._end = -1


class LeaderClient(TopicProcesses):
    """One sandbox with one topic of one submission; makes its student processes.

    Attributes:
        process: the leader's process id.
    """

    _host: HostClient

    def __init__(self, host: HostClient, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> None:
        super().__init__(host, topic, files, bindings)
        self._started: set[int] = set()
        self._open()

    def _open(self) -> None:
        ours, theirs = socket.socketpair()
        self._line = _Line(ours, FromLeader, LeaderGone, START_SECONDS)
        with theirs:
            self.process = self._host.spawn(theirs)
        self._handle = os.pidfd_open(self.process)
        self._held_too_much = 0
        self._host.topics.add(self)
        self._line.send(SetUp(self._topic, dict(self._files), "mount-namespace" in self.layers))

    def start_afresh(self) -> StudentProcess:
        for _ in range(2):
            if "pid-namespace" not in self.layers:
                process_tree.kill_tree_below(self.process)
            try:
                return self._start(imports=True, afresh=True)
            except LeaderGone:
                self.close()
                self._open()
        raise HostGone("no student process can be started")

    def start(self, *, imports: bool = True) -> StudentProcess:
        try:
            return self._start(imports=imports, afresh=False)
        except LeaderGone as error:
            if memory_kills() > self._memory_kills:
                raise KilledBySystem(MEMORY_SHORT) from error
            raise SubmissionCrashed("ended the process that had started it") from error

    def _start(self, *, imports: bool, afresh: bool) -> StudentProcess:
        self._count += 1
        with contextlib.ExitStack() as on_failure:
            limit = self._host.limits.print_bytes
            prints = Prints(limit)
            errors = prints if afresh else Prints(limit)
            outputs = [prints, errors, Prints(student_process.DUMP_BYTES), Prints(audit.MOST_BYTES + 1)]
            arena = Arena.create()
            ours, theirs = socket.socketpair()
            for close in (*(output.close for output in outputs), arena.close, ours.close):
                on_failure.callback(close)
            with theirs:
                descriptors = [theirs.fileno(), *(output.writer for output in outputs), arena.descriptor]
                order = Start(self._count, imports, afresh, self.bindings, self.definitions)
                forked: Forked = self._line.ask(order, descriptors)
            for output in outputs:
                output.close_writer()
            on_failure.pop_all()
        below = process_tree.descendants(self.process)
        pid = process_tree.find_by_inner_id(below, forked.process) or -1
        self._started.add(pid)
        return StudentProcess(self, self._count, pid, ours, outputs, arena)

    def effort(self) -> Effort:
        return process_tree.effort(process_tree.descendants(self.process))

    def tidy(self, main: StudentProcess, threads: int) -> bool:
        try:
            self._line.ask(Tidy())
        except LeaderGone:
            return False
        left = [pid for pid in process_tree.descendants(self.process) if pid not in self._started]
        return not any(map(process_tree.is_alive, left)) and process_tree.count_threads(main.pid) <= threads

    def ask_where(self, process: StudentProcess) -> None:
        assert DUMP_SIGNAL is not None
        self._signal(process, DUMP_SIGNAL)

    def stop(self, process: StudentProcess) -> None:
        self._signal(process, signal.SIGKILL)

    def _signal(self, process: StudentProcess, number: int) -> None:
        if process.pid in process_tree.descendants(self.process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def exit_code(self, number: int) -> int | None:
        with contextlib.suppress(LeaderGone):
            ended: Ended = self._line.ask(HowEnded(number, student_process.END_SECONDS))
            return ended.code
        return None

    def watch(self) -> None:
        for _ in range(_MOST_ROUNDS):
            below = process_tree.descendants(self.process)
            held = process_tree.memory_of([self.process, *below], self._host.baseline)
            if held <= self._host.most_bytes:
                return
            self._held_too_much = held
            # Only those that were measured: a fresh one may have been started in the meantime.
            process_tree.kill_all(below)
        self._kill()  # they fork faster than they can be ended one by one

    def close(self) -> None:
        self._host.topics.discard(self)
        self._line.close()
        self._kill()
        select.select([self._handle], [], [], START_SECONDS)  # its folder is made new for the next one
        os.close(self._handle)

    def _kill(self) -> None:
        """Ends all processes; in a PID namespace, they end with the leader."""
        if "pid-namespace" not in self.layers:
            process_tree.kill_tree_below(self.process)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
