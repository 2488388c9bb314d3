"""Further processes of a submission under plain pytest: forked from this process, without a sandbox.

They answer requests as a sandboxed student process does, so the code that drives several of those at once drives these
as well.
Isolates nothing: submitted code has all that this process had.
"""

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from grader.border.failures import BadReply, SubmissionCrashed
from grader.border.output import flush_output, use_output
from grader.border.service import Service
from grader.sandbox import kernel
from grader.student.prints import Prints
from grader.student.process import DUMP_SIGNAL, serve
from grader.student.socket_process import SocketProcess

PRINT_BYTES: Final = 64 << 10
"""Bytes of a process's prints that are kept."""


class LocalProcess(SocketProcess):
    """A forked process that answers requests; a `Process`.

    Args:
        make_service: imports the submission, if at all; called in the new process.
        folder: the process's current folder.
    """

    def __init__(self, make_service: Callable[[], Service], folder: Path) -> None:
        ours, theirs = socket.socketpair()
        pipes = [Prints(PRINT_BYTES) for _ in range(3)]
        flush_output()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn if the caller has threads
            pid = os.fork()
        if not pid:
            _live(theirs, [pipe.writer for pipe in pipes], make_service, folder)
        theirs.close()
        for pipe in pipes:
            pipe.close_writer()
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        super().__init__(pid, ours, *pipes)

    def _crash(self, reason: str) -> SubmissionCrashed:
        """How it has ended; it is killed if it has only closed its socket."""
        if reason:
            return BadReply(f"sent something that is no answer ({reason})")
        process, status = os.waitpid(self.pid, os.WNOHANG)
        if not process:
            self._kill()
            _, status = os.waitpid(self.pid, 0)
        self.pid = -1
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return SubmissionCrashed(f"was ended by signal {-code} ({signal.Signals(-code).name})")
        return SubmissionCrashed(f"ended the process with exit code {code}")

    def ask_where(self) -> None:
        self._dumps.take()
        if self.pid > 0 and DUMP_SIGNAL is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, DUMP_SIGNAL)

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
        if DUMP_SIGNAL is not None:
            faulthandler.register(DUMP_SIGNAL, file=dumps, all_threads=False)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [DUMP_SIGNAL])
        os.chdir(folder)
        sys.dont_write_bytecode = True
        warnings.simplefilter("default")  # pytest may make them errors
        service = make_service()
        use_output(prints, errors)  # from here on: the prints of the import are no part of what a call prints
        kernel.close_all_but({0, 1, 2, dumps, sock.fileno()})
        serve(sock, service)
    finally:
        os._exit(70)
