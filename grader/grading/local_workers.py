"""The pool of warm workers on this machine: it hands each submission to a free one, and replaces one that failed.

Every submission gets a result. No submitted code runs here, and the only verdict that is made here is that the grader
failed, or that a check is at fault:

If a check did not end and its worker was ended for it, the check is run on the solution: if it does not end there
either, it is an ``error`` for everybody, else the submission has failed it.

If a worker ended by itself, the check at hand is at fault the first time: it is an ``error``, and costs no points. A
submission at which workers end again gets no points for what they did then, unless the solution ends them as well. The
rest is graded.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from grader.border.failures import MEMORY_SHORT
from grader.course import Course, checks_of
from grader.errors import CourseError
from grader.grading.graders import Graded, Graders, GradingStopped
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Watcher, Worker, WorkerFailed
from grader.intake.submission import Submission, digest
from grader.judge.marks import NotRun, Place, endless, kept_busy
from grader.machine import memory_kills
from grader.results import Cause, Frame, SubmissionResult
from grader.sandbox.clock import CAP

_EXTRA_SECONDS: Final = 120.0
"""How long a worker may take beyond the limits of its topics before it is taken for dead."""
_MOST_GROWTH: Final = 256 << 20
"""Memory that a worker may gain after its first submission before another one takes its place (bytes)."""
_WHOLE_TOPICS_FROM: Final = 4
"""From so many ends of workers on, all of a topic is given up at once: every end costs a start of the judge."""


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
        self._faulty: dict[Place, NotRun] = {}  # checks that end a worker, or do not end, on the solution too
        self._searched: set[str] = set()  # exercises of which all such checks are known
        self._searching = threading.Lock()
        if first is not None:
            self._idle.append(self._begin(first))

    def grade(self, submission: Submission, watcher: Watcher | None = None, exercises: Sequence[str] = ()) -> Graded:
        """Grades one submission; a fault of the grader's own becomes a result of ``error`` verdicts.

        If memory was short, it is graded again, after all idle workers have ended.

        Args:
            watcher: gets the exercises in the course's order as they are known.
            exercises: full names of those to grade, with those that they need; empty means all that the options name.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        graded = self._grade(submission, watcher, exercises)
        if graded.memory_was_short:
            self.end_idle()
            graded = self._grade(submission, watcher, exercises)
        return graded

    def submit(
        self, submission: Submission, watcher: Watcher | None = None, exercises: Sequence[str] = ()
    ) -> Future[Graded]:
        """As `grade`, in another thread: the result, to wait for."""
        with self._lock:
            if self.stopped:
                raise GradingStopped
            return self._threads.submit(self.grade, submission, watcher, exercises)

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

    def _grade(self, submission: Submission, watcher: Watcher | None = None, exercises: Sequence[str] = ()) -> Graded:
        started = time.monotonic()
        faults: list[str] = []
        try:
            result = self._result(submission, watcher, exercises, faults)
        except GradingStopped:
            raise
        except Exception as problem:
            faults.append(traceback.format_exc(limit=-5).rstrip())
            result = self._failed(submission.name, f"{type(problem).__name__}: {problem}", exercises)
        notes = (*submission.note_lines, *result.notes)
        fault = "\n".join(dict.fromkeys(faults))
        return Graded(result, digest(submission), time.monotonic() - started, notes, fault)

    def _result(
        self, submission: Submission, watcher: Watcher | None, exercises: Sequence[str], faults: list[str]
    ) -> SubmissionResult:
        """The result of a worker; the grader's own failures meanwhile are added to `faults`."""
        incidents = _Incidents(self._course, self._faulty, self._search)
        while True:
            kills = memory_kills()
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            worker = idle or self._begin(Worker(self._hash_seed))
            try:
                result = worker.grade(submission, self._reply_timeout, incidents.marks(), watcher, exercises)
            except WorkerFailed as failure:
                self._discard(worker)
                faults.append(str(failure))
                if self.stopped:
                    raise GradingStopped from None
                if memory_kills() > kills:
                    return self._failed(submission.name, MEMORY_SHORT, exercises, "memory_short")
                if not incidents.add(failure):
                    return self._failed(submission.name, failure.reason, exercises)
            else:
                self._faulty.update((mark.place, mark) for mark in worker.endless)
                if worker.grown > _MOST_GROWTH:
                    self._discard(worker)
                else:
                    with self._lock:
                        self._idle.append(worker)
                return result

    def _search(self, exercise: str) -> None:
        """Finds the checks of an exercise that end a worker on the course's own solution too, by grading that."""
        with self._searching:
            if exercise not in self._searched:
                self._searched.add(exercise)
                while (mark := self._end_on_solution(exercise)) and mark.place.check and mark.place not in self._faulty:
                    self._faulty[mark.place] = mark

    def _end_on_solution(self, exercise: str) -> NotRun | None:
        """The check at which a new worker ends on an exercise of the solution."""
        worker = self._begin(Worker())
        marks = list(self._faulty.values())
        try:
            worker.grade(solution_of(self._course), self._reply_timeout, marks, exercises=[exercise])
        except WorkerFailed as failure:
            return _mark_on_end(self._course, failure)
        finally:
            self._discard(worker)
        return None

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


