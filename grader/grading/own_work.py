"""Grades a student's own work, for `check`, `show`, `watch` and notebooks: without hidden checks, and in parts.

If there is much to check and a core is idle, two workers grade a part of the submission each, so the student waits for
half as long. Topics whose exercises need one another stay together, so each part's verdicts are those that the whole
would have. Decides no verdict.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, TypeVar

from msgspec.structs import replace

from grader.course import Course
from grader.grading.graders import Graded, News, result_at_end
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import Began, ExerciseDone, WorkerOptions
from grader.intake.submission import Submission
from grader.machine import idle_cores, workers_in_memory
from grader.reports.entries import exercise_for_students, for_students
from grader.results import MOST_FLAGS, ExerciseResult, total_points

_Item = TypeVar("_Item")
_START: Final = 14
"""Exercises that are checked in the time in which a second worker gets ready."""

_IDLE: Final = 1.0
"""Idle cores that a second worker is started for: on a busy machine it would only be slower."""


def own_workers(course: Course, options: WorkerOptions) -> LocalWorkers:
    """The pool for a student's own work: with two workers if there is a core and memory for the second one."""
    return LocalWorkers(course, options, jobs=2 if idle_cores() >= _IDLE and workers_in_memory() > 1 else 1)


def own_news(
    workers: LocalWorkers, submission: Submission, exercises: Sequence[str] = ()
) -> Generator[News, None, None]:
    """Grades a student's own submission and yields the news as a student may see them, exercises in the course's order.

    The result, which comes last, is the same as if the submission had been graded as a whole; and it is graded so, by
    one worker alone, if memory was short. Closing the iterator before its end stops the workers, as Ctrl-C does.

    Args:
        exercises: full names of those to grade, with those that they need; empty means all that the options name.

    Raises:
        GradingStopped: `stop` or `close` was called meanwhile.
    """
    asked = tuple(exercises) or workers.exercises
    order = workers.course.with_needs(asked)
    parts = halves(workers.course, asked) if workers.jobs > 1 else (order,)
    news: SimpleQueue[News | Future[Graded]] = SimpleQueue()

    def grade(part: Sequence[str]) -> Graded:
        for event in workers.events(submission, [name for name in part if name in asked]):
            news.put(event)
        assert isinstance(event, Graded)
        return event

    waiting: dict[str, ExerciseResult] = {}  # those that come before one that is shown first
    shown = 0
    with ThreadPoolExecutor(len(parts)) as threads:
        try:
            graded = [threads.submit(grade, part) for part in parts]
            for one in graded:
                one.add_done_callback(news.put)
            left = len(parts)
            while left:
                match event := news.get():
                    case Future():
                        event.result()  # raises if the part failed
                        left -= 1
                    case ExerciseDone(exercise):
                        waiting[exercise.name] = exercise
                        while shown < len(order) and order[shown] in waiting:
                            yield ExerciseDone(exercise_for_students(waiting[order[shown]]))
                            shown += 1
                    case Began():
                        yield event
        except (GeneratorExit, KeyboardInterrupt):
            workers.stop()
            raise
    whole = join([one.result() for one in graded], order)
    if whole.memory_was_short:
        workers.end_idle()
        whole = result_at_end(workers.events(submission, asked))
    yield replace(whole, result=for_students(whole.result))


def halves(course: Course, exercises: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The exercises in two parts that end at about the same time and need nothing of each other.

    They are in one part if a second worker, which has to get ready too, is no gain.
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
    ends = [0, 0]
    for group in sorted(groups, key=lambda group: -sum(load[topic] for topic in group)):
        sooner = ends.index(min(ends))
        parts[sooner].update(group)
        ends[sooner] += sum(load[topic] for topic in group)
    if max(ends) + _START >= len(wanted):
        return (wanted,)
    ordered = sorted(parts, key=lambda part: first not in part)
    return tuple(tuple(name for name in wanted if name.partition(".")[0] in part) for part in ordered)


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
