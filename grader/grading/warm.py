"""Grades a student's own work, for `check`, `show`, `watch` and notebooks: without hidden checks, and in parts.

If there is much to check and a core is idle, two workers grade a part of the submission each, so the student waits for
half as long. Topics whose exercises need one another stay together, so each part's verdicts are those that the whole
would have. Decides no verdict.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Final, TypeVar

from msgspec.structs import replace

from grader.course import Course
from grader.grading.graders import Graded, GradingStopped, WorkersInContext
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import GradingSettings, worker_options
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.judge.listener import Listener, Place
from grader.machine import idle_cores, workers_in_memory
from grader.reports.entries import exercise_for_students, for_students
from grader.results import MOST_FLAGS, ExerciseResult, total_points

_Item = TypeVar("_Item")
_START: Final = 14
"""Exercises that are checked in the time in which a second worker gets ready."""

_IDLE: Final = 1.0
"""Idle cores that a second worker is started for: on a busy machine it would only be slower."""


def halves(course: Course, exercises: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The exercises in two parts that end at about the same time and need nothing of each other.

    They are in one part if a second worker, which begins later, is no gain.
    """
    wanted = course.with_needs(exercises)
    load = Counter(name.partition(".")[0] for name in wanted)
    first = next(iter(load), "")  # its lines are shown first
    groups: list[set[str]] = []  # of topics; each needs nothing of another
    for name in wanted:
        exercise = course.exercise(name)
        joined = {exercise.topic, *(need.partition(".")[0] for need in exercise.needs)}
        apart = [group for group in groups if not group & joined]
        groups = [*apart, joined.union(*(group for group in groups if group & joined))]
    parts: tuple[set[str], set[str]] = (set(), set())
    ends = [0, _START]
    for group in sorted(groups, key=lambda group: (first not in group, -sum(load[topic] for topic in group))):
        sooner = ends.index(min(ends))
        parts[sooner].update(group)
        ends[sooner] += sum(load[topic] for topic in group)
    if max(ends) + _START > len(wanted):
        return (wanted,)
    return tuple(tuple(name for name in wanted if name.partition(".")[0] in part) for part in parts)


def join(parts: Sequence[Graded], order: Sequence[str]) -> Graded:
    """One result of the results of a submission's parts, the same as if it had been graded as a whole.

    Args:
        order: the full names of all exercises, in the course's order.
    """
    if len(parts) == 1:
        return parts[0]
    results = [part.result for part in parts]
    exercises = sorted((one for result in results for one in result.exercises), key=lambda one: order.index(one.name))
    result = replace(
        results[0],
        score=total_points(one.score for one in exercises),
        max=total_points(one.max for one in exercises),
        exercises=tuple(exercises),
        sandbox=next((one.sandbox for one in results if one.sandbox), ()),  # empty if nothing of that part was run
        flags=_each_once(one.flags for one in results)[:MOST_FLAGS],
        unread=_each_once(one.unread for one in results),
        notes=_each_once(one.notes for one in results),
    )
    return replace(
        parts[0],
        result=result,
        seconds=max(part.seconds for part in parts),
        notes=_each_once(part.notes for part in parts),
        fault="\n".join(part.fault for part in parts if part.fault),
    )


def _each_once(values: Iterable[Iterable[_Item]]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(item for value in values for item in value))


