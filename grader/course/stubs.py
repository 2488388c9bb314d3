"""Makes the stubs that students get from the solutions, so that the two always agree.

The part between two markers is left out, or replaced with a program with a bug. Never lets a line between markers
through, and never writes half a file.
"""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from grader.course.definitions import definition, lines_in
from grader.course.handout import write, writing
from grader.course.model import Course, stubs_beside
from grader.course.source import Definition, Function, assigned_by, first_line, names_bound_by, parse
from grader.course.tables import Topic
from grader.errors import CourseError

_NAMED = re.compile(r"`(\w+)")
"""A name in a docstring or a comment."""
_MARKER = re.compile(r"#\s*(?:(solution|handed out):(.*)|end\s*)$")


class Region(msgspec.Struct, frozen=True):
    """One part of a solution between markers: lines `start` to `end` (from 1, both markers included)."""

    start: int
    end: int
    name: str
    """The function or class it is in: ``gram``, ``Cube``, ``Cube.forward``; empty at the top of the module."""
    stub: list[str]
    """The lines that take its place."""
    bug: int = 0
    """The line of ``# handed out:``, if a program with a bug is handed out; else 0."""
    hangs: bool = False
    """Whether the text after that says that the program with this bug never ends."""


class _Marker(NamedTuple):
    """A comment that marks a part of a solution."""

    line: int
    column: int
    text: str
    kind: str
    """``solution``, ``handed out`` or ``end``."""
    note: str
    """The words after its colon."""


def stub_of(source: str, filename: str | Path, *, keeps_helpers: bool = False) -> str:
    """`source` with every part from ``# solution:`` to ``# end`` replaced by one line that raises.

    Text after the colon becomes a comment above that line. In the body of a class, the methods between the markers keep
    their signatures and docstrings; methods whose names start with one underscore, and all else, are left out. At the
    top level, ``NAME = ...`` takes the place of each name that the part gives a value, unless it starts with an
    underscore; all else is left out.

    If ``# handed out:`` is between the two markers, the comments below it take the place of the part, as code.

    A helper that only these parts use is a part of the answer, and left out with what only it needs. It stays if the
    stub names it in backticks, if it is a class without methods, such as an exception, unless it is private, or with
    `keeps_helpers`.

    Raises:
        CourseError: if markers are nested, unbalanced, wrongly indented, or not round whole statements of a function or
            whole methods of a class.
    """
    lines = source.split("\n")
    regions = _regions(source, Path(filename))
    helpers = set() if keeps_helpers else _helpers(source, Path(filename), regions)
    cuts = [(region.start - 1, region.end, region.stub) for region in regions]
    cuts += [(*_lines_of(node, lines), []) for node in helpers]
    for start, end, instead in sorted(cuts, reverse=True):
        lines[start:end] = instead
    stub = "\n".join(lines)
    stub = f"{stub.rstrip()}\n" if helpers else stub
    try:
        ast.parse(stub)  # a program with a bug may not be
    except SyntaxError as error:
        text = error.text.strip() if error.text else ""
        raise CourseError(Path(filename), None, f"its stub is not valid Python: {error.msg}: {text}") from None
    return stub


def _helpers(source: str, file: Path, regions: Sequence[Region]) -> set[ast.stmt]:
    """The functions and classes at the top that only parts between markers use, and what nothing but these needs."""
    tree, lines = parse(file, source).body, source.split("\n")
    inside = {number for region in regions for number in range(region.start, region.end + 1)}
    in_parts = {name for node in tree for name in _names(node) if name.lineno in inside}
    shown = {node: {one.id for one in _names(node) if one.lineno not in inside} for node in tree}
    for node in tree:
        text = "\n".join(lines[n - 1] for n in range(node.lineno, (node.end_lineno or 0) + 1) if n not in inside)
        shown[node] |= {*_NAMED.findall(text)}
    own = {node: names_bound_by(node) for node in tree}
    with_part = {region.name.partition(".")[0] for region in regions}
    used = {one.id for one in in_parts}.union(*shown.values())
    found = {
        one
        for one in tree
        if isinstance(one, Definition) and one.lineno not in inside and own[one] & used and not own[one] & with_part
        if one.name.startswith("_") or isinstance(one, Function) or any(isinstance(part, Function) for part in one.body)
    }
    while kept := {
        one for one in found if own[one] & {name for node in tree if node not in found for name in shown[node]}
    }:
        found -= kept
    others = {one.id for one in in_parts}.union(*(shown[node] for node in tree if node not in found))
    needed = {name for node in found for name in shown[node]} - others
    return found | {one for one in tree if one not in found and own[one] and own[one] <= needed}


def _names(node: ast.stmt) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))


