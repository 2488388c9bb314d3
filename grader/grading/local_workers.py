"""Grades submissions with warm worker processes on this machine, one for each thread that grades.

A worker that dies or has grown is replaced; `incidents.py` says what becomes of the submission that it died at. Every
submission gets a result. No submitted code runs here, and no verdict is made here but for what the grader failed on.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType

import msgspec

from grader.course import Course
from grader.grading.graders import Graded, GradingStopped, error_result
from grader.grading.incidents import Incidents, faulty_checks, host_incident, incident_of, solution_of
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Watcher, Worker, WorkerDied
from grader.intake.submission import Source, Submission, digest
from grader.judge.marks import Mark, Place
from grader.results import Cause, SubmissionResult
from grader.sandbox.clock import CAP

_EXTRA_SECONDS = 120.0
"""How long a worker may take beyond the limits of its topics before it is taken for dead."""
_MOST_GROWTH = 256 << 20
"""Memory that a worker may gain after its first submission before another one takes its place (bytes)."""
_FIRST_FAILURES = 3
"""After so many failures without any result, a failing submission is not tried a second time."""


class LocalWorkers:
    """`Graders` of this machine; use it in a ``with`` statement, which ends the workers.

    Args:
        jobs: how many submissions `grade_all` grades at a time.
        first: a worker that is starting already, for the first thread that grades.
        hash_seed: of the workers that are started here: see `Worker`.
    """

    def __init__(
        self,
        course: Course,
        options: WorkerOptions,
        jobs: int = 1,
        first: Worker | None = None,
        hash_seed: int = 0,
    ) -> None:
        self.stopped = False
        self._course = course
        self._options = options
        self._jobs = jobs
        self._hash_seed = hash_seed
        self._reply_timeout = _EXTRA_SECONDS + CAP * options.limits.topic_seconds * len(course.topics)
        self._thread = threading.local()
        self._lock = threading.RLock()  # Reentrant: `stop` may interrupt the very thread that holds it.
        self._workers: set[Worker] = set()
        self._faulty: dict[Place, Cause] | None = None
        self._finding_faulty = threading.Lock()
        self._graded_one = False
        self._failures = 0
        self._first = [] if first is None else [self._begin(first)]

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def use_seed(self, seed: int) -> None:
        """See `Graders.use_seed`."""
        self._options = msgspec.structs.replace(self._options, seed=seed)

    def grade(self, source: Source, watcher: Watcher | None = None, exercises: Sequence[str] = ()) -> Graded:
        """Reads and grades one submission; a fault of the grader's own becomes a result of ``error`` verdicts.

        Args:
            watcher: gets what is known meanwhile.
            exercises: full names of those to grade, with what they need; empty means all that the options name.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        started = time.monotonic()
        submission = Submission(source.name, {})
        fault = ""
        try:
            submission = source.read()
            result, fault = self._grade(submission, watcher, exercises)
        except GradingStopped:
            raise
        except Exception as problem:
            fault = traceback.format_exc(limit=-5).rstrip()
            reason = f"{type(problem).__name__}: {problem}"
            result = error_result(self._course, self._options_for(exercises), source.name, reason)
        notes = (*submission.note_lines, *result.notes)
        return Graded(result, digest(submission), time.monotonic() - started, notes, fault)

    def grade_all(self, sources: Iterable[Source]) -> Iterator[Graded]:
        """Grades the submissions and yields each result as it is known; see `Graders.grade_all`.

        When it ends, for whatever reason, the workers are gone.
        """
        threads = ThreadPoolExecutor(max_workers=self._jobs, thread_name_prefix="grade")
        waiting: set[Future[Graded]] = set()
        unread = iter(sources)
        try:
            while True:
                if not self.stopped:
                    for source in itertools.islice(unread, 2 * self._jobs - len(waiting)):
                        waiting.add(threads.submit(self.grade, source))
                if not waiting:
                    return
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    with contextlib.suppress(GradingStopped):
                        yield future.result()
        finally:
            if waiting:
                self.stop()
            self.close()
            threads.shutdown(wait=True, cancel_futures=True)

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

    def _grade(
        self, submission: Submission, watcher: Watcher | None, exercises: Sequence[str]
    ) -> tuple[SubmissionResult, str]:
        """The result, and what the instructor should know of the grader's own failures meanwhile."""
        incidents = Incidents(self._faulty or {}, self._find_faulty)
        failures: list[str] = []
        while True:
            worker = self._worker()
            try:
                reply = worker.grade(submission, self._reply_timeout, incidents.marks, watcher, exercises)
            except WorkerDied as death:
                failures.append(f"the grader's worker process died: {death}")
                reason, incident = f"the grader's worker process died: {death.how}", incident_of(self._course, death)
            else:
                if isinstance(reply, SubmissionResult):
                    self._graded_one = True
                    if worker.grown > _MOST_GROWTH:
                        self._discard(worker)
                    return reply, "\n".join(failures)
                failures.append(reply.fault)
                reason, incident = reply.fault, None if reply.place is None else host_incident(reply.place)
            self._discard(worker)
            if self.stopped:
                raise GradingStopped
            is_hopeless = self._has_never_worked() or (incident is None and len(failures) > 1)
            if is_hopeless or not (incident is None or incidents.add(incident)):
                break
        self._failures += 1
        result = error_result(self._course, self._options_for(exercises), submission.name, reason)
        return result, "\n".join(dict.fromkeys(failures))

    def _options_for(self, exercises: Sequence[str]) -> WorkerOptions:
        """The options as if only these exercises, and what they need, were graded."""
        if not exercises:
            return self._options
        return msgspec.structs.replace(self._options, exercises=self._course.with_needs(exercises))

    def _find_faulty(self) -> dict[Place, Cause]:
        """The checks that end a worker on the solution too. Found once, by grading the solution."""
        with self._finding_faulty:
            if self._faulty is None:
                self._faulty = faulty_checks(self._course, self._grade_solution)
            return self._faulty

    def _grade_solution(self, marks: Sequence[Mark]) -> WorkerDied | None:
        """Grades the course's own solution with a worker of its own; how that died, if it did."""
        worker = Worker()
        with self._lock:
            self._workers.add(worker)
        try:
            worker.configure(self._options)
            worker.grade(solution_of(self._course), self._reply_timeout, marks)
        except WorkerDied as death:
            return death
        finally:
            with self._lock:
                self._workers.discard(worker)
            worker.end()
        return None

    def _has_never_worked(self) -> bool:
        """Whether all submissions so far failed, several of them, as when a course's checks cannot be imported."""
        return not self._graded_one and self._failures >= _FIRST_FAILURES

    def _worker(self) -> Worker:
        """The worker of this thread."""
        worker: Worker | None = getattr(self._thread, "worker", None)
        if worker is None:
            with self._lock:
                first = self._first.pop() if self._first else None
            worker = self._thread.worker = first or self._begin(Worker(self._hash_seed))
        return worker

    def _begin(self, worker: Worker) -> Worker:
        """Sends the options to a worker that is starting, and keeps it to be ended.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        with self._lock:
            stopped = self.stopped
            if not stopped:
                self._workers.add(worker)
        if stopped:
            worker.end()
            raise GradingStopped
        worker.configure(self._options)
        return worker

    def _discard(self, worker: Worker) -> None:
        self._thread.worker = None
        with self._lock:
            self._workers.discard(worker)
        worker.end()
