"""One submission against the collected checks: verdicts, points and misconceptions.

The trusted side. It never imports submitted code; it sees what the student process sends, and believes none of it
beyond its data.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from grader.border.failures import SubmissionCrashed
from grader.border.messages import ImportFailure, ImportRaised, ImportTimeout, SourceLine
from grader.border.proxies import Call, Channel, answered
from grader.course import Course, Exercise, Topic
from grader.errors import CourseError
from grader.intake.submission import Submission
from grader.judge import explain
from grader.judge.endless_loops import endless
from grader.judge.in_process import reference_raises
from grader.judge.misconceptions import Bind, Recorder, WrongAnswers, wrong_files
from grader.judge.run import Check, Trace
from grader.judge.session import CollectedChecks
from grader.results import NOT_ASSESSED, CheckResult, ExerciseResult, SubmissionResult, VerdictKind
from grader.student.client import HostClient
from grader.student.exercise import ExerciseProcess
from grader.student.topic import TopicProcess


class TopicDesk:
    """Where the checks of one topic meet one submission: a `Desk` over sandboxed processes."""

    explains = True
    only_records = False

    def __init__(self, host: HostClient, course: Course, topic: str, files: dict[str, bytes], bind: Bind = ()) -> None:
        self._host = host
        self._course = course
        self._topic = topic
        self._files = files
        self._bind = bind
        self._until = time.monotonic() + host.limits.topic_seconds
        self._exercise: ExerciseProcess | None = None
        self._channel: Channel | None = None
        self._answered = False
        self._process = self._start()

    def _start(self) -> TopicProcess:
        return TopicProcess(self._host, self._topic, self._files, self._until)

    @property
    def failure(self) -> ImportFailure | None:
        """Why the topic cannot be imported, else None."""
        return self._process.failure

    @property
    def out_of_time(self) -> bool:
        """Whether the topic's time is used up."""
        return time.monotonic() >= self._until

    def restart_clock(self) -> None:
        """Gives the topic its whole time again."""
        self._until = time.monotonic() + self._host.limits.topic_seconds

    def give_time(self, seconds: float) -> None:
        """Moves the topic's limit: what the grader does for itself is not the submission's time."""
        self._until += seconds

    def import_prints(self) -> str:
        return self._process.prints

    def bind(self, pairs: Bind) -> None:
        """Makes calls of an exercise go to another function from the next exercise on."""
        self._bind = pairs

    def leave(self) -> None:
        """Ends the exercise at hand."""
        self.discard()
        self._answered = False

    def channel(self) -> Channel:
        if self._channel is None or self._exercise is None or not self._exercise.alive:
            return self.fresh()
        if self._exercise.pending:
            return self.fresh()
        self._set_deadline(self._exercise)
        self._answered = self._answered or any(answered(exchange.reply) for exchange in self._channel.record[-1:])
        self._channel.restart()
        return self._channel

    def fresh(self) -> Channel:
        self.discard()
        self._exercise = self._process.exercise(self._bind)
        if self._exercise is None:
            # The topic's process was taken along by an earlier exercise; the others must not pay for that.
            self._process.close()
            self._process = self._start()
            self._exercise = None if self._process.failure else self._process.exercise(self._bind)
        if self._exercise is None:
            raise SubmissionCrashed("ended the process that had imported it")
        self._set_deadline(self._exercise)
        self._channel = Channel(self._exercise)
        return self._channel

    def _set_deadline(self, exercise: ExerciseProcess) -> None:
        exercise.deadline = min(time.monotonic() + self._host.limits.check_seconds, self._until)

    def prime(self, plan: list[bytes]) -> bool:
        # Not before one answer came: a stub's refusals need no plan, and would leave its replies unread.
        if self._exercise is None or not self._answered:
            return False
        self._exercise.prime(plan)
        return True

    def discard(self) -> None:
        if self._exercise is not None:
            self._exercise.close()
            self._exercise = None

    def prints(self) -> str:
        return self._exercise.prints() if self._exercise else ""

    def stopped_at(self) -> tuple[SourceLine, ...]:
        file = f"{self._topic}.py"
        frames = [line for line in (self._exercise.stopped_at if self._exercise else ()) if line.file == file]
        place = endless(frames, self._files[file])
        return (place,) if place else ()

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None

    def owes_error(self, check: Check, fixtures: dict[str, Any]) -> bool:
        return reference_raises(self._course, check, fixtures)

    def close(self) -> None:
        self.discard()
        self._process.close()


