"""The first process in a submission's sandbox: forks student processes, reaps them, and tidies their work folder.

It never runs submitted code and never imports the submission, so its messages can be believed. It holds no check and
no expected answer. In a PID namespace it is the first process: when it ends, all below it ends.
"""

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from grader.border import frames, wire
from grader.border.messages import Ended, Forked, FromLeader, Keep, Order, SetUp, Start, Stop, Tidied, Tidy
from grader.student.process import StudentTask, hide_grader, live
from grader.student.work_folder import WorkFolder, remove_all

MAX_DESCRIPTORS = 8
_SHARED_MEMORY = Path("/dev/shm")


def lead(control: socket.socket, testkit: Mapping[str, ModuleType], kit: Mapping[str, ModuleType]) -> None:
    """Obeys orders until the judge hangs up.

    Args:
        testkit: the modules of the test kit whose functions a check may run, by name.
        kit: the modules of the course's kit by name.
    """
    payload, _ = frames.receive_with_descriptors(control)
    if payload is not None:
        Leader(control, wire.unpack(payload, SetUp), testkit, kit).run()


class Leader:
    """Serves one judge over a socket; the process is its own."""

    def __init__(
        self, control: socket.socket, setup: SetUp, testkit: Mapping[str, ModuleType], kit: Mapping[str, ModuleType]
    ) -> None:
        self._control = control
        self._setup = setup
        self._modules = {**testkit, **kit}
        self._kit = kit
        self._folder = WorkFolder(Path.cwd())
        self._numbers: dict[int, int] = {}
        self._hidden: dict[str, ModuleType] = {}
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)

    def run(self) -> None:
        """Obeys orders until the judge has closed the socket."""
        sys.dont_write_bytecode = True
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        while True:
            sources: list[socket.socket | int] = [self._control, self._woken]
            ready = select.select(sources, [], [])[0]
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._reap(os.WNOHANG)
            if self._control in ready:
                payload, descriptors = frames.receive_with_descriptors(self._control, MAX_DESCRIPTORS)
                if payload is None:
                    return
                self._obey(wire.unpack(payload, Order), descriptors)

    def _obey(self, order: Order, descriptors: list[int]) -> None:
        match order:
            case Start():
                self._start(order, dict(zip(order.roles, descriptors, strict=True)))
            case Stop(number):
                for process, known in self._numbers.items():
                    if known == number:
                        os.kill(process, signal.SIGKILL)
            case Keep():
                self._folder.keep()
            case Tidy():
                self._folder.tidy()
                self._empty_shared_memory()
                self._send(Tidied())

    def _start(self, order: Start, descriptors: dict[str, int]) -> None:
        if order.afresh:
            self._end_all()
            self._empty_shared_memory()
            self._folder.renew(self._setup.files)
        if order.imports and not self._hidden and order.bindings is None:
            self._hidden = hide_grader(self._kit)  # here for all: it writes to memory that each would copy
        process = os.fork()
        if not process:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            task = StudentTask(order, self._setup, self._folder.path, self._modules, self._kit, self._hidden)
            live(task, descriptors)
        for descriptor in descriptors.values():
            os.close(descriptor)
        self._numbers[process] = order.number
        self._send(Forked(order.number, process))

    def _end_all(self) -> None:
        """Ends every process of the sandbox but this one."""
        with contextlib.suppress(ProcessLookupError):
            if os.getpid() == 1:
                os.kill(-1, signal.SIGKILL)
        for process in self._numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._reap(0)

    def _reap(self, options: int) -> None:
        """Takes the ends of processes, of those too whose parents have ended before them."""
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, options)
                if not process:
                    return
                if (number := self._numbers.pop(process, None)) is not None:
                    self._send(Ended(number, os.waitstatus_to_exitcode(status)))

    def _empty_shared_memory(self) -> None:
        """The next exercise finds shared memory as the first did."""
        if self._setup.own_shared_memory:
            remove_all(_SHARED_MEMORY, set())

    def _send(self, message: FromLeader) -> None:
        frames.send(self._control, wire.pack(message))
