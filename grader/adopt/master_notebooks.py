"""Reads the notebooks that instructors write for otter and nbgrader: cells, questions, solutions, tests.

Both become the same: pieces of a notebook, of which some belong to questions. Of a solution, the lines that students do
not get are put between our own markers. Runs nothing.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from grader.adopt.adopted import source_of
from grader.adopt.autotests import AUTOTEST, with_assertions
from grader.adopt.master import Master, NotebookPiece, NotebookQuestion
from grader.adopt.notebook_reader import (
    CODE_HERE,
    TYPE_HERE,
    MasterCell,
    NotebookReader,
    cells_of,
    sentence,
    with_usual_marks,
)
from grader.adopt.notebook_tests import Step, WrittenTest
from grader.adopt.solution_marks import without_marks
from grader.adopt.target_notebooks import TargetNotebook, is_answer
from grader.course.source import Definition, parse
from grader.errors import UserError

_BOUNDARY = re.compile(
    r"#?\s*(BEGIN|END)\s+(QUESTION|SOLUTION|PROMPT|TESTS?|ASSIGNMENT)\b|#\s*(ASSIGNMENT CONFIG)", re.I
)
_FENCE = re.compile(r"^```otter[ \t]*\n(.*?)^```[ \t]*$\n?", re.M | re.S)
_OLD_FENCE = re.compile(r"^(?:```|<!--)[ \t]*\n(BEGIN .*?)^(?:```|-->)[ \t]*$\n?", re.M | re.S)
_TEST_CONFIG = re.compile(r"(?:\.\s*=\s*)?[\"']{0,3}\s*#\s*(?:BEGIN|END)\s+TEST\s+CONFIG\s*", re.I)
_OLD_TEST = re.compile(r"#+\s*(?:hidden\s*)?test", re.I)
_TEST_HEAD = re.compile(r"\s*#+(?:.*\b(hidden)\b.*|\s*tests?\s*#*\s*)$", re.I)
_IGNORED = re.compile(r"#+\s*ignore\s*#*\s*$", re.I | re.M)
_MARK_SCHEME = re.compile(r"^### BEGIN MARK SCHEME$\n(.*?)(?:^### END MARK SCHEME$\n?|\Z)", re.M | re.S)
_DRAWS = re.compile(r"random|sample|shuffle")
_QUIET: Final = Definition | ast.Import | ast.ImportFrom | ast.Pass
"""Statements that draw no numbers."""
_MOST_PARTS: Final = 20
"""Tests of one that gives a score."""
_USUAL: Final = {
    f"{begins}_{kind}_delimeter": f"{begins.upper()} {words}"
    for begins in ("begin", "end")
    for kind, words in (("solution", "SOLUTION"), ("test", "HIDDEN TESTS"), ("mark_scheme", "MARK SCHEME"))
}
"""nbgrader's usual marks, by the names of its settings."""


def read_master(path: Path) -> Master:
    """The notebook at `path`.

    Raises:
        UserError: it is no notebook of Python, or has neither otter's marks nor nbgrader's.
    """
    try:
        notebook = json.loads(path.read_bytes())
        cells = list(cells_of(notebook))
        language = str(notebook.get("metadata", {}).get("kernelspec", {}).get("language") or "python")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = str(error) if isinstance(error, OSError | ValueError) else "it has no cells"
        fix = "name a file .ipynb that Jupyter has saved; jupytext makes one of other forms"
        raise UserError(f"{path} cannot be read as a notebook: {why}", fix=fix) from None
    if language.lower() != "python":
        raise UserError(f"{path} is a notebook of {language}", fix="adopt notebooks of Python alone")
    if any("grade_id" in cell.marks for cell in cells):
        delimiters = _delimiters(path.resolve())
        in_code = CODE_HERE | delimiters
        cells = [with_usual_marks(cell, in_code if cell.kind == "code" else delimiters) for cell in cells]
        texts = iter(with_assertions([cell.text for cell in cells if cell.kind == "code"], path.resolve().parent))
        cells = [cell._replace(text=next(texts)) if cell.kind == "code" else cell for cell in cells]
        master = _Nbgrader(path).read(cells)
    elif any(_boundary(part)[0] for cell in cells for part in _unfenced(cell)):
        master = _Otter(path).read([part for cell in cells for part in _unfenced(cell)])
    elif any(map(is_answer, cells)):
        master = TargetNotebook(path).read(cells)
    else:
        raise UserError(
            f"{path} has no question of otter's and no cell of nbgrader's",
            fix="adopt the notebook that you write, with its solutions, not the one that students get",
        )
    heads = (line for piece in master.pieces if piece.kind == "text" for line in piece.text.splitlines())
    master.title = next((line.lstrip("# ") for line in heads if line.startswith("#")), master.name)[:100]
    return master


