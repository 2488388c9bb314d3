"""Makes the stubs that students get from the solutions, so that the two always agree.

A marked part is left out, or replaced with lines of a program with a bug. Never lets a marked line of a solution
through, and never writes half a file.
"""

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import msgspec

from grader.course.definitions import definition, lines_in
from grader.course.model import Course
from grader.course.source import parse
from grader.course.topic import Topic
from grader.errors import CourseError, UserError
from grader.files import write_atomically

_MARKER = re.compile(r"#\s*(?:(solution|handed out):(.*)|(end)\s*)$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Region(msgspec.Struct, frozen=True):
    """One marked part of a solution: lines `start` to `end` (from 1, both markers included)."""

    start: int
    end: int
    name: str
    """The function or class it is in: ``gram``, ``Cube``, ``Cube.forward``."""
    stub: list[str]
    """The lines that take its place."""
    bug: int = 0
    """The line of ``# handed out:``, if a program with a bug is handed out; else 0."""
    hangs: bool = False
    """Whether the text after that says that the program with this bug never ends."""


def stub_of(source: str, filename: str | Path) -> str:
    """`source` with every part from ``# solution:`` to ``# end`` replaced by one line that raises.

    Text after the colon becomes a comment above that line. In the body of a class, the methods between the markers keep
    their signatures and docstrings; methods whose names start with one underscore, and all else, are left out.

    If ``# handed out:`` is between the two markers, the comments below it take the place of the part, as code.

    Raises:
        CourseError: if markers are nested, unbalanced, wrongly indented, or not round whole statements of a function or
            whole methods of a class.
    """
    lines = source.split("\n")
    regions = _regions(source, Path(filename))
    for region in reversed(regions):
        lines[region.start - 1 : region.end] = region.stub
    stub = "\n".join(lines)
    if any(region.bug for region in regions):
        try:
            ast.parse(stub)
        except SyntaxError as error:
            text = error.text.strip() if error.text else ""
            raise CourseError(Path(filename), None, f"its stub is not valid Python: {error.msg}: {text}") from None
    return stub


def programs(source: str, filename: str | Path) -> dict[str, bool]:
    """The exercises that are handed out as programs with a bug, and whether such a program never ends.

    Raises:
        CourseError: as `stub_of`.
    """
    found: dict[str, bool] = {}
    for region in _regions(source, Path(filename)):
        if region.bug:
            name = region.name.partition(".")[0]
            found[name] = found.get(name, False) or region.hangs
    return found


def solution_of(file: Path, name: str) -> str:
    """The text of one definition in a topic's solution, without markers, the words beside them, and handed-out bugs."""
    content = file.read_bytes()
    lines = lines_in(content)
    start, end = definition(lines, name)
    regions = _regions(content.decode("utf-8-sig"), file) if start else []
    bugs = {number for region in regions if region.bug for number in range(region.bug, region.end)}
    kept = [n for n in range(start, end + 1) if n not in bugs and not _MARKER.match(lines[n - 1].strip())]
    return "\n".join(lines[n - 1] for n in kept) if start else ""


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
            imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
            names = {one.asname or one.name: node.lineno for node in imports for one in node.names}
            how = "is imported" if exercise.name in names else "is not defined"
            line = names.get(exercise.name)
            raise CourseError(file, line, f"`{exercise.name}` is in course.toml but {how} here")
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
        UserError: a stub cannot be written.
    """
    stubs = {course.stub_file(topic.name): stub_of_topic(course, topic).encode() for topic in course.modules}
    stale = [file for file, stub in stubs.items() if not file.is_file() or file.read_bytes() != stub]
    if not check:
        for file in stale:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, [stubs[file]])
            except OSError as problem:
                raise UserError(f"{file} cannot be written ({problem.strerror})") from None
    return stale


@functools.lru_cache(maxsize=64)
def _regions(source: str, file: Path) -> tuple[Region, ...]:
    """The marked parts of `source`, in order. They are kept: `verify` asks often, and most files stay as they are."""
    try:
        tree = ast.parse(source, filename=str(file))
    except SyntaxError as error:
        raise CourseError(file, error.lineno, f"not valid Python: {error.msg}") from None
    bodies = _bodies(tree)
    lines = source.split("\n")
    regions: list[Region] = []
    opened: tuple[int, int, str] | None = None
    bug: tuple[int, str] | None = None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        marker = _MARKER.match(token.string) if token.type == tokenize.COMMENT else None
        if marker is None:
            continue
        line, column = token.start
        if token.line[:column].strip():
            raise CourseError(file, line, f"`{token.string}` must be on a line of its own")
        if marker.group(1) == "solution":
            if opened:
                raise CourseError(file, line, f"`# solution:` inside the one of line {opened[0]}: they do not nest")
            opened = (line, column, marker.group(2).strip())
            continue
        if opened is None:
            raise CourseError(file, line, f"`{token.string}` without a `# solution:` before it")
        if column != opened[1]:
            text = f"`{token.string}` is not indented like its `# solution:` in line {opened[0]}"
            raise CourseError(file, line, text)
        if marker.group(1):
            if bug:
                raise CourseError(file, line, f"a second `# handed out:` after the one of line {bug[0]}")
            bug = (line, marker.group(2).strip())
            continue
        if bug:
            regions.append(_program(opened, bug, line, bodies, lines, file))
        else:
            regions.append(_region(opened, line, bodies, lines, file))
        opened = bug = None
    if opened:
        raise CourseError(file, opened[0], "`# solution:` without an `# end` after it")
    return tuple(regions)


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


def _program(
    opened: tuple[int, int, str],
    bug: tuple[int, str],
    end: int,
    bodies: list[tuple[str, Function | ast.ClassDef]],
    lines: list[str],
    file: Path,
) -> Region:
    """A part that is handed out with a bug; it may be anywhere in a function, because `stub_of` parses the stub."""
    start, column, note = opened
    if bug[1] not in ("", "hangs"):
        raise CourseError(file, bug[0], f"`# handed out:` may only be followed by `hangs`, not by {bug[1]!r}")
    if note:
        raise CourseError(file, start, "words after `# solution:` would show where the bug is that is handed out")
    around = [name for name, node in bodies if node.lineno < start <= (node.end_lineno or 0)]
    if not around:
        raise CourseError(file, start, "`# solution:` must be in the body of a function or class")
    stub: list[str] = []
    for number in range(bug[0] + 1, end):
        line = lines[number - 1]
        if line[:column].strip() or line[column : column + 1] != "#":
            raise CourseError(file, number, "each line below `# handed out:` must be a comment, indented like it")
        text = line[column + 1 :].removeprefix(" ")
        stub.append(line[:column] + text if text else "")
    if lines[start : bug[0] - 1] == stub:
        raise CourseError(file, start, "what is handed out equals the solution")
    return Region(start, end, around[-1], stub, bug[0], bug[1] == "hangs")


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