class Judge:
    """Grades submissions one after the other against a course's checks, collected once.

    Args:
        exercises: full names to grade; empty means all. What they need is graded too.
    """

    def __init__(
        self, course: Course, host: HostClient, *, exercises: Sequence[str] = (), seed: int = 0, wrong: bool = True
    ) -> None:
        self.course = course
        self.host = host
        wanted = set(course.with_needs(exercises))
        self._topics = [
            (topic, [exercise for exercise in topic.exercises if exercise.full_name in wanted])
            for topic in course.topics
            if any(exercise.full_name in wanted for exercise in topic.exercises)
        ]
        files = [course.checks_dir / f"test_{topic.name}.py" for topic, _ in self._topics]
        self.checks = CollectedChecks(files, course.checks_dir, seed)
        self._names = wrong
        self.wrong = WrongAnswers(course, self._recorder)

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
            note = next(iter(submission.notes_on(file)), f"{file} is not in the submission")
            yield from (self._all(exercise, "failed", note) for exercise in exercises)
            return
        desk = TopicDesk(self.host, self.course, topic.name, submission.files)
        try:
            if desk.failure is not None:
                verdict = _verdict_of(desk.failure)
                text = explain.import_failed(topic.name, desk.failure, desk.import_prints())
                yield from (self._all(exercise, verdict, text) for exercise in exercises)
                return
            for exercise in exercises:
                unmet = [need for need in exercise.needs if not earned.get(need, False)]
                if unmet:
                    result = self._all(exercise, "blocked", f"{' and '.join(unmet)} must pass first")
                else:
                    result = self._grade_exercise(exercise, desk)
                earned[result.name] = result.max == 0 or result.score == result.max
                yield result
        finally:
            desk.close()

    def _grade_exercise(self, exercise: Exercise, desk: TopicDesk) -> ExerciseResult:
        found, traces = self.run_checks(exercise.full_name, desk)
        name = None
        if self._names and any(check.verdict in ("failed", "timeout", "crashed") for check in found):
            started = time.monotonic()
            name = self.wrong.name_of(exercise, traces)
            desk.give_time(time.monotonic() - started)
        return score(exercise, found, name)

    def run_checks(self, exercise: str, desk: TopicDesk) -> tuple[list[CheckResult], dict[str, Trace]]:
        """Runs the checks of one exercise; the traces of those that were run come along."""
        results: list[CheckResult] = []
        traces: dict[str, Trace] = {}
        stop: CheckResult | None = None
        for check in self.checks.of(exercise):
            if stop is None and desk.out_of_time:
                limit = desk._host.limits.topic_seconds
                stop = CheckResult(name="", verdict="timeout", message=f"the topic's {limit:g} s are used up")
            if stop is not None:
                results.append(CheckResult(name=check.name, verdict=stop.verdict, message=stop.message))
                continue
            result, traces[check.name] = self.checks.run(check, desk)
            results.append(result)
            if result.verdict == "timeout":
                stop = CheckResult(name="", verdict="timeout", message=result.message)
        desk.leave()
        return results, traces

    @contextlib.contextmanager
    def wrong_desk(self, topic: str) -> Iterator[TopicDesk]:
        """The solutions with a topic's misconceptions beside them, as a submission.

        Raises:
            CourseError: if they cannot be imported.
        """
        with contextlib.closing(TopicDesk(self.host, self.course, topic, wrong_files(self.course, topic))) as desk:
            if desk.failure is not None:
                text = explain.import_failed(topic, desk.failure, "").removeprefix(f"{topic}.py ")
                raise CourseError(self.course.misconceptions_file(topic), None, " | ".join(text.splitlines()))
            yield desk

    @contextlib.contextmanager
    def _recorder(self, topic: str) -> Iterator[Recorder]:
        with self.wrong_desk(topic) as desk:
            desk.only_records = True

            def record(exercise: str, name: str, bind: Bind) -> Trace:
                desk.restart_clock()
                desk.bind(bind)
                (check,) = (check for check in self.checks.of(exercise) if check.name == name)
                return self.checks.run(check, desk)[1]

            yield record

    def _all(self, exercise: Exercise, verdict: VerdictKind, message: str) -> ExerciseResult:
        checks = [
            CheckResult(name=check.name, verdict=verdict, message=message)
            for check in self.checks.of(exercise.full_name)
        ]
        return score(exercise, checks, None)


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


def _verdict_of(failure: ImportFailure) -> VerdictKind:
    match failure:
        case ImportRaised(kind) if kind not in ("SystemExit", "KeyboardInterrupt"):
            return "failed"
        case ImportTimeout():
            return "timeout"
    return "crashed"