class _Incidents:
    """The ends of workers at one submission: which checks are not run again, and their cause.

    Args:
        faulty: checks that end a worker whatever the submission is, by place: they are not run.
        search: adds such checks of an exercise (full name) to these.
    """

    def __init__(self, course: Course, faulty: Mapping[Place, NotRun], search: Callable[[str], None]) -> None:
        self._course = course
        self._faulty = faulty
        self._search = search
        self._incidents: list[tuple[NotRun, float]] = []
        self._count = 0
        self._retried = 0

    def add(self, failure: WorkerFailed) -> bool:
        """Takes note of an end; whether it is worth while to grade the submission again."""
        self._count += 1
        mark = _mark_on_end(self._course, failure)
        if mark is None:
            return self._count == 1 and bool(failure.cause)
        if not (mark.place.check or self._retried or self._incidents):
            self._retried = 1  # Not in a check: perhaps the system ended it, so nothing is given up yet.
            return True
        if not mark.place.topic:
            return False
        overran = failure.overran if mark.place.check else 0.0
        self._incidents.append((mark, overran))
        if overran or len(self._incidents) + self._retried > 1:
            for exercise in dict.fromkeys(one.place.exercise for one, _ in self._incidents if one.place.exercise):
                self._search(exercise)
        return True

    def marks(self) -> list[NotRun]:
        """The places that are not run when the submission is graded again."""
        own = [(mark, overran) for mark, overran in self._incidents if mark.place not in self._faulty]
        is_first = len(own) + self._retried <= 1
        marks = list(self._faulty.values())
        for number, (mark, overran) in enumerate(own, 1 + self._retried):
            if overran and number < _WHOLE_TOPICS_FROM:
                marks.append(NotRun(mark.place, kept_busy(overran)))
            elif is_first:
                marks.append(mark)
            else:
                place = Place(mark.place.topic, mark.place.exercise if number < _WHOLE_TOPICS_FROM else "")
                reason = "the grader's own process ended more than once while it graded this; your instructor is told"
                marks.append(NotRun(place, Cause(kind="judge_ended", reason=reason)))
        return marks


def _mark_on_end(course: Course, failure: WorkerFailed) -> NotRun | None:
    """The place where a worker ended, with its cause if it is at fault; None if no place is."""
    place = failure.place
    if place is None:
        return None
    line = None
    if place.check:
        file = course.check_file(place.topic)
        lines = [line for name, line in failure.stack if Path(name) == file]
        with contextlib.suppress(CourseError):  # The check's line that was running, else its first one.
            function = f"test_{place.check.partition('[')[0]}"
            lines += [one.line for one in checks_of(course, place.topic) if one.function == function]
        line = Frame(file.name, lines[0]) if lines else None
    if failure.overran and place.check:
        return NotRun(place, endless(failure.overran, line))
    return NotRun(place, Cause(kind="grader_fault", reason=failure.cause, check_line=line))
