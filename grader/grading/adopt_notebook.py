"""Makes a course of an instructor's notebook: exercises, solutions, checks, and the notebook that students get.

A test that cannot be a check, or that the notebook's own solution does not pass here, is named with its cell; an
exercise without any other is marked by a person, so that no points are lost in silence.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.course.handout import OURS, install_cell, notebook_with
from grader.course.source import Definition
from grader.course.stubs import release, stub_of
from grader.errors import UserError
from grader.grading.adopted import Adopted, require_free
from grader.grading.adopted_tests import CannotTranslate, Names, Test, Translated, bindings, translate, written_in
from grader.grading.local_workers import LocalWorkers, solution_of
from grader.grading.master_notebooks import Master, Piece, Question, read_master
from grader.grading.settings import GradingSettings, worker_options
from grader.results import SubmissionResult
from grader.text import counted, one_line, printable

_LOADED: Final = frozenset({"torch", "numpy", "grader", *sys.stdlib_module_names})
"""Modules that need no preload."""


@dataclass
class _Check:
    """A test as a check: its function's name, its points, and what was made of it."""

    function: str
    test: Test
    made: Translated
    points: float


@dataclass
class _Exercise:
    """An exercise of the course that is made; without checks a person marks it."""

    name: str
    question: Question
    checks: list[_Check] = field(default_factory=list)
    points: float = 0.0
    lost: list[str] = field(default_factory=list)
    """The tests that are no checks, each with why."""


def adopt_notebook(path: Path, to: Path) -> Adopted:
    """A course made of the notebook at `path`, in the folder `to`.

    Raises:
        UserError: it cannot be read, is for no known tool, or `to` holds something.
    """
    require_free(to)
    master = read_master(path)
    return _Course(master, to, path.parent).adopt()


