"""A submission in two parts that are graded at the same time, so a student waits for half as long; and their joining.

Topics whose exercises need one another stay together, so each part's verdicts are those that the whole would have.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from grader.course import Course
from grader.grading.graders import Graded
from grader.grading.worker_process import Watcher
from grader.judge.marks import Place
from grader.machine import idle_cores, workers_in_memory
from grader.results import MOST_FLAGS, ExerciseResult

Parts = tuple[tuple[str, ...], ...]
"""Full names of the exercises of each part; no names mean all."""

_START: Final = 14
"""Exercises that are checked in the time in which a second worker starts: it imports torch as well."""

_IDLE: Final = 1.0
"""Idle cores that a second worker is started for: on a busy machine it would only be slower."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def parts_for_now(course: Course, exercises: Sequence[str]) -> Parts:
    """The exercises in two parts if a second worker is a gain on this machine now, else in one."""
    has_room = idle_cores() >= _IDLE and workers_in_memory() > 1
    return halves(course, exercises) if has_room else (tuple(exercises),)


def halves(course: Course, exercises: Sequence[str]) -> Parts:
    """The exercises in two parts that end at about the same time and need nothing of each other.

    They are in one part if a second worker, which begins later, is no gain.
    """
    wanted = course.with_needs(exercises)
    load = Counter(name.partition(".")[0] for name in wanted)
    first = wanted[0].partition(".")[0] if wanted else ""  # its lines are shown first
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


def join(parts: Sequence[Graded], order: Sequence[str]) -> Graded:
    """One result of the results of a submission's parts, the same as if it had been graded as a whole.

    Args:
        order: the full names of all exercises, in the course's order.
    """
    if len(parts) == 1:
        return parts[0]
    joined = _join_fields(GRADED_RULES, parts)
    exercises = tuple(sorted(joined.result.exercises, key=lambda one: order.index(one.name)))
    # In this order again, because the sum of fractions depends on it.
    score, most = sum(one.score for one in exercises), sum(one.max for one in exercises)
    result = msgspec.structs.replace(joined.result, exercises=exercises, score=score, max=most)
    return msgspec.structs.replace(joined, result=result)


def _join_fields(rules: Mapping[str, Callable[[Sequence[Any]], Any]], parts: Sequence[_Struct]) -> _Struct:
    """A struct of which each field is made by its rule; a field without one is an error, never lost in silence."""
    names = parts[0].__struct_fields__
    return type(parts[0])(**{name: rules[name]([getattr(part, name) for part in parts]) for name in names})


def _first(values: Sequence[Any]) -> Any:
    """Any of them, as they are equal."""
    return values[0]


def _all(values: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    """Each item of them once, in order."""
    return tuple(dict.fromkeys(item for value in values for item in value))


RESULT_RULES: Final[Mapping[str, Callable[[Sequence[Any]], Any]]] = {
    "schema": _first,
    "submission": _first,
    "score": sum,
    "max": sum,
    "exercises": lambda values: tuple(one for value in values for one in value),
    "sandbox": lambda values: next(filter(None, values), ()),  # empty if nothing of that part was run
    "flags": lambda values: _all(values)[:MOST_FLAGS],
    "unread": _all,
    "notes": _all,
}
"""How each field of the `SubmissionResult`s of a submission's parts becomes one."""

GRADED_RULES: Final[Mapping[str, Callable[[Sequence[Any]], Any]]] = {
    "result": lambda values: _join_fields(RESULT_RULES, values),
    "digest": _first,
    "seconds": max,
    "notes": _all,
    "fault": lambda values: "\n".join(filter(None, values)),
}
"""How each field of their `Graded`s becomes one."""


class InOrder:
    """Passes the exercises of several parts on to a watcher in one order; an exercise that comes early waits."""

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
