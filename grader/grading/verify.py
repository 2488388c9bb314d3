"""Proves that a course grades right: solutions earn all, stubs nothing, every misconception is caught and named.

Each defect is one line with its file. It runs the course's own modules the way that submissions are run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from grader.course import Course, Exercise, Topic, checks_of, misconceptions_of
from grader.course.kit import forbidden_imports
from grader.course.stubs import stub_of
from grader.errors import CourseError
from grader.machine import Devices
from grader.results import NOT_ASSESSED


class Defect(msgspec.Struct, frozen=True):
    """One thing that is wrong with a course."""

    file: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.message}"


def verify_course(
    course: Course, tell: Callable[[str], None] = lambda text: None, devices: Devices = "simulated"
) -> list[Defect]:
    """Every defect of a course, in its order.

    Args:
        tell: called with a line about what is being verified, for progress.
        devices: what checks that want GPUs get.
    """
    import grader.testkit.probes
    import grader.testkit.recipes  # noqa: F401 - before the fork
    from grader.grading.worker import hidden_paths
    from grader.judge.judge import Judge
    from grader.sandbox.limits import Limits
    from grader.student.client import HostClient
    from grader.student.host import start_host
    from grader.testkit import devices as devices_kit

    defects = list(kit_defects(course))
    if defects:
        return defects  # the kit is not loaded: nothing can be graded without it
    control, process = start_host()
    host = HostClient(control, process, Limits())
    try:
        host.prepare(hidden_paths(course), course.preload(topic.name for topic in course.topics), devices, course.kit)
        devices_kit.choose(devices)
        judge = Judge(course, host)
        host.finish_preparing()
        for topic in course.topics:
            tell(f"{topic.name}: stub, docstrings, hints")
            defects += _written(course, topic)
            tell(f"{topic.name}: solution, stub and misconceptions as submissions")
            defects += _graded(course, topic, judge)
    finally:
        host.close()
    return defects


def kit_defects(course: Course) -> Iterator[Defect]:
    """Imports that a kit must not have: it is loaded where submitted code runs, and students can read it."""
    if course.kit is not None:
        for found in forbidden_imports(course.kit):
            yield Defect(found.file, found.line, found.message)


def _written(course: Course, topic: Topic) -> Iterator[Defect]:
    """What reading the files tells."""
    stub, solution = course.exercises_dir / f"{topic.name}.py", course.solutions_dir / f"{topic.name}.py"
    try:
        if stub.read_text(encoding="utf-8") != stub_of(solution.read_text(encoding="utf-8"), str(solution)):
            yield Defect(stub, None, "is not what `grader release` makes of the solution")
    except CourseError as error:
        yield Defect(error.file, error.line, error.message)
        return
    except OSError as error:
        yield Defect(solution, None, str(error))
        return
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for exercise in topic.exercises:
        node = found.get(exercise.name)
        if node is None:
            yield Defect(stub, None, f"`{exercise.name}` is not in the stub")
        elif not ast.get_docstring(node):
            yield Defect(stub, node.lineno, f"`{exercise.name}` has no docstring")
        if not exercise.hints:
            yield Defect(course.manifest, None, f"`{exercise.full_name}` has no hints")
    file = course.checks_dir / f"test_{topic.name}.py"
    for check in checks_of(course, topic.name):
        if not check.docstring:
            yield Defect(file, check.line, f"`{check.function}` has no docstring: students read it")


def _graded(course: Course, topic: Topic, judge: object) -> Iterator[Defect]:
    from grader.judge import cause as causes
    from grader.judge import explain
    from grader.judge.judge import Judge, TopicDesk

    assert isinstance(judge, Judge)
    faulty: set[str] = set()
    for folder, wanted in ((course.solutions_dir, "passed"), (course.exercises_dir, "failed")):
        file = folder / f"{topic.name}.py"
        desk = TopicDesk(judge.host, course, topic.name, {path.name: path.read_bytes() for path in folder.glob("*.py")})
        try:
            if desk.failure is not None:
                yield Defect(file, None, explain.for_author(causes.import_failed(topic.name, desk.failure, "")))
                continue
            for exercise in topic.exercises:
                for result in judge.run_checks(exercise.full_name, desk)[0]:
                    text = f"`{exercise.full_name}`, check {result.name}: "
                    if result.verdict == "error":
                        if result.name not in faulty:
                            yield Defect(course.check_file(topic.name), None, f"{text}{result.message}")
                        faulty.add(result.name)
                    elif wanted == "passed" and result.verdict not in ("passed", "skipped"):
                        yield Defect(file, None, f"{text}the solution gets {result.verdict}: {_line(result.message)}")
                    elif wanted == "failed" and result.verdict not in ("failed", *NOT_ASSESSED):
                        yield Defect(file, None, f"{text}the stub gets {result.verdict}, but must fail")
        finally:
            desk.close()
    try:
        for exercise in topic.exercises:
            yield from _misconceptions(course, exercise, judge, faulty)
    except CourseError as error:
        yield Defect(error.file, error.line, error.message)


def _misconceptions(course: Course, exercise: Exercise, judge: object, faulty: set[str]) -> Iterator[Defect]:
    """Grades each misconception as a submission, and looks for its name as for a student's.

    Each is noted before the next is graded, so that one that an earlier one hides is found.
    """
    from grader.judge.judge import Judge

    assert isinstance(judge, Judge)
    found = [m for m in misconceptions_of(course, exercise.topic) if m.exercise == exercise.full_name]
    if not found:
        return
    file = course.misconceptions_file(exercise.topic)
    with judge.wrong_desk(exercise.topic) as desk:
        desk.only_records = True
        for m in found:
            desk.restart_clock()
            desk.bind(((m.part, m.function),))
            traces = judge.run_checks(exercise.full_name, desk)[1]
            judge.wrong.note(exercise, m.name, traces)
            about = f"misconception `{m.name}` of `{exercise.full_name}`"
            if all(trace.verdict in ("passed", *NOT_ASSESSED) for trace in traces.values()):
                yield Defect(file, m.line, f"{about} is not caught by any check")
            elif any(trace.verdict == "error" and check not in faulty for check, trace in traces.items()):
                yield Defect(file, m.line, f"{about} makes a check end in error")
            elif (other := judge.wrong.name_of(exercise, traces)) != m.name:
                told = (
                    f"cannot be told apart from `{other}`"
                    if other
                    else "is caught but not named: its checks see no answer of it"
                )
                yield Defect(file, m.line, f"{about} {told}")


def _line(message: str) -> str:
    return " | ".join(message.splitlines())
