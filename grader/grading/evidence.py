"""Grades the modules of a topic as submissions: solution, stub and each misconception. `verify` reads the results."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path

import msgspec

from grader.course import Course, Exercise, Misconception, Topic, checks_of, misconceptions_of
from grader.course.lessons import Lesson, lesson_of
from grader.course.stubs import programs
from grader.errors import CourseError
from grader.files import python_files
from grader.grading.changed_replies import ChangedRuns, try_changes
from grader.grading.written_examples import Untrue, untrue_examples, untrue_in_lesson
from grader.judge.attempt import Attempt
from grader.judge.check import Check
from grader.judge.judge import Judge
from grader.judge.topic_desk import TopicDesk
from grader.pictures import Picture
from grader.results import CheckResult
from grader.text import one_line


class GradedFile(msgspec.Struct, frozen=True):
    """A module of the course after it was graded as a submission.

    Attributes:
        not_imported: why it cannot be imported; then it has no results.
        results: each exercise with the result of each of its checks, in order.
        seconds: that the checks of each exercise took, by its full name.
        pictures: of each exercise (full name) that has some, whether it has passed or not.
        untrue: the examples in its docstrings that are not true; only of the solution.
        untrue_in_lesson: the same of the topic's lesson.
        changed_runs: the runs of each check that passed on changed replies, by exercise and check; None: there can be
            none. Only of the solution.
    """

    file: Path
    not_imported: str
    results: tuple[tuple[Exercise, CheckResult], ...] = ()
    seconds: dict[str, float] = {}
    pictures: tuple[tuple[str, Picture], ...] = ()
    untrue: tuple[Untrue, ...] = ()
    untrue_in_lesson: tuple[Untrue, ...] = ()
    changed_runs: dict[tuple[str, str], ChangedRuns | None] = {}


class GradedMisconception(msgspec.Struct, frozen=True):
    """A misconception after it was graded as a submission.

    Attributes:
        verdicts: by check, of those that were run.
        named: the name that a student with these answers would read; None if none.
    """

    misconception: Misconception
    verdicts: dict[str, str]
    named: str | None


class ExerciseSummary(msgspec.Struct, frozen=True):
    """The evidence about one exercise.

    Attributes:
        exercise: its full name.
        seconds: that the checks took on the solution.
        thin: the checks that pass some change of all replies, each with the names of these changes.
        not_assessed: the checks that nothing is known of, because they were not run here: place, name and why of each.
    """

    exercise: str
    checks: int
    misconceptions: int
    seconds: float
    thin: tuple[tuple[str, tuple[str, ...]], ...]
    not_assessed: tuple[str, ...]


SecondResults = Mapping[tuple[str, str], CheckResult]
"""The results of the course's solutions in another process, by full name of the exercise and name of the check."""


