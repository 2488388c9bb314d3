"""The exercises of a notebook: which question is about which name, and the functions that its tests become."""

from __future__ import annotations

import ast
import keyword
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from grader.adopt.master import Master, NotebookPiece, NotebookQuestion
from grader.adopt.notebook_tests import (
    CannotKeep,
    EarlierStatement,
    SuiteFunction,
    WrittenTest,
    changed_parts,
    earlier_statements,
    function_of,
    names_of,
    written_in,
)
from grader.course.source import Definition
from grader.text import counted, printable

INSTALLED: Final = frozenset({"torch", "numpy", "grader", *sys.stdlib_module_names})
"""Modules that need no preload, and that no topic is named as."""
_GIVEN: Final = "It gives something. What it must give is checked when it is graded."


@dataclass
class KeptTest:
    """A test of the suite: its function, and its points."""

    name: str
    test: WrittenTest
    made: SuiteFunction
    points: float
    is_hidden: bool


@dataclass
class NotebookExercise:
    """An exercise of the course that is made; without tests a person marks it."""

    name: str
    question: NotebookQuestion
    tests: list[KeptTest] = field(default_factory=list)
    points: float = 0.0
    lost: float = 0.0
    """The points of tests that are left out."""


class NotebookExercises:
    """The exercises that are made of one notebook.

    Attributes:
        name, title: of their topic.
        names: of the notebook.
    """

    def __init__(self, master: Master) -> None:
        self.master = master
        self.name = identifier(master.name)
        self.title = printable(master.title or master.name)
        self.exercises: list[NotebookExercise] = []
        self._kept_lines: set[str] = set()
        self._functions: set[str] = set()
        self._earlier: dict[tuple[str, bool], list[EarlierStatement]] = {}
        """The tests so far, by place and whether they are hidden."""
        cells = [(piece.question, piece.text) for piece in master.pieces if piece.kind == "code"]
        self.names, self._written = names_of(cells)

    @property
    def automatic(self) -> list[NotebookExercise]:
        """The exercises that have tests."""
        return [one for one in self.exercises if one.tests]

    def plan(self) -> None:
        """Finds the exercise of each question, and the functions of its tests."""
        taken = {name for names in self._written.values() for name in names}
        for number, question in enumerate(self.master.questions):
            if question.by_hand:
                if question.tests:
                    self._look(question.tests, "a person marks this question: its tests are left out")
                name = _free(identifier(question.name), taken)
                self.exercises.append(NotebookExercise(name, question, points=_points(question.points)))
                continue
            tests = [self._kept(question, *one) for one in enumerate(question.tests)]
            if not sum(question.shares()):
                if question.tests:
                    self.master.look.append(f"cell {question.cell}: is worth no points: its tests are left out")
                continue
            own = self._written.get(number, [])
            kept = [one for one in tests if isinstance(one, KeptTest)]
            reads = [name for one in kept for name in one.made.reads]
            asked = [n for n in reads if n in own] or [n for n in reads if n in self.names.written]
            name = next(iter(asked or (own if reads else ())), "")
            exercise = next((one for one in self.exercises if one.name == name and one.tests), None)
            if exercise is None:
                exercise = NotebookExercise(name or _free(identifier(question.name), taken), question)
                self.exercises.append(exercise)
            exercise.points += sum(question.shares())
            exercise.lost += sum(one for one in tests if not isinstance(one, KeptTest))
            exercise.tests += kept
        self.settle()
        read = {name for exercise in self.automatic for test in exercise.tests for name in test.made.reads}
        for number, question in enumerate(self.master.questions):
            if not question.by_hand and not question.tests and read.isdisjoint(self._written.get(number, ())):
                self.master.look.append(f"cell {question.cell}: no test asks for it, so it gives no points")

    def settle(self) -> None:
        """Takes away the points of tests that are left out. If no others give any, a person marks the question."""
        for exercise in self.automatic:
            if exercise.lost and not any(test.points for test in exercise.tests):
                exercise.tests.clear()
            elif not exercise.question.all_or_nothing:
                exercise.points -= exercise.lost
            exercise.lost = 0.0
        for exercise in self.automatic:
            self.show_one_of(exercise)

    def _kept(self, question: NotebookQuestion, at: int, test: WrittenTest) -> KeptTest | float:
        """A test as a function; if that cannot be, which is said, the points that are lost with it."""
        name = _free(f"test_{test.name or f'{identifier(question.name)}_{at + 1}'}", self._functions)
        test = test._replace(says=in_one_line(test.says or f"{question.name}: {test.place}."))
        try:
            known = [  # visible tests get nothing of hidden ones
                one
                for (place, is_hidden), one in self._earlier.items()
                if place != test.place and is_hidden is (test.is_hidden and (place, True) in self._earlier)
            ]
            cell = int(found[1]) if (found := re.fullmatch(r"cell (\d+)", test.place)) else 0
            kept = self._kept_values(cell)
            made = function_of(test, name, self.name, self.names, known, {name: one for name, (one, _) in kept.items()})
            self._keep(cell, {kept[name] for name in made.reads if name in kept})
        except CannotKeep as problem:
            lost = 0.0 if problem.asks_nothing else question.shares()[at]
            self.lose(test, f"the test {problem}", lost)
            return lost
        finally:
            self._earlier[test.place, test.is_hidden] = earlier_statements(test)
        return KeptTest(name, test, made, question.shares()[at], test.is_hidden)

    def _kept_values(self, cell: int) -> dict[str, tuple[str, str]]:
        """The names whose values cells above this one give and cells below it change, as ``(x_at_3, x)``."""
        above, below, changed = set[str](), set[str](), set[str]()
        for piece in self.master.pieces:
            for one in ast.parse(piece.text).body if piece.kind == "code" else ():
                (above if piece.cell < cell else below).update(written_in([one]))
                changed |= set(changed_parts(one)) if piece.cell > cell and not isinstance(one, Definition) else set()
        values = {name: name for name in above & below} | {
            name: f"deepcopy({name})" for name in above & changed - below
        }
        return {name: (f"{name}_at_{cell}", value) for name, value in values.items()}

    def _keep(self, cell: int, values: Iterable[tuple[str, str]]) -> None:
        """Adds a cell that keeps values for a test: the notebook has them there, but its module has later ones."""
        lines = [f"{name} = {value}" for name, value in sorted(values)]
        new = [line for line in lines if line not in self._kept_lines]
        self._kept_lines |= set(new)
        if new:
            new[:0] = ["from copy import deepcopy"] if any("deepcopy" in line for line in new) else []
            at = next((at for at, one in enumerate(self.master.pieces) if one.cell > cell), len(self.master.pieces))
            text = "\n".join([f"# for the tests of cell {cell}", *new])
            self.master.pieces.insert(at, NotebookPiece(cell, "code", text))

    def show_one_of(self, exercise: NotebookExercise) -> None:
        """Lets students see a test of an exercise: one that is added, or the first of its hidden ones."""
        if any(not one.is_hidden for one in exercise.tests):
            return
        first, name = exercise.tests[0], f"test_{exercise.name}_is_written"
        read = [
            (one, test.made.code) for test in exercise.tests for one in test.made.reads if one in self.names.written
        ]
        for one, code in sorted(read, key=lambda pair: pair[0] != exercise.name):
            if use := _use_of(one, code):
                text = f'def {name}():\n    """{_GIVEN}"""\n    from {self.name} import {one}\n    {use}\n'
                exercise.tests.insert(0, KeptTest(name, first.test, SuiteFunction(text, use, (), ()), 0.0, False))
                return
        self._look([first.test], "students must see one test of each exercise: they get the text of this one")
        first.is_hidden = False

    def lose(self, test: WrittenTest, why: str, points: float) -> None:
        """Names a test that is left out, with its points."""
        its = f" with {counted(round(points, 3), 'point')}" if points else ""
        self._look([test], f"{why}: it is left out{its}; write it anew, or mark it by hand")

    def _look(self, tests: Iterable[WrittenTest], sentence: str) -> None:
        self.master.look += [f"{test.place}: {sentence}" for test in tests]


def _use_of(name: str, code: str) -> str:
    """A use of an answer that a hidden test makes, with nothing in it of the expected value; empty if there is none."""
    nodes = list(ast.walk(ast.parse(code)))
    calls = [
        one for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == name
    ]
    if not calls:
        return name if any(isinstance(one, ast.Name) and one.id == name for one in nodes) else ""
    plain = [one for one in calls if not any(isinstance(part, ast.Name) for arg in one.args for part in ast.walk(arg))]
    return next((ast.unparse(one) for one in plain if not one.keywords), "")


def in_one_line(text: str) -> str:
    return printable(" ".join(text.split()))[:190]


def _points(points: object) -> float:
    return float(points) if isinstance(points, int | float) and points > 0 else 1.0


def identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text.rpartition("/")[2]).strip("_").lower() or "homework"
    return f"q_{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in INSTALLED else name


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that is free; it is taken then."""
    found = next(one for one in (name, *(f"{name}_{number}" for number in range(2, 1000))) if one not in taken)
    taken.add(found)
    return found
