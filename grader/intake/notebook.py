"""Notebooks as Python modules: code cells in order, without the lines that only a notebook can run.

Never runs a cell. Each part that is left out gets a note with the number of its cell: cells of all kinds, from 1. Code
that raises or does not end is left out later, when the module is imported: see ``grader/student/statements.py``. Calls
of the grader itself, which a ready notebook is full of, are left out without a note.
"""

import ast
import bisect
import codecs
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from grader.intake.kinds import FILE_BYTES
from grader.intake.topics import parse

_MAGIC = re.compile(r"(?:[\w., ]+=\s*)?(?:%{1,2}[A-Za-z]|!|\?{1,2}\w)|[\w.]+\?{1,2}$")
_MAGIC_LINE = re.compile(rb"^[ \t]*[%!][\w ]", re.MULTILINE)
_PYTHON_CELLS = frozenset({"%%time", "%%timeit", "%%capture", "%%prun"})
_WRITTEN = re.compile(
    r"\s*%%(?:writefile|file)[ \t]+((?:-a|--append)[ \t]+)?[\"']?(?:[^\n\"']*/)?([\w-]+\.py)[\"']?[ \t]*\n"
)
_NO_CODE = {"raw": "a raw cell", "markdown": "code in a cell of text"}
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_DEFINITION = re.compile(r"^(?:def|class)[ \t]+\w+[ \t]*[(:]", re.MULTILINE)
_HEADER = re.compile(rb"(?:from __future__ import [\w, ]+  )?# (?:cell (\d{1,9})|In \[(\d{1,9})\])$")
# The name of an encoding in a module's second line: a notebook is UTF-8, whatever a comment in it says.
_COOKIE: Final = re.compile(rb"\A(.*\n[ \t\f]*#.*?coding)[:=]")
HANDED_IN: Final = "cell {}"
"""The name of a cell in a notebook that was handed in: its place, because execution counts may be of any session."""
RUNNING: Final = "In [{}]"
"""The name of a cell in a notebook that is running: its execution count."""
# The functions of the grader that a notebook imports.
_GRADING: Final = ("check", "hint", "show")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ONLY_IN_FUNCTIONS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_MAX_CELLS = 5_000
_MAX_FIXES = 20


class _NotebookCell(msgspec.Struct):
    cell_type: str | None = ""
    source: str | list[str] | None = ""
    input: str | list[str] | None = ""  # as version 3 called it


class _Worksheet(msgspec.Struct):
    cells: list[_NotebookCell] = []


class _Notebook(msgspec.Struct):
    cells: list[_NotebookCell] | None = []
    worksheets: list[_Worksheet] | None = []


class NotebookCode(NamedTuple):
    """The code of a notebook.

    Attributes:
        module: its cells; None if it cannot be read at all.
        notes: on the parts left out.
        written: the files that its ``%%writefile`` cells write, by name.
    """

    module: bytes | None
    notes: list[str]
    written: dict[str, bytes]


