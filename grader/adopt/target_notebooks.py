"""Reads notebooks whose tests are functions of modules beside them: ``from public_tests import *``, ``sum_test(sum)``.

An answer is between ``# START CODE HERE`` and ``# END CODE HERE``. Runs nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from grader.adopt.master import Master, NotebookQuestion
from grader.adopt.notebook_reader import CODE_HERE, MasterCell, NotebookReader, sentence, with_usual_marks, without
from grader.adopt.notebook_tests import free_names, written_in
from grader.course.source import names_bound_by, names_in, parse

_ANSWER = re.compile(
    r"^\s*#+.*((?<!NOT )\bGRADED (FUNCTION|CLASS|METHOD|CELL)|\bUNQ_C|\b(START|BEGIN|STARTS) (CODE )?HERE)", re.M
)
_TEST = re.compile(r"test|check|verify", re.I)
_PASSED = re.compile(r"all tests? passed", re.I)


def is_answer(cell: MasterCell) -> bool:
    """Whether students write a part of a cell."""
    return cell.kind == "code" and _ANSWER.search(cell.text) is not None


class TargetNotebook(NotebookReader):
    """A notebook in which each test is a call that gets the answer as an argument."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._questions: dict[str, NotebookQuestion] = {}
        """By the names that students write for them."""

    def read(self, cells: Iterable[MasterCell]) -> Master:
        """The notebook."""
        master, text = self.master, ""
        for cell in cells:
            if cell.kind == "code":
                number, names = -1, list[str]()
                if is_answer(cell):
                    number, names = len(master.questions), [*written_in(ast.parse(self.python_of(cell)).body)]
                    master.questions.append(NotebookQuestion((names or [f"cell {cell.number}"])[-1], cell.number, text))
                    self._questions |= dict.fromkeys(names, master.questions[-1])
                    cell = with_usual_marks(cell, CODE_HERE)
                self.add_code(cell._replace(text=self._without_tests(cell, names)), number, whole=number >= 0)
            elif cell.kind == "markdown":
                text = sentence(cell.text) or text
                self.add(cell, "text", cell.text)
        return master

    def _without_tests(self, cell: MasterCell, answers: Iterable[str]) -> str:
        """The code of a cell that has some answers in it. Its tests become those of their questions."""
        code = self.python_of(cell)
        body = ast.parse(code).body
        for one in body:  # `learned = train(data)`: what is asked of it is asked of `train`
            if mentioned := self._mentioned(one):
                self._questions = dict.fromkeys(written_in([one]), self._questions[mentioned[-1]]) | self._questions
        tests = [one for one in body if self._asked(one)]
        tests = [one for one in body if one in tests or (tests and isinstance(one, ast.Assert))]
        for one in tests:
            text = ast.get_source_segment(code, one) or ""
            if not free_names(text).isdisjoint({*written_in(body)}.difference(answers)):
                text = "\n".join(code.split("\n")[: one.end_lineno])
            if isinstance(one, ast.Expr):  # it may print that it has failed, and raise nothing
                said = _PASSED.search(cell.printed) or _PASSED.search(self._source_of(one))
                words = f"{said[0].lower()!r} in" if said else "'tests failed' not in"
                text += f"\nassert {words} capsys.readouterr().out.lower()"
            question = next((self._questions[name] for name in reversed(self._asked(one))), self.master.questions[-1])
            question.tests.append(self.test(cell, text))
        return without(code, tests)

    def _asked(self, statement: ast.stmt) -> list[str]:
        """The answers that a statement tests; empty if it is no test."""
        match statement:
            case ast.Expr(ast.Call(function)) if _TEST.search(ast.unparse(function)) and not self._mentioned(function):
                return self._mentioned(statement)
            case ast.Assert():
                return self._mentioned(statement)
        return []

    def _mentioned(self, node: ast.AST) -> list[str]:
        """The answers that code mentions, and what was made of them; the latest one last."""
        names = names_in(node)
        return [name for name in self._questions if name in names]

    def _source_of(self, test: ast.stmt) -> str:
        """The source of the functions with the test's name in the modules beside the notebook."""
        name = ast.unparse(test).partition("(")[0].rpartition(".")[2]
        every = [one for file in sorted(self._beside.glob("*.py")) for one in parse(file).body]
        return "\n".join(ast.unparse(one) for one in every if name in names_bound_by(one))