class TopicEvidence:
    """The files of one topic and their results, which the promises are decided by. Each is graded once, when needed.

    Args:
        second_results: None if there was no second run, because the author wants it quick.

    Raises:
        CourseError: (its attributes) a file cannot be read or imported.
    """

    def __init__(self, course: Course, topic: Topic, judge: Judge, second_results: SecondResults | None) -> None:
        self.course = course
        self.topic = topic
        self.stub = course.stub_file(topic.name)
        self.solution = course.solution_file(topic.name)
        self.check_file = course.checks_dir if course.suite else course.check_file(topic.name)
        self.judge = judge
        self.second_results = second_results

    @cached_property
    def graded_solution(self) -> GradedFile:
        return self._grade(self.solution)

    @cached_property
    def graded_stub(self) -> GradedFile:
        return self._grade(self.stub)

    @cached_property
    def programs(self) -> dict[str, bool]:
        """The exercises that are handed out as programs with a bug, and whether such a program never ends."""
        if self.course.suite is not None:
            return {}
        try:
            return programs(self.solution.read_text(encoding="utf-8"), self.solution)
        except CourseError:  # of its markers: `stub_is_released` reports it
            return {}

    @cached_property
    def lesson(self) -> Lesson | None:
        """The topic's lesson; None if there is none."""
        return lesson_of(self.course, self.topic.name)

    @cached_property
    def graded_misconceptions(self) -> tuple[GradedMisconception, ...]:
        return tuple(graded for exercise in self.topic.exercises for graded in self._grade_misconceptions(exercise))

    def summaries(self) -> list[ExerciseSummary]:
        """The evidence about each exercise of the topic."""
        try:
            wrong = [one.misconception.exercise for one in self.graded_misconceptions]
        except CourseError:  # a defect that was reported
            wrong = []
        solution, missing = self.graded_solution, self._not_assessed()
        found = []
        for name in (one.full_name for one in self.topic.exercises):
            checks = [result.name for exercise, result in solution.results if exercise.full_name == name]
            runs = {check: solution.changed_runs.get((name, check)) or {} for check in checks}
            passed = {check: tuple(sorted(change for change in run if run[change])) for check, run in runs.items()}
            thin = tuple((check, changes) for check, changes in passed.items() if changes)
            seconds, left_out = solution.seconds.get(name, 0.0), tuple(missing.get(name, ()))
            found.append(ExerciseSummary(name, len(checks), wrong.count(name), seconds, thin, left_out))
        return found

    def _not_assessed(self) -> dict[str, list[str]]:
        """By exercise, the checks that the solution was not graded with: skipped, or not even collected by pytest."""
        if self.graded_solution.not_imported:
            return {}
        reasons: dict[tuple[str, str], str] = {}
        for exercise, result in self.graded_solution.results:
            key = exercise.full_name, result.name.partition("[")[0]
            reasons[key] = reasons.get(key) or (result.message if result.verdict == "skipped" else "")
        found: dict[str, list[str]] = {}
        for check in checks_of(self.course, self.topic.name):
            key = check.exercise, check.function if check.file else check.function.removeprefix("test_")
            if reason := reasons.get(key, "pytest does not collect it"):
                place = f"{self.check_file / check.file}:{check.line}: `{check.function}`"
                found.setdefault(check.exercise, []).append(f"{place}: {one_line(reason)}")
        return found

    def _grade(self, file: Path) -> GradedFile:
        kit = self.course.kit.name if self.course.kit else ""
        changed_runs: dict[tuple[str, str], ChangedRuns | None] = {}

        def did_run(desk: TopicDesk, check: Check, result: CheckResult) -> None:
            """Runs a check that the solution has passed on changed replies of the solution."""
            if file == self.solution and result.verdict == "passed" and not check.runs_item:
                runs = try_changes(self.judge.checks, check, desk.exchanges(), kit)
                changed_runs[check.exercise, check.name] = runs

        modules = python_files(file.parent.parent if self.topic.is_package else file.parent)
        with self.judge.desk(self.topic.name, modules) as desk:
            if reason := desk.why_not_imported():
                return GradedFile(file, reason)
            results: list[tuple[Exercise, CheckResult]] = []
            seconds: dict[str, float] = {}
            for exercise in self.topic.exercises:
                began = time.monotonic()
                # Without the example: `untrue_examples` says it of the solution, with the line.
                name, rules = exercise.full_name, self.judge.assessment
                attempt = Attempt(name, desk, rules, did_run=partial(did_run, desk), with_example=False)
                attempt.run()
                seconds[exercise.full_name] = time.monotonic() - began
                results += [(exercise, result) for result in attempt.results]
            untrue = tuple(untrue_examples(desk, self.course, self.topic)) if file == self.solution else ()
            in_lesson: tuple[Untrue, ...] = ()
            with contextlib.suppress(CourseError):  # `lesson_is_there` reports it
                if file == self.solution and self.lesson:
                    in_lesson = tuple(untrue_in_lesson(desk, self.lesson))
            names = (exercise.full_name for exercise in self.topic.exercises)
            pictures = tuple((name, one) for name in names for one in self.judge.checks.make_pictures(name, desk))
        return GradedFile(file, "", tuple(results), seconds, pictures, untrue, in_lesson, changed_runs)

    def _grade_misconceptions(self, exercise: Exercise) -> Iterator[GradedMisconception]:
        """Grades each misconception as a submission, and looks for its name as for a student's.

        The records of each are kept before the next is named: so a misconception with the same records as an earlier
        one gets the name of the earlier one, and `verify` reports it.
        """
        found = [one for one in misconceptions_of(self.course, self.topic.name) if one.exercise == exercise.full_name]
        if not found:
            return
        records = []
        with self.judge.misconceptions_desk(self.topic.name) as desk:
            for misconception in found:
                desk.replace_functions(((misconception.part, misconception.function),))
                attempt = Attempt(exercise.full_name, desk, self.judge.assessment)
                attempt.run()
                records.append((misconception, attempt.traces))
        for misconception, traces in records:
            self.judge.misconceptions.keep(exercise, misconception.name, traces)
            ((_, named),) = self.judge.misconceptions.recognised(self.topic.name, [(exercise, traces)])
            verdicts = {name: trace.verdict for name, trace in traces.items()}
            yield GradedMisconception(misconception, verdicts, None if named is None else named.name)