def _lines_of(node: ast.stmt, lines: Sequence[str]) -> tuple[int, int]:
    """Where a statement begins and ends, with the comments right above it and the blank lines below."""
    start, end = first_line(node) - 1, node.end_lineno or 0
    while start and lines[start - 1].startswith("#"):
        start -= 1
    while end < len(lines) and not lines[end].strip() and not (start and lines[start - 1].strip()):
        end += 1
    return start, end


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
        CourseError: as `stub_of`, and if an exercise is not defined in the solution or has no such part.
    """
    file = course.solution_file(topic.name)
    tree = parse(file)
    source = file.read_text(encoding="utf-8")
    bound = {name: node for node in tree.body for name in names_bound_by(node)}
    regions = _regions(source, file)
    for exercise in topic.exercises:
        name, node = exercise.name, bound.get(exercise.name)
        if node is None or isinstance(node, ast.Import | ast.ImportFrom):
            how = "is imported" if node else "is not defined"
            raise CourseError(file, node.lineno if node else None, f"`{name}` is in course.toml but {how} here")
        line = node.lineno
        if not any(first_line(node) <= one.end and one.start <= (node.end_lineno or line) for one in regions):
            raise CourseError(file, line, f"`{name}` has no `# solution:`, so its stub would give it away")
    return stub_of(source, file)


def release(course: Course, check: bool = False) -> list[Path]:
    """Write ``exercises/<topic>.py`` from ``solutions/<topic>.py`` for every topic. With a suite, each file of
    ``exercises/`` is made of the one with its name.

    Args:
        course: loaded with ``complete=False`` when it has no stubs yet.
        check: only report the changes that would be made.

    Returns:
        The files that changed, or with `check` the ones that differ; none if all is up to date.

    Raises:
        CourseError: if a solution cannot be made a stub; then nothing is written.
        UserError: a stub cannot be written.
    """
    if course.suite is not None:
        stubs = _stubs_of_suite(course)
    else:
        stubs = {course.stub_file(topic.name): stub_of_topic(course, topic).encode() for topic in course.modules}
    stale = [file for file, stub in stubs.items() if not file.is_file() or file.read_bytes() != stub]
    for file in stale if not check else ():
        with writing(file):
            write(file, stubs[file])
    return stale


def _stubs_of_suite(course: Course) -> dict[Path, bytes]:
    """The stub of each file that students of a suite begin with; the solution may have more files than these.

    In a course's own notebook, all that is outside of markers is handed out, and so it is in its module.
    """
    files = [course.exercises_dir / name for name in stubs_beside(course)]
    files += [course.stub_file(topic.name) for topic in course.modules]
    solved = {file: course.solutions_dir / file.relative_to(course.exercises_dir) for file in files}
    return {
        file: stub_of(
            solution.read_text(encoding="utf-8"), solution, keeps_helpers=file.with_suffix(".ipynb").is_file()
        ).encode()
        for file, solution in solved.items()
        if solution.suffix == ".py" and solution.is_file()
    }


@functools.lru_cache(maxsize=64)
def _regions(source: str, file: Path) -> tuple[Region, ...]:
    """The parts of `source` between markers, in order. They are kept: `verify` asks often, and files seldom change."""
    return tuple(_Solution(source, file).regions())


class _Solution:
    """The text of a solution, whose parts between markers become those of a stub."""

    def __init__(self, source: str, file: Path) -> None:
        self._file = file
        self._source = source
        self._lines = source.split("\n")
        self._tree = parse(file, source)

    def regions(self) -> Iterator[Region]:
        """The parts between markers, in order."""
        opened: list[_Marker] = []
        for marker in self._markers():
            if marker.kind == "solution" and opened:
                line = opened[0].line
                raise self._error(marker.line, f"`# solution:` inside the one of line {line}: they do not nest")
            if marker.kind != "solution" and not opened:
                raise self._error(marker.line, f"`{marker.text}` without a `# solution:` before it")
            if opened and marker.column != opened[0].column:
                message = f"`{marker.text}` is not indented like its `# solution:` in line {opened[0].line}"
                raise self._error(marker.line, message)
            if marker.kind == "handed out" and len(opened) > 1:
                raise self._error(marker.line, f"a second `# handed out:` after the one of line {opened[1].line}")
            opened.append(marker)
            if marker.kind == "end":
                yield self._region(*opened)
                opened = []
        if opened:
            raise self._error(opened[0].line, "`# solution:` without an `# end` after it")

    def _markers(self) -> Iterator[_Marker]:
        for token in tokenize.generate_tokens(io.StringIO(self._source).readline):
            if token.type == tokenize.COMMENT and (found := _MARKER.match(token.string)):
                line, column = token.start
                if token.line[:column].strip():
                    raise self._error(line, f"`{token.string}` must be on a line of its own")
                yield _Marker(line, column, token.string, found[1] or "end", (found[2] or "").strip())

    def _error(self, line: int, message: str) -> CourseError:
        return CourseError(self._file, line, message)

    def _region(self, start: _Marker, *others: _Marker) -> Region:
        """The part between two markers, in which one for a program with a bug may be."""
        *bugs, end = others
        definitions = (node for node in ast.walk(self._tree) if isinstance(node, Definition))  # outer ones first
        around = [node for node in definitions if node.lineno < start.line <= (node.end_lineno or 0)]
        if bugs and not around:
            raise self._error(bugs[0].line, "`# handed out:` must be in the body of a function or class")
        name, node = ".".join(one.name for one in around), around[-1] if around else self._tree
        if bugs:
            stub = self._with_bug(start, bugs[0], end)
            return Region(start.line, end.line, name, stub, bugs[0].line, bugs[0].note == "hangs")
        if start.column != node.body[0].col_offset:
            within = f"the body of `{name}`" if name else "the module"
            raise self._error(start.line, f"`# solution:` is not indented like {within}")
        inside = self._statements(node, start, end)
        if isinstance(node, ast.Module):
            names = dict.fromkeys(one for statement in inside for one in assigned_by(statement))
            values = [f"{one} = ..." for one in names if not one.startswith("_")]
            note = [f"# {start.note}"] if start.note else []
            return Region(start.line, end.line, name, note + values)
        if isinstance(node, ast.ClassDef):
            return Region(start.line, end.line, name, self._methods(name, inside, start.note))
        return Region(start.line, end.line, name, _unwritten(name, start.column, start.note))

    def _statements(self, node: Definition | ast.Module, start: _Marker, end: _Marker) -> list[ast.stmt]:
        """The statements of a body between two markers: whole ones, and at least one."""
        inside: list[ast.stmt] = []
        for statement in node.body:
            first, last = first_line(statement), statement.end_lineno or statement.lineno
            if start.line < first and last < end.line:
                inside.append(statement)
            elif not (last < start.line or end.line < first):
                raise self._error(start.line, f"the markers cut through the statement in line {first}")
        if not inside:
            raise self._error(start.line, "nothing between `# solution:` and `# end`")
        return inside

    def _with_bug(self, start: _Marker, bug: _Marker, end: _Marker) -> list[str]:
        """The comments of a part as code; it may be anywhere in a function, because `stub_of` parses the stub."""
        if bug.note not in ("", "hangs"):
            raise self._error(bug.line, f"`# handed out:` may only be followed by `hangs`, not by {bug.note!r}")
        if start.note:
            raise self._error(start.line, "words after `# solution:` would show where the bug is that is handed out")
        indent = " " * start.column
        stub: list[str] = []
        for number, line in enumerate(self._lines[bug.line : end.line - 1], start=bug.line + 1):
            if not line.startswith(f"{indent}#"):
                raise self._error(number, "each line below `# handed out:` must be a comment, indented like it")
            text = line[start.column + 1 :].removeprefix(" ")
            stub.append(indent + text if text else "")
        if self._lines[start.line : bug.line - 1] == stub:
            raise self._error(start.line, "what is handed out equals the solution")
        return stub

    def _methods(self, of: str, statements: list[ast.stmt], note: str) -> list[str]:
        """The methods that students write, with the note in the first one."""
        made: list[str] = []
        for node in statements:
            if not isinstance(node, Function) or (node.name.startswith("_") and not node.name.startswith("__")):
                continue
            name, first = f"{of}.{node.name}", node.body[0]
            if self._lines[first.lineno - 1][: first.col_offset].strip():
                raise self._error(node.lineno, f"the body of `{name}` must begin on a line of its own")
            kept = first.end_lineno or first.lineno
            if ast.get_docstring(node) is None:
                kept = first_line(first) - 1
                while not self._lines[kept - 1].strip() or self._lines[kept - 1].lstrip().startswith("#"):
                    kept -= 1  # comments above the first statement are part of the answer
            made += ["", *self._lines[first_line(node) - 1 : kept], *_unwritten(name, first.col_offset, note)]
            note = ""
        if not made:
            message = "nothing to write between `# solution:` and `# end`: in a class they go round at least one method"
            raise self._error(statements[0].lineno, message)
        return made[1:]


def _unwritten(name: str, column: int, note: str) -> list[str]:
    indent = " " * column
    return [*([f"{indent}# {note}"] if note else []), f'{indent}raise NotImplementedError("write `{name}` here")']
