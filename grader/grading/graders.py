"""`Graders`: the one interface of the local worker processes and of a Dask cluster, which both grade many submissions.

Submissions go in, results come out; each implementation decides how many at a time, and on which machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Protocol

import msgspec

from grader.course import Course, checks_of
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission, Unreadable, digest
from grader.judge import explain
from grader.results import Cause, CauseKind, CheckResult, ExerciseResult, Manual, SubmissionResult

_MAX_REASON: Final = 5_000
"""Characters of a fault that results keep: the last ones, because a traceback ends with the error."""


class Graded(msgspec.Struct, frozen=True):
    """One submission's result, with more facts for the gradebook.

    Attributes:
        seconds: wall time.
        fault: how the grader itself failed meanwhile, for its author: it may hold a traceback, and no student sees it.
    """

    result: SubmissionResult
    digest: str
    seconds: float
    notes: tuple[str, ...] = ()
    fault: str = ""


class GradingStopped(Exception):
    """The graders were stopped while this submission was being graded; there is no result. Remedy: grade it again."""


class Graders(Protocol):
    """Grades submissions; use it in a ``with`` statement, which ends its processes."""

    stopped: bool
    """Whether `stop` was called."""

    def use_seed(self, seed: int) -> None:
        """Grades with this seed of the generated inputs; called before anything is graded, if at all."""

    def grade_all(self, submissions: Iterable[Submission]) -> Iterator[Graded]:
        """Yields each submission's result as it is known; takes `submissions` only as fast as they are graded.

        Every submission gets a result: if the grader itself fails, its verdicts are ``error``. After `stop`, the
        results that are known already are still yielded, then it ends.
        """

    def stop(self) -> None:
        """Abandons the grading, at once and without waiting; a signal handler may call it."""

    def __enter__(self) -> Graders: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None: ...


def unread(course: Course, options: WorkerOptions, found: Unreadable) -> Graded:
    """The result of a submission that could not be read: every check is an ``error``."""
    result = error_result(course, options, found.name, found.reason)
    return Graded(result, digest(Submission(found.name, {})), 0.0)


def error_result(
    course: Course, options: WorkerOptions, name: str, reason: str, kind: CauseKind = "grader_fault"
) -> SubmissionResult:
    """The result of a submission that the grader failed on: every check is an ``error``, nothing counts against it."""
    cause = Cause(kind=kind, stage="submission", reason=reason[-_MAX_REASON:])
    wanted = set(course.select(options.exercises))
    checks: dict[str, list[CheckResult]] = {}
    for topic in {exercise.topic for exercise in course.exercises if exercise.full_name in wanted}:
        for check in checks_of(course, topic):
            result = explain.result(check.function.removeprefix("test_"), cause)
            checks.setdefault(check.exercise, []).append(result)
    exercises = tuple(
        ExerciseResult(name=name, score=0.0, max=0.0, checks=tuple(checks.get(name, ())))
        for name in (exercise.full_name for exercise in course.exercises)
        if name in wanted
    )
    to_mark = (one for one in course.manual if one.full_name in wanted)
    exercises += tuple(
        ExerciseResult(name=one.full_name, score=0.0, max=0.0, manual=Manual(one.points, one.work_file))
        for one in to_mark
    )
    return SubmissionResult(submission=name, score=0.0, max=0.0, exercises=exercises)
