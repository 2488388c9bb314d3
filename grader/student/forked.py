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
from grader.border.failures import SubmissionCrashed
from grader.border.frames import BrokenFrame
from grader.border.messages import Bindings, CannotFork, EndAll, Ended, Forked, FromLeader, HowEnded, SetUp, Start, Tidy
from grader.errors import UserError
from grader.sandbox import process_tree
from grader.sandbox.limits import Limits
from grader.sandbox.process_tree import Look
from grader.student import student_process
from grader.student.prints import Prints
from grader.student.process import DUMP_SIGNAL, Answer, Loading, Prepare, Ready, Refused, Spawn
from grader.student.socket_process import StudentProcess, TopicProcess
from grader.student.student_process import Host, HostGone, TopicProcesses

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
        seconds: timeout for a whole answer (s); None means no timeout.
    """

    def __init__(self, sock: socket.socket, kind: Any, gone: type[BaseException], seconds: float | None = None) -> None:
        sock.settimeout(seconds)
        self._seconds = seconds
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
            return wire.unpack(frames.receive_within(self._sock, self._seconds) or b"", self._kind)
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

    def end_strays(self) -> None:
        """Ends what was below a leader that has ended: submitted code can kill it if there is no PID namespace."""
        leaders = {topic.process for topic in self.topics if isinstance(topic, LeaderClient)}
        for stray in set(process_tree.children(self.process)) - leaders:
            process_tree.kill_tree_below(stray)
            process_tree.kill_all([stray])

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
        self._ended_work = 0.0  # below leaders before this one (s)
        self._open()

    def _open(self) -> None:
        ours, theirs = socket.socketpair()
        self._line = _Line(ours, FromLeader, LeaderGone, START_SECONDS)
        with theirs:
            self.process = self._host.spawn(theirs)
        self._handle = os.pidfd_open(self.process)
        self._host.topics.add(self)
        self._line.send(SetUp(self._topic, dict(self._files), "mount-namespace" in self.layers))

    def start_afresh(self) -> StudentProcess:
        if self._count and self.bindings is None:
            self._renew_sandbox()
        refused = None
        for _ in range(2):
            try:
                self._end_all()
                self._clear_counters()
                return self._start(imports=True, afresh=True)
            except SubmissionCrashed as crash:
                refused = crash
            except LeaderGone:
                pass
            self._renew_sandbox()
        raise refused or HostGone("no student process can be started")

    def _renew_sandbox(self) -> None:
        """Makes a new sandbox, in which nothing shows what happened in the one before.

        Else submitted code could read that from process numbers, counters of the network, limits of the leader and the
        like: a second try would know how far the first one came.
        """
        self.close()
        self._open()

    def start(self, *, imports: bool = True) -> StudentProcess:
        try:
            return self._start(imports=imports, afresh=False)
        except LeaderGone as error:
            crash = self._memory.crash(-signal.SIGKILL)
            raise crash or SubmissionCrashed("ended the process that had started it") from error

    def _launch(self, order: Start, outputs: Sequence[Prints], arena: Arena) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(ours.close)
            with theirs:
                descriptors = [theirs.fileno(), *(output.writer for output in outputs), arena.descriptor]
                answer: Forked | CannotFork = self._line.ask(order, descriptors)
            if isinstance(answer, CannotFork):
                raise SubmissionCrashed("left so many processes running that no other one could be started")
            on_failure.pop_all()
        for output in outputs:
            output.close_writer()
        pid = process_tree.find_by_inner_id(process_tree.descendants(self.process), answer.process) or -1
        self._started.add(pid)
        return pid, ours

    def look(self) -> Look:
        now = process_tree.look(process_tree.descendants(self.process), reaper=self.process)
        return Look(self._ended_work + now.worked, now.at_rest)

    def tidy(self, main: TopicProcess, threads: int) -> bool:
        try:
            self._line.ask(Tidy())
        except LeaderGone:
            return False
        left = [pid for pid in process_tree.descendants(self.process) if pid not in self._started]
        return not any(map(process_tree.is_alive, left)) and process_tree.count_threads(main.pid) <= threads

    def ask_where(self, process: StudentProcess) -> None:
        assert DUMP_SIGNAL is not None
        self._signal(process, DUMP_SIGNAL)

    def end(self, process: StudentProcess) -> None:
        if process.is_main:
            try:
                self._end_all()
            except LeaderGone:
                self.close()
        elif process.pid in process_tree.descendants(self.process):
            process_tree.kill_tree_below(process.pid)
            self._signal(process, signal.SIGKILL)

    def _end_all(self) -> None:
        """Kills all processes of the topic; when this returns, they do not count for any limit of its user.

        Raises:
            LeaderGone: the leader has ended or does not answer.
        """
        self._started.clear()
        if "pid-namespace" not in self.layers:
            process_tree.kill_tree_below(self.process)
        self._line.ask(EndAll())

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
            use = self._memory  # first: what is measured now must not count against a later process
            below = process_tree.descendants(self.process)
            sockets = process_tree.memory_of_sockets(self.process) if "net-namespace" in self.layers else 0
            exact_from = use.matters_from - sockets
            held = process_tree.memory_of_forks([self.process, *below], self._host.baseline, exact_from)
            if not use.is_too_much(held + sockets):
                return
            # Only those that were measured: a fresh one may have been started in the meantime.
            process_tree.kill_all(below)
        self._kill()  # they fork faster than they can be ended one by one

    def close(self) -> None:
        if self._handle < 0:
            return
        self._ended_work = self.look().worked
        with contextlib.suppress(LeaderGone):
            if "pid-namespace" not in self.layers:  # else they end with the leader, and before it
                self._end_all()
        self._host.topics.discard(self)
        self._line.close()
        self._kill()
        select.select([self._handle], [], [], START_SECONDS)  # its folder is made new for the next one
        os.close(self._handle)
        self._handle = self.process = -1
        if "pid-namespace" not in self.layers:
            self._host.end_strays()

    def _kill(self) -> None:
        """Ends all processes; in a PID namespace, they end with the leader."""
        if "pid-namespace" not in self.layers:
            process_tree.kill_tree_below(self.process)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
