"""The warm host, which holds torch and forks sandboxes, and the leader, the first process in each of them.

Neither runs submitted code or imports a submission, so their messages can be believed; neither holds a check or an
expected answer, and neither starts a thread: a process with threads cannot fork safely. The judge asks, they answer;
the judge measures and ends the processes. If the judge is gone, the host ends them.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from grader.border import frames, messages, wire
from grader.border.messages import FromLeader, SetUp, Start
from grader.sandbox import kernel, process_tree
from grader.sandbox.sandbox import Sandbox
from grader.student import process
from grader.student.work_folder import WorkFolder, remove_all

_SHARED_MEMORY = Path("/dev/shm")


class WarmHost:
    """Serves one judge over a socket until the judge closes it. It stays outside the sandbox."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._leaders: set[int] = set()
        self._sandbox: Sandbox | None = None
        self._modules: Mapping[str, ModuleType] = {}
        self._kit: Mapping[str, ModuleType] = {}

    def run(self) -> None:
        """Obeys orders until the judge has closed the socket; then every student process has ended."""
        kernel.adopt_orphans()  # those of a leader that was killed, too
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            while True:
                payload, descriptors = frames.receive_with_descriptors(self._control)
                if payload is None:
                    return
                match wire.unpack(payload, process.HostOrder):
                    case process.Prepare() as order:
                        answer: process.Answer = self._prepare(order)
                    case process.Spawn():
                        answer = self._spawn(*descriptors)
                frames.send(self._control, wire.pack(answer))
        except (BrokenPipeError, ConnectionResetError):
            return
        finally:
            process_tree.kill_tree_below(os.getpid())
            self._reap(0)
            if self._sandbox is not None:
                self._sandbox.close()

    def _prepare(self, order: process.Prepare) -> process.Answer:
        try:
            self._modules, self._kit = process.load_modules(order, self._loading)
        except process.CannotLoad as error:
            return process.Refused(str(error))
        hidden = [Path(path) for path in order.hidden]
        self._sandbox = Sandbox(limits=order.limits, hidden=hidden, gpus=order.devices != "simulated")
        process.note_modules()
        gc.freeze()  # without a collection before, which would free next to nothing
        gc.enable()  # also for the student processes
        return process.Ready(layers=self._sandbox.layers)

    @contextlib.contextmanager
    def _loading(self, what: str) -> Iterator[None]:
        """Tells the judge what is being loaded, which may end this process; refuses what starts threads."""
        before = process_tree.count_threads(os.getpid())
        frames.send(self._control, wire.pack(process.Loading(what)))
        yield
        if process_tree.count_threads(os.getpid()) > before:
            raise process.CannotLoad(f"{what} starts threads: a process with threads cannot be forked")
        frames.send(self._control, wire.pack(process.Loading()))

    def _spawn(self, descriptor: int) -> process.Answer:
        assert self._sandbox is not None
        self._reap(os.WNOHANG)

        def lead() -> None:
            Leader(socket.socket(fileno=descriptor), self._modules, self._kit).run()

        try:
            leader = self._sandbox.fork(lead, [descriptor])
        except OSError as error:
            return process.Refused(str(error))
        finally:
            os.close(descriptor)
        self._leaders.add(leader)
        return process.Ready(process=leader)

    def _reap(self, options: int) -> None:
        """Forgets the leaders that the judge has ended."""
        with contextlib.suppress(ChildProcessError):
            while self._leaders and (ended := os.waitpid(-1, options)[0]):
                self._leaders.discard(ended)


class Leader:
    """Forks the student processes of a topic, reaps them, and tidies their work folder; its process is its own.

    In a PID namespace it is the first process: when it ends, all below it ends.

    Args:
        control: the judge's orders come here; the first one is `SetUp`.
        modules: those whose functions a check may run, by name.
        kit: those of them that are the course's own.
    """

    def __init__(
        self, control: socket.socket, modules: Mapping[str, ModuleType], kit: Mapping[str, ModuleType]
    ) -> None:
        self._control = control
        self._modules = modules
        self._kit = kit
        self._folder = WorkFolder(Path.cwd())
        self._numbers: dict[int, int] = {}
        self._codes: dict[int, int] = {}
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)

    def run(self) -> None:
        """Obeys orders until the judge has closed the socket."""
        if (payload := frames.receive(self._control.recv)) is None:
            return
        self._setup: SetUp = wire.unpack(payload, SetUp)
        sys.dont_write_bytecode = True
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # for `set_wakeup_fd`: an ignored one wakes nobody
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        while True:
            while not self._wait([self._control]):
                pass
            payload, descriptors = frames.receive_with_descriptors(self._control)
            if payload is None:
                return
            match wire.unpack(payload, messages.Order):
                case Start() as order:
                    answer: FromLeader = self._start(order, descriptors)
                case messages.HowEnded(number, seconds):
                    answer = self._how_ended(number, seconds)
                case messages.EndAll():
                    self._end_all()
                    answer = messages.AllEnded()
                case messages.Tidy():
                    self._folder.tidy()
                    self._empty_shared_memory()
                    answer = messages.Tidied()
            frames.send(self._control, wire.pack(answer))

    def _start(self, order: Start, descriptors: list[int]) -> messages.Forked | messages.CannotFork:
        if order.afresh:
            self._empty_shared_memory()
            self._folder.renew(self._setup.files)
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            task = process.StudentTask(order, self._setup, self._folder.path, self._modules, self._kit)
            process.live(task, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid < 0:
            return messages.CannotFork()
        self._numbers[pid] = order.number
        return messages.Forked(pid)

    def _how_ended(self, number: int, seconds: float) -> messages.Ended:
        until = time.monotonic() + seconds
        while number not in self._codes and (left := until - time.monotonic()) > 0:
            self._wait([], left)
        return messages.Ended(self._codes.get(number))

    def _wait(self, sources: list[socket.socket], seconds: float | None = None) -> bool:
        """Waits until one of these can be read, or a process has ended; True if one can be read.

        Ended processes are reaped at once: until then they count towards the submission's limit of processes.
        """
        watched: list[socket.socket | int] = [*sources, self._woken]
        ready = select.select(watched, [], [], seconds)[0]
        if self._woken in ready:
            os.read(self._woken, 4096)
        self._reap(os.WNOHANG)
        return any(source in ready for source in sources)

    def _end_all(self) -> None:
        """Ends every process of the sandbox but this one."""
        for pid in [-1] if os.getpid() == 1 else self._numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._reap(0)

    def _reap(self, options: int) -> None:
        """Takes the ends of processes, of those too whose parents have ended before them."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, options))[0]:
                if (number := self._numbers.pop(ended[0], None)) is not None:
                    self._codes[number] = os.waitstatus_to_exitcode(ended[1])

    def _empty_shared_memory(self) -> None:
        """The next exercise finds shared memory as the first did."""
        if self._setup.own_shared_memory:
            remove_all(_SHARED_MEMORY, set())
