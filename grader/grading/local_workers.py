"""The pool of warm workers on this machine: it hands each submission to a free one, and replaces one that died.

Every submission gets a result. No submitted code runs here, and the only verdict that is made here is that the grader
failed, which costs no points. All that there is about judges that die is in `LocalWorkers.events`.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from grader.border.failures import MEMORY_SHORT
from grader.course import Course, checks_of
from grader.errors import CourseError
from grader.files import python_files
from grader.grading.graders import Graded, Graders, GradingStopped, News, result_at_end
from grader.grading.protocol import Done, ExerciseDone, Work, WorkerOptions
from grader.grading.worker_process import Worker, WorkerFailed
from grader.intake.submission import Submission, digest
from grader.judge.listener import NotRun, Place, endless
from grader.machine import memory_kills
from grader.results import Cause, ExerciseResult, Flag, Frame, SubmissionResult
from grader.sandbox.clock import CAP

_EXTRA_SECONDS: Final = 120.0
"""How long a worker may take beyond the limits of its topics before it is taken for dead."""
_MOST_GROWTH: Final = 256 << 20
"""Memory that a worker may gain after its first submission before another one takes its place (bytes)."""
_MOST_WORKERS: Final = 3
_MOST_DEATHS: Final = 2
"""Of workers at one submission, without those that a check has ended on the solution too."""
_DIED: Final = Flag(
    "worker", "processes of the grader ended while they graded this: what is an error earns and costs nothing"
)


def solution_of(course: Course) -> Submission:
    """The course's solutions as a submission."""
    return Submission("solution", python_files(course.solutions_dir))


