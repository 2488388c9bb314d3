"""The pool of warm workers on this machine: it schedules submissions, or parts of one, for `check` and `grade`.

A worker that dies or has grown is replaced; `incidents.py` decides about the submission that it died at. Every
submission gets a result. No submitted code runs here, and the only verdict that is made here is that the grader failed.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from types import TracebackType

import msgspec

from grader.border.failures import MEMORY_SHORT
from grader.course import Course
from grader.grading.graders import Graded, GradingStopped, error_result
from grader.grading.incidents import Incidents, faulty_checks, host_incident, incident_of, solution_of
from grader.grading.parts import InOrder, Parts, join
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Watcher, Worker, WorkerDied
from grader.intake.submission import Submission, digest
from grader.judge.marks import NotRun, Place
from grader.machine import memory_kills
from grader.results import Cause, CauseKind, SubmissionResult
from grader.sandbox.clock import CAP

_EXTRA_SECONDS = 120.0
"""How long a worker may take beyond the limits of its topics before it is taken for dead."""
_MOST_GROWTH = 256 << 20
"""Memory that a worker may gain after its first submission before another one takes its place (bytes)."""
_FIRST_FAILURES = 3
"""After this many failures without any result, a failing submission is not tried a second time."""


class LocalWorkers:
    """`Graders` of this machine; use it in a ``with`` statement, which ends the workers.

    Args:
        jobs: how many submissions, or parts of one, are graded at a time.
        first: a worker that is starting already. Then workers for all parts are started at once.
        hash_seed: of the workers that are started here: see `Worker`.
        parts: the exercises of the options in parts that need nothing of one another; each is graded by a worker of
            its own. None means one part.
    """

    def __init__(
        self,
        course: Course,
        options: WorkerOptions,
        jobs: int = 1,
        first: Worker | None = None,
        hash_seed: int = 0,
        parts: Parts | None = None,
    ) -> None:
        self.stopped = False
        self._course = course
        self._options = options
        self._parts = parts or (options.exercises,)
        self._jobs = max(jobs, len(self._parts))
        self._hash_seed = hash_seed
        self._reply_timeout = _EXTRA_SECONDS + CAP * options.limits.topic_seconds * len(course.topics)
        self._threads = ThreadPoolExecutor(max_workers=self._jobs, thread_name_prefix="grade")
        self._turns = _Turns()
        self._lock = threading.RLock()  # Reentrant: `stop` may interrupt the very thread that holds it.
        self._workers: set[Worker] = set()
        self._idle: dict[tuple[str, ...], list[Worker]] = {part: [] for part in self._parts}
        self._faulty: dict[Place, Cause] = {}  # checks that end a worker, or do not end, on the solution too
        self._searched: set[str] = set()  # exercises of which all such checks are known; "" if those of all are
        self._finding_faulty = threading.Lock()
        self._graded_one = False
        self._failures = 0
        if first is not None:
            for part, worker in zip(self._parts, [first, *(Worker(hash_seed) for _ in self._parts[1:])], strict=True):
                self._idle[part].append(self._begin(worker, part))

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def use_seed(self, seed: int) -> None:
        """See `Graders.use_seed`."""
        self._options = msgspec.structs.replace(self._options, seed=seed)

    def grade(self, submission: Submission, watcher: Watcher | None = None, exercises: Sequence[str] = ()) -> Graded:
        """Grades one submission; a fault of the grader's own becomes a result of ``error`` verdicts.

        Args:
            watcher: gets the exercises in the course's order as they are known, from one thread at a time.
            exercises: full names of those to grade, with those that they need; empty means all that the options name.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        return self._joined(self._schedule(submission, watcher, exercises))

    def grade_all(self, submissions: Iterable[Submission]) -> Iterator[Graded]:
        """Grades the submissions and yields each result as it is known; see `Graders.grade_all`.

        When it ends, for whatever reason, the workers are gone.
        """
        waiting: list[list[Future[Graded]]] = []
        left = iter(submissions)
        try:
            while True:
                if not self.stopped:
                    for submission in itertools.islice(left, 2 * self._jobs - len(waiting)):
                        waiting.append(self._schedule(submission))
                if not waiting:
                    return
                wait([part for parts in waiting for part in parts if not part.done()], return_when=FIRST_COMPLETED)
                done = [parts for parts in waiting if all(part.done() for part in parts)]
                waiting = [parts for parts in waiting if parts not in done]
                for parts in done:
                    with contextlib.suppress(GradingStopped):
                        yield self._joined(parts)
        finally:
            if waiting:
                self.stop()
            self.close()

    def _schedule(
        self, submission: Submission, watcher: Watcher | None = None, exercises: Sequence[str] = ()
    ) -> list[Future[Graded]]:
        """The results to come of the parts of a submission that hold any of these exercises."""
        asked = [(part, tuple(name for name in exercises if name in (part or exercises))) for part in self._parts]
        asked = [(part, names) for part, names in asked if names or not exercises]
        if watcher is not None and len(asked) > 1:
            watcher = InOrder(watcher, self._course.with_needs(exercises or self._options.exercises))
        try:
            return [self._threads.submit(self._grade_part, submission, *one, watcher) for one in asked]
        except RuntimeError:  # the threads have ended
            raise GradingStopped from None

    def _joined(self, parts: Sequence[Future[Graded]]) -> Graded:
        """The result of a submission whose parts are done, or will be."""
        try:
            return join([part.result() for part in parts], self._course.with_needs(self._options.exercises))
        except CancelledError:
            raise GradingStopped from None

    def _grade_part(
        self, submission: Submission, part: tuple[str, ...], exercises: Sequence[str], watcher: Watcher | None
    ) -> Graded:
        started = time.monotonic()
        try:
            with self._turns.beside_others():
                result, fault = self._grade(submission, part, watcher, exercises)
            if _memory_was_short(result):
                with self._turns.alone():
                    self._discard_idle()
                    result, fault = self._grade(submission, part, watcher, exercises)
        except GradingStopped:
            raise
        except Exception as problem:
            fault = traceback.format_exc(limit=-5).rstrip()
            result = self._error(submission, part, exercises, f"{type(problem).__name__}: {problem}")
        notes = (*submission.note_lines, *result.notes)
        return Graded(result, digest(submission), time.monotonic() - started, notes, fault)

    def stop(self) -> None:
        """Abandons the grading, at once and without waiting; a signal handler may call it."""
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
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _grade(
        self, submission: Submission, part: tuple[str, ...], watcher: Watcher | None, exercises: Sequence[str]
    ) -> tuple[SubmissionResult, str]:
        """The result, and for the instructor the grader's own failures meanwhile."""
        incidents = Incidents(dict(self._faulty), self._find_faulty)
        failures: list[str] = []
        while True:
            kills = memory_kills()
            worker = self._worker(part)
            try:
                reply = worker.grade(submission, self._reply_timeout, incidents.marks, watcher, exercises)
            except WorkerDied as death:
                failures.append(f"the grader's worker process died: {death}")
                reason, incident = f"the grader's worker process died: {death.how}", incident_of(self._course, death)
            else:
                if isinstance(reply, SubmissionResult):
                    self._graded_one = True
                    self._faulty.update((mark.place, mark.cause) for mark in worker.endless)
                    if worker.grown > _MOST_GROWTH:
                        self._discard(worker)
                    else:
                        with self._lock:
                            self._idle[part].append(worker)
                    return reply, "\n".join(failures)
                failures.append(reply.fault)
                reason, incident = reply.fault, None if reply.place is None else host_incident(reply.place)
            self._discard(worker)
            if self.stopped:
                raise GradingStopped
            if memory_kills() > kills:
                return self._error(submission, part, exercises, MEMORY_SHORT, "memory_short"), "\n".join(failures)
            is_hopeless = self._has_never_worked() or (incident is None and len(failures) > 1)
            if is_hopeless or not (incident is None or incidents.add(incident)):
                break
        self._failures += 1
        return self._error(submission, part, exercises, reason), "\n".join(dict.fromkeys(failures))

    def _error(
        self,
        submission: Submission,
        part: Sequence[str],
        exercises: Sequence[str],
        reason: str,
        kind: CauseKind = "grader_fault",
    ) -> SubmissionResult:
        """The result of a part of a submission, or of some of its exercises, that the grader failed on."""
        wanted = self._course.with_needs(exercises) if exercises else tuple(part)
        return error_result(
            self._course, msgspec.structs.replace(self._options, exercises=wanted), submission.name, reason, kind
        )

    def _find_faulty(self, exercise: str = "") -> dict[Place, Cause]:
        """The checks that end a worker on the solution too: of an exercise, or of all. Found once, by grading that."""
        with self._finding_faulty:
            if not self._searched & {exercise, ""}:
                self._faulty.update(faulty_checks(self._course, lambda marks: self._grade_solution(marks, exercise)))
                self._searched.add(exercise)
            return dict(self._faulty)

    def _grade_solution(self, marks: Sequence[NotRun], exercise: str) -> WorkerDied | None:
        """Grades the course's own solution, or one exercise of it, with a new worker; how that died, if it did."""
        known = [NotRun(place, cause) for place, cause in self._faulty.items()]
        worker = Worker()
        with self._lock:
            self._workers.add(worker)
        try:
            worker.configure(self._options)
            solution = solution_of(self._course)
            worker.grade(solution, self._reply_timeout, [*known, *marks], exercises=[exercise] if exercise else ())
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

    def _worker(self, part: tuple[str, ...]) -> Worker:
        """A worker for a part that nothing else uses."""
        with self._lock:
            worker = self._idle[part].pop() if self._idle[part] else None
        return worker or self._begin(Worker(self._hash_seed), part)

    def _begin(self, worker: Worker, part: tuple[str, ...]) -> Worker:
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
        worker.configure(msgspec.structs.replace(self._options, exercises=part))
        return worker

    def _discard_idle(self) -> None:
        """Ends the workers that nothing uses, so that one has all of the memory."""
        with self._lock:
            idle = [worker for workers in self._idle.values() for worker in workers]
            for workers in self._idle.values():
                workers.clear()
        for worker in idle:
            self._discard(worker)

    def _discard(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.end()


class _Turns:
    """Lets submissions be graded beside each other, or one of them alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._waiting = 0

    @contextlib.contextmanager
    def beside_others(self) -> Iterator[None]:
        """Waits until nobody is alone, or wants to be."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until no other submission is graded; none begins meanwhile."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._running)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._waiting -= 1
                self._changed.notify_all()


def _memory_was_short(result: SubmissionResult) -> bool:
    checks = (check for exercise in result.exercises for check in exercise.checks)
    return any(check.cause is not None and check.cause.kind == "memory_short" for check in checks)