def module_of(content: bytes, heading: str = HANDED_IN) -> NotebookCode:
    """The notebook's code as a module, and as the files that it writes.

    Args:
        heading: the form of each cell's name in the module, `HANDED_IN` or `RUNNING`.
    """
    try:
        cells = _cells(content)
    except msgspec.ValidationError as problem:
        return NotebookCode(None, [f"not a notebook: {problem}"], {})
    except (ValueError, RecursionError) as problem:
        return NotebookCode(None, [f"not a notebook: it is not JSON ({problem})"], {})
    if not cells:
        return NotebookCode(None, ["a notebook without cells"], {})
    notes = [f"more than {_MAX_CELLS:,} cells: the rest was left out"] if len(cells) > _MAX_CELLS else []
    parts: list[str] = []
    written: dict[str, bytes] = {}
    futures: dict[str, None] = {}
    grading: set[str] = set()
    room = FILE_BYTES
    for number, cell in enumerate(cells[:_MAX_CELLS], start=1):
        text = _text(cell)
        if cell.cell_type in _NO_CODE and _DEFINITION.search(_FENCED.sub("", text)):
            why = f"{_NO_CODE[cell.cell_type]}, which no notebook runs: left out; make it a code cell"
            notes.append(f"cell {number}: {why}")
        if cell.cell_type != "code":
            continue
        room -= len(text)
        if room < 0:
            notes.append(f"cell {number}: more than {FILE_BYTES >> 20} MiB of code: the rest was left out")
            break
        if found := _WRITTEN.match(text):
            before = written.get(found[2], b"") if found[1] else b""
            written[found[2]] = before + text[found.end() :].encode()
        else:
            source, left_out = _python(text.rstrip(), futures, grading)
            notes += [f"cell {number}: {note}" for note in left_out]
            parts.append(f"# {heading.format(number)}\n{source}\n")
    first = f"from __future__ import {', '.join(futures)}  " if futures else ""
    module = _COOKIE.sub(rb"\1 ", (first + "\n".join(parts)).encode())
    return NotebookCode(module, notes, written)


def without_magics(content: bytes) -> tuple[bytes, list[str]]:
    """A module without the lines of magic or shell that a notebook saved as Python may have, and a note on those.

    If Python reads the module as it is, or does not without those lines either, nothing is changed.
    """
    if not _MAGIC_LINE.search(content) or _problem(content) is None:
        return content, []
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return content, []
    dropped = _drop(lines, range(len(lines)))
    module = ("\n".join(lines) + "\n").encode()
    is_nothing_else = len(dropped) == len(list(filter(None, lines)))
    return (content, []) if is_nothing_else or _problem(module) else (module, [_left_out(dropped)])


def text_of(content: bytes) -> str:
    """All cells of a notebook as text, also those that are no code; of another file its text."""
    try:
        if cells := _cells(content):
            return "\n".join(map(_text, cells))
    except (msgspec.ValidationError, ValueError, RecursionError):
        pass
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8", "replace")


def _cells(content: bytes) -> list[_NotebookCell]:
    # Not by msgspec's decoder: Python writes and reads NaN, and half of a character. And outputs may hold anything.
    text = content.decode(json.detect_encoding(content), "replace")
    notebook = msgspec.convert(json.loads(text, parse_constant=str, parse_int=float), _Notebook)
    return notebook.cells or [cell for sheet in notebook.worksheets or () for cell in sheet.cells]


def _text(cell: _NotebookCell) -> str:
    source = cell.source or cell.input or ""
    text = source if isinstance(source, str) else "".join(source)
    return text.replace("\r\n", "\n").encode("utf-8", "replace").decode()  # without halves of characters


class Cells:
    """Finds the lines of a module in the notebook that it was made of; false if it was made of none.

    A comment of the student's own that looks like a cell's heading counts for one at most if its number is higher.
    """

    def __init__(self, module: bytes) -> None:
        self._headings: list[tuple[int, int]] = []
        self._form = HANDED_IN
        if _HEADER.match(module.partition(b"\n")[0]):
            for line, text in enumerate(module.split(b"\n"), start=1):
                found = _HEADER.match(text)
                number = int(found[1] or found[2]) if found else 0
                if number > (self._headings[-1][1] if self._headings else 0):
                    self._headings.append((line, number))
                    self._form = RUNNING if found and found[2] else HANDED_IN

    def __bool__(self) -> bool:
        return bool(self._headings)

    def find(self, line: int) -> tuple[int, int]:
        """The number of the cell that a line of the module is from, and the line's number there; 0 for the heading."""
        index = bisect.bisect_right(self._headings, line, key=lambda heading: heading[0]) - 1
        heading, number = self._headings[max(index, 0)]
        return number, line - heading

    def named(self, number: int) -> str:
        """A cell in words: ``cell 4``, ``In [4]``."""
        return self._form.format(number)

    def place(self, line: int) -> str:
        """A line of the module in words: ``cell 4, line 2``, ``In [4], line 2``."""
        number, inside = self.find(line)
        return f"{self.named(number)}, line {inside}" if inside > 0 else self.named(number)


