"""A submission in two parts that are graded at the same time, so a student waits for half as long; and their joining.

Topics whose exercises need one another stay together, so each part's verdicts are those that the whole would have.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from grader.course import Course
from grader.grading.graders import Graded
from grader.judge.flags import MOST_FLAGS
from grader.machine import idle_cores, workers_in_memory

_Item = TypeVar("_Item")
Parts = tuple[tuple[str, ...], ...]
"""Full names of the exercises of each part."""
_START: Final = 14
"""Exercises that are checked in the time in which a second worker starts: it imports torch as well."""

_IDLE: Final = 1.0
"""Idle cores that a second worker is started for: on a busy machine it would only be slower."""


def parts_for_now(course: Course, exercises: Sequence[str]) -> Parts:
    """The exercises in two parts if a second worker is a gain on this machine now, else in one."""
    has_room = idle_cores() >= _IDLE and workers_in_memory() > 1
    return halves(course, exercises) if has_room else (course.with_needs(exercises),)


def halves(course: Course, exercises: Sequence[str]) -> Parts:
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
        # Added up in this order, because the sum of fractions depends on it.
        score=sum(one.score for one in exercises),
        max=sum(one.max for one in exercises),
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
