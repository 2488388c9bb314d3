"""A worker process as the main process sees it: started, given submissions, ended.

No submitted code runs in the main process, and it takes nothing from a worker but replies that decode to data.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO, cast

import msgspec

from grader.border.frames import BrokenFrame
from grader.grading.protocol import Fault, WorkerOptions, read_reply, write_frame
from grader.intake.submission import Submission
from grader.results import SubmissionResult

# Not `-m`: that would put the current folder, perhaps a submission with a torch.py in it, before everything else.
_BOOT = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; root = sys.argv.pop(1); "
    "root in sys.path or sys.path.insert(0, root); from grader.grading.worker import run; run()"
)
_STDERR_LINES = 20
_ENDING_SECONDS = 3.0


class WorkerDied(Exception):
    """The worker process ended, was silent too long, or sent something else than a reply. Remedy: start another one."""


class Worker:
    """One worker process: starts at once (importing torch takes it a while), gets its options later."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parent.parent.parent)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            start_new_session=True,  # Ctrl-C reaches the main process only; that one ends the workers.
        )
        self._stderr_lines: deque[str] = deque(maxlen=_STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True, name="worker-stderr")
        self._listener.start()

    def configure(self, options: WorkerOptions) -> None:
        """Sends the options; needed once, before the first submission."""
        with contextlib.suppress(OSError):  # The first `grade` reports a death.
            write_frame(self._stdin, options)

    def grade(self, submission: Submission, timeout: float) -> SubmissionResult | Fault:
        """Grades one submission.

        Args:
            timeout: seconds to wait for the reply.

        Raises:
            WorkerDied: with the reason and the last lines of its stderr; also when no reply came in time.
        """
        watchdog = threading.Timer(timeout, self.process.kill)
        watchdog.daemon = True
        watchdog.start()
        reply: SubmissionResult | Fault | None
        try:
            write_frame(self._stdin, submission)
            reply = read_reply(cast("IO[bytes]", self.process.stdout))
        except (OSError, ValueError, BrokenFrame, msgspec.DecodeError) as problem:
            reply, reason = None, f"{type(problem).__name__}: {problem}"
        else:
            reason = "it closed its output"
        finally:
            late = not watchdog.is_alive()
            watchdog.cancel()
        if reply is None:
            self.end()
            raise WorkerDied(self._how_it_died(f"no answer in {timeout:g} s" if late else reason))
        return reply

    def close_input(self) -> None:
        """Asks the worker to end."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()

    def end(self, gently: bool = False) -> None:
        """Ends the process, even while it grades; `gently` gives it three seconds to end by itself."""
        self.close_input()
        if not (gently and self._ends_soon()):
            self.process.terminate()
            if not self._ends_soon():
                self.process.kill()
                self._ends_soon()
        self._listener.join(_ENDING_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            # Reading threads hold the stream's lock only while the pipe is open at the other end.
            if stream is not None and not self._listener.is_alive():
                stream.close()

    def _ends_soon(self) -> bool:
        """Waits up to three seconds; whether the process has ended."""
        try:
            self.process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def _stdin(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdin)

    def _listen(self) -> None:
        stream = cast("IO[bytes]", self.process.stderr)
        with contextlib.suppress(OSError, ValueError):
            for line in iter(lambda: stream.readline(4096), b""):
                self._stderr_lines.append(line.decode("utf-8", "replace").rstrip())

    def _how_it_died(self, reason: str) -> str:
        code = self.process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        words = "".join(f"\n  {line}" for line in self._stderr_lines)
        return f"{reason} ({how})" + (f"; its last words:{words}" if words else "")
