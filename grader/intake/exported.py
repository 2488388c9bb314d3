"""Python files that a notebook program wrote: what that program runs becomes plain Python, line for line if possible.

marimo, nbconvert (``get_ipython()``), Databricks, jupytext, and magics as Colab and VS Code leave them. What a program
on Windows leaves at the end of a file goes, too. Never runs a line, and leaves plain Python as it is.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from grader.course.definitions import lines_in
from grader.course.source import Definition, first_line, names_in
from grader.intake.notebook import NotebookCode, as_python, problem_of, without_magics
from grader.intake.topics import parse, statements_below

_BOM: Final = b"\xef\xbb\xbf"
_ODD: Final = b"\x1a\0"
_CELL_MAGICS: Final = ("time", "timeit", "capture", "prun", "memit")
_LINE_MAGICS: Final = ("time", "prun")
_JUPYTEXT: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:#![^\n]*\n)?# ---\r?\n# jupyter:")
_COMMENTED: Final = re.compile(rb"^([ \t]*)# (%(?:time|prun)[ \t]+\S)", re.MULTILINE)
_DATABRICKS: Final = b"# Databricks notebook source"
_COMMAND: Final = re.compile(r"^# COMMAND -+[ \t]*$")
_MAGIC_OF_DATABRICKS: Final = re.compile(r"# MAGIC ?")
_KINDS: Final = {"cell": "cell", "setup": "cell", "function": "function", "class_definition": "function"}
"""What the decorators and contexts of marimo's app stand for."""
_MOST_CELLS: Final = 1_000
"""Cells of marimo that are put in order."""


def plain_python(content: bytes) -> NotebookCode:
    """A module as Python runs it, and notes on what was left out."""
    content, notes = _without_odd_bytes(content)
    converted = (convert(content) for marks, convert in _PROGRAMS if marks in content)
    good = (one for one in converted if one is not None and problem_of(one.module or b"") is None)
    of_program = next(good, NotebookCode(content, [], {}))
    found = without_magics(of_program.module or b"")
    not_run = {**of_program.not_run, **found.not_run}
    return NotebookCode(found.module, [*notes, *of_program.notes, *found.notes], {}, not_run)


def _without_odd_bytes(content: bytes) -> tuple[bytes, list[str]]:
    """The same without the end that a program on Windows writes, or a disk leaves; and without marks between files."""
    notes = []
    text = content.rstrip(_ODD + b" \t\r\n") + b"\n"
    is_odd = any(byte in _ODD for byte in content[len(text) - 1 :])
    if is_odd and b"\0" not in text:  # else it is UTF-16, or no text at all
        notes.append("what is no text at its end (bytes 1A or 00) was left out")
        content = text
    if _BOM in content[3:] and problem_of(content) is not None:
        text = content[:3] + content[3:].replace(_BOM, b"")
        if problem_of(text) is None:
            notes.append("marks of byte order (BOM) between its lines were left out")
            content = text
    return content, notes


# ---------------------------------------------------------------- jupytext and Databricks


def _of_jupytext(content: bytes) -> NotebookCode | None:
    """With the magics that jupytext has made comments, as far as they run a statement."""
    if not _JUPYTEXT.match(content):
        return None
    found = without_magics(_COMMENTED.sub(rb"\1\2", content))
    return found if found.module != content else None


def _of_databricks(content: bytes) -> NotebookCode | None:
    """With the cells that begin with a magic, and so are comments as a whole."""
    lines = lines_in(content)
    notes: list[str] = []
    not_run: dict[str, str] = {}
    start = 0
    for end in [*(number for number, line in enumerate(lines) if _COMMAND.match(line)), len(lines)]:
        of_cell = [number for number in range(start, end) if _MAGIC_OF_DATABRICKS.match(lines[number])]
        text = "\n".join(_MAGIC_OF_DATABRICKS.sub("", lines[number], count=1) for number in of_cell)
        first = text.split(None, 1)[0] if text.strip() else ""
        if first in ("%python", "%%python", "%time", *(f"%%{one}" for one in _CELL_MAGICS)):
            cell = as_python(text.removeprefix("%python"), {}, set())
            for number, line in zip(of_cell, cell.source.split("\n"), strict=False):
                lines[number] = line
            notes += cell.notes
            not_run |= cell.not_run
        start = end + 1
    return NotebookCode("\n".join(lines).encode(), notes, {}, not_run)


