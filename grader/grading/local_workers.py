"""The pool of warm workers on this machine: it hands each submission to a free one, and replaces one that failed.

Every submission gets a result. No submitted code runs here, and the only verdict that is made here is that the grader
failed, which costs no points:

If a worker ends, another one grades the submission again, without the check at which it ended: that is an ``error``. If
the worker was ended because the check did not end, the next one runs it on the solution instead: if it ends there, the
submission has failed it; if that worker has to be ended as well, the check is an ``error`` for every submission from
then on. If a second worker ends at the submission, everything that it had not graded yet is an ``error``.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from grader.border.failures import MEMORY_SHORT
from grader.course import Course, checks_of
from grader.errors import CourseError
from grader.grading.graders import Graded, Graders, GradingStopped
from grader.grading.protocol import Began, Done, Event, ExerciseDone, Work, WorkerOptions
from grader.grading.worker_process import Worker, WorkerFailed
from grader.intake.submission import Submission, digest
from grader.judge.listener import Listener, NoListener, NotRun, Place, endless
from grader.machine import memory_kills
from grader.results import Cause, ExerciseResult, Flag, Frame
from grader.sandbox.clock import CAP

_EXTRA_SECONDS: Final = 120.0
"""How long a worker may take beyond the limits of its topics before it is taken for dead."""
_MOST_GROWTH: Final = 256 << 20
"""Memory that a worker may gain after its first submission before another one takes its place (bytes)."""
_MOST_WORKERS: Final = 3
"""How many workers a submission gets, one after the other: two, and one more if a check ends one on the solution."""
_MOST_ENDS: Final = 2
_ENDED: Final = Flag(
    "worker", "processes of the grader ended while they graded this: what is an error earns and costs nothing"
)


def solution_of(course: Course) -> Submission:
    """The course's solutions as a submission."""
    files = {path.name: path.read_bytes() for path in sorted(course.solutions_dir.glob("*.py"))}
    return Submission("solution", files)


