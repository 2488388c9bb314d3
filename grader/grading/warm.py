"""A grader that stays warm between submissions: for `grader watch` and for notebooks.

One worker process for a few topics, two for many, and one thread that asks them. A worker that somebody ended is
replaced quietly. Decides no verdict.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from grader.course import Course
from grader.grading.for_students import ForStudents, graded_for_students
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.parts import parts_for_now
from grader.grading.settings import GradingSettings, worker_options
from grader.grading.worker_process import Watcher, Worker
from grader.intake.submission import Submission


class WarmGrader:
    """Grades one submission after the other with the same workers, which start with the first of them.

    They know the topics that were asked for so far, and others take their place when a new one is asked for: a worker
    that knows the whole course starts more slowly and takes more memory.

    Args:
        first: a worker that is starting already.
    """

    def __init__(self, course: Course, settings: GradingSettings, first: Worker | None = None) -> None:
        self._course = course
        self._settings = settings
        self._first = first
        self._lock = threading.Lock()
        self._workers: LocalWorkers | None = None
        self._topics: frozenset[str] = frozenset()
        self._has_graded = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="warm")

    def submit(
        self, submission: Submission, exercises: Sequence[str] = (), watcher: Watcher | None = None
    ) -> Future[Graded]:
        """Grades some exercises (full names) of a submission, with those that they need; returns at once.

        Args:
            exercises: empty means all of the course.
            watcher: gets exercises as they are known, in another thread.

        Returns:
            The result, to wait for. Its exception is `GradingStopped` if `stop` was called meanwhile.
        """
        return self._thread.submit(self._grade, submission, tuple(exercises), watcher)

    def stop(self) -> None:
        """Abandons the grading; a later submission starts another worker."""
        with self._lock:
            workers, self._workers = self._workers, None
        if workers is not None:
            workers.stop()
            workers.close()

    def close(self) -> None:
        """Ends the worker at once, and waits until it is gone."""
        self.stop()
        if self._first is not None:
            self._first.end()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _grade(self, submission: Submission, exercises: tuple[str, ...], watcher: Watcher | None) -> Graded:
        workers = self._workers_for(exercises)
        watcher = watcher and ForStudents(watcher)
        graded = workers.grade(submission, watcher, exercises)
        if graded.fault and "error" in graded.result.verdicts and self._has_graded:
            graded = workers.grade(submission, watcher, exercises)  # somebody ended the worker, perhaps
        self._has_graded = self._has_graded or "error" not in graded.result.verdicts
        return graded_for_students(graded)

    def _workers_for(self, exercises: tuple[str, ...]) -> LocalWorkers:
        wanted = frozenset(name.partition(".")[0] for name in self._course.with_needs(exercises))
        with self._lock:
            if self._workers is not None and not wanted <= self._topics:
                self._workers.close()
                self._workers = None
            if self._workers is None:
                self._topics |= wanted
                options = worker_options(self._course, self._settings, sorted(self._topics))
                first, self._first = self._first, None
                parts = parts_for_now(self._course, options.exercises)
                self._workers = LocalWorkers(self._course, options, first=first, parts=parts)
            return self._workers