class _Course:
    """The course that is made of one notebook.

    Args:
        beside: the folder with the files that the notebook reads.
    """

    def __init__(self, master: Master, to: Path, beside: Path) -> None:
        self.master = master
        self.to = to
        self.beside = beside
        self.topic = _identifier(master.name)
        self.look = master.look[:]
        self.names, self.written = _names_of(master.pieces)
        self.exercises: list[_Exercise] = []

    def adopt(self) -> Adopted:
        """Makes and tries it."""
        self._plan()
        if not any(one.checks for one in self.exercises):
            raise UserError(
                f"no test of {self.master.name} can be a check: " + "; ".join(self.look[:3]),
                fix="adopt the notebook with solutions and tests, or write the checks yourself: docs/kit.md",
            )
        self._write()
        self._try()
        made = [
            f"{counted(len([one for one in self.exercises if one.checks]), 'exercise')} with "
            f"{counted(sum(len(one.checks) for one in self.exercises), 'check')}: checks/test_{self.topic}.py",
            f"solutions/{self.topic}.py, and what students get: exercises/{self.topic}.py and {self.topic}.ipynb",
        ]
        if by_hand := [one for one in self.exercises if not one.checks]:
            made.append(f"{counted(len(by_hand), 'exercise')} for a person to mark: {', '.join(o.name for o in by_hand)}")
        return Adopted(self.to, tuple(made), tuple(dict.fromkeys(self.look)))

    # ---------------------------------------------------------------- exercises

    def _plan(self) -> None:
        """Translates the tests, and finds the exercise of each question."""
        taken = {name for names in self.written.values() for name in names}
        functions: set[str] = set()
        for number, question in enumerate(self.master.questions):
            own = self.written.get(number, [])
            if question.by_hand:
                if question.tests:
                    self._look(question.tests, "a person marks this question: its tests are left out")
                name = _free(_identifier(question.name), taken)
                taken.add(name)
                self.exercises.append(_Exercise(name, question, points=_points(question.points)))
                continue
            made = list(self._translated(question))
            if not question.tests:
                continue
            reads = [name for _, one, _ in made if one is not None for name in one.reads]
            name = next((n for n in reads if n in own), next((n for n in reads if n in self.names.written), ""))
            exercise = next((one for one in self.exercises if one.name == name and one.checks), None)
            if exercise is None:
                exercise = _Exercise(name, question)
                self.exercises.append(exercise)
            if not name:
                exercise.name = _free(_identifier(question.name), taken)
                taken.add(exercise.name)
            for test, one, points in made:
                exercise.points += points
                if one is None:
                    continue
                function = _free(f"test_{_identifier(question.name)}_{len(exercise.checks) + 1}", functions)
                functions.add(function)
                exercise.checks.append(_Check(function, test, one, points))
                self._look([test], *(f"the test {remark}" for remark in one.remarks))

    def _translated(self, question: Question) -> Iterator[tuple[Test, Translated | None, float]]:
        earlier: dict[str, ast.stmt] = {}
        for test, points in zip(question.tests, question.shares(), strict=True):
            try:
                yield test, translate(test, self.names, earlier), points
            except CannotTranslate as problem:
                self._lose(test, f"the test {problem}", points)
                yield test, None, points
            earlier |= bindings(test)

    def _lose(self, test: Test, why: str, points: float) -> None:
        worth = f", {points:g} of its points" if points else ""
        self._look([test], f"{why}: it is left out{worth}; write it anew, or mark it by hand")

    def _look(self, tests: Iterable[Test], *sentences: str) -> None:
        self.look += [f"{test.place}: {sentence}" for test in tests for sentence in sentences]

    # ---------------------------------------------------------------- files

    def _write(self) -> None:
        for name in ("exercises", "solutions", "checks"):
            (self.to / name).mkdir(parents=True, exist_ok=True)
        code = [piece.text for piece in self.master.pieces if piece.kind == "code" and not _is_shown_only(piece.text)]
        (self.to / "solutions" / f"{self.topic}.py").write_text("\n\n\n".join(code).rstrip() + "\n", encoding="utf-8")
        self._write_checks()
        course = Course.load(self.to, complete=False)
        release(course)
        (self.to / "exercises" / f"{self.topic}.ipynb").write_bytes(notebook_with(self._cells(course)))
        for name in self.master.files:
            source = (self.beside / name).resolve()
            if not source.is_relative_to(self.beside.resolve()) or not source.is_file():
                self.look.append(f"{name}: this file of the notebook is not there: put it into the course")
                continue
            target = self.to / "data" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def _write_checks(self) -> None:
        """Writes the checks, and what course.toml says of them."""
        checks = [check for exercise in self.exercises for check in exercise.checks]
        imports = dict.fromkeys(line for check in checks for line in check.made.imports)
        texts = [f'"""Checks of {self.topic}, made of the tests of its notebook."""', "\n".join(sorted(imports))]
        texts[1] = f"{texts[1]}\n\nfrom grader.testkit import exercise".strip()
        for exercise in self.exercises:
            texts += _checks_of(f"{self.topic}.{exercise.name}", exercise)
        (self.to / "checks" / f"test_{self.topic}.py").write_text("\n\n\n".join(texts) + "\n", encoding="utf-8")
        (self.to / "course.toml").write_text("".join(self._manifest()), encoding="utf-8")

    def _manifest(self) -> Iterator[str]:
        title = json.dumps(printable(self.master.title), ensure_ascii=False)
        yield f'[course]\nname = "{self.topic.replace("_", "-")}"\ntitle = {title}\n'
        yield f'\n[[topics]]\nname = "{self.topic}"\ntitle = {title}\n'
        modules = {line.split()[1].partition(".")[0] for line in self.names.imports.values()} - _LOADED
        if found := sorted(one for one in modules if _is_installed(one)):
            yield f"preload = {json.dumps(found)}\n"
        for one in self.exercises:
            yield f'\n[[topics.exercises]]\nname = "{one.name}"\n'
            hint = json.dumps(_line(one.question.text or one.question.name), ensure_ascii=False)
            if one.checks:
                yield f"points = {one.points:g}\nhints = [{hint}]\n"
                yield 'credit = "per-check"\n' if _by_check(one) else ""
            else:
                rubric = json.dumps(_line(one.question.rubric or one.question.text or one.question.name), ensure_ascii=False)
                yield f'kind = "manual"\n\n[[topics.exercises.rubric]]\ntext = {rubric}\npoints = {one.points or 1:g}\n'

    def _cells(self, course: Course) -> Iterator[tuple[str, str]]:
        """The cells of the students' notebook."""
        yield "code", f"{install_cell(course)}\n\n{OURS}"
        last = {piece.question: at for at, piece in enumerate(self.master.pieces)}
        prompted = {piece.question for piece in self.master.pieces if piece.kind == "prompt"}
        for at, piece in enumerate(self.master.pieces):
            if piece.kind == "code" and piece.question in prompted and piece.is_written:
                continue
            elif piece.kind == "code":
                yield "code", stub_of(piece.text, f"cell {piece.cell}").strip("\n")
            else:
                yield ("code" if piece.kind == "prompt" else "markdown"), piece.text
            if piece.question >= 0 and last[piece.question] == at:
                question = self.master.questions[piece.question]
                for one in self.exercises:
                    if one.question is question and one.checks:
                        yield "code", f'check("{self.topic}.{one.name}")'

    # ---------------------------------------------------------------- a first try

    def _try(self) -> None:
        """Runs the checks on the solution, and takes out those that it does not pass."""
        course = Course.load(self.to)
        with LocalWorkers(course, worker_options(course, GradingSettings(seed=1), ())) as workers:
            result = workers.grade(solution_of(course)).result
        failed = dict(_not_passed(result))
        if not failed:
            return
        for exercise in self.exercises:
            for check in exercise.checks[:]:
                if why := failed.get((exercise.name, check.function.removeprefix("test_"))):
                    exercise.checks.remove(check)
                    self._lose(check.test, f"the notebook's own solution does not pass it here ({why})", check.points)
        self._write_checks()
        release(Course.load(self.to, complete=False))


