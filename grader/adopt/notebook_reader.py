"""The common part of reading notebooks that instructors write: cells become pieces, points, and tests. Runs nothing."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from grader.adopt.master import Master, NotebookPiece, PieceKind
from grader.adopt.notebook_tests import Step, WrittenTest
from grader.adopt.solution_marks import marked, skeleton, without_marks
from grader.intake.notebook import as_python

_OTTER_ITSELF = re.compile(
    r"(?:import otter\b|from otter\b|\w+ = otter\.Notebook\(|grader\.(?:check|export|run_plugin|add_plugin))"
)
CHECK_CALL: Final = re.compile(r"^\w+\.check\([\"']([^\"']+)", re.M)
CODE_HERE: Final = {
    f"{begins} CODE HERE": f"{usual} SOLUTION"
    for begins, usual in (("START", "BEGIN"), ("BEGIN", "BEGIN"), ("END", "END"))
} | {"YOUR CODE STARTS HERE": "BEGIN SOLUTION", "YOUR CODE ENDS HERE": "END SOLUTION"}
"""The usual mark of each mark of notebooks whose answers are between ``START CODE HERE`` and ``END CODE HERE``."""
_HARMLESS = re.compile(
    r"left out: (?:%{1,2}(?:matplotlib|time|timeit|capture|load_ext|reload_ext|autoreload|config)\b[^,]*(?:, )?)+"
)
"""Lines that change nothing in a module."""
_UNWRITTEN = re.compile(r"raise NotImplementedError(?:\(\))?\s*$", re.M)
TYPE_HERE: Final = "_Type your answer here, replacing this text._"


class MasterCell(NamedTuple):
    number: int
    kind: str
    text: str
    marks: Mapping[str, Any]
    value: str
    printed: str


def cells_of(notebook: Any) -> Iterator[MasterCell]:
    for number, cell in enumerate(notebook["cells"], start=1):
        value = printed = ""
        for output in cell.get("outputs") or ():
            printed += _joined(output.get("text", "")) if output.get("name") == "stdout" else ""
            value = _joined((output.get("data") or {}).get("text/plain", "")) or value
        text = _joined(cell["source"]).replace("\r\n", "\n")
        marks = cell["metadata"].get("nbgrader") or {"tags": cell["metadata"].get("tags")}
        yield MasterCell(number, cell["cell_type"], text, marks, value, printed)


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


class NotebookReader:
    """The common part of all kinds."""

    def __init__(self, path: Path) -> None:
        self.master = Master(path.stem)
        self._beside = path.parent
        self._grading: set[str] = set()

    def add(self, cell: MasterCell, kind: PieceKind, text: str, question: int = -1) -> None:
        if kind == "text" and not text.strip():
            return
        self.master.pieces.append(NotebookPiece(cell.number, kind, text.strip("\n"), question))

    def python_of(self, cell: MasterCell) -> str:
        """The code of a cell without the lines that only a notebook can run; what matters of these is named."""
        code = as_python(cell.text.rstrip(), {}, self._grading)
        self.master.look += [f"cell {cell.number}: {note}" for note in code.notes if not _HARMLESS.fullmatch(note)]
        return code.source

    def add_code(self, cell: MasterCell, question: int = -1, *, whole: bool = False) -> None:
        """A cell of code; with `whole`, students write all of a solution without markers."""
        source = self.python_of(cell)
        calls = [one for one in ast.parse(source).body if _OTTER_ITSELF.match(ast.unparse(one))]
        lines = [line for line in without_marks(without(source, calls)) if not line.is_hidden]
        if not any(line.text.strip() for line in lines):
            return
        if whole and not any(line.is_solution for line in lines):
            lines = [line._replace(is_solution=True) for line in lines]
        try:
            text = marked(lines)
        except SyntaxError as error:
            self.master.look.append(f"cell {cell.number}: without its marks it is not Python ({error.msg}): left out")
            return
        if whole and _UNWRITTEN.search(cell.text) and "# YOUR CODE HERE" in cell.text:
            self.master.look.append(f"cell {cell.number}: there is no solution in it: adopt the notebook that has them")
        piece = NotebookPiece(cell.number, "code", text, question, "# solution:" in text, skeleton(lines))
        self.master.pieces.append(piece)

    def points(self, cell: MasterCell, value: Any) -> Any:
        """The points of a question or test: a number, some numbers, or None. What is no points is named, and 0."""
        if isinstance(value, dict):
            return {key: self.points(cell, one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.points(cell, one) for one in value]
        if value in (None, ""):
            return None
        with contextlib.suppress(ValueError):
            if 0 <= (found := float(str(value))) < math.inf:
                return found
        self.master.look.append(f"cell {cell.number}: {value!r:.60} is no number of points: it counts as 0")
        return 0.0

    def test(
        self, cell: MasterCell, code: str, says: str = "", *, compares_output: bool = False, **more: Any
    ) -> WrittenTest:
        with contextlib.suppress(SyntaxError):  # `function_of` reports it
            says = says or ast.get_docstring(ast.parse(code)) or ""
        step = Step(code, cell.value, cell.printed) if compares_output else Step(code, None)
        return WrittenTest(f"cell {cell.number}", (step,), says, **more)


def without(code: str, statements: Iterable[ast.stmt]) -> str:
    """Code without some of its statements at the top; empty if only comments are left."""
    lines, body = code.split("\n"), ast.parse(code).body
    places = {(one.lineno, one.col_offset) for one in statements}
    gone = [one for one in body if (one.lineno, one.col_offset) in places]
    for one in gone:
        beside = [ast.unparse(other) for other in body if other.lineno == one.lineno and other not in gone]
        for at in range(one.lineno - 1, one.end_lineno or one.lineno):
            lines[at] = "; ".join(beside)
    return "" if gone and gone == body else "\n".join(lines).strip("\n")


def with_usual_marks(cell: MasterCell, marks: Mapping[str, str]) -> MasterCell:
    """The cell with the usual marks in the place of others. A line that has one anywhere is that mark."""
    text = cell.text
    for own, usual in marks.items():
        text = re.sub(rf"^([ \t]*).*{re.escape(own)}.*$", rf"\1### {usual}", text, flags=re.M | re.I)
    return cell._replace(text=text)


def sentence(text: str) -> str:
    """The first line of a text that says something, without its marks."""
    lines = (re.sub(r"[*`$#>]|(?<!\w)_|_(?!\w)|<[^>]+>", "", line).strip(" -") for line in text.splitlines())
    return next((line for line in lines if len(line) > 3), "")[:160]


def code_pieces(path: Path, questions: Sequence[str] = ()) -> list[NotebookPiece]:
    """The cells of a notebook that has solutions alone, without otter's own calls.

    Args:
        questions: names; the cells above ``grader.check(NAME)``, up to another check, belong to one.
    """
    reader = NotebookReader(path)
    pieces, open_from = reader.master.pieces, 0
    for cell in cells_of(json.loads(path.read_bytes())):
        if cell.kind == "code":
            reader.add_code(cell)
            if (found := CHECK_CALL.search(cell.text)) and found[1] in questions:
                number = questions.index(found[1])
                pieces[open_from:] = [one._replace(question=number) for one in pieces[open_from:]]
                open_from = len(pieces)
        elif cell.kind == "markdown":
            reader.add(cell, "text", cell.text)
    return pieces