def _delimiters(path: Path) -> dict[str, str]:
    """The usual mark of each mark that nbgrader's settings name, beside a notebook or in a folder above.

    Raises:
        UserError: one is named in another way than as a plain text: what it hides would be shown.
    """
    found = {usual: usual for usual in _USUAL.values()}
    near = ([*folder.glob("nbgrader_config.py"), *folder.glob("nbgrader_config.json")] for folder in path.parents)
    for file in next(filter(None, near), []):
        nodes = list(ast.walk(parse(file)))  # JSON's keys and texts are Python, too
        values = {one: node.value for node in nodes if isinstance(node, ast.Assign) for one in node.targets}
        for node in nodes:
            name = getattr(node, "attr", "") or str(getattr(node, "value", ""))
            if isinstance(node, ast.Attribute | ast.Constant) and name in _USUAL:
                own = getattr(values.get(node), "value", None)
                if not isinstance(own, str) or not own:
                    fix = (
                        f'set it in nbgrader_config.py, as `….{name} = "TEXT"`, or students see the lines that it hides'
                    )
                    raise UserError(f"{file}:{node.lineno}: `{name}` is not a plain text", fix=fix)
                found[own] = _USUAL[name]
    return found


class _Otter(NotebookReader):
    _seed = ""
    """The statements that set otter's seed."""

    def read(self, cells: Iterable[MasterCell]) -> Master:
        master, block, number, has_end = self.master, "", -1, True
        for cell in cells:
            mark, config, rest = _boundary(cell)
            if mark in ("assignment config", "begin assignment"):
                self._assignment(cell, _yaml(cell, config))
            elif mark == "begin question":
                number, block, has_end = len(master.questions), "", cell.kind == "raw"
                master.questions.append(self._question(cell, _yaml(cell, config)))
            elif mark == "end question":
                number, block = -1, ""
            elif mark:
                first, block = mark.split()[0], mark.split()[1]
                block = block if first == "begin" else ""
            if mark and (cell.kind == "raw" or not rest.strip()):
                continue
            if _IGNORED.match(rest):
                continue  # a note of the author
            question = master.questions[number] if number >= 0 else None
            is_test = block.startswith("test") or (not has_end and number >= 0 and _OLD_TEST.match(rest) is not None)
            if cell.kind == "code" and question and is_test:
                question.tests.append(self._test(cell))
            elif cell.kind == "code" and block == "prompt":
                self.add(cell, "prompt", cell.text, number)
            elif cell.kind == "code":
                self.add_code(cell, number)
            elif question and block == "solution" and "otter_include" not in (cell.marks["tags"] or ()):
                if question.by_hand and not any(
                    (one.kind, one.question) == ("answer", number) for one in master.pieces
                ):
                    self.add(cell, "answer", TYPE_HERE, number)
            elif cell.kind == "markdown":
                if question and not question.text:
                    question.text = sentence(rest)
                is_answer = question is not None and not has_end and re.match(r"\**solution", rest.strip("* "), re.I)
                self.add(cell, "answer" if is_answer else "text", TYPE_HERE if is_answer else rest, number)
        self._set_seeds()
        return master

    def _assignment(self, cell: MasterCell, config: Mapping[str, Any]) -> None:
        if file := config.get("config_file"):
            config = {**_yaml(cell, source_of(self._beside / str(file))), **config}
        master = self.master
        master.name = str(config.get("name") or master.name)
        lists = [[str(one) for one in config.get(f"{kind}files") or ()] for kind in ("", "student_", "autograder_")]
        master.files, master.secret_files = [*lists[0], *lists[1]], lists[2]
        generate, seed = config.get("generate"), config.get("seed")
        if isinstance(generate, dict) and not isinstance(seed, dict) and not generate.get("seed_variable"):
            seed = generate.get("seed", seed)  # else it is a variable, which the notebook sets, too
        self._seed = f"np.random.seed({seed})\nrandom.seed({seed})\n" if isinstance(seed, int) else ""

    def _set_seeds(self) -> None:
        """Sets otter's seed before each test and each cell that runs something, if any of them draws numbers."""
        master, seed = self.master, self._seed
        codes = [*(piece.text for piece in master.pieces if piece.kind == "code"), *master.codes_of_tests()]
        if not seed or not any(map(_DRAWS.search, codes)):
            return
        for at, piece in enumerate(master.pieces):
            runs = piece.kind == "code" and not all(isinstance(one, _QUIET) for one in ast.parse(piece.text).body)
            if runs or piece.kind == "prompt":
                master.pieces[at] = piece._replace(
                    text=seed + piece.text, skeleton=piece.skeleton and seed + piece.skeleton
                )
        master.pieces.insert(0, NotebookPiece(1, "code", "import random\n\nimport numpy as np"))
        for question in master.questions:
            question.tests = [test._replace(steps=(Step(seed.rstrip(), None), *test.steps)) for test in question.tests]

    def _question(self, cell: MasterCell, config: Mapping[str, Any]) -> NotebookQuestion:
        return NotebookQuestion(
            str(config.get("name") or f"cell {cell.number}"),
            cell.number,
            points=self.points(cell, config.get("points")),
            by_hand=bool(config.get("manual")),
            all_or_nothing=bool(config.get("all_or_nothing")),
        )

    def _test(self, cell: MasterCell) -> WrittenTest:
        lines = self.python_of(cell).split("\n")
        config: Mapping[str, Any] = {}
        is_hidden = False
        if _TEST_CONFIG.match(lines[0]):
            end = next((at for at in range(1, len(lines)) if _TEST_CONFIG.match(lines[at])), len(lines) - 1)
            config = _yaml(cell, "\n".join(line.removeprefix("# ") for line in lines[1:end]))
            lines = lines[end + 1 :]
        elif found := _TEST_HEAD.match(lines[0]):
            is_hidden = bool(found[1])
            lines = lines[1:]
        code = "\n".join(line.text for line in without_marks("\n".join(lines)))
        says = str(config.get("failure_message") or "")
        points = self.points(cell, config.get("points"))
        is_hidden = bool(config.get("hidden", is_hidden))
        return self.test(cell, code, says, compares_output=True, points=points, is_hidden=is_hidden)