class StudentWorkers(WorkersInContext):
    """The workers for a student's submissions, which start at once; use it in a ``with`` statement, which ends them.

    Args:
        first: a worker that is starting already.
    """

    def __init__(self, course: Course, options: WorkerOptions, first: Worker | None = None) -> None:
        self._course = course
        self._order = course.with_needs(options.exercises)
        self._pools: dict[tuple[str, ...], LocalWorkers] = {}
        is_gain = idle_cores() >= _IDLE and workers_in_memory() > 1
        for part in halves(course, options.exercises) if is_gain else (self._order,):
            options = replace(options, exercises=part)
            self._pools[part] = LocalWorkers(course, options, first=first or Worker())
            first = None

    def grade(self, submission: Submission, listener: Listener | None = None, exercises: Sequence[str] = ()) -> Graded:
        """Grades one submission; the result is the same as if it had been graded as a whole.

        Args:
            listener: gets the exercises in the course's order as they are known, from one thread at a time.
            exercises: full names of those to grade, with those that they need; empty means all that the options name.

        Raises:
            GradingStopped: `stop` or `close` was called meanwhile.
        """
        if listener is not None:
            listener = _ForStudents(listener, self._course.with_needs(exercises or self._order))
        asked = {
            pool: tuple(name for name in exercises if name in part)
            for part, pool in self._pools.items()
            if not exercises or not set(part).isdisjoint(exercises)
        }
        try:
            futures = [pool.submit(submission, listener, names) for pool, names in asked.items()]
            graded = join([future.result() for future in futures], self._order)
            if graded.memory_was_short and len(asked) > 1:
                for pool in asked:
                    pool.end_idle()
                alone = [pool.grade(submission, listener, names) for pool, names in asked.items()]
                graded = join(alone, self._order)
        except CancelledError:
            raise GradingStopped from None
        return replace(graded, result=for_students(graded.result))

    def stop(self) -> None:
        """Abandons the grading, at once and without waiting."""
        for pool in self._pools.values():
            pool.stop()

    def close(self) -> None:
        """Ends the workers at the same time, and waits until they are gone."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(LocalWorkers.close, self._pools.values()))


class _ForStudents(Listener):
    """Passes the exercises of all parts on in one order, without hidden checks; one that comes early waits."""

    def __init__(self, listener: Listener, order: Sequence[str]) -> None:
        self._listener = listener
        self._order = list(order)
        self._waiting: dict[str, ExerciseResult] = {}
        self._lock = threading.Lock()

    def began(self, place: Place) -> None:
        with self._lock:
            self._listener.began(place)

    def known(self, exercise: ExerciseResult) -> None:
        with self._lock:
            self._waiting[exercise.name] = exercise
            while self._order and self._order[0] in self._waiting:
                self._listener.known(exercise_for_students(self._waiting.pop(self._order.pop(0))))


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
        self._workers: StudentWorkers | None = None
        self._stopped: list[StudentWorkers] = []  # not waited for yet
        self._topics: frozenset[str] = frozenset()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="warm")

    def submit(
        self, submission: Submission, exercises: Sequence[str] = (), listener: Listener | None = None
    ) -> Future[Graded]:
        """Grades some exercises (full names) of a submission, with those that they need; returns at once.

        Args:
            exercises: empty means all of the course.
            listener: gets exercises as they are known, in another thread.

        Returns:
            The result, to wait for. Its exception is `GradingStopped` if `stop` was called meanwhile.
        """
        return self._thread.submit(self._grade, submission, tuple(exercises), listener)

    def _grade(self, submission: Submission, exercises: tuple[str, ...], listener: Listener | None) -> Graded:
        wanted = frozenset(name.partition(".")[0] for name in self._course.with_needs(exercises))
        with self._lock:
            if self._workers is not None and not wanted <= self._topics:
                self._stopped.append(self._workers)
                self._workers = None
            self._end_stopped()
            if self._workers is None:
                self._topics |= wanted
                options = worker_options(self._course, self._settings, sorted(self._topics))
                first, self._first = self._first, None
                self._workers = StudentWorkers(self._course, options, first)
            workers = self._workers
        return workers.grade(submission, listener, exercises)

    def stop(self) -> None:
        """Abandons the grading without waiting: a listener may call this. A later submission starts other workers."""
        with self._lock:
            workers, self._workers = self._workers, None
            if workers is not None:
                self._stopped.append(workers)
                workers.stop()

    def _end_stopped(self) -> None:
        while self._stopped:
            self._stopped.pop().close()

    def close(self) -> None:
        """Ends the worker at once, and waits until it is gone."""
        self.stop()
        if self._first is not None:
            self._first.end()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._end_stopped()
