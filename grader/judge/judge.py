"""One submission against the collected checks: verdicts, points and misconceptions.

The trusted side. It never imports submitted code; it sees what the student process sends, and believes none of it
beyond its data.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from grader.course import Course, Exercise, Topic, kit
from grader.errors import CourseError
from grader.intake.submission import Submission
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Trace
from grader.judge.misconceptions import MisconceptionRecords, Replacements, RunCheck, files_with_misconceptions
from grader.judge.session import CollectedChecks, with_collected_checks
from grader.judge.topic_desk import TopicDesk
from grader.results import NOT_ASSESSED, Cause, CheckResult, ExerciseResult, SubmissionResult
from grader.student.client import HostClient

T = TypeVar("T")


def with_judge(
    course: Course,
    host: HostClient,
    use: Callable[[Judge], T],
    *,
    exercises: Sequence[str] = (),
    seed: int = 0,
    names_misconceptions: bool = True,
) -> T:
    """Collects a course's checks, calls ``use`` with a judge over them, and returns what that returns.

    Args:
        exercises: full names to grade; empty means all. What they need is graded too.
        seed: seed of the generated inputs.
        names_misconceptions: whether failures are compared with the course's misconceptions.

    Raises:
        UserError: when the checks cannot be collected.
    """
    wanted = set(course.with_needs(exercises))
    chosen = [(topic, [one for one in topic.exercises if one.full_name in wanted]) for topic in course.topics]
    topics = [(topic, found) for topic, found in chosen if found]
    files = [course.check_file(topic.name) for topic, _ in topics]
    kit.load(course.kit)
    for file in files:
        kit.require_imported_names(file, course.kit)
    return with_collected_checks(
        files,
        course.checks_dir,
        seed,
        lambda checks: use(Judge(course, host, checks, topics, names_misconceptions)),
    )


class Judge:
    """Grades submissions one after the other against a course's checks; `with_judge` makes one.

    Args:
        topics: what is graded: the topics, and of each the exercises.
    """

    def __init__(
        self,
        course: Course,
        host: HostClient,
        checks: CollectedChecks,
        topics: Sequence[tuple[Topic, Sequence[Exercise]]],
        names_misconceptions: bool,
    ) -> None:
        self.course = course
        self.host = host
        self.checks = checks
        self._topics = topics
        self._names_misconceptions = names_misconceptions
        self.misconceptions = MisconceptionRecords(course, self._misconceptions_runner)

    def grade(self, submission: Submission) -> SubmissionResult:
        """All verdicts of one submission.

        Raises:
            HostGone: if the warm host has ended: the worker must be replaced.
        """
        earned: dict[str, bool] = {}
        results: list[ExerciseResult] = []
        for topic, exercises in self._topics:
            for result in self._grade_topic(topic, exercises, submission, earned):
                results.append(result)
                earned[result.name] = result.max == 0 or result.score == result.max
        return SubmissionResult(
            submission=submission.name,
            score=sum(result.score for result in results),
            max=sum(result.max for result in results),
            exercises=tuple(results),
            sandbox=self.host.layers,
        )

    def _grade_topic(
        self, topic: Topic, exercises: Iterable[Exercise], submission: Submission, earned: dict[str, bool]
    ) -> Iterable[ExerciseResult]:
        file = f"{topic.name}.py"
        if file not in submission.files:
            cause = causes.missing_file(topic.name, next(iter(submission.notes_on(file)), ""))
            yield from (self._all(exercise, cause) for exercise in exercises)
            return
        with self.desk(topic.name, submission.files) as desk:
            if desk.failure is not None:
                cause = causes.import_failed(topic.name, desk.failure, desk.import_prints())
                yield from (self._all(exercise, cause) for exercise in exercises)
                return
            for exercise in exercises:
                unmet = [need for need in exercise.needs if not earned.get(need, False)]
                result = self._all(exercise, causes.blocked(unmet)) if unmet else self._grade_exercise(exercise, desk)
                earned[result.name] = result.max == 0 or result.score == result.max
                yield result

    def _grade_exercise(self, exercise: Exercise, desk: TopicDesk) -> ExerciseResult:
        found, traces = self.run_checks(exercise.full_name, desk)
        name = None
        if self._names_misconceptions and any(check.verdict in ("failed", "timeout", "crashed") for check in found):
            started = time.monotonic()
            name = self.misconceptions.name_of(exercise, traces)
            desk.give_time(time.monotonic() - started)
        return score(exercise, found, name)

    def run_checks(self, exercise: str, desk: TopicDesk) -> tuple[list[CheckResult], dict[str, Trace]]:
        """Runs the checks of one exercise, and gives the traces of those that were run.

        A check that takes too long is not followed by another: the rest get its result.
        """
        results: list[CheckResult] = []
        traces: dict[str, Trace] = {}
        late: Cause | None = None
        for check in self.checks.of(exercise):
            if late is None and desk.is_out_of_time:
                late = causes.topic_timeout(desk.seconds)
            if late is not None:
                results.append(explain.result(check.name, late))
                continue
            result, traces[check.name] = self.checks.run(check, desk)
            results.append(result)
            if result.verdict == "timeout":
                late = result.cause
        desk.leave()
        return results, traces

    @contextlib.contextmanager
    def desk(self, topic: str, files: Mapping[str, bytes]) -> Iterator[TopicDesk]:
        """A desk for one topic of a submission with these files, whose processes are ended afterwards."""
        with contextlib.closing(TopicDesk(self.host, self.course, topic, files)) as desk:
            yield desk

    @contextlib.contextmanager
    def misconceptions_desk(self, topic: str) -> Iterator[TopicDesk]:
        """The solutions with a topic's misconceptions beside them, as a submission.

        Raises:
            CourseError: if they cannot be imported.
        """
        with self.desk(topic, files_with_misconceptions(self.course, topic)) as desk:
            if reason := desk.why_not_imported():
                raise CourseError(self.course.misconceptions_file(topic), None, reason)
            yield desk

    @contextlib.contextmanager
    def _misconceptions_runner(self, topic: str) -> Iterator[RunCheck]:
        with self.misconceptions_desk(topic) as desk:
            desk.only_records = True

            def run_check(exercise: str, name: str, replacements: Replacements) -> Trace:
                desk.restart_clock()
                desk.bind(replacements)
                (check,) = (check for check in self.checks.of(exercise) if check.name == name)
                return self.checks.run(check, desk)[1]

            yield run_check

    def _all(self, exercise: Exercise, cause: Cause) -> ExerciseResult:
        """The result of an exercise none of whose checks could run, for one cause."""
        return score(
            exercise, [explain.result(check.name, cause) for check in self.checks.of(exercise.full_name)], None
        )


def score(exercise: Exercise, checks: Sequence[CheckResult], misconception: str | None) -> ExerciseResult:
    """Points of an exercise: all or nothing over the checks that could be assessed; none assessed, none to earn."""
    assessed = [check for check in checks if check.verdict not in NOT_ASSESSED]
    points = float(exercise.points)
    right = all(check.verdict == "passed" for check in assessed)
    return ExerciseResult(
        name=exercise.full_name,
        score=points if assessed and right else 0.0,
        max=points if assessed else 0.0,
        misconception=misconception,
        checks=tuple(checks),
    )
