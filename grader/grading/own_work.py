"""Grades a student's own work, for `check`, `show`, `watch` and notebooks: without hidden checks, and in parts.

If there is much to check and a core is idle, two workers take the submission's topics one by one, so the student waits
for half as long. A topic's turn comes when those that it needs are done, so its verdicts are those that the whole would
have. Decides no verdict.
"""

import time
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final

from msgspec.structs import replace

from grader.course import Course
from grader.grading.graders import Graded, News, result_at_end
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import Began, ExerciseDone, WorkerOptions
from grader.intake.submission import Submission
from grader.machine import idle_cores, workers_in_memory
from grader.reports.entries import exercise_for_students, for_students
from grader.results import MOST_FLAGS, ExerciseResult, each_once, total_points

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
    began = time.monotonic()
    asked = tuple(exercises) or workers.exercises
    order = workers.course.with_needs(asked)
    at = {name: place for place, name in enumerate(order)}
    left = parts_of(workers.course, order) if workers.jobs > 1 else [order]
    running: dict[Future[Graded], tuple[str, ...]] = {}
    done: list[Graded] = []
    met: set[str] = set()
    news: SimpleQueue[News | Future[Graded]] = SimpleQueue()

    def is_ready(part: Sequence[str]) -> bool:
        """Whether no exercise needs one that comes before it and is not done."""
        undone = {name for one in (*left, *running.values()) if one != part for name in one}
        needs = ((name, need) for name in part for need in workers.course.exercise(name).needs)
        return not any(need in undone and at[need] < at[name] for name, need in needs)

    def grade(part: Sequence[str]) -> Graded:
        elsewhere = {name: name in met and at[name] < at[part[-1]] for name in order if name not in part}
        for event in workers.events(submission, asked, elsewhere):
            news.put(event)
        assert isinstance(event, Graded)
        return event

    waiting: dict[str, ExerciseResult] = {}  # those that come before one that is shown first
    shown = 0
    with ThreadPoolExecutor(workers.jobs) as threads:
        try:
            while left or running:
                for part in [one for one in left if is_ready(one)][: workers.jobs - len(running)]:
                    left.remove(part)
                    future = threads.submit(grade, part)
                    running[future] = part
                    future.add_done_callback(news.put)
                match event := news.get():
                    case Future():
                        part = running.pop(event)
                        graded = _only(event.result(), part)  # raises if the part failed
                        done.append(graded)
                        met |= {one.name for one in graded.result.exercises if one.meets_needs}
                        if graded.fault and left:  # else it could come again with each of them
                            left = [tuple(name for name in order if any(name in one for one in left))]
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
    whole = join(sorted(done, key=lambda graded: at[graded.result.exercises[0].name]), order)
    if whole.memory_was_short:
        workers.end_idle()
        whole = result_at_end(workers.events(submission, asked))
    yield replace(whole, result=for_students(whole.result), seconds=time.monotonic() - began)


def parts_of(course: Course, wanted: Sequence[str]) -> list[tuple[str, ...]]:
    """The exercises by topic, in the order in which two workers take them.

    First comes the topic whose lines are shown first; then topics that need one another, because they have to wait for
    each other; then the others, the longest first. All are one part if a second worker, which has to get ready too, is
    no gain.
    """
    load = Counter(name.partition(".")[0] for name in wanted)
    if len(wanted) - max(load.values(), default=0) <= _START:
        return [tuple(wanted)]
    groups: list[set[str]] = []  # of topics; each needs nothing of another
    for name in wanted:
        exercise = course.exercise(name)
        joined = {exercise.topic, *(need.partition(".")[0] for need in exercise.needs)}
        apart = [group for group in groups if not group & joined]
        groups = [*apart, joined.union(*(group for group in groups if group & joined))]
    length = {topic: sum(load[one] for one in group) for group in groups for topic in group}
    first = next(iter(load))
    turns = sorted(load, key=lambda topic: (topic != first, -length[topic]))
    return [tuple(name for name in wanted if name.partition(".")[0] == topic) for topic in turns]


def _only(graded: Graded, names: Sequence[str]) -> Graded:
    """The result with these exercises alone: if the grader failed, it has all that was asked for."""
    exercises = tuple(one for one in graded.result.exercises if one.name in names)
    return replace(graded, result=replace(graded.result, exercises=exercises))


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
        flags=each_once(one.flags for one in results)[:MOST_FLAGS],
        unread=each_once(one.unread for one in results),
        notes=each_once(one.notes for one in results),
    )
    return replace(
        parts[0],
        result=result,
        seconds=max(part.seconds for part in parts),
        notes=each_once(part.notes for part in parts),
        fault="\n".join(part.fault for part in parts if part.fault),
    )
