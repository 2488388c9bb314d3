"""Makes a course of an instructor's notebook: exercises, solutions, checks, and the notebook that students get.

A test that cannot be a check, or that the notebook's own solution does not pass here, is named with its cell; an
exercise without any other is marked by a person, so that no points are lost in silence.
"""

from __future__ import annotations

import ast
import itertools
import json
import keyword
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.course.handout import OURS, install_cell, notebook_with
from grader.course.model import DATA
from grader.course.stubs import release, stub_of
from grader.errors import UserError
from grader.grading.adopt import adopt_suite
from grader.grading.adopted import Adopted, require_free
from grader.grading.adopted_tests import CannotTranslate, Translated, WrittenTest, bindings, names_of, translate
from grader.grading.code_strings import are_doctests, read_code_strings, tasks_of, write_suite
from grader.grading.local_workers import LocalWorkers, solution_of
from grader.grading.master_notebooks import Master, NotebookQuestion, read_master
from grader.grading.settings import GradingSettings, worker_options
from grader.results import SubmissionResult
from grader.text import counted, printable

_LOADED: Final = frozenset({"torch", "numpy", "grader", *sys.stdlib_module_names})
"""Modules that need no preload."""
_MOST_FILES: Final = 2_000
"""Files beside a notebook that are looked for in it."""
_NO_DATA: Final = ("", ".py", ".ipynb", ".pyc")


@dataclass
class _Check:
    """A test as a check: its function's name, its points, and the check made of it."""

    function: str
    test: WrittenTest
    made: Translated
    points: float


@dataclass
class _Exercise:
    """An exercise of the course that is made; without checks a person marks it."""

    name: str
    question: NotebookQuestion
    checks: list[_Check] = field(default_factory=list)
    points: float = 0.0


def adopt_notebook(path: Path, to: Path) -> Adopted:
    """A course made of the notebook at `path`, in the folder `to`.

    Raises:
        UserError: it cannot be read, is for no known tool, or `to` holds something.
    """
    require_free(to)
    return _adopt([read_master(path)], to, path.parent)


def adopt_code_strings(path: Path, to: Path, solution: Path | None = None) -> Adopted:
    """A course made of tests that are texts with code: a module of them, or a folder of such modules.

    Args:
        solution: a module, a notebook or a folder of them; None: the modules have it, or it lies beside them.

    Raises:
        UserError: there is no solution, or `to` holds something.
    """
    require_free(to)
    tasks = tasks_of(path)
    if are_doctests(tasks):
        return _adopt(read_code_strings(path, solution), to, path.parent)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        notes = write_suite(tasks, folder, path, solution)
        modules = [one.stem for one in sorted(folder.glob("*.py"))]
        return adopt_suite(folder / "tests", modules, to, folder, notes)


def _adopt(masters: Sequence[Master], to: Path, beside: Path) -> Adopted:
    """A course with a topic for each notebook.

    Args:
        beside: the folder with the files that they read.
    """
    topics = [_Topic(master, to, beside) for master in masters]
    for topic in topics:
        topic.plan()
    topics = [topic for topic in topics if any(one.checks for one in topic.exercises)]
    if not topics:
        look = [line for master in masters for line in master.look]
        raise UserError(
            "no test can be a check: " + "; ".join(look[:3]),
            fix="adopt the notebook with solutions and tests, or write the checks yourself: docs/kit.md",
        )
    try:
        _write(topics, to)
    except BaseException:
        shutil.rmtree(to, ignore_errors=True)  # it was new
        raise
    exercises = [one for topic in topics for one in topic.exercises]
    automatic = [one for one in exercises if one.checks]
    checks = counted(sum(len(one.checks) for one in automatic), "check")
    made = [
        f"{counted(len(automatic), 'exercise')} with {checks}, in checks/",
        "solutions/, and what students get of them: exercises/, with a notebook for each topic",
    ]
    if by_hand := [one.name for one in exercises if not one.checks]:
        made.append(f"{counted(len(by_hand), 'exercise')} for a person to mark: {', '.join(by_hand)}")
    said = dict.fromkeys(line for master in masters for line in master.look)
    return Adopted(to, tuple(made), tuple(sorted(said, key=_cell_of)))