class _Nbgrader(NotebookReader):
    _given = ""
    """The code so far that students do not write."""

    def read(self, cells: Iterable[MasterCell]) -> Master:
        master, text, number = self.master, "", -1
        for cell in cells:
            marks = cell.marks
            is_graded, is_solution = bool(marks.get("grade")), bool(marks.get("solution"))
            self._given += f"{cell.text}\n" if cell.kind == "code" and not is_solution else ""
            if is_solution or marks.get("task"):
                by_hand = is_graded or bool(marks.get("task"))
                points = self.points(cell, marks.get("points"))
                question = NotebookQuestion(str(marks["grade_id"]), cell.number, text, points, by_hand)
                shown = _MARK_SCHEME.sub("", cell.text)
                if shown != cell.text:
                    why = (
                        "its mark scheme is not taken over, as students see rubrics: write in course.toml what they may"
                    )
                    master.look.append(f"cell {cell.number}: {why}")
                master.questions.append(question)
                at = len(master.questions) - 1
                number = number if by_hand else at
                if cell.kind == "code":
                    self.add_code(cell, at, whole=True)
                else:
                    if not is_solution:
                        question.text = sentence(shown) or text
                        self.add(cell, "text", shown, at)
                    self.add(cell, "answer", TYPE_HERE, at)
            elif is_graded and cell.kind == "code":
                if number < 0:
                    master.look.append(f"cell {cell.number}: a test before any solution: it is left out")
                else:
                    master.questions[number].tests += self._tests(cell, self.points(cell, marks.get("points")) or 0.0)
            elif cell.kind == "code":
                self.add_code(cell)
            elif cell.kind == "markdown":
                text = sentence(cell.text) or text
                self.add(cell, "text", cell.text)
        return master

    def _tests(self, cell: MasterCell, points: float) -> Iterator[WrittenTest]:
        """The test of a cell; with a hidden part, that alone gives the points, and what students see gives none."""
        lines = without_marks(self.python_of(cell))
        whole, shown = (
            "\n".join(line.text for line in lines if keeps or not line.is_hidden) for keeps in (True, False)
        )
        refused = "asks for nothing: there are only comments in it" if _says_nothing(whole) else ""
        if AUTOTEST.search(whole):
            refused = "has AUTOTEST lines, and the notebook gives no values for them when it is run"
        is_split = any(line.is_hidden and line.text.strip() for line in lines)
        if is_split and not _says_nothing(shown):
            yield self.test(cell, shown, points=0.0, refused=refused)
        least = list(self._scores(cell, whole, points)) or [0.0]
        for at_least in least:
            test = self.test(cell, whole, points=points / len(least), is_hidden=is_split, refused=refused)
            yield test._replace(steps=(Step(whole, None, at_least=at_least),))

    def _scores(self, cell: MasterCell, code: str, points: float) -> Iterator[float]:
        """If the last line of a test gives a score: the least that it must be for each part of the points."""
        gives_score = False
        with contextlib.suppress(SyntaxError, ValueError):
            is_possible = points > 0 and float(cell.value or 0) <= points
            match ast.parse(code).body[-1:]:
                case [ast.Expr(ast.Name() | ast.BinOp())]:
                    gives_score = is_possible
                case [ast.Expr(ast.Call(ast.Name(name)))] if is_possible:
                    returns = rf"^def {name}\b(?:.*\n(?=[ \t\n]))*?[ \t]+return[ \t]+\S"
                    gives_score = name in ("round", "sum", "min", "max") or bool(re.search(returns, self._given, re.M))
        if gives_score:
            parts = min(math.ceil(points), _MOST_PARTS) if points > 1 else 4
            yield from (points * part / parts for part in range(1, parts + 1))


