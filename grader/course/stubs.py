"""Makes the stubs that students get from the solutions, so that the two always agree.

Never lets a marked line of a solution through, and never writes half a file.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import msgspec

from grader.course.definitions import definition, lines_in
from grader.course.model import Course
from grader.course.source import parse
from grader.course.topic import Topic
from grader.errors import CourseError
from grader.files import write_atomically

_MARKER = re.compile(r"#\s*(?:(solution):(.*)|(end)\s*)$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Region(msgspec.Struct, frozen=True):
    """One marked part of a solution: lines `start` to `end` (from 1, both markers included)."""

    start: int
    end: int
    column: int
    note: str
    name: str
    """The function it is in, with its class: ``gram``, ``Cube.forward``."""


def stub_of(source: str, filename: str | Path) -> str:
    """`source` with every part from ``# solution:`` to ``# end`` replaced by one line that raises.

    Text after the colon becomes a comment above that line.

    Raises:
        CourseError: if markers are nested, unbalanced, wrongly indented, or not round whole statements of a function.
    """
    lines = source.split("\n")
    for region in reversed(_regions(source, Path(filename))):
        indent = " " * region.column
        note = [f"{indent}# {region.note}"] if region.note else []
        lines[region.start - 1 : region.end] = [
            *note,
            f'{indent}raise NotImplementedError("write `{region.name}` here")',
        ]
    return "\n".join(lines)


def solution_of(file: Path, name: str) -> str:
    """The text of one definition in a topic's solution, without markers and the words beside them."""
    lines = lines_in(file.read_bytes())
    start, end = definition(lines, name)
    return "\n".join(line for line in lines[start - 1 : end] if not _MARKER.match(line.strip())) if start else ""


def stub_of_topic(course: Course, topic: Topic) -> str:
    """The stub module of `topic`, made from its solution.

    Raises:
        CourseError: as `stub_of`, and if an exercise is not defined in the solution or has no marked part.
    """
    file = course.solution_file(topic.name)
    tree = parse(file)
    source = file.read_text(encoding="utf-8")
    defined = {node.name: node.lineno for node in tree.body if isinstance(node, Function | ast.ClassDef)}
    marked = {region.name.split(".")[0] for region in _regions(source, file)}
    for exercise in topic.exercises:
        if exercise.name not in defined:
            raise CourseError(file, None, f"`{exercise.name}` is in course.toml but is not defined here")
        if exercise.name not in marked:
            line = defined[exercise.name]
            raise CourseError(file, line, f"`{exercise.name}` has no `# solution:`, so its stub would give it away")
    return stub_of(source, file)


def release(course: Course, check: bool = False) -> list[Path]:
    """Write ``exercises/<topic>.py`` from ``solutions/<topic>.py`` for every topic.

    Args:
        course: loaded with ``complete=False`` when it has no stubs yet.
        check: only report the changes that would be made.

    Returns:
        The files that changed, or with `check` the ones that differ; none if all is up to date.

    Raises:
        CourseError: if a solution cannot be made a stub; then nothing is written.
    """
    stubs = {course.stub_file(topic.name): stub_of_topic(course, topic).encode() for topic in course.modules}
    stale = [file for file, stub in stubs.items() if not file.is_file() or file.read_bytes() != stub]
    if not check:
        for file in stale:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, [stubs[file]])
    return stale


def _regions(source: str, file: Path) -> list[Region]:
    """The marked parts of `source`, in order."""
    try:
        tree = ast.parse(source, filename=str(file))
    except SyntaxError as error:
        raise CourseError(file, error.lineno, f"not valid Python: {error.msg}") from None
    functions = _functions(tree)
    regions: list[Region] = []
    opened: tuple[int, int, str] | None = None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        marker = _MARKER.match(token.string) if token.type == tokenize.COMMENT else None
        if marker is None:
            continue
        line, column = token.start
        if token.line[:column].strip():
            raise CourseError(file, line, f"`{token.string}` must be on a line of its own")
        if marker.group(1):
            if opened:
                raise CourseError(file, line, f"`# solution:` inside the one of line {opened[0]}: they do not nest")
            opened = (line, column, marker.group(2).strip())
            continue
        if opened is None:
            raise CourseError(file, line, "`# end` without a `# solution:` before it")
        if column != opened[1]:
            raise CourseError(file, line, f"`# end` is not indented like its `# solution:` in line {opened[0]}")
        regions.append(_region(opened, line, functions, file))
        opened = None
    if opened:
        raise CourseError(file, opened[0], "`# solution:` without an `# end` after it")
    return regions


def _functions(tree: ast.Module) -> list[tuple[str, Function]]:
    """Every function and method with its dotted name, outer ones before those inside them."""
    found: list[tuple[str, Function]] = []
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, parent = waiting.pop(0)
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Function | ast.ClassDef):
                name = prefix + node.name
                if isinstance(node, Function):
                    found.append((name, node))
                waiting.append((f"{name}.", node))
            else:
                waiting.append((prefix, node))
    return found


def _region(opened: tuple[int, int, str], end: int, functions: list[tuple[str, Function]], file: Path) -> Region:
    start, column, note = opened
    around = [(name, node) for name, node in functions if node.lineno < start <= (node.end_lineno or 0)]
    if not around:
        raise CourseError(file, start, "`# solution:` must be in a function's body, before its first hidden line")
    name, node = around[-1]
    if column != node.body[0].col_offset:
        raise CourseError(file, start, f"`# solution:` is not indented like the body of `{name}`")
    inside = 0
    for statement in node.body:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        if start < first and last < end:
            inside += 1
        elif not (last < start or end < first):
            raise CourseError(file, start, f"the markers cut through the statement in line {first}")
    if not inside:
        raise CourseError(file, start, "nothing between `# solution:` and `# end`")
    return Region(start, end, column, note, name)