def _cell_of(line: str) -> int:
    """The number of the cell that a line is about; 0 if it is about the whole."""
    found = re.match(r"cell (\d+):", line)
    return int(found[1]) if found else 0


def _write(topics: Sequence[_Topic], to: Path) -> None:
    """Writes the course, and takes out the checks that its solution does not pass."""
    for topic in topics:
        topic.write()
    release(_manifest(topics, to))
    _try(topics, Course.load(to))
    course = _manifest(topics, to)
    for topic in topics:
        topic.write_checks()
        topic.write_notebook(course)


def _manifest(topics: Sequence[_Topic], to: Path) -> Course:
    """Writes course.toml; the course, which may have no stubs yet."""
    name, title = (topics[0].name, topics[0].title) if len(topics) == 1 else (_identifier(to.name), to.name)
    title = json.dumps(title, ensure_ascii=False)
    lines = [f'[course]\nname = "{name.replace("_", "-")}"\ntitle = {title}\nadopted = true\nexamples = false\n']
    lines += [line for topic in topics for line in topic.entries()]
    (to / "course.toml").write_text("".join(lines), encoding="utf-8")
    return Course.load(to, complete=False)


def _try(topics: Sequence[_Topic], course: Course) -> None:
    """Runs the checks on the solution, and takes out those that it does not pass."""
    with LocalWorkers(course, worker_options(course, GradingSettings(seed=1), ())) as workers:
        result = workers.grade(solution_of(course)).result
    failed = dict(_not_passed(result))
    for topic in topics:
        for exercise in topic.exercises:
            for check in exercise.checks[:]:
                full_name = f"{topic.name}.{exercise.name}"
                if why := failed.get((full_name, check.function.removeprefix("test_"))):
                    exercise.checks.remove(check)
                    topic.lose(check.test, f"the solution does not pass it here ({why})")


def _not_passed(result: SubmissionResult) -> Iterator[tuple[tuple[str, str], str]]:
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.verdict != "passed":
                cause = check.cause
                is_fault = cause is not None and cause.kind == "grader_fault" and cause.exception_type
                why = f"{cause.exception_type}: {cause.exception_message}" if cause and is_fault else check.message
                yield (exercise.name, check.name), " ".join(why.split())[:160]