# ---------------------------------------------------------------- nbconvert


def _of_nbconvert(content: bytes) -> NotebookCode | None:
    """With the code that is a text in ``get_ipython().run_cell_magic("time", "", "…")``, and such lines of magic."""
    try:
        tree = parse(content)
    except SyntaxError:
        return None
    lines = lines_in(content)
    notes: list[str] = []
    not_run: dict[str, str] = {}
    at_top = {id(node) for node in tree.body}
    found = [node for node in statements_below(tree) if isinstance(node, ast.Expr | ast.Assign)]
    for node in sorted(found, key=lambda one: -one.lineno):
        if (called := _call_of_ipython(node.value)) is None:
            continue
        method, texts = called
        whole = lines[node.lineno - 1 : node.end_lineno]
        before = whole[0].encode()[: node.value.col_offset].decode("utf-8", "replace")
        new = [f"{before}pass"] if isinstance(node, ast.Expr) else whole
        match method, texts:
            case "run_line_magic", [str(name), str(statement)] if name in _LINE_MAGICS:
                new = [f"{before}{statement}"]
            case "run_cell_magic", [str(name), _, str(text)] if name in _CELL_MAGICS and id(node) in at_top:
                cell = as_python(text.rstrip(), {}, set())
                new = cell.source.split("\n")
                notes += cell.notes
                not_run |= cell.not_run
        if isinstance(node, ast.Expr) or new is not whole:
            lines[node.lineno - 1 : node.end_lineno] = [*new, *[""] * (len(whole) - len(new))]
        else:
            around = (one for one in tree.body if isinstance(one, Definition) and _is_inside(node, one))
            not_run |= {one.name: f"only a notebook can run its line `{whole[0].strip()[:60]}`" for one in around}
    return NotebookCode("\n".join(lines).encode(), notes[::-1], {}, not_run)


def _call_of_ipython(value: ast.expr) -> tuple[str, list[object]] | None:
    """The method of ``get_ipython()`` that an expression calls, and its arguments as far as they are constants."""
    match value:
        case ast.Call(ast.Attribute(ast.Call(ast.Name("get_ipython")), method), arguments):
            return method, [one.value if isinstance(one, ast.Constant) else None for one in arguments]
    return None


def _is_inside(node: ast.stmt, other: ast.stmt) -> bool:
    return other.lineno < node.lineno <= (other.end_lineno or 0)


# ---------------------------------------------------------------- marimo


@dataclass
class _MarimoCell:
    """A cell of marimo: its lines as they are in a module, and the names that it gives values, and that it reads."""

    start: int
    lines: list[str]
    gives: set[str]
    reads: set[str]


def _of_marimo(content: bytes) -> NotebookCode | None:
    """With the bodies of its cells at the top level, in the order in which marimo runs them."""
    try:
        body = parse(content).body
    except SyntaxError:
        return None
    app = next((name for name in map(_app_of, body) if name), "")
    if not app:
        return None
    lines = lines_in(content)
    cells = []
    for node in body:
        kind = _kind_of(node, app)
        start, end = first_line(node), node.end_lineno or node.lineno
        if kind == "own":
            lines[start - 1 : end] = [""] * (end - start + 1)
        elif kind == "function" and isinstance(node, Definition):
            lines[start - 1 : node.lineno - 1] = [""] * (node.lineno - start)
            cells.append(_MarimoCell(start, lines[start - 1 : end], {node.name}, _read_at_once(node)))
        elif kind == "cell" and isinstance(node, ast.With | ast.FunctionDef | ast.AsyncFunctionDef):
            own = node.body[:-1] if isinstance(node.body[-1], ast.Return) else node.body
            lines[start - 1 : end] = _dedented(lines, start, end, node.body, own)
            names = [one for part in own for one in ast.walk(part) if isinstance(one, ast.Name)]
            reads = {one.id for one in names if isinstance(one.ctx, ast.Load)}
            cells.append(_MarimoCell(start, lines[start - 1 : end], _bound(own), reads))
    not_run = _with_private_names(cells)
    in_order = _in_order(cells)
    notes = []
    if in_order != cells:
        notes.append("its cells are in the order in which marimo runs them: lines of it are counted in that order")
        inside = {number for cell in cells for number in range(cell.start, cell.start + len(cell.lines))}
        others = [line for number, line in enumerate(lines, start=1) if number not in inside]
        lines = [*others, *(line for cell in in_order for line in cell.lines)]
    return NotebookCode("\n".join(lines).encode(), notes, {}, not_run)


