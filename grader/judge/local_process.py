"""Further processes of a submission under plain pytest: forked from this process, without a sandbox.

They answer requests as a sandboxed student process does, so the code that drives several of those at once drives these
as well.
Isolates nothing: submitted code has all that this process had.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from grader.border import frames
from grader.border.failures import BadReply, SubmissionCrashed
from grader.border.frames import BrokenFrame, FrameReader
from grader.border.output import flush_output, use_output
from grader.border.service import Service
from grader.border.transport import Activity
from grader.sandbox import kernel, process_tree
from grader.student.prints import Prints
from grader.student.process import DUMP_SIGNAL, serve

PRINT_BYTES: Final = 64 << 10
"""Bytes of a process's prints that are kept."""


class LocalProcess:
    """A forked process that answers requests; a `Process`.

    Args:
        make_service: imports the submission, if at all; called in the new process.
        folder: the process's current folder.
    """

    def __init__(self, make_service: Callable[[], Service], folder: Path) -> None:
        self._sock, theirs = socket.socketpair()
        self._prints, self._errors, self._dumps = pipes = [Prints(PRINT_BYTES) for _ in range(3)]
        self._replies = FrameReader()
        self._unsent = bytearray()
        self._ending: SubmissionCrashed | None = None
        flush_output()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn if the caller has threads
            self.pid = os.fork()
        if not self.pid:
            _live(theirs, [pipe.writer for pipe in pipes], make_service, folder)
        theirs.close()
        for pipe in pipes:
            pipe.close_writer()
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        self._sock.setblocking(False)

    def sources(self) -> list[int]:
        return [self._sock.fileno(), *(one.reader for one in (self._prints, self._errors) if one.is_open)]

    def post(self, request: bytes) -> None:
        self._unsent += frames.frame(request)
        self._send()

    def poll(self) -> bytes | None:
        for pipe in (self._prints, self._errors):
            pipe.drain()
        self._send()
        try:
            if (reply := self._replies.next()) is None and select.select([self._sock], [], [], 0)[0]:
                self._read()
                reply = self._replies.next()
        except BrokenFrame as error:
            raise BadReply(f"sent something that is no answer ({error})") from None
        return reply

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            while self._unsent:
                sent = self._sock.send(memoryview(self._unsent)[: 1 << 16])
                del self._unsent[:sent]

    def _read(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            raise SubmissionCrashed(self._why_it_ended())
        self._replies.feed(data)

    def _why_it_ended(self) -> str:
        """How it has ended; it is killed if it has only closed its socket."""
        process, status = os.waitpid(self.pid, os.WNOHANG)
        if not process:
            self._kill()
            _, status = os.waitpid(self.pid, 0)
        self.pid = -1
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"was ended by signal {-code} ({signal.Signals(-code).name})"
        return f"ended the process with exit code {code}"

    def ask_where(self) -> None:
        self._dumps.take()
        if self.pid > 0 and DUMP_SIGNAL is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, DUMP_SIGNAL)

    def stacks(self) -> str:
        return self._dumps.seen()

    def activity(self) -> Activity:
        return Activity(*process_tree.activity(self.pid))

    def prints(self) -> tuple[str, str]:
        return self._prints.take(), self._errors.take()

    def end(self) -> None:
        if self.pid > 0:
            self._kill()
            os.waitpid(self.pid, 0)
            self.pid = -1
        self._sock.close()
        for pipe in (self._prints, self._errors, self._dumps):
            pipe.close()

    def wait(self) -> None:
        pass  # `end` has waited

    def _kill(self) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)


def _live(sock: socket.socket, outputs: list[int], make_service: Callable[[], Service], folder: Path) -> NoReturn:
    """The whole life of the process."""
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        kernel.die_with_parent()
        prints, errors, dumps = outputs
        use_output(prints, errors)
        kernel.close_all_but({0, 1, 2, dumps, sock.fileno()})
        if DUMP_SIGNAL is not None:
            faulthandler.register(DUMP_SIGNAL, file=dumps, all_threads=False)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [DUMP_SIGNAL])
        os.chdir(folder)
        sys.dont_write_bytecode = True
        warnings.simplefilter("default")  # pytest may make them errors
        serve(sock, make_service())
    finally:
        os._exit(70)
