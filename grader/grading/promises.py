"""The promises of a course: each is one function that yields the defects which break it. `PROMISES` lists them.

Every defect is one line with its file. Nothing is graded here: `TopicEvidence` has the results.
"""

import ast
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from grader.course import Exercise, checks_of
from grader.course.answers import files_that_students_read, given_away
from grader.course.comparisons import swapped_comparisons
from grader.course.stubs import stub_of
from grader.grading.changed_replies import CHANGES
from grader.grading.evidence import GradedMisconception, TopicEvidence
from grader.grading.mutation import equivalents_of
from grader.judge.advice import fault_of_check
from grader.judge.points import with_points
from grader.reports.drawing import figure_of, print_picture
from grader.results import NOT_ASSESSED, CheckResult


class Defect(msgspec.Struct, frozen=True):
    """One fault of a course; ``line`` is None if the whole file is meant."""

    file: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.message}"


def stub_is_released(evidence: TopicEvidence) -> Iterator[Defect]:
    """The stub equals the one that `grader release` makes of the solution."""
    try:
        made = stub_of(evidence.solution.read_text(encoding="utf-8"), str(evidence.solution))
        if evidence.stub.read_text(encoding="utf-8") != made:
            yield Defect(evidence.stub, None, "is not what `grader release` makes of the solution")
    except OSError as error:
        yield Defect(evidence.solution, None, str(error))


