"""A worker process as the main process sees it: started, given submissions, watched while it grades, ended.

No submitted code runs in the main process, and it takes nothing from a worker but replies that decode to data. A worker
that is stuck where it cannot end itself, deep in C, is found by its messages (`Began`, `Alive`) and by the system's
count of its processor time, so that a busy machine ends no worker.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from grader.border.frames import BrokenFrame
from grader.grading.protocol import Began, Done, Event, Fault, FromWorker, Work, WorkerOptions, receive, send
from grader.grading.starting import ForkedProcess, LastLines, start_worker
from grader.grading.worker import STACK_SIGNAL
from grader.intake.submission import Submission
from grader.judge.listener import NotRun, Place
from grader.judge.time_limit import BLOCKED_FACTOR
from grader.results import SubmissionResult
from grader.sandbox import process_tree

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
        place: the worker's place then; None if it had not begun to grade, or if no place is at fault.
        words: the last lines of its stderr.
        overran: how much of the judge's time a check had taken when the worker was ended for it (s); 0 for other ends.
        retry_may_help: true if another worker might be able to grade; false if, say, a check has a syntax error.
    """

    reason: str
    place: Place | None = None
    words: Sequence[str] = ()
    overran: float = 0.0
    retry_may_help: bool = True

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


class Worker:
    """One worker process, which starts at once, and gets its options later.

    Args:
        hash_seed: decides the order of sets and the like in this worker.

    Attributes:
        is_busy: whether it has not yet sent all news of a submission.
        grown: the memory that it has gained since its first submission (bytes).
        endless: the checks that do not end on the reference solution either, as far as it knows.

    Raises:
        OSError: no process can be started.
        UserError: see `engine.choose`.
    """

    def __init__(self, hash_seed: int = 0) -> None:
        self.process, self._stdin, self._stdout, stderr = start_worker(hash_seed)
        self._stderr = LastLines(stderr)
        self.is_busy = False
        self.grown = 0
        self.endless: tuple[NotRun, ...] = ()
        self._first_resident = 0
        self._judge_seconds = WorkerOptions().judge_seconds

    def configure(self, options: WorkerOptions) -> None:
        """Sends the options; needed once, before the first submission."""
        self._judge_seconds = options.judge_seconds
        with contextlib.suppress(OSError):  # The first `grade` reports a death.
            send(self._stdin, options)

    def grade(self, submission: Submission, timeout: float, exercises: Sequence[str] = ()) -> SubmissionResult:
        """The result of a submission: see `events`."""
        *_, last = self.events(Work(submission, exercises=tuple(exercises)), timeout)
        assert isinstance(last, Done)
        return last.result

    def events(self, work: Work, timeout: float) -> Iterator[Event]:
        """Grades one submission, and yields its news. A worker that is busy when the iterator is closed must be ended.

        Args:
            timeout: seconds to wait for the last of them.

        Raises:
            WorkerFailed: also when that did not come in time.
        """
        self.is_busy, progress = True, _Progress()
        over = threading.Event()
        watching = threading.Thread(target=self._supervise, args=(progress, timeout, over), daemon=True)
        watching.start()
        problem = "it closed its output"
        try:
            send(self._stdin, work)
            while message := receive(self._stdout, FromWorker):
                if isinstance(message, Fault):
                    raise WorkerFailed(message.fault, retry_may_help=message.retry_may_help)
                progress.signs_of_life += 1
                if isinstance(message, Began):
                    progress.place = message.place
                elif isinstance(message, Done):
                    self._first_resident = self._first_resident or message.resident
                    self.grown = message.resident - self._first_resident
                    self.endless = message.endless
                    self.is_busy = False
                if isinstance(message, Event):
                    yield message
                if isinstance(message, Done):
                    return
        except (OSError, ValueError, BrokenFrame, msgspec.DecodeError) as error:
            problem = f"{type(error).__name__}: {error}"
        finally:
            over.set()
            watching.join()
        self.end()
        code = self.process.returncode
        end = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        reason = f"the grader's worker process died: {progress.why_ended or problem} ({end})"
        overran = self._judge_seconds if progress.is_overrun else 0.0
        raise WorkerFailed(reason, progress.place, self._last_lines(), overran)

    def _last_lines(self) -> list[str]:
        if isinstance(self.process, ForkedProcess) and not self.process.has_started():
            return list(self.process.zygote.words.lines)
        return list(self._stderr.lines)

    def _supervise(self, progress: _Progress, timeout: float, over: threading.Event) -> None:
        """Ends the worker if it is stuck: without a sign of life for the judge's time, or too slow with all of it."""
        until = time.monotonic() + timeout
        seen = -1
        heard = before = slept = 0.0
        is_stuck = was_stuck = False
        while not over.wait(_LOOK_SECONDS):
            now, (sleeps, worked) = time.monotonic(), process_tree.activity(self.process.pid)
            if now > until:
                progress.why_ended = f"no answer in {timeout:g} s"
            elif progress.place is not None and seen != progress.signs_of_life:
                seen, heard, before, slept = progress.signs_of_life, now, worked, 0.0
                is_stuck = False
            elif progress.place is not None:
                slept = slept + _LOOK_SECONDS if sleeps else 0.0
                was_stuck = is_stuck
                if worked:
                    is_stuck = worked - before > self._judge_seconds or slept > BLOCKED_FACTOR * self._judge_seconds
                else:
                    is_stuck = now - heard > _UNKNOWN_FACTOR * self._judge_seconds
                if is_stuck and was_stuck:  # twice: on a busy machine its last sign of life may not be read yet
                    progress.is_overrun = True
                    progress.why_ended = "it did not end, and could not be interrupted"
            if progress.why_ended:
                self._kill_after_dump(over)
                return

    def _kill_after_dump(self, over: threading.Event) -> None:
        """Ends the process, after it has written where it is."""
        written = len(self._stderr.lines)
        with contextlib.suppress(OSError):
            if STACK_SIGNAL is not None:
                self.process.send_signal(STACK_SIGNAL)
                until = time.monotonic() + _DUMP_SECONDS
                while len(self._stderr.lines) <= written and time.monotonic() < until and not over.wait(0.05):
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
        self._stderr.wait(_ENDING_SECONDS)  # a warm host that is still loading modules ends a little later
        self._stdout.close()
        if isinstance(self.process, ForkedProcess):
            self.process.close()

    def _ends_soon(self) -> bool:
        """Waits up to three seconds; whether the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_ENDING_SECONDS)
        return self.process.returncode is not None
