"""Notebooks as Python modules: code cells in order, without the lines that only a notebook can run.

Never runs a cell. Each part that is left out gets a note with the number of its cell: cells of all kinds, from 1.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from grader.intake.bag import FILE_BYTES
from grader.intake.topics import check_compiles, parse

_MAGIC = re.compile(r"^(?P<indent>\s*)(?:[\w., ]+=\s*)?(?:%{1,2}[A-Za-z]|!|\?{1,2}\w)|^(?P<help>\s*)[\w.]+\?{1,2}\s*$")
_PYTHON_CELLS = frozenset({"%%time", "%%timeit", "%%capture", "%%prun"})
_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_MAX_CELLS = 5_000
_MAX_FIXES = 20


class _Output(msgspec.Struct):
    output_type: str = ""


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""  # as version 3 called it
    outputs: list[_Output] = []


class _Sheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    nbformat: int = 4
    cells: list[_Cell] = []
    worksheets: list[_Sheet] = []


def module_of(content: bytes) -> tuple[bytes | None, list[str]]:
    """The notebook's code as a module, and what was left out of it; None when it cannot be read at all."""
    try:
        notebook = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=_Notebook)
    except msgspec.ValidationError as problem:
        return None, [f"not a notebook: {problem}"]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
        return None, [f"not a notebook: it is not JSON ({problem})"]
    cells = notebook.cells or [cell for sheet in notebook.worksheets for cell in sheet.cells]
    if not cells:
        return None, ["a notebook without cells"]
    notes: list[str] = []
    if len(cells) > _MAX_CELLS:
        notes.append(f"more than {_MAX_CELLS:,} cells: the rest was left out")
    parts: list[str] = []
    room = FILE_BYTES
    for number, cell in enumerate(cells[:_MAX_CELLS], start=1):
        if cell.cell_type == "code":
            room -= sum(map(len, cell.source or cell.input))
            if room < 0:
                notes.append(f"cell {number}: more than {FILE_BYTES >> 20} MiB of code: the rest was left out")
                break
            source, left_out = _python(cell)
            notes += [f"cell {number}: {note}" for note in left_out]
            parts.append(f"# cell {number}\n{source}\n")
    return "\n".join(parts).encode("utf-8", "replace"), notes


def _python(cell: _Cell) -> tuple[str, list[str]]:
    source = cell.source or cell.input
    text = (source if isinstance(source, str) else "".join(source)).replace("\r\n", "\n").rstrip()
    first = text.lstrip().split(None, 1)[0] if text.strip() else ""
    if first.startswith("%%") and first not in _PYTHON_CELLS:
        return "# left out", [f"begins with {first[:40]}: left out"]
    lines = text.split("\n")
    dropped: list[str] = []
    problem: SyntaxError | None = None
    for _ in range(_MAX_FIXES):
        problem = _problem("\n".join(lines))
        if problem is None or not _drop(lines, (problem.lineno or 0) - 1, dropped):
            break
    if problem is not None:
        # The parser may point to another line, as after a quote in a shell line: drop all lines that look like shell.
        for index in range(len(lines)):
            _drop(lines, index, dropped)
        problem = _problem("\n".join(lines))
    if problem is not None:
        where = f"line {problem.lineno}: {problem.msg}" if problem.lineno else problem.msg
        return "# left out", [f"cannot be parsed ({where}): left out"]
    notes = (
        [f"left out: {', '.join(line[:60] for line in dropped[:5])}{', …' if dropped[5:] else ''}"] if dropped else []
    )
    if any(output.output_type in ("error", "pyerr") for output in cell.outputs):
        lines, some = _definitions_only(lines)
        if some:
            notes.append("ended in an error when it was run: only its definitions were taken")
    return "\n".join(lines), notes


def _problem(text: str) -> SyntaxError | None:
    try:
        check_compiles(text)
    except SyntaxError as problem:
        return problem
    return None


def _drop(lines: list[str], index: int, dropped: list[str]) -> bool:
    """Replaces a line of magic or shell by ``pass``, in place; whether it was such a line."""
    found = _MAGIC.match(lines[index]) if 0 <= index < len(lines) else None
    if found is None:
        return False
    line = lines[index]
    indent = found["indent"] if found["indent"] is not None else found["help"]
    lines[index] = f"{indent}pass  # left out: {line.strip()}"
    dropped.append(line.strip())
    return True


def _definitions_only(lines: list[str]) -> tuple[list[str], bool]:
    """The lines with every statement but imports and definitions commented out; whether there was one."""
    out = set(_statement_lines("\n".join(lines)))
    return [f"# {line}" if index in out else line for index, line in enumerate(lines)], bool(out)


def _statement_lines(text: str) -> Iterator[int]:
    """The numbers, from 0, of the lines of all statements but imports and definitions."""
    kept: set[int] = set()
    other: set[int] = set()
    for node in parse(text).body:
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        here = range(start - 1, (node.end_lineno or node.lineno))
        (kept if isinstance(node, _KEPT) else other).update(here)
    yield from other - kept  # `x = 1; import y` on one line stays.