def _python(text: str, futures: dict[str, None], grading: set[str]) -> tuple[str, list[str]]:
    """A cell as Python, and notes on the lines that were left out.

    Args:
        futures: gets the names that it imports from ``__future__``.
        grading: names that stand for functions of the grader; gets those that it imports.
    """
    first = text.split(None, 1)[0] if text else ""
    if first.startswith("%%") and first not in _PYTHON_CELLS:
        return "# left out", [f"begins with {first[:40]}: left out"]
    lines = text.split("\n")
    dropped: list[str] = []
    problem = _problem(text, in_cell=True)
    while problem is not None:
        found = _drop(lines, [(problem.lineno or 0) - 1]) if len(dropped) < _MAX_FIXES else []
        # The parser may point to another line, as after a quote in a shell line: then all that look like shell go.
        found = found or _drop(lines, range(len(lines)))
        if not found:
            break
        dropped += found
        problem = _problem("\n".join(lines), in_cell=True)
    if problem is not None:
        where = f"line {problem.lineno}: {problem.msg}" if problem.lineno else problem.msg
        return "# left out", [f"cannot be parsed ({where}): left out"]
    if "__future__" in text or "grader" in text or grading:
        _take_out(lines, futures, grading)
    return "\n".join(lines), [_left_out(dropped)] if dropped else []


def _left_out(lines: Sequence[str]) -> str:
    return f"left out: {', '.join(line[:60] for line in lines[:5])}{', …' if lines[5:] else ''}"


def _problem(code: str | bytes, *, in_cell: bool = False) -> SyntaxError | None:
    """Why a module cannot hold this code. It is parsed, not compiled, which may take gigabytes for a few lines.

    Args:
        in_cell: whether ``return`` and ``await`` at the top level are a problem, too.
    """
    try:
        nodes: list[ast.AST] = [parse(code)]
    except SyntaxError as problem:
        return problem
    for node in nodes if in_cell else ():
        if isinstance(node, _ONLY_IN_FUNCTIONS):
            return SyntaxError(f"{type(node).__name__} outside of a function", ("", node.lineno, None, None))
        if not isinstance(node, _FUNCTIONS):
            nodes += ast.iter_child_nodes(node)
    return None


def _drop(lines: list[str], indices: Iterable[int]) -> list[str]:
    """Replaces lines by ``pass``, in place, if they are magic or shell; returns those that were."""
    dropped = []
    for index in indices:
        line = lines[index].strip() if 0 <= index < len(lines) else ""
        if _MAGIC.match(line):
            indent = lines[index][: len(lines[index]) - len(lines[index].lstrip())]
            lines[index] = f"{indent}pass  # left out: {line}"
            dropped.append(line)
    return dropped


def _take_out(lines: list[str], futures: dict[str, None], grading: set[str]) -> None:
    """Replaces statements by ``pass``, in place, so that no line moves: imports of ``__future__``, which must stand at
    the top of the module, and calls of the grader, which a student process cannot import."""
    out: list[ast.stmt] = []
    for node in parse("\n".join(lines)).body:
        match node:
            case ast.ImportFrom(module="__future__", level=0):
                futures.update(dict.fromkeys(alias.name for alias in node.names if alias.name != "*"))
                out.append(node)
            case ast.ImportFrom(module="grader", level=0) if all(one.name in _GRADING for one in node.names):
                grading |= {alias.asname or alias.name for alias in node.names}
                out.append(node)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in grading:
                out.append(node)
            case ast.FunctionDef(name=name):
                grading.discard(name)  # the student's own from here on
    for node in reversed(out):
        last = (node.end_lineno or node.lineno) - 1
        rest = lines[last].encode()[node.end_col_offset :].decode()
        before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
        lines[node.lineno - 1 : last + 1] = [f"{before}pass{rest}", *[""] * (last - node.lineno + 1)]
