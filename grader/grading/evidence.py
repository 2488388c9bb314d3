"""Grades the modules of a topic as submissions: solution, stub and each misconception. `verify` reads the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grader.course import Course, Exercise, Misconception, Topic, misconceptions_of
from grader.course.stubs import programs
from grader.errors import CourseError
from grader.grading.changed_replies import ChangedRuns, try_changes
from grader.grading.written_examples import Untrue, untrue_examples
from grader.pictures import Picture
from grader.results import NOT_ASSESSED, CheckResult

if TYPE_CHECKING:
    from grader.grading.second_run import SecondRun
    from grader.judge.check import Check
    from grader.judge.judge import Judge
    from grader.judge.topic_desk import TopicDesk

    DidRun = Callable[[TopicDesk, Check, CheckResult], None]
    """Is called when a check has run."""


class GradedFile(msgspec.Struct, frozen=True):
    """A module of the course after it was graded as a submission.

    Attributes:
        not_imported: why it cannot be imported; then it has no results.
        results: each exercise with the result of each of its checks, in order.
        untrue: the examples in its docstrings that are not what comes; only of the solution.
        pictures: of each exercise (full name) that has some, whether it has passed or not.
    """

    file: Path
    not_imported: str
    results: tuple[tuple[Exercise, CheckResult], ...]
    untrue: tuple[Untrue, ...] = ()
    pictures: tuple[tuple[str, Picture], ...] = ()


class GradedMisconception(msgspec.Struct, frozen=True):
    """A misconception after it was graded as a submission.

    Attributes:
        verdicts: by check, of those that were run.
        named: the name that a student with these answers would read; None if none.
    """

    misconception: Misconception
    verdicts: dict[str, str]
    named: str | None

    @property
    def is_caught(self) -> bool:
        """Whether a check does not pass on it."""
        return any(verdict not in ("passed", *NOT_ASSESSED) for verdict in self.verdicts.values())


class ExerciseSummary(msgspec.Struct, frozen=True):
    """What was looked at for one exercise.

    Attributes:
        exercise: its full name.
        seconds: that the checks took on the solution.
        thin: the checks that pass some change of all replies, each with the names of these changes.
    """

    exercise: str
    checks: int
    misconceptions: int
    seconds: float
    thin: tuple[tuple[str, tuple[str, ...]], ...]


class TopicEvidence:
    """The files of one topic and their results, which the promises are decided by. Each is graded once, when needed.

    Raises:
        CourseError: (its attributes) a file cannot be read or imported.
    """

    def __init__(self, course: Course, topic: Topic, judge: Judge, second_run: SecondRun | None) -> None:
        self.course = course
        self.topic = topic
        self.stub = course.exercises_dir / f"{topic.name}.py"
        self.solution = course.solution_file(topic.name)
        self._judge = judge
        self._second_run = second_run
        self._seconds: dict[str, float] = {}
        self._changed_runs: dict[tuple[str, str], ChangedRuns | None] = {}

    @cached_property
    def graded_solution(self) -> GradedFile:
        return self._grade(self.solution, self._try_changes)

    def _try_changes(self, desk: TopicDesk, check: Check, result: CheckResult) -> None:
        """Runs a check that the solution has passed on changed replies of the solution."""
        if result.verdict == "passed":
            kit = self.course.kit.name if self.course.kit else ""
            self._changed_runs[check.exercise, check.name] = try_changes(
                self._judge.checks, check, desk.exchanges(), kit
            )

    @property
    def changed_runs(self) -> dict[tuple[str, str], ChangedRuns | None]:
        """The runs of each check on changed replies of the solution, by exercise and check; None: there can be none."""
        assert self.graded_solution is not None
        return self._changed_runs

    @cached_property
    def programs(self) -> dict[str, bool]:
        """The exercises that are handed out as programs with a bug, and whether such a program never ends."""
        try:
            return programs(self.solution.read_text(encoding="utf-8"), self.solution)
        except CourseError:  # of its marks: `stub_is_released` reports it
            return {}

    def checks_of(self, exercise: Exercise) -> Sequence[Check]:
        """The checks of an exercise, in the order of their results."""
        return self._judge.checks.of(exercise.full_name)

    @property
    def is_quick(self) -> bool:
        """Whether there is no second run, and pictures are drawn for terminals alone."""
        return self._second_run is None

    @property
    def second_results(self) -> dict[tuple[str, str], CheckResult]:
        """The results of a second run of the solutions, by exercise and check."""
        return self._second_run.results if self._second_run else {}

    @cached_property
    def graded_stub(self) -> GradedFile:
        return self._grade(self.stub)

    @cached_property
    def graded_misconceptions(self) -> tuple[GradedMisconception, ...]:
        return tuple(graded for exercise in self.topic.exercises for graded in self._grade_misconceptions(exercise))

    @cached_property
    def faulty_checks(self) -> frozenset[str]:
        """Names of the checks that end in an error on the solution or on the stub."""
        results = (*self.graded_solution.results, *self.graded_stub.results)
        return frozenset(result.name for _, result in results if result.verdict == "error")

    def summaries(self) -> list[ExerciseSummary]:
        """What was looked at, for each exercise of the topic."""
        try:
            wrong = [one.misconception.exercise for one in self.graded_misconceptions]
        except CourseError:  # a defect that was reported
            wrong = []
        found = []
        for name in (one.full_name for one in self.topic.exercises):
            runs = ((check, run) for (exercise, check), run in self._changed_runs.items() if exercise == name and run)
            thin = tuple((check, tuple(sorted(run.passed))) for check, run in runs if run.passed)
            checks = sum(exercise.full_name == name for exercise, _ in self.graded_solution.results)
            seconds = self._seconds.get(name, 0.0)
            found.append(ExerciseSummary(name, checks, wrong.count(name), seconds, thin))
        return found

    def breaks_a_check(self, graded: GradedMisconception) -> bool:
        """Whether a check ends in an error on the misconception, but not on the solution or the stub."""
        return any(verdict == "error" and name not in self.faulty_checks for name, verdict in graded.verdicts.items())

    def _grade(self, file: Path, did_run: DidRun = lambda desk, check, result: None) -> GradedFile:
        with self._judge.desk(self.topic.name, _modules_beside(file)) as desk:
            if reason := desk.why_not_imported():
                return GradedFile(file, reason, ())
            results: list[tuple[Exercise, CheckResult]] = []
            for exercise in self.topic.exercises:
                began = time.monotonic()
                found, _ = self._judge.run_checks(exercise.full_name, desk, did_run=partial(did_run, desk))
                self._seconds.setdefault(exercise.full_name, time.monotonic() - began)
                results += [(exercise, result) for result in found]
            untrue = tuple(untrue_examples(desk, self.course, self.topic)) if file == self.solution else ()
            pictures = [
                (exercise.full_name, picture)
                for exercise in self.topic.exercises
                for picture in self._judge.checks.make_pictures(exercise.full_name, desk)
            ]
        return GradedFile(file, "", tuple(results), untrue, tuple(pictures))

    def _grade_misconceptions(self, exercise: Exercise) -> Iterator[GradedMisconception]:
        """Grades each misconception as a submission, and looks for its name as for a student's.

        The records of each are kept before the next is graded: so a misconception with the same records as an earlier
        one gets the name of the earlier one, and `verify` reports it.
        """
        found = [one for one in misconceptions_of(self.course, self.topic.name) if one.exercise == exercise.full_name]
        if not found:
            return
        with self._judge.misconceptions_desk(self.topic.name) as desk:
            for misconception in found:
                desk.replace_functions(((misconception.part, misconception.function),))
                traces = self._judge.run_checks(exercise.full_name, desk)[1]
                self._judge.misconceptions.keep(exercise, misconception.name, traces)
                named = self._judge.misconceptions.recognised(exercise, traces)
                verdicts = {name: trace.verdict for name, trace in traces.items()}
                yield GradedMisconception(misconception, verdicts, None if named is None else named.name)


def _modules_beside(file: Path) -> dict[str, bytes]:
    """The Python files of a module's folder, by name."""
    return {path.name: path.read_bytes() for path in file.parent.glob("*.py")}
