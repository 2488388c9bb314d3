"""Grades submissions with warm worker processes behind the `concurrent.futures.Executor` interface.

A worker that dies is replaced and its submission tried once more; a row is never lost. No submitted code runs here and
no verdict is made here, except ``error`` where the grader itself failed.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import msgspec

from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker, WorkerDied
from grader.intake.submission import Source, Submission, digest
from grader.judge import explain
from grader.results import Cause, CheckResult, ExerciseResult, SubmissionResult

if TYPE_CHECKING:
    from grader.course import Course

_SPARE_SECONDS = 120.0
_TRIES = 3
_MAX_REASON = 5_000
"""Characters of a fault that results keep: the last ones, since a traceback ends with what went wrong."""


class Graded(msgspec.Struct, frozen=True):
    """One submission's result, with what the gradebook keeps besides; ``seconds`` is wall time."""

    result: SubmissionResult
    digest: str
    seconds: float
    notes: tuple[str, ...] = ()


class Stopped(Exception):
    """The crew was closed while this submission was being graded; there is no result."""


class Crew:
    """A warm worker for each thread that grades; replaces the dead."""

    def __init__(self, course: Course, options: WorkerOptions, first: Worker | None = None) -> None:
        self.course = course
        self.options = options
        limit = options.limits.get("topic_seconds", 60.0)
        self._patience = _SPARE_SECONDS + 2 * limit * len(course.topics)
        self._mine = threading.local()
        self._lock = threading.RLock()  # Reentrant: `stop` may interrupt the very thread that holds it.
        self._workers: set[Worker] = set()
        self.stopped = False
        self._graded_one = False
        self._given_up = 0
        if first is not None:
            self._hire(first)

    def grade(self, source: Source) -> Graded:
        """Reads and grades one submission; a fault of the grader's own becomes a result of ``error`` verdicts.

        Raises:
            Stopped: the crew was closed meanwhile.
        """
        started = time.monotonic()
        submission = Submission(source.name, {})
        try:
            submission = source.read()
            result = self._grade(submission)
        except Stopped:
            raise
        except Exception:
            result = lost(self.course, self.options, source.name, traceback.format_exc(limit=-5).rstrip())
        return Graded(result, digest(submission), time.monotonic() - started, submission.notes)

    def _grade(self, submission: Submission) -> SubmissionResult:
        for _ in range(2):
            worker: Worker | None = getattr(self._mine, "worker", None)
            if worker is None:
                worker = self._hire(Worker())
            try:
                reply = worker.grade(submission, self._patience)
            except WorkerDied as death:
                reason = f"the grader's worker process died: {death}"
            else:
                if isinstance(reply, SubmissionResult):
                    self._graded_one = True
                    return reply
                reason = reply.fault
            self._dismiss(worker)
            if self.stopped:
                raise Stopped
            if self._hopeless():
                break
        return self._give_up(submission, reason)

    def _hopeless(self) -> bool:
        """Whether nothing could ever be graded here, as when a course's checks cannot be imported."""
        return not self._graded_one and self._given_up >= _TRIES

    def _give_up(self, submission: Submission, reason: str) -> SubmissionResult:
        self._given_up += 1
        return lost(self.course, self.options, submission.name, reason)

    def _dismiss(self, worker: Worker) -> None:
        self._mine.worker = None
        with self._lock:
            self._workers.discard(worker)
        worker.end()

    def _hire(self, worker: Worker) -> Worker:
        with self._lock:
            stopped = self.stopped
            if not stopped:
                self._workers.add(worker)
        if stopped:
            worker.end()
            raise Stopped
        worker.configure(self.options)
        self._mine.worker = worker
        return worker

    def stop(self) -> None:
        """Abandons what is being graded, at once and without waiting; a signal handler may call it."""
        with self._lock:
            self.stopped = True
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


def grade_all(sources: Iterable[Source], crew: Crew, jobs: int, executor: Executor | None = None) -> Iterator[Graded]:
    """Grades the submissions `jobs` at a time and yields each as it is done; reads `sources` only as fast as needed.

    After `Crew.stop`, what was done already is still yielded, then it ends. When it ends, for whatever reason, the
    crew's workers are gone.
    """
    threads = executor or ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grade")
    waiting: set[Future[Graded]] = set()
    feed = iter(sources)
    try:
        while True:
            if not crew.stopped:
                for source in itertools.islice(feed, 2 * jobs - len(waiting)):
                    waiting.add(threads.submit(crew.grade, source))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                with contextlib.suppress(Stopped):
                    yield future.result()
    finally:
        if waiting:
            crew.stop()
        crew.close()
        threads.shutdown(wait=True, cancel_futures=True)


def lost(course: Course, options: WorkerOptions, name: str, reason: str) -> SubmissionResult:
    """The result of a submission that the grader failed on: every check is an ``error``, nothing counts against it."""
    from grader.course import checks_of

    cause = Cause(kind="grader_fault", stage="submission", reason=reason[-_MAX_REASON:])
    wanted = set(course.select(options.exercises))
    checks: dict[str, list[CheckResult]] = {}
    for topic in {exercise.topic for exercise in course.exercises if exercise.full_name in wanted}:
        for check in checks_of(course, topic):
            result = explain.result(check.function.removeprefix("test_"), cause)
            checks.setdefault(check.exercise, []).append(result)
    exercises = tuple(
        ExerciseResult(name=name, score=0.0, max=0.0, checks=tuple(checks.get(name, ())))
        for name in (exercise.full_name for exercise in course.exercises)
        if name in wanted
    )
    return SubmissionResult(submission=name, score=0.0, max=0.0, exercises=exercises)
