"""The warm host: holds torch, forks sandboxed student processes, ends them, and watches their memory.

It stays outside the sandbox and never runs submitted code, never imports checks or solutions, and starts no thread:
a process with threads cannot fork safely. The judge asks, the host answers, one message at a time.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

import torch

from grader.border import frames, wire
from grader.sandbox import kernel, process_tree
from grader.sandbox.limits import CUDA_BYTES, Limits
from grader.sandbox.sandbox import Sandbox
from grader.student import orders
from grader.student.leader import lead
from grader.student.preparation import CannotLoad, load_modules
from grader.student.process import DUMP_SIGNAL, note_modules

WATCH_SECONDS: Final = 0.05
"""How often the memory of student processes is measured (s)."""
MOST_ROUNDS: Final = 20
"""How often what takes too much memory is ended and measured again, before all that there is ends."""


class Host:
    """Serves one judge over a socket until the judge closes it."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._topics: dict[int, int] = {}
        self._over_memory: set[int] = set()
        self._limits = Limits()
        self._sandbox: Sandbox | None = None
        self._testkit: Mapping[str, ModuleType] = {}
        self._kit: dict[str, ModuleType] = {}
        self._baseline = 0
        self._extra = 0

    def run(self) -> None:
        """Obeys orders until the judge has closed the socket; then every student process has ended."""
        try:
            while True:
                if select.select([self._control], [], [], WATCH_SECONDS if self._topics else None)[0]:
                    payload, descriptors = frames.receive_with_descriptors(self._control)
                    if payload is None:
                        return
                    answer = self._obey(wire.unpack(payload, orders.Order), descriptors)
                    frames.send(self._control, wire.pack(answer))
                self._watch()
        except (BrokenPipeError, ConnectionResetError):
            return
        finally:
            for topic in list(self._topics):
                self._end(topic)
            if self._sandbox is not None:
                self._sandbox.close()

    def _obey(self, order: orders.Order, descriptors: list[int]) -> orders.Answer:
        match order:
            case orders.Prepare():
                return self._prepare(order)
            case orders.Spawn(topic):
                return self._spawn(topic, *descriptors)
            case orders.End(topic):
                self._end(topic)
            case orders.Sweep(topic) if topic in self._topics:
                process_tree.kill_tree_below(self._topics[topic])
            case orders.Dump(topic, process) if topic in self._topics:
                if process in process_tree.descendants(self._topics[topic]):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        assert DUMP_SIGNAL is not None
                        os.kill(process, DUMP_SIGNAL)
            case orders.WhyEnded(topic):
                was_over = topic in self._over_memory
                self._over_memory.discard(topic)
                return orders.Why(was_over)
        return orders.Done()

    def _prepare(self, order: orders.Prepare) -> orders.Layers | orders.Refused:
        real = order.devices != "simulated"
        before = _threads()

        def check_threads(what: str) -> None:
            if _threads() > before:
                raise CannotLoad(f"{what} starts threads: a process with threads cannot be forked")

        try:
            self._testkit, self._kit = load_modules(order, check_threads)
        except CannotLoad as error:
            return orders.Refused(str(error))
        self._limits = order.limits
        self._extra = CUDA_BYTES if real else 0
        self._sandbox = Sandbox(limits=order.limits, hidden=[Path(path) for path in order.hidden], gpus=real)
        note_modules()
        gc.freeze()  # without a collection before, which would free next to nothing
        gc.enable()  # also for the student processes
        self._baseline = process_tree.memory_of([os.getpid()], 0)
        return orders.Layers(self._sandbox.layers)

    def _spawn(self, topic: int, descriptor: int) -> orders.Spawned | orders.Failed:
        assert self._sandbox is not None
        sandbox = self._sandbox

        def child() -> None:
            lead(socket.socket(fileno=descriptor), self._testkit, self._kit)

        try:
            self._topics[topic] = sandbox.fork(child, [descriptor])
        except OSError as error:
            return orders.Failed(str(error))
        finally:
            os.close(descriptor)
        return orders.Spawned(self._topics[topic])

    def _end(self, topic: int) -> None:
        process = self._topics.pop(topic, None)
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process_tree.kill_tree_below(process)
            os.kill(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)

    def _watch(self) -> None:
        most = self._limits.memory_bytes + self._extra
        for topic, process in self._topics.items():
            for _ in range(MOST_ROUNDS):
                below = process_tree.descendants(process)
                if process_tree.memory_of([process, *below], self._baseline) <= most:
                    break
                self._over_memory.add(topic)
                # Only those that were measured: the judge may have had a fresh one started in the meantime.
                process_tree.kill_all(below)
            else:
                process_tree.kill_tree_below(process)
                if process_tree.memory_of([process], self._baseline) > most:
                    os.kill(process, signal.SIGKILL)


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
        Host(theirs).run()
    finally:
        os._exit(0)


def _close_inherited(keep: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    kernel.close_all_but({0, 1, 2, keep})
