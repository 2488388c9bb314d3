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
    name: str
    """The function or class it is in: ``gram``, ``Cube``, ``Cube.forward``."""
    stub: list[str]
    """The lines that take its place."""


def stub_of(source: str, filename: str | Path) -> str:
    """`source` with every part from ``# solution:`` to ``# end`` replaced by one line that raises.

    Text after the colon becomes a comment above that line. In the body of a class, the methods between the markers keep
    their signatures and docstrings; methods whose names start with one underscore, and all else, are left out.

    Raises:
        CourseError: if markers are nested, unbalanced, wrongly indented, or not round whole statements of a function or
            whole methods of a class.
    """
    lines = source.split("\n")
    for region in reversed(_regions(source, Path(filename))):
        lines[region.start - 1 : region.end] = region.stub
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
    bodies = _bodies(tree)
    lines = source.split("\n")
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
        regions.append(_region(opened, line, bodies, lines, file))
        opened = None
    if opened:
        raise CourseError(file, opened[0], "`# solution:` without an `# end` after it")
    return regions


def _bodies(tree: ast.Module) -> list[tuple[str, Function | ast.ClassDef]]:
    """Every function, method and class with its dotted name, outer ones before those inside them."""
    found: list[tuple[str, Function | ast.ClassDef]] = []
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, parent = waiting.pop(0)
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Function | ast.ClassDef):
                found.append((prefix + node.name, node))
                waiting.append((f"{prefix}{node.name}.", node))
            else:
                waiting.append((prefix, node))
    return found


def _region(
    opened: tuple[int, int, str],
    end: int,
    bodies: list[tuple[str, Function | ast.ClassDef]],
    lines: list[str],
    file: Path,
) -> Region:
    start, column, note = opened
    around = [(name, node) for name, node in bodies if node.lineno < start <= (node.end_lineno or 0)]
    if not around:
        raise CourseError(file, start, "`# solution:` must be in the body of a function or class")
    name, node = around[-1]
    if column != node.body[0].col_offset:
        raise CourseError(file, start, f"`# solution:` is not indented like the body of `{name}`")
    inside: list[ast.stmt] = []
    for statement in node.body:
        first, last = _first_line(statement), statement.end_lineno or statement.lineno
        if start < first and last < end:
            inside.append(statement)
        elif not (last < start or end < first):
            raise CourseError(file, start, f"the markers cut through the statement in line {first}")
    if not inside:
        raise CourseError(file, start, "nothing between `# solution:` and `# end`")
    if isinstance(node, ast.ClassDef):
        return Region(start, end, name, _methods(name, inside, note, lines, file))
    return Region(start, end, name, _unwritten(name, column, note))


def _methods(of: str, statements: list[ast.stmt], note: str, lines: list[str], file: Path) -> list[str]:
    """The methods that students write, with the note in the first one."""
    made: list[str] = []
    for node in statements:
        if not isinstance(node, Function) or (node.name.startswith("_") and not node.name.startswith("__")):
            continue
        first = node.body[0]
        if lines[first.lineno - 1][: first.col_offset].strip():
            raise CourseError(file, node.lineno, f"the body of `{of}.{node.name}` must begin on a line of its own")
        kept = first.end_lineno or first.lineno
        if ast.get_docstring(node) is None:
            kept = first.lineno - 1
            while not lines[kept - 1].strip() or lines[kept - 1].lstrip().startswith("#"):
                kept -= 1  # comments above the first statement are part of the answer
        name = f"{of}.{node.name}"
        made += ["", *lines[_first_line(node) - 1 : kept], *_unwritten(name, node.body[0].col_offset, note)]
        note = ""
    if not made:
        message = "nothing to write between `# solution:` and `# end`: in a class they go round at least one method"
        raise CourseError(file, statements[0].lineno, message)
    return made[1:]


def _unwritten(name: str, column: int, note: str) -> list[str]:
    indent = " " * column
    return [*([f"{indent}# {note}"] if note else []), f'{indent}raise NotImplementedError("write `{name}` here")']


def _first_line(statement: ast.stmt) -> int:
    """Its line, or that of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
