"""Finds the tests of a suite by reading source, so that a course is listed without importing pytest.

Never runs a line of the files that it reads.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grader.course.source import CheckInfo, Function, decorator, first_line, parse
from grader.course.suite import Group, group_of, names, names_apart
from grader.errors import CourseError


class FoundTest(msgspec.Struct, frozen=True):
    """A test as it is written: its node id without parameters, its file, and its definition."""

    nodeid: str
    file: Path
    node: Function


def tests_in(folder: Path) -> Iterator[FoundTest]:
    """The tests of a suite, in the order in which pytest runs them.

    Raises:
        CourseError: a file cannot be parsed.
    """
    files = {*folder.rglob("test_*.py"), *folder.rglob("*_test.py")}
    for file in sorted(files):
        yield from _tests(file, file.relative_to(folder).as_posix(), parse(file).body)


def _tests(file: Path, prefix: str, body: Iterable[ast.stmt]) -> Iterator[FoundTest]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield FoundTest(f"{prefix}::{node.name}", file, node)
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or _is_test_case(node)):
            yield from _tests(file, f"{prefix}::{node.name}", node.body)


def _is_test_case(node: ast.ClassDef) -> bool:
    return any(ast.unparse(one).endswith("TestCase") for one in node.bases)


def suite_checks(folder: Path, groups: Iterable[Group], topic: str, manifest: Path) -> tuple[CheckInfo, ...]:
    """The tests of a suite that belong to exercises of a topic.

    Raises:
        CourseError: an entry fits no test, or the folder is missing.
    """
    groups = [one for one in groups if one.exercise.partition(".")[0] == topic]
    if not folder.is_dir():
        raise CourseError(manifest, None, f"[suite] names the folder `{folder.name}`, and there is none")
    tests = list(tests_in(folder))
    for group in groups:
        for entry in group.tests:  # the hidden ones are not handed out
            if not any(names(entry, one.nodeid) for one in tests):
                message = f"`{group.exercise}` names the test `{entry}`, which is not in {folder.name}/"
                raise CourseError(manifest, None, message)
    found = [(test, *belongs) for test in tests if (belongs := group_of(groups, test.nodeid))]
    apart = {one: iter(names_apart([test.nodeid for test, group, _ in found if group is one])) for one in groups}
    return tuple(
        CheckInfo(
            exercise=group.exercise,
            function=next(apart[group]),
            line=test.node.lineno,
            docstring=ast.get_docstring(test.node) or "",
            hidden=is_hidden,
            is_secret=is_hidden,
            points=_points_of(test.node),
            file=test.nodeid.partition("::")[0],
        )
        for test, group, is_hidden in found
    )


def _points_of(test: Function) -> float | None:
    """The number in ``@pytest.mark.points(2)``; None if there is none."""
    mark = decorator(test, "points")
    value = getattr(mark.args[0], "value", None) if mark is not None and mark.args else None
    return float(value) if isinstance(value, int | float) else None


def without_hidden(content: bytes, file: str, groups: Iterable[Group]) -> bytes:
    """A file of a suite as students get it: without the tests that are hidden from them."""
    groups = list(groups)
    lines = content.splitlines(keepends=True)
    hidden = []
    for test in _tests(Path(file), file, ast.parse(content).body):
        belongs = group_of(groups, test.nodeid)
        if belongs is not None and belongs[1]:
            hidden.append(test.node)
    for node in reversed(hidden):
        lines[first_line(node) - 1 : node.end_lineno] = [b" " * node.col_offset + b"pass\n"] if node.col_offset else []
    return b"".join(lines)