def exercises_are_described(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every exercise is in the stub, and has a docstring there."""
    try:
        tree = ast.parse(evidence.stub.read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return  # then it does not equal the released one either
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for exercise in evidence.topic.exercises:
        node = found.get(exercise.name)
        if node is None:
            yield Defect(evidence.stub, None, f"`{exercise.name}` is not in the stub")
        elif not ast.get_docstring(node):
            yield Defect(evidence.stub, node.lineno, f"`{exercise.name}` has no docstring")


def checks_are_described(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every check has a docstring."""
    for check in checks_of(evidence.course, evidence.topic.name):
        if not check.docstring:
            file = evidence.course.check_file(evidence.topic.name)
            yield Defect(file, check.line, f"`{check.function}` has no docstring: students read it")


def checks_compare_in_order(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every comparison has the returned value first: else students read that the expected one was returned."""
    file = evidence.course.check_file(evidence.topic.name)
    for function, line in swapped_comparisons(file):
        message = "has the expected value first; the returned one comes first: assert_close(submission.f(x), expected)"
        yield Defect(file, line, f"`{function}` {message}")


def exercises_have_hints(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every exercise has hints."""
    for exercise in evidence.topic.exercises:
        if not exercise.hints:
            yield Defect(evidence.course.manifest, None, f"`{exercise.full_name}` has no hints")


def modules_can_be_imported(evidence: TopicEvidence) -> Iterator[Defect]:
    """Solution and stub can be imported."""
    for graded in (evidence.graded_solution, evidence.graded_stub):
        if graded.not_imported:
            yield Defect(graded.file, None, graded.not_imported)


def checks_end_in_no_error(evidence: TopicEvidence) -> Iterator[Defect]:
    """No check ends in an error, neither on the solution nor on the stub."""
    file = evidence.course.check_file(evidence.topic.name)
    seen: set[str] = set()
    for exercise, result in (*evidence.graded_solution.results, *evidence.graded_stub.results):
        if result.verdict == "error" and result.name not in seen:
            seen.add(result.name)
            is_fault = (
                result.cause is not None and result.cause.kind == "grader_fault" and result.cause.stage == "check"
            )
            text = fault_of_check(result.cause) if result.cause and is_fault else result.message
            yield Defect(file, None, f"{_about(exercise, result)}: {text}")


def solution_passes(evidence: TopicEvidence) -> Iterator[Defect]:
    """The solution passes every check that can be assessed here."""
    for exercise, result in evidence.graded_solution.results:
        if result.verdict not in ("passed", *NOT_ASSESSED):
            text = f"{_about(exercise, result)}: the solution gets {result.verdict}: {_one_line(result.message)}"
            yield Defect(evidence.solution, None, text)


def examples_are_true(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every example in a docstring of the solution is what comes."""
    for untrue in evidence.graded_solution.untrue:
        yield Defect(evidence.solution, untrue.line, untrue.message)


def replies_are_looked_at(evidence: TopicEvidence) -> Iterator[Defect]:
    """Some check of each exercise fails when every value that the solution gives is changed, in each of some ways."""
    file = evidence.course.check_file(evidence.topic.name)
    accepted = {(one.definition, one.change) for one in equivalents_of(evidence.course).values() if not one.line}
    results = evidence.graded_solution.results
    for exercise in evidence.topic.exercises:
        names = [result.name for other, result in results if other.full_name == exercise.full_name]
        runs = [evidence.changed_runs.get((exercise.full_name, name)) for name in names]
        known = [one for one in runs if one is not None]
        if len(known) < len(runs):  # a check that is not known may notice
            continue
        tried = frozenset[str]().union(*(one.tried for one in known))
        for change in CHANGES:
            is_noticed = any(change in one.tried - one.passed for one in known)
            if change in tried and not is_noticed and (exercise.full_name, change) not in accepted:
                message = f"no check notices when all values that come back are changed: {change}"
                yield Defect(file, None, f"`{exercise.full_name}`: {message}")


def results_are_repeatable(evidence: TopicEvidence) -> Iterator[Defect]:
    """A second run of the solution, in another process and with another order of sets, gives the same results."""
    file = evidence.course.check_file(evidence.topic.name)
    for exercise, result in evidence.graded_solution.results:
        other = evidence.second_results.get((exercise.full_name, result.name))
        if (
            other is None
            or other.verdict == "blocked"
            or (other.verdict, other.message) == (result.verdict, result.message)
        ):
            continue
        found = [one.verdict + (f" ({_one_line(one.message)})" if one.message else "") for one in (result, other)]
        why = "it depends on chance, on the order of a set, or on the process"
        yield Defect(
            file, None, f"{_about(exercise, result)}: two runs of the solution differ: {' and '.join(found)}; {why}"
        )


def stub_fails(evidence: TopicEvidence) -> Iterator[Defect]:
    """The stub fails every check that can be assessed here, unless it is a program with a bug."""
    for exercise, result in evidence.graded_stub.results:
        if exercise.name not in evidence.programs and result.verdict not in ("failed", *NOT_ASSESSED):
            text = f"{_about(exercise, result)}: the stub gets {result.verdict}, but must fail"
            yield Defect(evidence.stub, None, text)


def programs_fail_by_their_answers(evidence: TopicEvidence) -> Iterator[Defect]:
    """A program that is handed out with a bug earns nothing, and fails by what it answers.

    It raises nothing, and it ends, unless its marker says that it hangs. No message names one of its lines.
    """
    for exercise in evidence.topic.exercises:
        if exercise.name not in evidence.programs:
            continue
        results = [result for one, result in evidence.graded_stub.results if one is exercise]
        failures = [result for result in results if result.verdict not in ("passed", *NOT_ASSESSED)]
        about = f"`{exercise.full_name}`, as it is handed out,"
        if with_points(exercise, evidence.checks_of(exercise), results).score:
            yield Defect(evidence.stub, None, f"{about} earns points")
        hangs = evidence.programs[exercise.name]
        if hangs != any(result.verdict == "timeout" for result in failures):
            says = "ends, and is marked `hangs`" if hangs else "never ends, and is not marked `hangs`"
            yield Defect(evidence.stub, None, f"{about} {says}")
        for result in failures:
            cause = result.cause
            if cause is None or cause.kind not in ("assertion", "timeout"):
                text = f"must give a wrong answer in check {result.name}: {_one_line(result.message)}"
                yield Defect(evidence.stub, None, f"{about} {text}")
            elif cause.frames or f"{evidence.topic.name}.py" in cause.reason:
                text = f"fails check {result.name} with a line of it: {_one_line(result.message)}"
                yield Defect(evidence.stub, None, f"{about} {text}")


def pictures_can_be_drawn(evidence: TopicEvidence) -> Iterator[Defect]:
    """Each picture is drawn with the solution, in a terminal and on a page; one of what is not written is a line."""
    file = evidence.course.check_file(evidence.topic.name)
    assessed = {
        exercise.full_name for exercise, result in evidence.graded_solution.results if result.verdict == "passed"
    }
    for name, picture in evidence.graded_solution.pictures:
        if name not in assessed:
            continue  # as with its checks: it cannot be made here
        problem = picture.problem
        try:
            print_picture(picture, Console(file=io.StringIO(), width=80))
            if not evidence.is_quick:
                figure_of(picture)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            yield Defect(
                file, None, f"picture `{picture.title}` of `{name}` cannot be drawn with the solution: {problem}"
            )
    unwritten = {
        exercise.full_name
        for exercise, result in evidence.graded_stub.results
        if result.cause is not None and result.cause.kind == "unwritten"
    }
    for name, picture in evidence.graded_stub.pictures:
        if name in unwritten and picture.data is not None:
            yield Defect(
                file, None, f"picture `{picture.title}` of `{name}` shows something of a stub that is not written"
            )


def misconceptions_are_caught(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every misconception fails a check of its exercise."""
    for graded in evidence.graded_misconceptions:
        if not graded.is_caught:
            yield _defect_of(evidence, graded, "is not caught by any check")


def misconceptions_break_no_check(evidence: TopicEvidence) -> Iterator[Defect]:
    """No misconception makes a check end in an error."""
    for graded in evidence.graded_misconceptions:
        if graded.is_caught and evidence.breaks_a_check(graded):
            yield _defect_of(evidence, graded, "makes a check end in error")


def misconceptions_are_named(evidence: TopicEvidence) -> Iterator[Defect]:
    """A student who has a misconception gets a name for it."""
    for graded in evidence.graded_misconceptions:
        if graded.is_caught and not evidence.breaks_a_check(graded) and graded.named is None:
            yield _defect_of(evidence, graded, "is caught but not named: its checks see no answer of it")


def misconceptions_get_their_own_name(evidence: TopicEvidence) -> Iterator[Defect]:
    """The name that such a student gets is that of this misconception, not of another."""
    for graded in evidence.graded_misconceptions:
        if graded.is_caught and not evidence.breaks_a_check(graded):
            other = graded.named
            if other not in (None, graded.misconception.name):
                yield _defect_of(evidence, graded, f"cannot be told apart from `{other}`")


def answers_are_not_handed_out(evidence: TopicEvidence) -> Iterator[Defect]:
    """No function of a file that is handed out does the same as the solution."""
    stub, solution = (file.read_bytes() for file in (evidence.stub, evidence.solution))
    files = files_that_students_read(evidence.course, evidence.topic.name)
    for found in given_away(evidence.topic.name, solution, stub, files):
        message = f"`{found.function}` is handed out and does the same as `{found.of}`; move it to checks/reference/"
        yield Defect(found.file, found.line, message)


Promise = Callable[[TopicEvidence], Iterator[Defect]]

PROMISES: Final[dict[str, tuple[Promise, ...]]] = {
    "stub, docstrings, hints": (
        stub_is_released,
        exercises_are_described,
        exercises_have_hints,
        checks_are_described,
        checks_compare_in_order,
        answers_are_not_handed_out,
    ),
    "solution, stub and misconceptions as submissions": (
        modules_can_be_imported,
        checks_end_in_no_error,
        solution_passes,
        examples_are_true,
        replies_are_looked_at,
        results_are_repeatable,
        stub_fails,
        pictures_can_be_drawn,
        programs_fail_by_their_answers,
        misconceptions_are_caught,
        misconceptions_break_no_check,
        misconceptions_are_named,
        misconceptions_get_their_own_name,
    ),
}
"""All that a course promises, by the line of progress that is printed while it is verified."""


def _defect_of(evidence: TopicEvidence, graded: GradedMisconception, what: str) -> Defect:
    file = evidence.course.misconceptions_file(evidence.topic.name)
    misconception = graded.misconception
    about = f"misconception `{misconception.name}` of `{misconception.exercise}`"
    return Defect(file, misconception.line, f"{about} {what}")


def _about(exercise: Exercise, result: CheckResult) -> str:
    return f"`{exercise.full_name}`, check {result.name}"


def _one_line(message: str) -> str:
    return " | ".join(message.splitlines())