class LocalWorkers(Graders):
    """`Graders` of this machine; use it in a ``with`` statement, which ends the workers.

    A worker knows the topics that it was started for: one that knows the whole course starts more slowly and takes more
    memory. If no free worker knows what is asked for, another one starts; if there is no place for it, the least
    recently used one ends.

    Args:
        jobs: how many workers there are at most.
        hash_seed: of the workers: see `Worker`.
    """

    def __init__(self, course: Course, options: WorkerOptions, jobs: int = 1, hash_seed: int = 0) -> None:
        super().__init__(course, options)
        self.jobs = jobs
        self._hash_seed = hash_seed
        self._reply_timeout = _EXTRA_SECONDS + CAP * options.limits.topic_seconds * len(course.topics)
        self._threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grade")
        self._lock = threading.RLock()  # Reentrant: `stop` may interrupt the very thread that holds it.
        self._workers: dict[Worker, frozenset[str]] = {}  # with the exercises that each knows
        self._idle: list[Worker] = []  # the most recently used one is the last
        self._faulty: dict[Place, NotRun] = {}  # checks at which workers die on the solution too

    def events(
        self, submission: Submission, exercises: Sequence[str] = (), elsewhere: Mapping[str, bool] = {}
    ) -> Generator[News, None, None]:
        """Grades one submission and yields the news as they come; the result is the last.

        A check at which the worker dies is an ``error`` for this submission, and a fresh worker goes on. The second
        time, all that is left is an ``error``. A check that was ended because it took too long is run on the solution
        by the next worker: if it ends there, the submission has failed it; if that worker dies as well, the check is an
        ``error`` for all that follow, and one more worker goes on. An exercise may come again from another worker.

        If the iterator is closed before its end, the worker is ended.

        Args:
            exercises: full names of those to grade, with those that they need; empty means all that the options name.
            elsewhere: those of them that another worker grades, and whether they pass; the worker must know them too.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        started, kills = time.monotonic(), memory_kills()
        asked = tuple(exercises) or self.exercises
        not_run, causes = dict(self._faulty), dict[Place, Cause]()
        faults: list[str] = []
        result: SubmissionResult | None = None
        deaths = 0
        while result is None:
            known: list[ExerciseResult] = []
            try:
                with self._lent_worker(asked) as worker:
                    work = Work(submission, tuple(not_run.values()), asked, dict(elsewhere))
                    for event in worker.events(work, self._reply_timeout):
                        if isinstance(event, Done):
                            result = event.result
                        else:
                            known += [event.exercise] if isinstance(event, ExerciseDone) else []
                            yield event
            except GradingStopped:
                raise
            except Exception as problem:
                failure = _as_failure(problem)
                faults.append(str(failure))
                if self.stopped:
                    raise GradingStopped from None
                if memory_kills() > kills and len(faults) == 1:
                    result = self._failed(submission.name, MEMORY_SHORT, asked, "memory_short")
                    continue
                deaths += 0 if self._blames_check(failure, not_run, causes) else 1
                if not failure.retry_may_help or deaths == _MOST_DEATHS or len(faults) == _MOST_WORKERS:
                    reason, flags = failure.reason, (_DIED,) if failure.retry_may_help else ()
                    result = self._failed(submission.name, reason, asked, known=known, causes=causes, flags=flags)
        notes = (*submission.note_lines, *result.notes)
        yield Graded(result, digest(submission), time.monotonic() - started, notes, "\n".join(dict.fromkeys(faults)))

    def _blames_check(self, failure: WorkerFailed, not_run: dict[Place, NotRun], causes: dict[Place, Cause]) -> bool:
        """Adds the check at which a worker died to those that are not run for this submission.

        Args:
            causes: gets the cause by the check's place.

        Returns:
            True if it was being run on the solution. Then it is not run for any other submission either.
        """
        place = failure.place
        if place is None or not place.check:
            return False
        line = _line_of(self.course, failure, place)
        cause = Cause(kind="grader_fault", reason=failure.reason, check_line=line)
        if failure.overran:
            cause = endless(failure.overran, line)
        causes[place] = cause
        was_on_solution = place in not_run
        not_run[place] = NotRun(place, cause if was_on_solution or not failure.overran else None)
        if was_on_solution:
            self._faulty[place] = not_run[place]
        return was_on_solution

    def grade(self, submission: Submission, exercises: Sequence[str] = ()) -> Graded:
        """Grades one submission; if memory was short, it is graded again, after all idle workers have ended.

        Args:
            exercises: see `events`.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        graded = result_at_end(self.events(submission, exercises))
        if graded.memory_was_short:
            self.end_idle()
            graded = result_at_end(self.events(submission, exercises))
        return graded

    def submit(self, submission: Submission, exercises: Sequence[str] = ()) -> Future[Graded]:
        """As `grade`, in another thread: the result, to wait for."""
        with self._lock:
            if self.stopped:
                raise GradingStopped
            return self._threads.submit(self.grade, submission, exercises)

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
        return 2 * self.jobs

    def _submit(self, submission: Submission, is_alone: bool) -> Future[Graded]:
        if is_alone:
            self.end_idle()
        future = self._threads.submit(lambda: result_at_end(self.events(submission)))
        future.add_done_callback(self._arrived.put)
        return future

    def _received(self, future: Future[Graded], submission: Submission, is_alone: bool) -> Graded:
        return future.result()

    @contextlib.contextmanager
    def _lent_worker(self, exercises: Sequence[str]) -> Iterator[Worker]:
        """A worker that knows these exercises, for as long as the context lasts; kept if it can grade again.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        worker = self._take(frozenset(self.course.with_needs(exercises)))
        try:
            yield worker
        finally:
            self._faulty.update((one.place, one) for one in worker.endless)
            if worker.is_busy or worker.grown > _MOST_GROWTH:
                self._discard(worker)
            else:
                with self._lock:
                    self._idle.append(worker)

    def _take(self, wanted: frozenset[str]) -> Worker:
        """A worker that knows all that is wanted: the idle one that was used last, or a new one."""
        evicted = None
        with self._lock:
            if self.stopped:
                raise GradingStopped
            for worker in reversed(self._idle):
                if wanted <= self._workers[worker]:
                    self._idle.remove(worker)
                    return worker
            if self._idle and len(self._workers) >= self.jobs:
                evicted = self._idle.pop(0)
            topics = {name.partition(".")[0] for name in wanted}
            knows = self.course.with_needs([one for one in self.exercises if one.partition(".")[0] in topics])
            worker = Worker(self._hash_seed)
            self._workers[worker] = frozenset(knows)
            worker.configure(msgspec.structs.replace(self._options, exercises=knows))
        if evicted is not None:
            self._discard(evicted)  # while the new one starts
        return worker

    def _discard(self, worker: Worker) -> None:
        with self._lock:
            self._workers.pop(worker, None)
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
