"""Finds the tests of a suite by reading source, so that a course is listed without importing pytest.

Never runs a line of the files that it reads.
"""

import ast
import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grader.course.source import CheckInfo, Function, decorator, first_line, names_bound_by, parse
from grader.course.suite import Group, group_of, names, names_apart
from grader.errors import CourseError

_Classes = dict[str, ast.ClassDef]


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
    classes: _Classes = {}
    for file in sorted(folder.rglob("*.py")):
        with contextlib.suppress(CourseError):
            classes |= _classes_in(parse(file).body)
    files = {*folder.rglob("test_*.py"), *folder.rglob("*_test.py")}
    for file in sorted(files):
        body = parse(file).body
        yield from _tests(file, file.relative_to(folder).as_posix(), body, classes | _classes_in(body))


def _classes_in(body: Iterable[ast.stmt]) -> _Classes:
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


def _tests(file: Path, prefix: str, body: Iterable[ast.stmt], classes: _Classes) -> Iterator[FoundTest]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield FoundTest(f"{prefix}::{node.name}", file, node)
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".TestCase"):  # Hypothesis makes it
            made = ast.copy_location(ast.parse("def runTest(self): ...").body[0], node)
            for name in names_bound_by(node):
                yield FoundTest(f"{prefix}::{name}::runTest", file, made)  # type: ignore[arg-type]
        elif isinstance(node, ast.ClassDef):
            bases = [*_bases(node, classes)]
            if node.name.startswith("Test") or any(ast.unparse(b).endswith("TestCase") for n in bases for b in n.bases):
                content = {getattr(one, "name", one): one for base in bases[::-1] for one in base.body}
                yield from _tests(file, f"{prefix}::{node.name}", content.values(), classes)


def _bases(node: ast.ClassDef, classes: _Classes) -> Iterator[ast.ClassDef]:
    """A class, and its bases by their names among the classes of the suite, the nearest first."""
    yield node
    others = {name: one for name, one in classes.items() if one is not node}
    for base in node.bases:
        if (found := others.get(ast.unparse(base).rpartition(".")[2])) is not None:
            yield from _bases(found, others)


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
    body = ast.parse(content).body
    found = [(test.node, group_of(groups, test.nodeid)) for test in _tests(Path(file), file, body, _classes_in(body))]
    hidden = {node for node, belongs in found if belongs is not None and belongs[1]}
    for node in sorted(hidden, key=lambda one: -one.lineno):
        lines[first_line(node) - 1 : node.end_lineno] = [b" " * node.col_offset + b"pass\n"] if node.col_offset else []
    return b"".join(lines)