class LocalWorkers(Graders):
    """`Graders` of this machine; use it in a ``with`` statement, which ends the workers.

    Args:
        jobs: how many submissions are graded at a time.
        first: a worker that is starting already.
        hash_seed: of the workers that are started here: see `Worker`.
    """

    def __init__(
        self, course: Course, options: WorkerOptions, jobs: int = 1, first: Worker | None = None, hash_seed: int = 0
    ) -> None:
        super().__init__(course, options)
        self._jobs = jobs
        self._hash_seed = hash_seed
        self._reply_timeout = _EXTRA_SECONDS + CAP * options.limits.topic_seconds * len(course.topics)
        self._threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grade")
        self._lock = threading.RLock()  # Reentrant: `stop` may interrupt the very thread that holds it.
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []
        self._faulty: dict[Place, NotRun] = {}  # checks that do not end on the solution either
        if first is not None:
            self._idle.append(self._begin(first))

    def grade(self, submission: Submission, listener: Listener | None = None, exercises: Sequence[str] = ()) -> Graded:
        """Grades one submission; a fault of the grader's own becomes a result of ``error`` verdicts.

        If memory was short, it is graded again, after all idle workers have ended.

        Args:
            listener: gets the exercises as they are known; one that may be a known mistake comes after the others of
                its topic. What it raises comes through.
            exercises: full names of those to grade, with those that they need; empty means all that the options name.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        graded = self._grade(submission, listener, exercises)
        if graded.memory_was_short:
            self.end_idle()
            graded = self._grade(submission, listener, exercises)
        return graded

    def submit(
        self, submission: Submission, listener: Listener | None = None, exercises: Sequence[str] = ()
    ) -> Future[Graded]:
        """As `grade`, in another thread: the result, to wait for."""
        with self._lock:
            if self.stopped:
                raise GradingStopped
            return self._threads.submit(self.grade, submission, listener, exercises)

    def end_idle(self) -> None:
        """Ends the workers that nothing uses, so that one has all of the memory."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            self._discard(worker)

    def stop(self) -> None:
        """Abandons the grading, at once and without waiting; a signal handler may call it."""
        super().stop()
        with self._lock:
            for worker in self._workers:
                worker.process.terminate()  # First: closing waits for a thread that is writing.
                worker.close_input()

    def close(self) -> None:
        """Ends every worker and waits until they are gone."""
        with self._lock:
            idle, self.stopped = not self.stopped, True
            workers = list(self._workers)
            self._workers.clear()
        for worker in workers:
            worker.close_input()
        for worker in workers:
            worker.end(gently=idle)
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _limit(self) -> int:
        return 2 * self._jobs

    def _submit(self, submission: Submission, is_alone: bool) -> Future[Graded]:
        if is_alone:
            self.end_idle()
        future = self._threads.submit(self._grade, submission)
        future.add_done_callback(self._arrived.put)
        return future

    def _received(self, future: Future[Graded], submission: Submission, is_alone: bool) -> Graded:
        return future.result()

    def _grade(self, submission: Submission, listener: Listener | None = None, exercises: Sequence[str] = ()) -> Graded:
        started = time.monotonic()
        listener = listener or NoListener()
        faults: list[str] = []
        with contextlib.closing(self._events(submission, exercises, faults)) as events:
            for event in events:
                match event:
                    case Began(place):
                        listener.began(place)
                    case ExerciseDone(exercise):
                        listener.known(exercise)
                    case Done(result):
                        pass
        notes = (*submission.note_lines, *result.notes)
        fault = "\n".join(dict.fromkeys(faults))
        return Graded(result, digest(submission), time.monotonic() - started, notes, fault)

    def _events(
        self, submission: Submission, exercises: Sequence[str], faults: list[str]
    ) -> Generator[Event, None, None]:
        """The news of a submission, `Done` last; the grader's own failures meanwhile are added to `faults`.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        marks = list(self._faulty.values())
        ends: dict[Place, Cause] = {}
        left = _MOST_ENDS
        for number in range(1, _MOST_WORKERS + 1):
            known: list[ExerciseResult] = []
            kills = memory_kills()
            worker, has_ended = None, True
            try:
                worker = self._take()
                for event in worker.events(Work(submission, tuple(marks), tuple(exercises)), self._reply_timeout):
                    if isinstance(event, ExerciseDone):
                        known.append(event.exercise)
                    has_ended = not isinstance(event, Done)
                    yield event
                return
            except GradingStopped:
                raise
            except Exception as problem:
                failure = _as_failure(problem)
            finally:
                if worker is not None:
                    self._give_back(worker, has_ended)
            faults.append(str(failure))
            if self.stopped:
                raise GradingStopped
            if memory_kills() > kills and number == 1:
                yield Done(self._failed(submission.name, MEMORY_SHORT, exercises, "memory_short"))
                return
            left -= 0 if self._mark(marks, ends, failure) else 1
            if failure.is_final or not left:
                break
        flags = () if failure.is_final else (_ENDED,)
        reason = failure.reason
        yield Done(self._failed(submission.name, reason, exercises, known=known, causes=ends, flags=flags))

    def _mark(self, marks: list[NotRun], ends: dict[Place, Cause], failure: WorkerFailed) -> bool:
        """Adds the check at which a worker ended to those that are not run for this submission.

        Args:
            ends: gets the cause by the check's place.

        Returns:
            Whether it was being run on the solution. Then it is not run for any other submission either.
        """
        place = failure.place
        if place is None or not place.check:
            return False
        line = _line_of(self._course, failure, place)
        cause = Cause(kind="grader_fault", reason=failure.reason, check_line=line)
        if failure.overran:
            cause = endless(failure.overran, line)
        ends[place] = cause
        mark = next((mark for mark in marks if mark.place == place), None)
        if mark is None:
            marks.append(NotRun(place, None if failure.overran else cause))
            return False
        self._faulty[place] = NotRun(place, cause)
        marks[marks.index(mark)] = self._faulty[place]
        return True

    def _take(self) -> Worker:
        """A worker that is free, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._begin(Worker(self._hash_seed))

    def _give_back(self, worker: Worker, has_ended: bool) -> None:
        """Keeps a worker that can grade again; ends another one."""
        self._faulty.update((mark.place, mark) for mark in worker.endless)
        if has_ended or worker.grown > _MOST_GROWTH:
            self._discard(worker)
        else:
            with self._lock:
                self._idle.append(worker)

    def _begin(self, worker: Worker) -> Worker:
        """Sends the options to a worker that is starting, and keeps it to be ended.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        with self._lock:
            if not self.stopped:
                self._workers.add(worker)
                worker.configure(self._options)
                return worker
        worker.end()
        raise GradingStopped

    def _discard(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.end()


def _as_failure(problem: Exception) -> WorkerFailed:
    """A failure of which every worker may be the reason, such as that no process can be started."""
    if isinstance(problem, WorkerFailed):
        return problem
    return WorkerFailed(f"{type(problem).__name__}: {problem}", words=traceback.format_exc(limit=-5).splitlines())


def _line_of(course: Course, failure: WorkerFailed, place: Place) -> Frame | None:
    """The line of a check that was running when a worker ended, else its first line."""
    file = course.check_file(place.topic)
    lines = [line for name, line in failure.stack if Path(name) == file]
    with contextlib.suppress(CourseError):
        function = f"test_{place.check.partition('[')[0]}"
        lines += [one.line for one in checks_of(course, place.topic) if one.function == function]
    return Frame(file.name, lines[0]) if lines else None
