"""A worker process as the main process sees it: started, given submissions, ended.

No submitted code runs in the main process, and it takes nothing from a worker but replies that decode to data.
"""

import contextlib
import os
import re
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from typing import IO, Protocol, cast

import msgspec

from grader import new_python
from grader.border.frames import BrokenFrame
from grader.grading.protocol import (
    Alive,
    AtPlace,
    Done,
    ExerciseDone,
    Fault,
    FromWorker,
    Work,
    WorkerOptions,
    read_frame,
    write_frame,
)
from grader.grading.supervisor import Supervisor
from grader.intake.submission import Submission
from grader.judge.marks import NotRun, Place
from grader.results import ExerciseResult, SubmissionResult

_STDERR_LINES = 150
"""Lines of its stderr that are kept: as many as a deep stack has."""
_LAST_WORDS = 20
_ENDING_SECONDS = 3.0


class WorkerDied(Exception):
    """The worker process ended, was silent too long, or sent something else than a reply. Remedy: start another one.

    Attributes:
        how: how it ended, in one line.
        overran: how much of the judge's time a check had taken when the worker was ended for it (s); 0 for other ends.
        place: its place then; None if it had not begun to grade.
        stack: the files and lines that it was in, innermost first, where they are known.
    """

    def __init__(self, how: str, words: Sequence[str], place: Place | None, overran: float = 0.0) -> None:
        text = "".join(f"\n  {line}" for line in words[-_LAST_WORDS:])
        super().__init__(how + (f"; its last words:{text}" if text else ""))
        self.how = how
        self.place = place
        self.overran = overran
        self.stack = [(file, int(line)) for file, line in re.findall(r'File "([^"]+)", line (\d+)', "\n".join(words))]


class Watcher(Protocol):
    """Gets news of a submission while it is graded."""

    def began(self, place: Place) -> None:
        """The worker is busy with this from now on."""

    def known(self, exercise: ExerciseResult) -> None:
        """The result of an exercise; it may come again if a worker had to be replaced."""


class Worker:
    """One worker process: starts at once (importing torch takes it a while), gets its options later.

    Args:
        hash_seed: decides the order of sets and the like in this worker.

    Attributes:
        resident: the memory that it held after its last submission (bytes); 0 where that is not known.
        grown: how much of that came since its first submission (bytes).
        endless: the checks that do not end on the reference solution either, as far as it knows.
    """

    def __init__(self, hash_seed: int = 0) -> None:
        self.process = subprocess.Popen(
            new_python.command("from grader.grading.worker import run; run()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "OPENBLAS_NUM_THREADS": "1",  # NumPy's: its threads would turn for a while beside torch's import
                "PYTHONHASHSEED": str(hash_seed),
            },
            start_new_session=True,  # Ctrl-C reaches the main process only; that one ends the workers.
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
        )
        self.resident = self.grown = 0
        self.endless: tuple[NotRun, ...] = ()
        self._judge_seconds = WorkerOptions().judge_seconds
        self._stderr_lines: deque[str] = deque(maxlen=_STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True, name="worker-stderr")
        self._listener.start()

    def configure(self, options: WorkerOptions) -> None:
        """Sends the options; needed once, before the first submission."""
        self._judge_seconds = options.judge_seconds
        with contextlib.suppress(OSError):  # The first `grade` reports a death.
            write_frame(self._stdin, options)

    def grade(
        self,
        submission: Submission,
        timeout: float,
        marks: Sequence[NotRun] = (),
        watcher: Watcher | None = None,
        exercises: Sequence[str] = (),
    ) -> SubmissionResult | Fault:
        """Grades one submission.

        Args:
            timeout: seconds to wait for the reply.
            marks: the places that are not run for it.
            watcher: gets news of the worker meanwhile.
            exercises: full names of those to grade, with what they need; empty means all of the worker's.

        Raises:
            WorkerDied: with the reason and the last lines of its stderr; also when no reply came in time.
        """
        written = len(self._stderr_lines)
        with Supervisor(
            self.process, self._judge_seconds, timeout, lambda: len(self._stderr_lines) > written
        ) as supervisor:
            try:
                write_frame(self._stdin, Work(submission, tuple(marks), watcher is not None, tuple(exercises)))
                reply = self._reply(supervisor, watcher)
                reason = "it closed its output"
            except (OSError, ValueError, BrokenFrame, msgspec.DecodeError) as problem:
                reply, reason = None, f"{type(problem).__name__}: {problem}"
        if reply is None:
            self.end()
            raise WorkerDied(
                self._how_it_died(supervisor.reason or reason),
                list(self._stderr_lines),
                supervisor.place,
                self._judge_seconds if supervisor.is_overrun else 0.0,
            )
        if isinstance(reply, Fault):
            return reply
        self.grown = reply.resident - self.resident + self.grown if self.resident else 0
        self.resident = reply.resident
        self.endless = reply.endless
        return reply.result

    def _reply(self, supervisor: Supervisor, watcher: Watcher | None) -> Done | Fault | None:
        """The worker's answer, after its signs of life; None if its output has ended."""
        while True:
            message: FromWorker | None = read_frame(cast("IO[bytes]", self.process.stdout), FromWorker)
            match message:
                case AtPlace(place):
                    supervisor.sign_of_life(place)
                    if watcher is not None:
                        watcher.began(place)
                case ExerciseDone(exercise):
                    supervisor.sign_of_life()
                    if watcher is not None:
                        watcher.known(exercise)
                case Alive():
                    supervisor.sign_of_life()
                case _:
                    return message

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
        if self._listener.is_alive():  # a warm host that is still loading modules ends a little later
            threading.Thread(target=self._close_streams, daemon=True, name="worker-streams").start()
        else:
            self._close_streams()

    def _close_streams(self) -> None:
        """Closes the streams as soon as nobody writes: until then a reading thread may hold the lock."""
        self._listener.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
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
        return f"{reason} ({how})"
