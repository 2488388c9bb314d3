"""Grades one submission with two workers at once, each with topics of its own: a student waits for half as long.

Topics whose exercises need one another stay together, so each worker's verdicts are those that one worker would give.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final

import msgspec

from grader.course import Course
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Watcher, Worker
from grader.intake.submission import LoadedSource, Submission
from grader.judge.flags import MOST_FLAGS
from grader.judge.marks import Place
from grader.machine import idle_cores
from grader.results import ExerciseResult

_START: Final = 14
"""Exercises that are checked in the time in which a second worker starts: it imports torch as well."""

_IDLE: Final = 1.0
"""Idle cores that a second worker is started for: on a busy machine it would only be slower."""


def halves(course: Course, exercises: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The exercises in two parts that end at about the same time and need nothing of each other.

    In one where a second worker, which begins later, is no gain.
    """
    wanted = course.with_needs(exercises)
    load = Counter(name.partition(".")[0] for name in wanted)
    first = wanted[0].partition(".")[0] if wanted else ""  # whose lines are shown first
    groups = sorted(
        _joined_by_needs(course, wanted), key=lambda group: (first not in group, -sum(load[topic] for topic in group))
    )
    parts: tuple[set[str], set[str]] = (set(), set())
    ends = [0, _START]
    for group in groups:
        sooner = ends.index(min(ends))
        parts[sooner].update(group)
        ends[sooner] += sum(load[topic] for topic in group)
    if max(ends) + _START > len(wanted):
        return (wanted,)
    return tuple(tuple(name for name in wanted if name.partition(".")[0] in part) for part in parts)


def _joined_by_needs(course: Course, exercises: Sequence[str]) -> list[set[str]]:
    """The topics of these exercises, in groups that need nothing of one another."""
    groups: list[set[str]] = []
    for name in exercises:
        exercise = course.exercise(name)
        joined = {exercise.topic, *(need.partition(".")[0] for need in exercise.needs)}
        apart = [group for group in groups if not group & joined]
        groups = [*apart, joined.union(*(group for group in groups if group & joined))]
    return groups


class SideBySide:
    """Grades with a worker that is starting already, and with a second one where that is a gain.

    Use it in a ``with`` statement, which ends the workers.
    """

    def __init__(self, course: Course, options: WorkerOptions, first: Worker) -> None:
        self._order = course.with_needs(options.exercises)
        parts = halves(course, options.exercises) if idle_cores() >= _IDLE else (options.exercises,)
        self._workers = [
            LocalWorkers(course, msgspec.structs.replace(options, exercises=part), first=worker)
            for part, worker in zip(parts, [first, *(Worker() for _ in parts[1:])], strict=True)
        ]

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for workers in self._workers:
            workers.__exit__(kind, value, at)

    def grade(self, submission: Submission, watcher: Watcher | None = None) -> Graded:
        """Grades one submission; see `LocalWorkers.grade`.

        Args:
            watcher: gets the exercises in the course's order, from one thread at a time.
        """
        source = LoadedSource(submission)
        if len(self._workers) == 1:
            return self._workers[0].grade(source, watcher)
        in_order = None if watcher is None else _InOrder(watcher, self._order)
        first, second = self._workers
        with ThreadPoolExecutor(1, thread_name_prefix="second-worker") as thread:
            try:
                other = thread.submit(second.grade, source, in_order)
                return self._joined(first.grade(source, in_order), other.result())
            except BaseException:
                second.stop()  # else the thread, and with it Ctrl-C, would wait for it
                raise

    def _joined(self, first: Graded, second: Graded) -> Graded:
        known = {one.name: one for one in [*first.result.exercises, *second.result.exercises]}
        exercises = tuple(known[name] for name in self._order)
        result = msgspec.structs.replace(
            first.result,
            score=sum(one.score for one in exercises),
            max=sum(one.max for one in exercises),
            exercises=exercises,
            sandbox=first.result.sandbox or second.result.sandbox,
            flags=tuple(dict.fromkeys([*first.result.flags, *second.result.flags]))[:MOST_FLAGS],
            notes=tuple(dict.fromkeys([*first.result.notes, *second.result.notes])),
            unread=(*first.result.unread, *second.result.unread),
        )
        return msgspec.structs.replace(
            first,
            result=result,
            seconds=max(first.seconds, second.seconds),
            notes=tuple(dict.fromkeys([*first.notes, *second.notes])),
            fault="\n".join(one.fault for one in (first, second) if one.fault),
        )


class _InOrder:
    """Passes on the exercises of two workers in one order; what comes early waits."""

    def __init__(self, watcher: Watcher, order: Sequence[str]) -> None:
        self._watcher = watcher
        self._order = order
        self._waiting: dict[str, ExerciseResult] = {}
        self._next = 0
        self._lock = threading.Lock()

    def began(self, place: Place) -> None:
        with self._lock:
            self._watcher.began(place)

    def known(self, exercise: ExerciseResult) -> None:
        with self._lock:
            self._waiting[exercise.name] = exercise
            while self._next < len(self._order) and self._order[self._next] in self._waiting:
                self._watcher.known(self._waiting.pop(self._order[self._next]))
                self._next += 1