def _app_of(node: ast.stmt) -> str:
    match node:
        case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("marimo"), "App"))):
            return name
    return ""


def _kind_of(node: ast.stmt, app: str) -> str:
    """The kind of a statement of marimo's file: its ``own``, a ``function`` or class, a ``cell``; else empty."""
    parts: Sequence[ast.expr] = node.decorator_list if isinstance(node, Definition) else ()
    if isinstance(node, ast.With):
        parts = [item.context_expr for item in node.items]
    for part in parts:
        named = part.func if isinstance(part, ast.Call) else part
        match named:
            case ast.Attribute(ast.Name(owner), what) if owner == app:
                return _KINDS.get(what, "")
    match node:
        case ast.Import([ast.alias("marimo", None)]) | ast.Assign([ast.Name("__generated_with")]):
            return "own"
        case ast.If(ast.Compare(ast.Name("__name__")), [ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), "run")))]):
            return "own" if owner == app else ""
    return "own" if _app_of(node) else ""


def _dedented(
    lines: Sequence[str], start: int, end: int, body: Sequence[ast.stmt], kept: Sequence[ast.stmt]
) -> list[str]:
    """The lines of a cell as those of a module: without its head, its last ``return``, and its indent."""
    first = first_line(body[0])
    indent = body[0].col_offset
    found = []
    for number in range(start, end + 1):
        line = lines[number - 1]
        is_head = number < first and not line.lstrip().startswith("#")
        is_return = len(kept) < len(body) and number >= body[-1].lineno
        line = line[indent:] if line[:indent].isspace() else line
        found.append("" if is_head or is_return or (number < first and line[:1].isspace()) else line)
    return found


def _bound(body: Iterable[ast.stmt]) -> set[str]:
    """The names that the statements of a cell give values at its top level."""
    found: set[str] = set()
    waiting: list[ast.AST] = [*body]
    while waiting:
        match node := waiting.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                continue
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
        waiting += ast.iter_child_nodes(node)
    return found


def _read_at_once(node: Definition) -> set[str]:
    """The names that a definition reads before it is called."""
    parts: list[ast.AST] = [*node.bases, *node.body] if isinstance(node, ast.ClassDef) else [node.args]
    return names_in(*parts)


def _in_order(cells: Sequence[_MarimoCell]) -> list[_MarimoCell]:
    """The cells, each after those that give the names which it reads; else in the order of the file."""
    if len(cells) > _MOST_CELLS:
        return [*cells]
    gives = {name for cell in cells for name in cell.gives if not name.startswith("_")}
    waiting, known, found = [*cells], set[str](), list[_MarimoCell]()
    while waiting:
        ready = (cell for cell in waiting if not (cell.reads & gives) - cell.gives - known)
        one = next(ready, waiting[0])
        waiting.remove(one)
        found.append(one)
        known |= one.gives
    return found


def _with_private_names(cells: Sequence[_MarimoCell]) -> dict[str, str]:
    """The definitions that read a name such as ``_eps``, for marimo each cell's own, that two cells have."""
    count = Counter(name for cell in cells for name in cell.gives if name.startswith("_") and name.strip("_"))
    twice = {name for name, times in count.items() if times > 1}
    found = {}
    for cell in cells:
        for name in cell.reads & cell.gives & twice:
            why = f"`{name}` is another thing in each cell for marimo, and one here"
            found.update(dict.fromkeys(cell.gives - twice, why))
    return found


_PROGRAMS: Final = (
    (b"marimo.App(", _of_marimo),
    (b"get_ipython()", _of_nbconvert),
    (_DATABRICKS, _of_databricks),
    (b"# jupyter:", _of_jupytext),
)
"""By the bytes that every file of a program has, the function that makes plain Python of it."""
