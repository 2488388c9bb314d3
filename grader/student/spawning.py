"""New Pythons for submitted code, loaded and waiting: one at least is always on its way, so that few are waited for.

Runs in the judge. A process that has run submitted code never comes back here.
"""

import contextlib
import hmac
import os
import secrets
import signal
import socket
import subprocess
import time
from collections import deque
from typing import Final

from grader import machine, new_python
from grader.border import frames, wire
from grader.border.bounds import WireError
from grader.border.frames import BrokenFrame
from grader.errors import UserError
from grader.sandbox import process_tree
from grader.student.endings import HostGone
from grader.student.orders import Connect, Prepare, Ready, Refused

START_SECONDS: Final = 120.0
"""How long a new process may take until it is ready (s): on a slow disk, importing torch takes long."""
_TOKEN_BYTES: Final = 32
_LOOK_SECONDS: Final = 0.2
_SENDING_SECONDS: Final = 5.0
"""How long who has connected may take to say who it is (s)."""
_MOST_SPARES: Final = 2

_NEEDED_VARIABLES: Final = (
    "PATH", "HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "VIRTUAL_ENV",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS", "LD_LIBRARY_PATH",
)  # fmt: skip
"""Environment variables that a Python needs until it has loaded everything; so does it those of Python itself."""


class _NotStarted(Exception):
    """A new process has ended, or did not get ready in time."""


class SpawnedPython:
    """A new Python: starts at once, and takes a while until it is ready."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_LOOK_SECONDS)
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        environment = {name: value for name, value in os.environ.items() if _is_needed(name)}
        self._popen = subprocess.Popen(
            new_python.command("from grader.student.spawned import main; main()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            env={**environment, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Ctrl-C is for the main process
        )
        self._send(wire.pack(Connect(self._listener.getsockname()[1], self._token)))
        self.calls: socket.socket | None = None
        self.pid = self._popen.pid
        """The process that runs submitted code, once it is ready."""
        self.baseline = 0
        """The memory that it held when it was ready (bytes)."""
        self.worked_before = 0.0
        """Its processor time then (s)."""

    def prepare(self, order: Prepare) -> None:
        """Sends the list of modules that it must load; needed once."""
        self._send(wire.pack(order))

    def finish_start(self) -> None:
        """Waits until it is ready.

        Raises:
            UserError: a module of the course cannot be loaded.
            _NotStarted: it has ended, or takes too long.
        """
        until = time.monotonic() + START_SECONDS
        while self.calls is None:
            if self._popen.poll() is not None:
                raise _NotStarted(f"it ended with code {self._popen.returncode}")
            if time.monotonic() > until:
                raise _NotStarted(f"it was not ready within {START_SECONDS:g} s")
            with contextlib.suppress(TimeoutError):
                self._take(self._listener.accept()[0])

    def _take(self, sock: socket.socket) -> None:
        """Takes a connection, if it is that of the new process."""
        sock.settimeout(_SENDING_SECONDS)
        try:
            token = b""
            while len(token) < _TOKEN_BYTES and (data := sock.recv(_TOKEN_BYTES - len(token))):
                token += data
            if not hmac.compare_digest(token, self._token):
                sock.close()
                return
            sock.settimeout(START_SECONDS)
            answer: Ready | Refused = wire.unpack(frames.receive(sock.recv) or b"", Ready | Refused)
        except (OSError, BrokenFrame, WireError) as error:
            sock.close()
            raise _NotStarted(str(error)) from error
        if isinstance(answer, Refused):
            sock.close()
            raise UserError(f"course.toml: {answer.reason}")
        assert isinstance(answer, Ready)
        self.pid = answer.process
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.calls = sock
        self.baseline = process_tree.memory_of([self.pid], 0)
        self.worked_before = process_tree.effort([self.pid]).worked

    def accept_no_more(self) -> None:
        """Lets nobody connect any more: from now on it may run submitted code."""
        self._listener.close()

    def start_again(self) -> bool:
        """Waits until it is ready once more, after its last connection has been closed; whether it is."""
        self.calls = None
        with contextlib.suppress(_NotStarted, UserError):
            self.finish_start()
            return True
        return False

    def ask_where(self) -> None:
        """Makes it write where it is."""
        with contextlib.suppress(OSError, ValueError):
            assert self._popen.stdin is not None
            self._popen.stdin.write(b"?")

    def exit_code(self, seconds: float) -> int | None:
        """Its exit code, or minus the signal that ended it; None if it has not ended after so many seconds."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Ends it, and the processes that it has started as far as they can be found."""
        if self._popen.returncode is None:
            below = process_tree.descendants(self._popen.pid)
            if hasattr(os, "killpg"):
                with contextlib.suppress(OSError):
                    os.killpg(self._popen.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                self._popen.kill()
            for process in below:
                process_tree.kill(process)
            self._popen.wait()
        self._listener.close()
        if self.calls is not None:
            self.calls.close()
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def _send(self, payload: bytes) -> None:
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError):  # `finish_start` says how it ended
            frames.write(self._popen.stdin, payload)


class Spares:
    """The new Pythons of one judge; the first one starts now."""

    def __init__(self) -> None:
        self._order: Prepare | None = None
        self._waiting: deque[SpawnedPython] = deque()
        self._most = min(_MOST_SPARES, machine.cores())
        self._start()

    def prepare(self, order: Prepare) -> None:
        """Sends all of them the list of modules that they must load."""
        for one in self._waiting:
            one.prepare(order)
        self._order = order

    def finish_preparing(self) -> None:
        """Waits until the first one is ready.

        Raises:
            UserError: a module of the course cannot be loaded.
            HostGone: no process can be started.
        """
        self._ready()

    def take(self) -> SpawnedPython:
        """One that is ready; another one starts in its place.

        Raises:
            HostGone: no process can be started.
        """
        self._ready()
        one = self._waiting.popleft()
        while len(self._waiting) < self._most:
            self._start()
        return one

    def close(self) -> None:
        """Ends those that nobody has taken."""
        while self._waiting:
            self._waiting.pop().end()

    def _ready(self) -> None:
        """Makes the first that waits a ready one."""
        reason = ""
        for _ in range(3):
            if not self._waiting:
                self._start()
            try:
                self._waiting[0].finish_start()
                return
            except _NotStarted as error:
                reason = str(error)
                self._waiting.popleft().end()
        raise HostGone(f"no student process can be started: {reason}")

    def _start(self) -> None:
        try:
            one = SpawnedPython()
        except OSError as error:
            raise HostGone(f"no student process can be started: {error}") from error
        if self._order is not None:
            one.prepare(self._order)
        self._waiting.append(one)


def _is_needed(name: str) -> bool:
    return name.upper() in _NEEDED_VARIABLES or name.startswith(("PYTHON", "DYLD_", "CUDA_", "NVIDIA_"))