def _not_passed(result: SubmissionResult) -> Iterator[tuple[tuple[str, str], str]]:
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.verdict != "passed":
                yield (exercise.name.partition(".")[2], check.name), one_line(check.message)[:160]


def _names_of(pieces: Sequence[Piece]) -> tuple[Names, dict[int, list[str]]]:
    """All names of a notebook, and those that students write for each question."""
    written: dict[int, dict[str, None]] = {}
    given: set[str] = set()
    functions: set[str] = set()
    imports: dict[str, str] = {}
    for piece in pieces:
        if piece.kind != "code":
            continue
        spans = [(at, end) for at, end in _parts(piece.text.split("\n"))]
        for one in ast.parse(piece.text).body:
            if isinstance(one, Definition):
                functions.add(one.name)
            if isinstance(one, ast.Import | ast.ImportFrom):
                for alias in one.names:
                    imports[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(one)
                continue
            is_written = any(one.lineno <= end and at <= (one.end_lineno or 0) for at, end in spans)
            for name in written_in([one]):
                if is_written:
                    written.setdefault(piece.question, {})[name] = None
                else:
                    given.add(name)
    all_written = frozenset(name for names in written.values() for name in names)
    names = Names(all_written, frozenset(given) - all_written, frozenset(functions), imports)
    return names, {number: list(found) for number, found in written.items()}


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines between our markers, from 1."""
    start = 0
    for number, line in enumerate(lines, start=1):
        if line.strip() == "# solution:":
            start = number
        elif line.strip() == "# end" and start:
            yield start, number
            start = 0


def _is_shown_only(code: str) -> bool:
    """Whether a cell only shows values: it gives nothing a name."""
    return all(isinstance(one, ast.Expr) for one in ast.parse(code).body) and "# solution:" not in code


def _by_check(exercise: _Exercise) -> bool:
    """Whether each check has points of its own: not if students could then see none that counts."""
    counting = [one for one in exercise.checks if one.points]
    return len(counting) > 1 and not exercise.question.all_or_nothing and any(not one.test.is_hidden for one in counting)


def _checks_of(full_name: str, exercise: _Exercise) -> Iterator[str]:
    """The checks of an exercise. One that students see is added where they would see none."""
    by_check = _by_check(exercise)
    shown = ""
    if exercise.checks and all(one.test.is_hidden for one in exercise.checks):
        shown = next(filter(None, (_use_of(exercise.name, one.made.body) for one in exercise.checks)), "")
        says = "It gives something. What it must give is checked when it is graded."
        if shown:
            yield _check(full_name, f"test_{exercise.name}_is_written", says, shown, "")
    for one in exercise.checks:
        options = f", points={one.points:g}" if by_check else ""
        is_alone = one is exercise.checks[0] and not shown
        options += (", hidden=True" if is_alone else ', hidden="all"') if one.test.is_hidden else ""
        says = one.test.says or f"{exercise.question.name}: {exercise.question.text}".strip(": ")
        yield _check(full_name, one.function, says, one.made.body, options)


def _use_of(name: str, body: str) -> str:
    """A use of an answer that a hidden test makes, with nothing in it of what the test expects; empty if it has none."""
    for node in ast.walk(ast.parse(body)):
        match node:
            case ast.Call(ast.Attribute(ast.Name("submission"), called), args, []) if called == name:
                if all(isinstance(part, ast.expr | ast.expr_context | ast.unaryop) for one in args for part in ast.walk(one)):
                    if not any(isinstance(part, ast.Name) for one in args for part in ast.walk(one)):
                        return ast.unparse(node)
    return ""


def _check(full_name: str, function: str, says: str, body: str, options: str) -> str:
    sentence = json.dumps(_line(says), ensure_ascii=False).strip('"')
    head = f'@exercise("{full_name}"{options})\ndef {function}(submission):\n    """{sentence}"""\n'
    return head + textwrap.indent(body, "    ")


def _line(text: str) -> str:
    return printable(" ".join(text.split()))[:190]


def _points(points: object) -> float:
    return float(points) if isinstance(points, int | float) and points > 0 else 1.0


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text.rpartition("/")[2]).strip("_").lower() or "homework"
    name = f"q_{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in _LOADED else name
    return name


def _free(name: str, taken: set[str]) -> str:
    return next(one for one in (name, *(f"{name}_{number}" for number in range(2, 1000))) if one not in taken)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
