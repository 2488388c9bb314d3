"""Proves that a course keeps its promises (`promises.py`): grades its own modules, which run as submissions run."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from grader.course import Course
from grader.errors import CourseError
from grader.grading.evidence import ExerciseSummary, SecondResults, TopicEvidence
from grader.grading.local_workers import LocalWorkers, solution_of
from grader.grading.promises import PROMISES, Defect, Promise
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import course_option
from grader.grading.worker import host_for_author
from grader.judge.marks import NotRun, place_of
from grader.judge.time_limit import JUDGE_SECONDS, TimeLimit
from grader.kit import forbidden_imports
from grader.machine import Devices

if TYPE_CHECKING:
    from grader.judge.judge import Judge

_HASH_SEED: Final = 1
"""Of the second run of the solutions: another order of sets. A result that differs then depends on chance."""


def verify_course(
    course: Course,
    report: Callable[[Defect], None],
    *,
    progress: Callable[[str], None] = lambda text: None,
    devices: Devices = "simulated",
    only: Sequence[str] = (),
    seed: int = 0,
    judge_seconds: float = JUDGE_SECONDS,
    is_quick: bool = False,
) -> list[ExerciseSummary]:
    """Looks for every defect of a course, topic by topic; what was looked at, for each exercise.

    Args:
        report: called with each defect as soon as it is found.
        progress: called with a line about the current topic and promise.
        devices: the kind of devices for checks that want GPUs.
        only: names of topics and exercises; empty means the whole course.
        seed: of the generated inputs; a class is graded with one of its own.
        judge_seconds: see `TimeLimit`.
        is_quick: whether the second run of the solutions, in another process, and pictures for pages are left out.

    Raises:
        UserError: the checks cannot be collected.
    """
    # A student process loads the kit, and students can read it; nothing can be graded with one that is refused.
    refused = [] if course.kit is None else list(forbidden_imports(course.kit))
    for found in refused:
        report(Defect(found.file, found.line, found.message))
    if refused:
        return []
    chosen = course.select(only)
    topics = [
        msgspec.structs.replace(topic, exercises=exercises)
        for topic in course.topics
        if (exercises := tuple(one for one in topic.exercises if one.full_name in chosen))
    ]
    limit = TimeLimit(judge_seconds)
    options = WorkerOptions(
        course=course_option(course),
        exercises=tuple(chosen),
        seed=seed,
        devices=devices,
        judge_seconds=judge_seconds,
        misconceptions=False,
    )

    def verify(judge: Judge) -> list[ExerciseSummary]:
        gc.freeze()
        gc.enable()
        summaries: list[ExerciseSummary] = []
        exercises = second.result().result.exercises if second else ()
        results = {(exercise.name, check.name): check for exercise in exercises for check in exercise.checks}
        with judge.checks.leaving_out(_not_to_run(results)), limit.ticking():
            for topic in topics:
                evidence = TopicEvidence(course, topic, judge, results if second else None)
                for defect in _defects(evidence, progress):
                    report(defect)
                summaries += evidence.summaries()
        return summaries

    gc.disable()  # the collector takes a quarter of the time of the imports below, and frees nothing
    try:
        with (
            host_for_author(course, topics, devices) as host,
            # After the host was forked: this starts threads.
            contextlib.nullcontext() if is_quick else LocalWorkers(course, options, hash_seed=_HASH_SEED) as workers,
        ):
            second = workers.submit(solution_of(course)) if workers else None
            from grader.judge.judge import with_judge

            return with_judge(course, host, verify, exercises=chosen, seed=seed, limit=limit)
    finally:
        gc.enable()


def _not_to_run(results: SecondResults) -> tuple[NotRun, ...]:
    """The checks at which a judge ended or did not come to an end, which nothing could end in this process."""
    return tuple(
        NotRun(place_of(exercise, name), check.cause)
        for (exercise, name), check in results.items()
        if check.cause and check.cause.kind == "grader_fault" and check.cause.check_line
        if not check.cause.exception_type
    )


def _defects(evidence: TopicEvidence, progress: Callable[[str], None]) -> Iterator[Defect]:
    """The defects of one topic, each once: one defect may break several promises."""
    seen: set[Defect] = set()
    for title, promises in PROMISES.items():
        progress(f"{evidence.topic.name}: {title}")
        for promise in promises:
            for defect in _broken(promise, evidence):
                if defect not in seen:
                    seen.add(defect)
                    yield defect


def _broken(promise: Promise, evidence: TopicEvidence) -> Iterator[Defect]:
    try:
        yield from promise(evidence)
    except CourseError as error:
        yield Defect(error.file, error.line, error.message)
