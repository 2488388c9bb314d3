"""`Graders`: what the local worker processes and a Dask cluster, which both grade many submissions, have in common.

Submissions go in, results come out; each kind decides how many at a time, and on which machines. A submission at which
memory was short, or a machine died, is graded once more, alone, when all others are done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from grader.course import Course, checks_of
from grader.grading.protocol import Began, ExerciseDone, WorkerOptions
from grader.intake.submission import Submission, Unreadable, digest
from grader.judge import explain
from grader.judge.listener import Place, place_of
from grader.results import Cause, CauseKind, CheckResult, ExerciseResult, Flag, Manual, SubmissionResult

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_REASON: Final = 5_000
"""Characters of a fault that results keep: the last ones, because a traceback ends with the error."""
REFRESH_SECONDS: Final = 2.0
"""How long to wait for a result before it is asked again how many submissions may be graded at a time."""


class Graded(msgspec.Struct, frozen=True):
    """One submission's result, with more facts for the gradebook.

    Attributes:
        seconds: wall time.
        was_read: whether the submission could be read; if not, that is a fault of the grader's own.
        fault: how the grader itself failed meanwhile, for its author: it may hold a traceback, and no student sees it.
    """

    result: SubmissionResult
    digest: str
    seconds: float
    notes: tuple[str, ...] = ()
    fault: str = ""
    was_read: bool = True

    @property
    def memory_was_short(self) -> bool:
        """Whether the system ended a process of it because memory was short."""
        checks = (check for exercise in self.result.exercises for check in exercise.checks)
        return any(check.cause is not None and check.cause.kind == "memory_short" for check in checks)


News = Began | ExerciseDone | Graded
"""The news of one submission while it is graded; its result is the last."""


def result_at_end(news: Iterable[News]) -> Graded:
    """The result of a submission, when all of its news have come."""
    *_, last = news
    assert isinstance(last, Graded)
    return last


class GradingStopped(Exception):
    """The graders were stopped while this submission was being graded; there is no result. Remedy: grade it again."""


class Graders(ABC):
    """Grades submissions; use it in a ``with`` statement, which ends its processes.

    Attributes:
        course: that whose checks decide.
        exercises: full names of the exercises that are graded, in the course's order.
        stopped: whether `stop` was called.
    """

    def __init__(self, course: Course, options: WorkerOptions) -> None:
        self.exercises = course.with_needs(options.exercises)
        self.stopped = False
        self.course = course
        self._options = options
        self._arrived: SimpleQueue[Any] = SimpleQueue()  # of futures; a signal handler may put None into it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def use_seed(self, seed: int) -> None:
        """Grades with this seed of the generated inputs; called before anything is graded, if at all."""
        self._options = msgspec.structs.replace(self._options, seed=seed)

    def results_of(self, submissions: Iterable[Submission | Unreadable]) -> Iterator[Graded]:
        """Yields each submission's result as it is known; takes `submissions` only as fast as they are graded.

        Every submission gets a result: if the grader itself fails, its verdicts are ``error``. After `stop`, the
        results that are known already are still yielded, then it ends.
        """
        left, is_more = iter(submissions), True
        waiting: dict[Any, Submission] = {}
        suspects: deque[Submission] = deque()
        alone: Submission | None = None
        while True:
            while is_more and not self.stopped and len(waiting) < self._limit():
                match next(left, None):
                    case None:
                        is_more = False
                    case Unreadable(name, reason):
                        result = self._failed(name, reason)
                        yield Graded(result, digest(Submission(name, {})), 0.0, fault=reason, was_read=False)
                    case one:
                        waiting[self._submit(one, False)] = one
            if suspects and not waiting and not self.stopped:
                alone = suspects.popleft()
                waiting[self._submit(alone, True)] = alone
            if not waiting and (self.stopped or not is_more):
                return
            try:
                future = self._arrived.get(timeout=REFRESH_SECONDS)
            except Empty:
                continue
            if future is None:
                return
            submission = waiting.pop(future)
            graded = self._received(future, submission, submission is alone)
            if graded is None or (graded.memory_was_short and submission is not alone):
                suspects.append(submission)
            else:
                yield graded

    @abstractmethod
    def _limit(self) -> int:
        """How many submissions may be graded, or wait for that, at a time."""

    @abstractmethod
    def _submit(self, submission: Submission, is_alone: bool) -> Any:
        """Begins to grade a submission, alone or not; a future, which is put into `_arrived` when it is done."""

    @abstractmethod
    def _received(self, future: Any, submission: Submission, is_alone: bool) -> Graded | None:
        """The result of a future that is done; None if the submission is to be graded again alone, and was not yet."""

    def stop(self) -> None:
        """Abandons the grading, at once and without waiting; a signal handler may call it."""
        self._arrived.put(None)  # First: a submission that meets `stopped` has no result.
        self.stopped = True

    @abstractmethod
    def close(self) -> None:
        """Ends all processes and waits until they are gone."""

    def _failed(
        self,
        name: str,
        reason: str,
        exercises: Sequence[str] = (),
        kind: CauseKind = "grader_fault",
        known: Iterable[ExerciseResult] = (),
        causes: Mapping[Place, Cause] = {},
        flags: tuple[Flag, ...] = (),
    ) -> SubmissionResult:
        """The result of a submission that the grader failed on: every check is an ``error``, nothing is lost by it.

        Args:
            exercises: full names of those that were to be graded, with those that they need; empty means all.
            known: the exercises that were graded before.
            causes: those of checks that have one of their own, by place.
        """
        cause = Cause(kind=kind, stage="submission", reason=reason[-_MAX_REASON:])
        wanted = self.course.with_needs(exercises or self.exercises)
        checks: dict[str, list[CheckResult]] = {name: [] for name in wanted}
        for topic in dict.fromkeys(self.course.exercise(name).topic for name in wanted):
            for check in checks_of(self.course, topic):
                if check.exercise in checks:
                    found = check.function.removeprefix("test_")
                    own = causes.get(place_of(check.exercise, found), cause)
                    checks[check.exercise].append(explain.result(found, own))
        to_mark = {one.full_name: Manual(one.points, one.work_file) for one in self.course.manual}
        graded = {one.name: one for one in known}
        results = tuple(
            graded.get(one)
            or ExerciseResult(name=one, score=0.0, max=0.0, checks=tuple(checks[one]), manual=to_mark.get(one))
            for one in wanted
        )
        score, most = sum(one.score for one in results), sum(one.max for one in results)
        return SubmissionResult(submission=name, score=score, max=most, exercises=results, flags=flags)
