"""Proves that a course grades correctly: `PROMISES` lists what it promises, and each promise is one function.

Every defect is one line with its file. The course's own modules run as submissions run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from grader.course import Course, Exercise, checks_of
from grader.course.stubs import stub_of
from grader.errors import CourseError
from grader.grading.evidence import GradedMisconception, TopicEvidence
from grader.kit import forbidden_imports
from grader.machine import Devices
from grader.results import NOT_ASSESSED, CheckResult

if TYPE_CHECKING:
    from grader.judge.judge import Judge


class Defect(msgspec.Struct, frozen=True):
    """One fault of a course; ``line`` is None where the whole file is meant."""

    file: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.message}"


def verify_course(
    course: Course,
    report: Callable[[Defect], None],
    *,
    progress: Callable[[str], None] = lambda text: None,
    devices: Devices = "simulated",
    only: Sequence[str] = (),
) -> None:
    """Looks for every defect of a course, topic by topic.

    Args:
        report: called with each defect as soon as it is found.
        progress: called with a line about what is being verified.
        devices: what checks that want GPUs get.
        only: names of topics and exercises; empty means the whole course.

    Raises:
        UserError: the checks cannot be collected.
    """
    import grader.testkit.probes
    import grader.testkit.recipes  # noqa: F401 - before the fork
    from grader.grading.worker import hidden_paths
    from grader.judge.judge import with_judge
    from grader.sandbox.limits import Limits
    from grader.student.client import HostClient
    from grader.student.host import start_host
    from grader.testkit import devices as devices_kit

    defects = list(kit_defects(course))
    if defects:  # the kit is not loaded: nothing can be graded without it
        for defect in defects:
            report(defect)
        return
    chosen = course.select(only)
    topics = [
        msgspec.structs.replace(topic, exercises=exercises)
        for topic in course.topics
        if (exercises := tuple(one for one in topic.exercises if one.full_name in chosen))
    ]
    control, process = start_host()
    host = HostClient(control, process, Limits())

    def verify(judge: Judge) -> None:
        host.finish_preparing()
        for topic in topics:
            for defect in _defects(TopicEvidence(course, topic, judge), progress):
                report(defect)

    try:
        host.prepare(hidden_paths(course), course.preload(topic.name for topic in topics), devices, course.kit)
        devices_kit.choose(devices)
        with_judge(course, host, verify, exercises=chosen)
    finally:
        host.close()


def kit_defects(course: Course) -> Iterator[Defect]:
    """Imports that a kit must not have: it is loaded where submitted code runs, and students can read it."""
    if course.kit is not None:
        for found in forbidden_imports(course.kit):
            yield Defect(found.file, found.line, found.message)


def _defects(evidence: TopicEvidence, progress: Callable[[str], None]) -> Iterator[Defect]:
    """The defects of one topic, each once: what makes one promise impossible to judge may break several."""
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


def stub_is_released(evidence: TopicEvidence) -> Iterator[Defect]:
    """The stub is what `grader release` makes of the solution."""
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
        return  # then it is not what `grader release` makes, either
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
            yield Defect(file, None, f"{_about(exercise, result)}: {result.message}")


def solution_passes(evidence: TopicEvidence) -> Iterator[Defect]:
    """The solution passes every check that can be assessed here."""
    for exercise, result in evidence.graded_solution.results:
        if result.verdict not in ("passed", *NOT_ASSESSED):
            text = f"{_about(exercise, result)}: the solution gets {result.verdict}: {_one_line(result.message)}"
            yield Defect(evidence.solution, None, text)


def stub_fails(evidence: TopicEvidence) -> Iterator[Defect]:
    """The stub fails every check that can be assessed here."""
    for exercise, result in evidence.graded_stub.results:
        if result.verdict not in ("failed", *NOT_ASSESSED):
            text = f"{_about(exercise, result)}: the stub gets {result.verdict}, but must fail"
            yield Defect(evidence.stub, None, text)


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


Promise = Callable[[TopicEvidence], Iterator[Defect]]

PROMISES: Final[dict[str, tuple[Promise, ...]]] = {
    "stub, docstrings, hints": (
        stub_is_released,
        exercises_are_described,
        exercises_have_hints,
        checks_are_described,
    ),
    "solution, stub and misconceptions as submissions": (
        modules_can_be_imported,
        checks_end_in_no_error,
        solution_passes,
        stub_fails,
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
