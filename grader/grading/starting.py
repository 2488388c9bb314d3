"""Starts workers and warm hosts: forked from the zygote of this process, or, where nothing can be forked, new Pythons.

All pools of a process share its zygote, which starts with the first worker and ends with the process; another one takes
the place of one that has ended. Imports nothing slow.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Final, Literal, cast

import msgspec

from grader import new_python
from grader.grading.zygote import Fork, ProcessEnded, ProcessStarted, Report, Signal
from grader.student import engine

if TYPE_CHECKING:
    from grader.sandbox.limits import Limits
    from grader.student.student_process import Host

_STDERR_LINES: Final = 150
"""Lines of its standard error that are kept of a process: as many as a deep stack has."""
_END_SECONDS: Final = 3.0
"""How long the end of a zygote that has closed its sockets may take."""


class LastLines:
    """Reads a process's standard error in a thread, and keeps the last lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.lines: deque[str] = deque(maxlen=_STDERR_LINES)
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True, name="stderr")
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError), self._stream:
            for line in iter(lambda: self._stream.readline(4096), b""):
                self.lines.append(line.decode("utf-8", "replace").rstrip())

    def wait(self, seconds: float) -> None:
        """Waits until all has been read."""
        self._thread.join(seconds)


class ForkedProcess:
    """A process that a zygote forks, as soon as it has imported torch. It is used as a `subprocess.Popen` is.

    Attributes:
        returncode: as of `subprocess.Popen`; None while it runs, as far as is known.
    """

    def __init__(self, reports: socket.socket, zygote: _Zygote) -> None:
        self.returncode: int | None = None
        self.zygote = zygote
        self._reports = reports
        self._started: ProcessStarted | None = None
        self._lock = threading.RLock()  # Reentrant: a signal handler may interrupt the thread that holds it.

    @property
    def pid(self) -> int:
        """Its process id, waited for; 0 if it was not started."""
        started = self._wait_until_started()
        return started.process if started else 0

    @property
    def host(self) -> int:
        """The process id of a worker's host, waited for."""
        started = self._wait_until_started()
        return started.host if started else 0

    def has_started(self) -> bool:
        """Whether there is such a process, or was."""
        self.poll()
        return self._started is not None

    def _wait_until_started(self) -> ProcessStarted | None:
        while not self.has_started() and self.returncode is None:
            select.select([self._reports], [], [])
        return self._started

    def poll(self) -> int | None:
        with self._lock:
            while self.returncode is None:
                try:
                    payload = self._reports.recv(1 << 10, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    break
                except ConnectionResetError:  # it did not read a signal before its last report, which comes now
                    continue
                except OSError:
                    payload = b""
                if not payload:  # its zygote has ended, and so has it
                    self.returncode = -signal.SIGKILL if self._started else self.zygote.code()
                    break
                self.zygote.is_ready = True
                match msgspec.msgpack.decode(payload, type=Report):
                    case ProcessStarted() as started:
                        self._started = started
                    case ProcessEnded(code):
                        self.returncode = code
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if until is None else until - time.monotonic()
            if timeout is not None and left is not None and left <= 0:
                raise subprocess.TimeoutExpired("a forked process", timeout)
            select.select([self._reports], [], [], left)
        return code

    def send_signal(self, sig: int) -> None:
        """Sends a signal; nothing here waits, as a signal handler may call it."""
        if not self.has_started() and not self.zygote.is_ready:
            self.zygote.kill()  # it still imports torch
        with contextlib.suppress(OSError):  # its zygote has ended
            self._reports.send(msgspec.msgpack.encode(Signal(sig)), socket.MSG_DONTWAIT)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Lets it go: nobody will know how it has ended, unless that is known already."""
        with self._lock:
            if self.returncode is None:
                self.returncode = -signal.SIGKILL
        self._reports.close()


class _Zygote:
    """A zygote that starts now.

    Attributes:
        is_ready: whether it is known to fork already.
        words: the last lines of its standard error.
    """

    def __init__(self, hash_seed: int) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            streams = {"stdin": theirs.fileno(), "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
            program = "from grader.grading.zygote import main; main()"
            self._popen = new_python.start(program, hash_seed=hash_seed, **streams)
        self.is_ready = False
        self.words = LastLines(cast("IO[bytes]", self._popen.stderr))

    def fork(self, what: Literal["worker", "host"], descriptors: Sequence[int]) -> ForkedProcess:
        """Orders a process.

        Raises:
            OSError: it has ended.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                order = msgspec.msgpack.encode(Fork(what))
                socket.send_fds(self._orders, [order], [theirs.fileno(), *descriptors])
            except OSError:
                ours.close()
                raise
        return ForkedProcess(ours, self)

    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def code(self) -> int:
        """Its exit code, once its sockets have closed; 1 if it lives all the same."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(_END_SECONDS)
            self.words.wait(_END_SECONDS)
            return code
        return 1

    def kill(self) -> None:
        """Ends it, and with it its workers."""
        self._popen.kill()

    def end(self) -> None:
        """Ends it, and waits until it is gone."""
        self.kill()
        self._popen.wait()
        self._orders.close()
        self.words.wait(_END_SECONDS)


_zygotes: dict[tuple[int, int], _Zygote] = {}
"""By the process that uses it, since that may be a fork of another one, and the seed of hashes."""
_early: list[subprocess.Popen[bytes]] = []
"""At most one worker that was started early, where nothing can be forked."""
_LOCK: Final = threading.Lock()


def _fork(what: Literal["worker", "host"], descriptors: Sequence[int], hash_seed: int = 0) -> ForkedProcess:
    with _LOCK:
        for _ in range(2):
            with contextlib.suppress(OSError):  # it is ending
                return _zygote(hash_seed).fork(what, descriptors)
            _zygotes.pop((os.getpid(), hash_seed)).end()
    raise OSError("the zygote ends again and again")


def _zygote(hash_seed: int) -> _Zygote:
    """The zygote of this process, which is started if there is none."""
    key = os.getpid(), hash_seed
    if key in _zygotes and not _zygotes[key].is_alive():
        _zygotes.pop(key).end()
    if key not in _zygotes:
        _zygotes[key] = _Zygote(hash_seed)
    return _zygotes[key]


@atexit.register
def _end_all() -> None:
    for process, hash_seed in list(_zygotes):
        if process == os.getpid():
            _zygotes.pop((process, hash_seed)).end()
    while _early:
        _early.pop().kill()


def start_early() -> None:
    """Begins to import torch for the first worker of this process, which needs not be asked for yet.

    Raises:
        OSError: no process can be started.
        UserError: see `engine.choose`.
    """
    if engine.choose().engine == "forked":
        with _LOCK:
            _zygote(0)
    else:
        _early.append(_new_python(0))


def start_worker(hash_seed: int = 0) -> tuple[ForkedProcess | subprocess.Popen[bytes], IO[bytes], IO[bytes], IO[bytes]]:
    """A worker and its standard streams. It starts at once; importing torch takes the first one a while.

    Args:
        hash_seed: decides the order of sets and the like in it.

    Raises:
        OSError: no process can be started.
        UserError: see `engine.choose`.
    """
    if engine.choose().engine == "forked":
        (theirs_in, stdin), (stdout, theirs_out), (stderr, theirs_err) = os.pipe(), os.pipe(), os.pipe()
        streams = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb")
        try:
            return _fork("worker", [theirs_in, theirs_out, theirs_err], hash_seed), *streams
        except OSError:
            for stream in streams:
                stream.close()
            raise
        finally:
            for descriptor in (theirs_in, theirs_out, theirs_err):
                os.close(descriptor)
    popen = _early.pop() if _early and not hash_seed else _new_python(hash_seed)
    assert popen.stdin and popen.stdout and popen.stderr
    return popen, popen.stdin, popen.stdout, popen.stderr


def _new_python(hash_seed: int) -> subprocess.Popen[bytes]:
    """A worker that is not forked."""
    program = "from grader.grading.worker import run_portable; run_portable()"
    return new_python.start(
        program, hash_seed=hash_seed, **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    )


def start_host() -> Callable[[Limits], Host]:
    """Starts a host for a judge in this process; the caller goes on meanwhile.

    Returns:
        A function that gives the host, once the limits are known.

    Raises:
        UserError: see `engine.choose`.
    """
    if engine.choose().engine == "forked":
        ours, theirs = socket.socketpair()
        with theirs:
            process = _fork("host", [theirs.fileno()])

        def forked_host(limits: Limits) -> Host:
            from grader.student.forked import HostClient

            try:
                return HostClient(ours, process.pid, limits)
            finally:
                process.close()

        return forked_host
    from grader.student.portable import PortableHost, SpawnedPython

    first = SpawnedPython()
    return lambda limits: PortableHost(first, limits)
