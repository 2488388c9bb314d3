"""The warm host: holds torch, and forks sandboxed student processes.

It stays outside the sandbox and never runs submitted code, never imports checks or solutions, and starts no thread:
a process with threads cannot fork safely. The judge asks, the host answers, one message at a time. The judge measures
and ends the processes; if the judge is gone, the host ends it.
"""

import contextlib
import gc
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import torch

from grader.border import frames, wire
from grader.sandbox import kernel, process_tree
from grader.sandbox.sandbox import Sandbox
from grader.student import orders
from grader.student.leader import lead
from grader.student.preparation import CannotLoad, load_modules
from grader.student.process import note_modules


class WarmHost:
    """Serves one judge over a socket until the judge closes it."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._leaders: set[int] = set()
        self._sandbox: Sandbox | None = None
        self._testkit: Mapping[str, ModuleType] = {}
        self._kit: dict[str, ModuleType] = {}

    def run(self) -> None:
        """Obeys orders until the judge has closed the socket; then every student process has ended."""
        try:
            while True:
                payload, descriptors = frames.receive_with_descriptors(self._control)
                if payload is None:
                    return
                match wire.unpack(payload, orders.Order):
                    case orders.Prepare() as order:
                        answer: orders.Answer = self._prepare(order)
                    case orders.Spawn():
                        answer = self._spawn(*descriptors)
                frames.send(self._control, wire.pack(answer))
        except (BrokenPipeError, ConnectionResetError):
            return
        finally:
            for leader in self._leaders:
                process_tree.kill_tree_below(leader)
                process_tree.kill(leader)
            self._reap(0)
            if self._sandbox is not None:
                self._sandbox.close()

    def _prepare(self, order: orders.Prepare) -> orders.Ready | orders.Refused:
        real = order.devices != "simulated"
        before = _threads()

        def check_threads(what: str) -> None:
            if _threads() > before:
                raise CannotLoad(f"{what} starts threads: a process with threads cannot be forked")

        try:
            self._testkit, self._kit = load_modules(order, check_threads)
        except CannotLoad as error:
            return orders.Refused(str(error))
        self._sandbox = Sandbox(limits=order.limits, hidden=[Path(path) for path in order.hidden], gpus=real)
        note_modules()
        gc.freeze()  # without a collection before, which would free next to nothing
        gc.enable()  # also for the student processes
        return orders.Ready(self._sandbox.layers)

    def _spawn(self, descriptor: int) -> orders.Spawned | orders.Refused:
        assert self._sandbox is not None
        self._reap(os.WNOHANG)

        def child() -> None:
            lead(socket.socket(fileno=descriptor), self._testkit, self._kit)

        try:
            leader = self._sandbox.fork(child, [descriptor])
        except OSError as error:
            return orders.Refused(str(error))
        finally:
            os.close(descriptor)
        self._leaders.add(leader)
        return orders.Spawned(leader)

    def _reap(self, options: int) -> None:
        """Forgets the leaders that the judge has ended."""
        with contextlib.suppress(ChildProcessError):
            while self._leaders and (ended := os.waitpid(-1, options)[0]):
                self._leaders.discard(ended)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def start_host() -> tuple[socket.socket, int]:
    """Forks the host off this process, which must be single-threaded and hold neither checks nor solutions.

    Returns:
        The socket to give orders on, and the host's process id.
    """
    torch.set_num_threads(1)
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process:
        theirs.close()
        return ours, process
    try:
        ours.close()
        _close_inherited(theirs.fileno())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.disable()  # while the host gets ready
        WarmHost(theirs).run()
    finally:
        os._exit(0)


def _close_inherited(keep: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    kernel.close_all_but({0, 1, 2, keep})
