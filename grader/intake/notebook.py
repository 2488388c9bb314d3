"""Notebooks as Python modules: code cells in order, without the lines that only a notebook can run.

What Jupyter runs is kept: ``%time y = f(x)`` is ``y = f(x)``, and an ``await`` at the top level stays. Never runs a
cell. Each part that is left out gets a note with the number of its cell: cells of all kinds, from 1. Code that raises
or does not end is left out later, when the module is imported: see ``grader/student/statements.py``. Calls of the
grader itself, which a ready notebook is full of, are left out without a note.
"""

import ast
import bisect
import codecs
import contextlib
import itertools
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from grader.course.definitions import defined_names, lines_in
from grader.course.handout import INSTALL_CELL
from grader.intake.kinds import FILE_BYTES, NOTEBOOK_BYTES
from grader.intake.topics import parse

_MAGIC = re.compile(r"(?:[^=#]+=\s*)?(?:%{1,2}[A-Za-z]|!|\?{1,2}[%\w])|[%!]{0,2}[\w.*\[\]-]+\?{1,2}$")
_MAGIC_LINE = re.compile(rb"^[ \t]*[%!?][\w %?]|=[ \t]*[%!]|\?[ \t\r]*$", re.MULTILINE)
# A magic that sets how a notebook shows and imports: nobody misses it.
_SETS = re.compile(r"%(?:matplotlib|config|load_ext|reload_ext|autoreload)\b")
# A magic that runs the statement after it, with its options: the statement stays.
_TIMED = re.compile(
    r"(?P<before>(?:[^=#%!]+=)?[ \t]*)"
    r"%(?:time(?:[ \t]+--no-raise-error)?|prun(?:[ \t]+-[rq]|[ \t]+-[lsTD][ \t]*\S+)*)[ \t]+(?P<statement>[^\s-].*)"
)
_PYTHON_CELLS = frozenset({"%%time", "%%timeit", "%%capture", "%%prun", "%%memit", "%%mprun", "%%python", "%%python3"})
_PROMPT = re.compile(r"(?:>>>|In \[\d*\]:|[ \t]*\.{3,}:?)(?: |$)")
_ESCAPES: Final = "%!?,;/"
"""The characters with which a line of Jupyter's own begins."""
_NAMED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)[ \t]*[(:]", re.MULTILINE)
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
_SKIPPED: Final = (b'"outputs"', b'"attachments"', b'"metadata"')
"""The keys of a notebook whose lists and tables are skipped in a large one."""
_TOKEN: Final = re.compile(rb'"[^"]*"|[\[\]{}]')
_MOST_TOKENS: Final = 10_000_000
# The functions of the grader that a notebook imports.
_GRADING: Final = ("check", "hint", "show", "ask")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ONLY_IN_FUNCTIONS = (ast.Return, ast.Yield, ast.YieldFrom)
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
        not_run: definitions that a notebook runs and the module lacks in whole or in part, and why, by name.
    """

    module: bytes | None
    notes: list[str]
    written: dict[str, bytes]
    not_run: Mapping[str, str] = MappingProxyType({})


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
    not_run: dict[str, str] = {}
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
            cell_code = as_python(text.rstrip(), futures, grading)
            notes += [f"cell {number}: {note}" for note in cell_code.notes]
            parts.append(f"# {heading.format(number)}\n{cell_code.source}\n")
            for name in not_run.keys() & set(defined_names(cell_code.source.split("\n"))):
                del not_run[name]
            not_run |= {name: f"cell {number}: {why}" for name, why in cell_code.not_run.items()}
    first = f"from __future__ import {', '.join(futures)}  " if futures else ""
    module = _COOKIE.sub(rb"\1 ", (first + "\n".join(parts)).encode())
    return NotebookCode(module, notes, written, not_run)


def without_magics(content: bytes) -> NotebookCode:
    """A module without the lines of magic or shell that a notebook saved as Python may have, and a note on those.

    If Python reads the module as it is, or does not without those lines either, nothing is changed.
    """
    unchanged = NotebookCode(content, [], {})
    if not _MAGIC_LINE.search(content) or problem_of(content) is None:
        return unchanged
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return unchanged
    lines = lines_in(content)
    dropped = _drop(lines, range(len(lines)))
    text = "\n".join(lines)
    is_nothing_else = len(dropped) == len(list(filter(None, lines)))
    if is_nothing_else or problem_of(text.encode()):
        return unchanged
    notes = [_left_out([*dropped.values()])] if dropped else []
    return NotebookCode(text.encode(), notes, {}, _in_part(text, dropped))


def text_of(content: bytes) -> str:
    """All cells of a notebook as text, also those that are no code; of another file its text."""
    if cells := _cells_if_any(content):
        return "\n".join(map(_text, cells))
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8", "replace")


def without_outputs(content: bytes) -> bytes:
    """A notebook without its outputs, its attachments and the like, made in linear time, whatever it holds.

    Raises:
        ValueError: it has too many parts.
    """
    # Of the same length, without the quotes inside of texts: so that all quotes begin or end one.
    plain = content.replace(b"\\\\", b"..").replace(b'\\"', b"..")
    kept: list[bytes] = []
    start = depth = outside = 0
    key = (0, 0)
    for number, token in enumerate(_TOKEN.finditer(plain)):
        at, end = token.span()
        if number > _MOST_TOKENS:
            raise ValueError("too many values")
        if end - at > 1:
            key = at, end
        elif plain[at] in b"[{":
            depth += 1
            is_key = not outside and plain[key[0] : key[1]] in _SKIPPED and plain[key[1] : at].strip() == b":"
            if is_key:
                kept.append(content[start:end])
                outside = depth
        else:
            if outside and depth == outside:
                start, outside = at, 0
            depth -= 1
    return b"".join([*kept, b"" if outside else content[start:]])


def text_for_people(content: bytes, known: Container[str]) -> str:
    """All cells of a notebook, if somebody has written more than headings into its cells of text; else empty.

    Args:
        known: lines that students are handed out.
    """
    cells = _cells_if_any(content)[:_MAX_CELLS]
    lines = [line.strip() for cell in cells if cell.cell_type == "markdown" for line in _text(cell).split("\n")]
    if not any(line and not line.startswith("#") and line not in known for line in lines):
        return ""
    parts = []
    for number, cell in enumerate(cells, start=1):
        text = _text(cell).strip("\n")
        parts.append(f"--- cell {number} ---\n" + (f"```python\n{text}\n```" if cell.cell_type == "code" else text))
    return "\n\n".join(parts) + "\n"


def _cells(content: bytes) -> list[_NotebookCell]:
    if len(content) > NOTEBOOK_BYTES:
        content = without_outputs(content)
        if len(content) > NOTEBOOK_BYTES:
            raise ValueError(f"larger than {NOTEBOOK_BYTES >> 20} MiB without its outputs")
    # Not by msgspec's decoder: Python writes and reads NaN, and half of a character. And outputs may hold anything.
    text = content.decode(json.detect_encoding(content), "replace")
    notebook = msgspec.convert(json.loads(text, parse_constant=str, parse_int=float), _Notebook)
    return notebook.cells or [cell for sheet in notebook.worksheets or () for cell in sheet.cells]


def _cells_if_any(content: bytes) -> list[_NotebookCell]:
    """The cells; none if that is not a notebook."""
    with contextlib.suppress(msgspec.ValidationError, ValueError, RecursionError):
        return _cells(content)
    return []


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


class CellCode(NamedTuple):
    """A cell as Python, notes on what was left out, and `NotebookCode.not_run`."""

    source: str
    notes: list[str] = []  # noqa: RUF012 - never changed
    not_run: Mapping[str, str] = MappingProxyType({})


def as_python(text: str, futures: dict[str, None], grading: set[str]) -> CellCode:
    """A cell as Python.

    Args:
        futures: gets the names that it imports from ``__future__``.
        grading: names that stand for functions of the grader; gets those that it imports.
    """
    if INSTALL_CELL.fullmatch(text):
        return CellCode("# left out")
    first = text.split(None, 1)[0] if text else ""
    if first.startswith("%%") and first not in _PYTHON_CELLS:
        why = f"begins with {first[:40]}: left out"
        return CellCode("# left out", [why], dict.fromkeys(_NAMED.findall(text), why))
    lines = text.split("\n")
    dropped: dict[int, str] = {}
    problem = problem_of(text, in_cell=True)
    if problem is not None and _as_pasted(lines):
        problem = problem_of("\n".join(lines), in_cell=True)
    for fixes in itertools.count():
        if problem is None:
            break
        before = lines[:]
        dropped |= _drop(lines, [(problem.lineno or 0) - 1] if fixes < _MAX_FIXES else ())
        if lines == before:  # the parser may point to another line, as after a quote in a shell line
            dropped |= _drop(lines, range(len(lines)))
        if lines == before:
            break
        problem = problem_of("\n".join(lines), in_cell=True)
    if problem is not None:
        where = f"line {problem.lineno}: {problem.msg}" if problem.lineno else problem.msg
        why = f"cannot be parsed ({where}): left out"
        index = (problem.lineno or 0) - 1
        is_escaped = 0 <= index < len(lines) and lines[index].lstrip()[:1] in tuple(_ESCAPES)
        return CellCode("# left out", [why], dict.fromkeys(_NAMED.findall(text) if is_escaped else (), why))
    if "__future__" in text or "grader" in text or grading:
        _take_out(lines, futures, grading)
    source = "\n".join(lines)
    to_name = [line for line in dropped.values() if not _SETS.match(line)]
    return CellCode(source, [_left_out(to_name)] if to_name else [], _in_part(source, dropped))


def _left_out(lines: Sequence[str]) -> str:
    return f"left out: {', '.join(line[:60] for line in lines[:5])}{', …' if lines[5:] else ''}"


def _in_part(source: str, dropped: Mapping[int, str]) -> dict[str, str]:
    """The definitions at the top level in which a line that gives a name a value was left out, and why."""
    lost = [index for index, line in sorted(dropped.items()) if "=" in line.partition("%")[0].partition("!")[0]]
    if not lost:
        return {}
    found = {}
    for node in parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            at = bisect.bisect_left(lost, node.lineno)
            if at < len(lost) and lost[at] < (node.end_lineno or 0):
                found[node.name] = f"only a notebook can run its line `{dropped[lost[at]][:60]}`"
    return found


def _as_pasted(lines: list[str]) -> bool:
    """Takes away, in place, what Jupyter takes away of pasted code: prompts, or the indent of all; whether it did."""
    first = next((line for line in lines if line.strip()), "")
    if _PROMPT.match(first):
        prompts = map(_PROMPT.match, lines)
        lines[:] = [line[found.end() :] if found else line for line, found in zip(lines, prompts, strict=True)]
        return True
    indent = len(first) - len(first.lstrip())
    lines[:] = [line[indent:] if line[:indent].isspace() else line for line in lines]
    return indent > 0


def problem_of(code: str | bytes, *, in_cell: bool = False) -> SyntaxError | None:
    """Why a module cannot hold this code. It is parsed, not compiled, which may take gigabytes for a few lines.

    Args:
        in_cell: whether ``return`` and ``yield`` at the top level are a problem, too.
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


def _drop(lines: list[str], indices: Iterable[int]) -> dict[int, str]:
    """Replaces lines by ``pass``, in place, if they are magic or shell; returns those that were, by their index.

    Of a magic that runs the statement after it, that statement is left.
    """
    dropped: dict[int, str] = {}
    for index in indices:
        whole = lines[index] if 0 <= index < len(lines) else ""
        line = whole.strip()
        indent = whole[: len(whole) - len(whole.lstrip())]
        if found := _TIMED.fullmatch(line):
            lines[index] = f"{indent}{found['before']}{found['statement']}"
        elif _MAGIC.match(line):
            lines[index] = f"{indent}pass  # left out: {line}"
            dropped[index] = line
            while line.endswith("\\") and index + 1 < len(lines):  # it goes on in the next line
                index += 1
                line = lines[index].rstrip()
                lines[index] = ""
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
