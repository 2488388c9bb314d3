"""The zygote: a process that has imported torch, and from which workers and warm hosts are forked.

It is a new Python with an environment of its own (`new_python.environment`), and lives as long as the process that has
started it. It must never know a course, a check, an answer or a submission, and never start a thread: of what it knows,
submitted code finds a copy. A worker and its host are both its children, so that the host holds nothing of the judge.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, NoReturn, TypeAlias

import msgspec

from grader.sandbox import kernel


class Fork(msgspec.Struct, frozen=True):
    """An order to the zygote: start a worker with its host, or a host alone.

    With it come descriptors: a socket for reports, then a worker's standard streams, or a host's socket.
    """

    what: Literal["worker", "host"]


class ProcessStarted(msgspec.Struct, frozen=True, tag=True):
    """The first report on a process: its id, and that of the host of a worker, else 0."""

    process: int
    host: int = 0


class ProcessEnded(msgspec.Struct, frozen=True, tag=True):
    """The last report: the exit code, or minus the signal."""

    code: int


Report: TypeAlias = ProcessStarted | ProcessEnded


class Signal(msgspec.Struct, frozen=True):
    """Sent by who gets the reports: sends a signal to the process, unless it has ended."""

    number: int


class _Child(NamedTuple):
    """A forked process.

    Attributes:
        end: a descriptor of the process, which can be read when it has ended.
        reports: the socket of who has ordered it; None for the host of a worker.
    """

    process: int
    end: int
    reports: socket.socket | None


def main() -> NoReturn:
    """The life of the zygote, whose orders come on standard input."""
    orders = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    kernel.name_process("grader-zygote")
    gc.disable()  # the collector takes a tenth of the time of the imports below, and frees nothing
    import torch

    torch.set_num_threads(1)
    from grader.student import forked, host  # noqa: F401 - for all that are forked

    _Zygote(orders).serve()
    os._exit(0)


class _Zygote:
    """Forks, and reports the ends of what it has forked.

    Args:
        orders: a socket that keeps the bounds of messages, as all that are used here.
    """

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._process = os.getpid()
        self._sources: dict[int, Callable[[], None]] = {}
        self._poll = select.poll()
        self._poll.register(orders, select.POLLIN)

    def serve(self) -> None:
        """Obeys until nobody can send orders any more; then its workers end with it."""
        while True:
            for source, _ in self._poll.poll():
                if source != self._orders.fileno():
                    if source in self._sources:  # else its process has ended a moment ago; or this is a newer one's
                        self._sources[source]()
                elif not self._obey():
                    return

    def _obey(self) -> bool:
        payload, descriptors, _, _ = socket.recv_fds(self._orders, 1 << 10, 8)
        if not payload:
            return False
        reports = socket.socket(fileno=descriptors[0])
        try:
            if msgspec.msgpack.decode(payload, type=Fork).what == "worker":
                started = self._start_worker(reports, descriptors[1:])
            else:
                started = ProcessStarted(self._start_host(reports, descriptors[1]))
            _send(reports, started)
        except OSError as error:  # of `fork`
            _send(reports, ProcessEnded(1))
            os.write(2, f"the zygote cannot fork: {error}\n".encode(errors="replace"))
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        return True

    def _start_worker(self, reports: socket.socket, streams: Sequence[int]) -> ProcessStarted:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            host = self._start_host(None, theirs.fileno(), errors=streams[2])

            def live() -> None:
                for target, source in enumerate(streams):
                    os.dup2(source, target)
                kernel.close_all_but({0, 1, 2, ours.fileno()})
                kernel.name_process("grader-worker")
                kernel.die_with_parent()
                if os.getppid() != self._process:  # it ended before the line above
                    return
                from grader.grading import worker
                from grader.student.forked import HostClient

                worker.run(lambda limits: HostClient(ours, host, limits))

            worker = self._fork(live, reports)
        return ProcessStarted(worker, host)

    def _start_host(self, reports: socket.socket | None, control: int, errors: int = 2) -> int:
        def live() -> None:
            from grader.student import host

            os.dup2(errors, 2)
            kernel.close_all_but({0, 1, 2, control})
            kernel.name_process("grader-host")
            host.WarmHost(socket.socket(fileno=control)).run()

        return self._fork(live, reports)

    def _fork(self, live: Callable[[], None], reports: socket.socket | None) -> int:
        """The process id of a new process that runs a function, and ends."""
        process = os.fork()
        if not process:
            try:
                live()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        child = _Child(process, os.pidfd_open(process), reports)
        self._add(child.end, lambda: self._reap(child))
        if reports is not None:
            self._add(reports.fileno(), lambda: self._send_signal(child))
        return process

    def _add(self, source: int, ready: Callable[[], None]) -> None:
        self._sources[source] = ready
        self._poll.register(source, select.POLLIN)

    def _forget(self, source: int) -> None:
        if self._sources.pop(source, None):
            self._poll.unregister(source)

    def _send_signal(self, child: _Child) -> None:
        assert child.reports is not None
        try:
            payload = child.reports.recv(1 << 10, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            payload = b""
        if payload:
            signal.pidfd_send_signal(child.end, msgspec.msgpack.decode(payload, type=Signal).number)
        else:
            self._forget(child.reports.fileno())

    def _reap(self, child: _Child) -> None:
        ended, status = os.waitpid(child.process, os.WNOHANG)
        if not ended:
            return
        code = os.waitstatus_to_exitcode(status)
        self._forget(child.end)
        os.close(child.end)
        if child.reports is not None:
            self._forget(child.reports.fileno())
            _send(child.reports, ProcessEnded(code))
            child.reports.close()


def _send(reports: socket.socket, report: Report) -> None:
    with contextlib.suppress(OSError):  # nobody wants to know
        reports.send(msgspec.msgpack.encode(report), socket.MSG_DONTWAIT)