class _Topic:
    """The topic that is made of one notebook."""

    def __init__(self, master: Master, to: Path, beside: Path) -> None:
        self.master = master
        self.name = _identifier(master.name)
        self.title = printable(master.title or master.name)
        self.exercises: list[_Exercise] = []
        self._to = to
        self._beside = beside
        self._data: list[tuple[str, Path]] = []
        cells = [(piece.question, piece.text) for piece in master.pieces if piece.kind == "code"]
        self._names, self._written = names_of(cells)

    # ---------------------------------------------------------------- exercises

    def plan(self) -> None:
        """Translates the tests, and finds the exercise of each question."""
        self._data = list(self._files())
        for name, _ in self._data:
            if not name.startswith(f"{DATA}/"):  # students find all such files in one folder
                self.master.pieces = [one._replace(text=_with_path(one.text, name)) for one in self.master.pieces]
                self.master.look.append(f"{name}: it lies in {DATA}/ here, and the cells read it there")
        taken = {name for names in self._written.values() for name in names}
        for name in sorted(taken):
            asking = [self.master.questions[at].name for at, own in self._written.items() if name in own and at >= 0]
            if len(asking) > 1:
                said = f"is an answer to {' and '.join(asking)}: tests see the last value that it gets"
                self.master.look.append(f"`{name}` {said}")
        functions: set[str] = set()
        for number, question in enumerate(self.master.questions):
            own = self._written.get(number, [])
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
            asked = [n for n in reads if n in own] or [n for n in reads if n in self._names.written]
            name = next(iter(asked or (own if reads else ())), "")
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
        for exercise in self.exercises:
            counting = [one.test for one in exercise.checks if one.points]
            if counting and all(test.is_hidden for test in counting):
                if len(counting) > 1 and not exercise.question.all_or_nothing:
                    self._look(
                        counting[:1], "all tests that give points are hidden: here they give all of them, or none"
                    )
                if all(one.test.is_hidden for one in exercise.checks) and not _use_of_any(exercise):
                    self._look(
                        counting[:1], "students must see one check of each exercise: they get the text of this one"
                    )

    def _translated(self, question: NotebookQuestion) -> Iterator[tuple[WrittenTest, Translated | None, float]]:
        earlier: dict[str, ast.stmt] = {}
        for test, points in zip(question.tests, question.shares(), strict=True):
            try:
                yield test, translate(test, self._names, earlier), points
            except CannotTranslate as problem:
                self.lose(test, f"the test {problem}")
                yield test, None, points
            earlier |= bindings(test)

    def lose(self, test: WrittenTest, why: str) -> None:
        """Names a test that is no check; its points go to the question's other tests, or else to a person."""
        self._look([test], f"{why}: it is left out; write it anew, or mark it by hand")

    def _look(self, tests: Iterable[WrittenTest], *sentences: str) -> None:
        self.master.look += [f"{test.place}: {sentence}" for test in tests for sentence in sentences]

    # ---------------------------------------------------------------- files

    def write(self) -> None:
        """Writes the solution, the checks, and the files that the notebook reads."""
        for name in ("exercises", "solutions", "checks"):
            (self._to / name).mkdir(parents=True, exist_ok=True)
        code = [piece.text for piece in self.master.pieces if piece.kind == "code" and not _is_shown_only(piece.text)]
        (self._to / "solutions" / f"{self.name}.py").write_text("\n\n\n".join(code).rstrip() + "\n", encoding="utf-8")
        self.write_checks()
        for name, source in self._data:
            target = self._to / DATA / name.removeprefix(f"{DATA}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files that the notebook reads or shows, with their paths beside it."""
        everything = itertools.islice(self._beside.rglob("*"), _MOST_FILES)
        beside = [one.relative_to(self._beside).as_posix() for one in everything if one.suffix not in _NO_DATA]
        named = [name for name in beside if any(_path_of(name).search(one.text) for one in self.master.pieces)]
        for name in dict.fromkeys([*self.master.files, *named]):
            source = (self._beside / name).resolve()
            if source.suffix == ".py":
                self.master.look.append(f"{name}: students hand in the notebook alone: put what it defines into a cell")
            elif source.is_relative_to(self._beside.resolve()) and source.is_file():
                yield name, source
            else:
                self.master.look.append(f"{name}: this file of the notebook is not there: put it into {DATA}/")

    def write_checks(self) -> None:
        """Writes the file of checks."""
        checks = [check for exercise in self.exercises for check in exercise.checks]
        imports = sorted({"from grader.testkit import exercise", *(i for check in checks for i in check.made.imports)})
        texts = [f'"""Checks of {self.name}, made of the tests of its notebook."""\n\n' + "\n".join(imports)]
        for exercise in self.exercises:
            texts += _checks_of(f"{self.name}.{exercise.name}", exercise)
        (self._to / "checks" / f"test_{self.name}.py").write_text("\n\n\n".join(texts) + "\n", encoding="utf-8")

    def write_notebook(self, course: Course) -> None:
        """Writes the notebook that students get."""
        (self._to / "exercises" / f"{self.name}.ipynb").write_bytes(notebook_with(self._cells(course)))

    def entries(self) -> Iterator[str]:
        """The topic's lines of course.toml."""
        yield f'\n[[topics]]\nname = "{self.name}"\ntitle = {json.dumps(self.title, ensure_ascii=False)}\n'
        modules = {line.split()[1].partition(".")[0] for line in self._names.imports.values()} - _LOADED
        if found := sorted(one for one in modules if _is_installed(one)):
            yield f"preload = {json.dumps(found)}\n"
        for one in self.exercises:
            yield f'\n[[topics.exercises]]\nname = "{one.name}"\n'
            question, points = one.question, f"points = {one.points or 1:g}\n"
            said = json.dumps(_line(question.text or question.name), ensure_ascii=False)
            if one.checks:
                yield f"hints = [{json.dumps(question.hint, ensure_ascii=False)}]\n" if question.hint else ""
                yield points + ('credit = "per-check"\n' if _by_check(one) else "")
            else:
                yield f'kind = "manual"\n\n[[topics.exercises.rubric]]\ntext = {said}\n{points}'

    def _cells(self, course: Course) -> Iterator[tuple[str, str]]:
        """The cells of the students' notebook."""
        yield "code", install_cell(course)
        yield "code", OURS
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
                        yield "code", f'check("{self.name}.{one.name}")'


def _with_path(code: str, name: str) -> str:
    """The code, in which a text that is the path of a file says where that lies in a course."""
    return _path_of(name).sub(rf"\1{DATA}/{name}\2", code)


def _path_of(name: str) -> re.Pattern[str]:
    """The path of a file in code or, after ``](``, in a text."""
    return re.compile(rf"""(["']|\]\()(?:\./)?{re.escape(name)}(["')])""")


def _is_shown_only(code: str) -> bool:
    """Whether a cell only shows values: it gives nothing a name."""
    return all(isinstance(one, ast.Expr) for one in ast.parse(code).body) and "# solution:" not in code


def _by_check(exercise: _Exercise) -> bool:
    """Whether each check has points of its own: not if students could then see none that counts."""
    counting = [one for one in exercise.checks if one.points]
    return (
        len(counting) > 1 and not exercise.question.all_or_nothing and any(not one.test.is_hidden for one in counting)
    )


def _checks_of(full_name: str, exercise: _Exercise) -> Iterator[str]:
    """The checks of an exercise. One that students see is added where they would see none."""
    by_check = _by_check(exercise)
    shown = ""
    if exercise.checks and all(one.test.is_hidden for one in exercise.checks):
        shown = _use_of_any(exercise)
        says = "It gives something. What it must give is checked when it is graded."
        if shown:
            yield _check(full_name, f"test_{exercise.name}_is_written", says, shown, "")
    for one in exercise.checks:
        options = f", points={one.points:g}" if by_check else ""
        is_alone = one is exercise.checks[0] and not shown
        options += (", hidden=True" if is_alone else ', hidden="all"') if one.test.is_hidden else ""
        says = one.test.says or f"{exercise.question.name}: {one.test.place}."
        yield _check(full_name, one.function, says, one.made.body, options)


def _use_of_any(exercise: _Exercise) -> str:
    return next(filter(None, (_use_of(exercise.name, one.made.body) for one in exercise.checks)), "")


def _use_of(name: str, body: str) -> str:
    """A use of an answer that a hidden test makes, with nothing in it of the expected value; empty if there is none."""
    nodes = list(ast.walk(ast.parse(body)))
    calls = [one for one in nodes if isinstance(one, ast.Call) and _is_answer(one.func, name)]
    plain = [one for one in calls if not any(isinstance(part, ast.Name) for arg in one.args for part in ast.walk(arg))]
    if not calls and any(_is_answer(one, name) for one in nodes):
        return f"submission.{name}"
    return next((ast.unparse(one) for one in plain if not one.keywords), "")


def _is_answer(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) == "submission"


def _check(full_name: str, function: str, says: str, body: str, options: str) -> str:
    head = f'@exercise("{full_name}"{options})\ndef {function}(submission):\n    """{_in_quotes(says)}"""\n'
    return head + textwrap.indent(body, "    ")


def _in_quotes(text: str) -> str:
    return _line(text).replace("\\", "\\\\").replace('"', "'")


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
