"""A worker process as the main process sees it: started, given submissions, watched while it grades, ended.

No submitted code runs in the main process, and it takes nothing from a worker but replies that decode to data. A worker
that is stuck where it cannot end itself, deep in C, is found by its messages (`AtPlace`, `Alive`) and by the system's
count of its processor time, so that a busy machine ends no worker.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final, Protocol, cast

import msgspec

from grader import new_python
from grader.border.frames import BrokenFrame
from grader.grading.protocol import AtPlace, Done, ExerciseDone, Fault, FromWorker, Work, WorkerOptions, receive, send
from grader.grading.worker import STACK_SIGNAL
from grader.intake.submission import Submission
from grader.judge.marks import NotRun, Place
from grader.judge.time_limit import BLOCKED_FACTOR
from grader.results import ExerciseResult, SubmissionResult
from grader.sandbox import process_tree

_STDERR_LINES: Final = 150
"""Lines of its stderr that are kept: as many as a deep stack has."""
_LAST_WORDS: Final = 20
_ENDING_SECONDS: Final = 3.0
_LOOK_SECONDS: Final = 1.0
_DUMP_SECONDS: Final = 5.0
"""How long a stuck worker may take to write where it is."""
_UNKNOWN_FACTOR: Final = 15.0
"""How many times its limit a worker may be silent if its processor time is not known."""


@dataclass
class WorkerFailed(Exception):
    """A worker process ended, was silent too long, or met a fault of the grader's own. Remedy: start another one.

    Attributes:
        reason: one line for results.
        cause: one line for the check at which it ended; empty if no worker can grade, as when a check has no syntax.
        place: the worker's place then; None if it had not begun to grade, or if no place is at fault.
        words: the last lines of its stderr.
        overran: how much of the judge's time a check had taken when the worker was ended for it (s); 0 for other ends.
    """

    reason: str
    cause: str
    place: Place | None
    words: Sequence[str] = ()
    overran: float = 0.0

    def __str__(self) -> str:
        text = "".join(f"\n  {line}" for line in self.words[-_LAST_WORDS:])
        return self.reason + (f"; its last words:{text}" if text else "")

    @property
    def stack(self) -> list[tuple[str, int]]:
        """The files and lines that it was in, innermost first, if they are known."""
        found = re.findall(r'File "([^"]+)", line (\d+)', "\n".join(self.words))
        return [(file, int(line)) for file, line in found]


@dataclass
class _Progress:
    """How far a worker is with a submission.

    Attributes:
        place: the worker's place; None before it has begun.
        signs_of_life: how many there were.
        why_ended: why the worker was ended; empty if it was not.
        is_overrun: whether that was because it took too much of its own time for one step.
    """

    place: Place | None = None
    signs_of_life: int = 0
    why_ended: str = ""
    is_overrun: bool = False


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
        grown: the memory that it has gained since its first submission (bytes).
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
        self._stdin, self._stdout, self._stderr = (
            cast("IO[bytes]", stream) for stream in (self.process.stdin, self.process.stdout, self.process.stderr)
        )
        self.grown = 0
        self.endless: tuple[NotRun, ...] = ()
        self._first_resident = 0
        self._judge_seconds = WorkerOptions().judge_seconds
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True, name="worker-stderr")
        self._listener.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError), self._stderr:
            for line in iter(lambda: self._stderr.readline(4096), b""):
                self._lines.append(line.decode("utf-8", "replace").rstrip())

    def configure(self, options: WorkerOptions) -> None:
        """Sends the options; needed once, before the first submission."""
        self._judge_seconds = options.judge_seconds
        with contextlib.suppress(OSError):  # The first `grade` reports a death.
            send(self._stdin, options)

    def grade(
        self,
        submission: Submission,
        timeout: float,
        marks: Sequence[NotRun] = (),
        watcher: Watcher | None = None,
        exercises: Sequence[str] = (),
    ) -> SubmissionResult:
        """Grades one submission.

        Args:
            timeout: seconds to wait for the reply.
            marks: the places that are not run for it.
            watcher: gets news of the worker meanwhile.
            exercises: full names of those to grade, with what they need; empty means all of the worker's.

        Raises:
            WorkerFailed: also when no reply came in time.
        """
        progress = _Progress()
        over = threading.Event()
        watching = threading.Thread(target=self._supervise, args=(progress, timeout, over), daemon=True)
        watching.start()
        try:
            send(self._stdin, Work(submission, tuple(marks), tuple(exercises)))
            reply = self._reply(progress, watcher)
            problem = "it closed its output"
        except (OSError, ValueError, BrokenFrame, msgspec.DecodeError) as error:
            reply, problem = None, f"{type(error).__name__}: {error}"
        finally:
            over.set()
            watching.join()
        if reply is None:
            self.end()
            code = self.process.returncode
            end = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            how = f"{progress.why_ended or problem} ({end})"
            raise WorkerFailed(
                f"the grader's worker process died: {how}",
                f"the judge ended: {how}",
                progress.place,
                list(self._lines),
                self._judge_seconds if progress.is_overrun else 0.0,
            )
        if isinstance(reply, Fault):  # If it has a place, no check is at fault: nothing of it runs in the warm host.
            place = reply.place and msgspec.structs.replace(reply.place, check="")
            raise WorkerFailed(reply.fault, "the warm host ended" if place else "", place)
        self._first_resident = self._first_resident or reply.resident
        self.grown = reply.resident - self._first_resident
        self.endless = reply.endless
        return reply.result

    def _reply(self, progress: _Progress, watcher: Watcher | None) -> Done | Fault | None:
        """The worker's answer, after its signs of life; None if its output has ended."""
        while True:
            message: FromWorker | None = receive(self._stdout, FromWorker)
            if message is None or isinstance(message, Done | Fault):
                return message
            progress.signs_of_life += 1
            match message:
                case AtPlace(place):
                    progress.place = place
                    if watcher is not None:
                        watcher.began(place)
                case ExerciseDone(exercise) if watcher is not None:
                    watcher.known(exercise)

    def _supervise(self, progress: _Progress, timeout: float, over: threading.Event) -> None:
        """Ends the worker if it is stuck: without a sign of life for the judge's time, or too slow with all of it."""
        until = time.monotonic() + timeout
        seen = -1
        heard = before = slept = 0.0
        while not over.wait(_LOOK_SECONDS):
            now, (sleeps, worked) = time.monotonic(), process_tree.activity(self.process.pid)
            if now > until:
                progress.why_ended = f"no answer in {timeout:g} s"
            elif progress.place is not None and seen != progress.signs_of_life:
                seen, heard, before, slept = progress.signs_of_life, now, worked, 0.0
            elif progress.place is not None:
                slept = slept + _LOOK_SECONDS if sleeps else 0.0
                if worked:
                    is_stuck = worked - before > self._judge_seconds or slept > BLOCKED_FACTOR * self._judge_seconds
                else:
                    is_stuck = now - heard > _UNKNOWN_FACTOR * self._judge_seconds
                if is_stuck:
                    progress.is_overrun = True
                    progress.why_ended = "it did not end, and could not be interrupted"
            if progress.why_ended:
                self._kill_after_dump(over)
                return

    def _kill_after_dump(self, over: threading.Event) -> None:
        """Ends the process, after it has written where it is."""
        written = len(self._lines)
        with contextlib.suppress(OSError):
            if STACK_SIGNAL is not None:
                os.kill(self.process.pid, STACK_SIGNAL)
                until = time.monotonic() + _DUMP_SECONDS
                while len(self._lines) <= written and time.monotonic() < until and not over.wait(0.05):
                    pass
            self.process.kill()

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
        self._listener.join(_ENDING_SECONDS)  # a warm host that is still loading modules ends a little later
        self._stdout.close()

    def _ends_soon(self) -> bool:
        """Waits up to three seconds; whether the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_ENDING_SECONDS)
        return self.process.returncode is not None
