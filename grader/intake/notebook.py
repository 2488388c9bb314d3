"""Notebooks as Python modules: code cells in order, without the lines that only a notebook can run.

Never runs a cell. Each part that is left out gets a note with the number of its cell: cells of all kinds, from 1. What
raises or does not end when the module is imported is left out then: see ``grader/student/definitions.py``.
"""

from __future__ import annotations

import ast
import re

import msgspec

from grader.intake.bag import FILE_BYTES
from grader.intake.topics import check_compiles, parse

_MAGIC = re.compile(r"^(?P<indent>\s*)(?:[\w., ]+=\s*)?(?:%{1,2}[A-Za-z]|!|\?{1,2}\w)|^(?P<help>\s*)[\w.]+\?{1,2}\s*$")
_PYTHON_CELLS = frozenset({"%%time", "%%timeit", "%%capture", "%%prun"})
_HEADER = re.compile(rb"(?:from __future__ import [\w, ]+  )?# cell (\d+)$")
_FUTURE_TOO_LATE = "from __future__ imports must occur at the beginning"
_MAX_CELLS = 5_000
_MAX_FIXES = 20


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""  # as version 3 called it


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
    futures: dict[str, None] = {}
    room = FILE_BYTES
    for number, cell in enumerate(cells[:_MAX_CELLS], start=1):
        if cell.cell_type == "code":
            room -= sum(map(len, cell.source or cell.input))
            if room < 0:
                notes.append(f"cell {number}: more than {FILE_BYTES >> 20} MiB of code: the rest was left out")
                break
            source, left_out = _python(cell, futures)
            notes += [f"cell {number}: {note}" for note in left_out]
            parts.append(f"# cell {number}\n{source}\n")
    first = f"from __future__ import {', '.join(futures)}  " if futures else ""
    return (first + "\n".join(parts)).encode("utf-8", "replace"), notes


def cell_numbers(module: bytes) -> list[int]:
    """The number of the cell that each line of a module is from; empty where a module was no notebook."""
    numbers: list[int] = []
    for line in module.split(b"\n"):
        header = _HEADER.match(line)
        if header is None and not numbers:
            return []
        numbers.append(int(header[1][:9]) if header else numbers[-1])
    return numbers


def _python(cell: _Cell, futures: dict[str, None]) -> tuple[str, list[str]]:
    """The cell as Python, and notes on what was left out; `futures` gets what it imports of ``__future__``."""
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
    if "__future__" in text:
        _take_futures(lines, futures)
    return "\n".join(lines), notes


def _problem(text: str) -> SyntaxError | None:
    try:
        check_compiles(text)
    except SyntaxError as problem:
        return None if str(problem.msg).startswith(_FUTURE_TOO_LATE) else problem
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


def _take_futures(lines: list[str], futures: dict[str, None]) -> None:
    """Replaces ``from __future__ import x`` by ``pass``, in place: it must stand at the top of the module."""
    for node in parse("\n".join(lines)).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level:
            futures.update(dict.fromkeys(alias.name for alias in node.names if alias.name != "*"))
            last = (node.end_lineno or node.lineno) - 1
            rest = lines[last].encode()[node.end_col_offset :].decode()
            before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
            lines[node.lineno - 1 : last + 1] = [f"{before}pass{rest}", *[""] * (last - node.lineno + 1)]