def _says_nothing(code: str) -> bool:
    return not re.sub(r"#.*|\"{3}.*?\"{3}", "", code, flags=re.DOTALL if '"' * 3 in code else 0).strip()


def _unfenced(cell: MasterCell) -> Iterator[MasterCell]:
    """The parts of a cell of text: its fences of otter's are cells of their own."""
    for at, text in enumerate(_FENCE.split(cell.text) if cell.kind == "markdown" else [cell.text]):
        if at % 2 or text.strip():
            yield cell._replace(kind="raw" if at % 2 else cell.kind, text=text)


def _boundary(cell: MasterCell) -> tuple[str, str, str]:
    """The mark of a cell of otter's, in small letters, its YAML, and the text beside it."""
    text, rest = cell.text, cell.text
    if cell.kind == "markdown" and (fence := _OLD_FENCE.search(text)):
        text, rest = fence[1], _OLD_FENCE.sub("", text, count=1)
    elif cell.kind != "raw":
        return "", "", rest
    if not (found := _BOUNDARY.match(text)):
        return "", "", rest
    mark = " ".join(f"{found[1]} {found[2]}".split()) if found[1] else found[3]
    return mark.lower(), text.partition("\n")[2], rest


def _yaml(cell: MasterCell, text: str) -> Mapping[str, Any]:
    """The settings in a cell.

    Raises:
        UserError: they cannot be read.
    """
    why: object = "it is no list of `name: value`"
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        found, why = text, getattr(error, "problem", None) or error
    if not isinstance(found, dict | None):
        fix = "mend it, or put quotes round values with a colon"
        raise UserError(f"cell {cell.number}: its YAML cannot be read: {why}", fix=fix)
    return found or {}
