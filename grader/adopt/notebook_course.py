"""Makes a course of an instructor's notebook: exercises, solutions, tests, and the notebook that students get.

A test that cannot be kept, or that the notebook's own solution does not pass here, is named with its cell; an exercise
without any other is marked by a person, so that no points are lost in silence.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
import shutil
from collections.abc import Container, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from grader.adopt.adopted import Adopted, PlannedExercise, PlannedTopic, manifest, require_free, source_of, write
from grader.adopt.code_strings import read_code_strings, read_generated
from grader.adopt.master import Master, NotebookPiece
from grader.adopt.master_notebooks import read_master
from grader.adopt.notebook_exercises import INSTALLED, NotebookExercises, identifier, in_one_line
from grader.adopt.notebook_reader import without
from grader.adopt.notebook_tests import written_in
from grader.course import Course
from grader.course.handout import OURS, install_cell, notebook_with
from grader.course.model import DATA
from grader.course.source import names_in, parse
from grader.course.stubs import release, stub_of
from grader.course.suite import Suite
from grader.errors import UserError
from grader.grading.local_workers import LocalWorkers, solution_of
from grader.grading.settings import GradingSettings, worker_options
from grader.suites.honesty import places_in
from grader.text import counted

_MOST_FILES: Final = 2_000
"""Files beside a notebook that are looked for in it."""
_NOSE: Final = Path(__file__).with_name("nose.py")
_IMPORT: Final = ast.Import | ast.ImportFrom
_NO_DATA: Final = ("", ".py", ".ipynb", ".pyc")


def adopt_notebooks(paths: Sequence[Path], to: Path) -> Adopted:
    """A course made of notebooks of one folder, in the folder `to`: each is a topic.

    Raises:
        UserError: one cannot be read, is for no known tool, or has another's name, or `to` holds something.
    """
    require_free(to)
    if len({path.resolve().parent for path in paths}) > 1:
        raise UserError("these notebooks are in different folders", fix="put them into one, with the files they read")
    masters = [read_generated(path) or read_master(path) for path in paths]
    names = [identifier(one.name) for one in masters]
    if same := next((name for name in names if names.count(name) > 1), ""):
        raise UserError(f"two notebooks would be the topic `{same}`", fix="give them different names")
    return _adopt(masters, to, paths[0].parent)


def adopt_code_strings(path: Path, to: Path, solution: Path | None = None) -> Adopted:
    """A course made of tests that are texts with code: a module of them, or a folder of such modules.

    Args:
        solution: a module, a notebook or a folder of them; None: the modules have it, or it lies beside them.

    Raises:
        UserError: there is no solution, or `to` holds something.
    """
    require_free(to)
    return _adopt(read_code_strings(path, solution), to, path.parent)


def _adopt(masters: Sequence[Master], to: Path, beside: Path) -> Adopted:
    """A course with a topic for each notebook.

    Args:
        beside: the folder with the files that they read.
    """
    every = [_Topic(master, to, beside) for master in masters]
    for topic in every:
        topic.plan()
    try:
        topics = [topic for topic in every if topic.automatic]
        if topics:
            _write(topics, to)
        if not topics:
            look = [line for master in masters for line in master.look]
            raise UserError(
                "no test can be kept: " + ("; ".join(look[:3]) or "a person marks every question"),
                fix="adopt the notebook with solutions and tests, or write checks yourself: docs/kit.md",
            )
    except BaseException:
        shutil.rmtree(to, ignore_errors=True)  # it was new
        raise
    exercises = [one for topic in topics for one in topic.exercises]
    automatic = [one for one in exercises if one.tests]
    tests = counted(sum(len(one.tests) for one in automatic), "test")
    made = [
        f"{counted(len(automatic), 'exercise')} with {tests}, in tests/",
        "solutions/, and what students get of them: exercises/",
    ]
    if by_hand := [one.name for one in exercises if not one.tests]:
        made.append(f"{counted(len(by_hand), 'exercise')} for a person to mark: {', '.join(by_hand)}")
    said = dict.fromkeys(f"{one.name}: no test can be kept, so it is left out" for one in every if one not in topics)
    said |= {
        f"{master.name}, {line}" if len(masters) > 1 and master.is_notebook else line: None
        for master in masters
        for line in sorted(master.look, key=_cell_of)
    }
    return Adopted(to, tuple(made), tuple(said))


def _cell_of(line: str) -> int:
    """The number of the cell that a line is about; 0 if it is about the whole."""
    found = re.match(r"cell (\d+):", line)
    return int(found[1]) if found else 0


def _write(topics: list[_Topic], to: Path) -> None:
    """Writes the course, and takes out the tests that its solution does not pass."""
    for topic in topics:
        topic.write()
    release(_manifest(topics, to, hides=False))
    _try(topics, Course.load(to))
    topics[:] = [topic for topic in topics if topic.automatic]
    if not topics:
        return
    for topic in topics:
        topic.write_tests()
    course = _manifest(topics, to, hides=True)
    for topic in topics:
        topic.finish(course)


def _manifest(topics: Sequence[_Topic], to: Path, *, hides: bool) -> Course:
    """Writes course.toml; the course, which may have no stubs yet."""
    name, title = (topics[0].name, topics[0].title) if len(topics) == 1 else (identifier(to.name), to.name)
    suite = Suite(modules=tuple(topic.name for topic in topics if topic.automatic))
    write(to / "course.toml", manifest(name.replace("_", "-"), title, suite, [one.planned(hides) for one in topics]))
    return Course.load(to, complete=False)


def _try(topics: Sequence[_Topic], course: Course) -> None:
    """Runs the tests on the solution, and takes out those that it does not pass."""
    with LocalWorkers(course, worker_options(course, GradingSettings(seed=1), ())) as workers:
        result = workers.grade(solution_of(course)).result
    checks = {(one.name, f"test_{check.name}"): check for one in result.exercises for check in one.checks}
    for topic in topics:
        for exercise in topic.exercises:
            for test in exercise.tests[:]:
                check = checks[f"{topic.name}.{exercise.name}", test.name]
                if check.verdict != "passed":
                    cause = check.cause
                    is_fault = cause is not None and cause.kind == "grader_fault" and cause.exception_type
                    why = f"{cause.exception_type}: {cause.exception_message}" if cause and is_fault else check.message
                    exercise.tests.remove(test)
                    why = " ".join(why.split())[:160]
                    exercise.lost += test.points
                    topic.lose(test.test, f"the solution does not pass it here ({why})", test.points)
        topic.settle()


class _Topic(NotebookExercises):
    """The topic that is made of one notebook, and its files."""

    def __init__(self, master: Master, to: Path, beside: Path) -> None:
        super().__init__(master)
        self._to = to
        self._beside = beside
        self._file = f"test_{self.name}.py"
        self._helpers = self._own_modules([one.text for one in master.pieces if one.kind == "code"])
        self._data = dict(self._files())
        secret = {name for name, is_used in self._helpers.items() if not is_used}
        master.pieces = [_without_imports(one, secret) if one.kind == "code" else one for one in master.pieces]

    def write(self) -> None:
        """Writes the solution, the tests, and the files that the notebook reads."""
        code = [piece.text for piece in self.master.pieces if piece.kind == "code" and not _is_shown_only(piece.text)]
        write(self._to / "solutions" / f"{self.name}.py", "\n\n\n".join(code).rstrip() + "\n")
        self.write_tests()
        if self.master.is_notebook:  # all that is outside of marks is handed out then
            write(self._to / "exercises" / f"{self.name}.ipynb", notebook_with(()))
        for name, is_secret in self._data.items():
            for folder in ("",) if is_secret or name.startswith(f"{DATA}/") else ("", "exercises"):
                write(self._to / folder / name, (self._beside / name).read_bytes())
        for name, is_used in self._helpers.items():
            own = list(_sources_of(self._beside, name)) or [_NOSE]
            for folder, file in itertools.product(("tests", "solutions", "exercises") if is_used else ("tests",), own):
                inside = file.relative_to(self._beside) if file != _NOSE else file.name
                write(self._to / folder / inside, file.read_bytes())

    def _files(self) -> Iterator[tuple[str, bool]]:
        """The files that the notebook reads or shows, by their paths beside it, and whether tests alone read them."""
        master = self.master
        everything = itertools.islice(self._beside.rglob("*"), _MOST_FILES)
        beside = [one.relative_to(self._beside).as_posix() for one in everything if one.suffix not in _NO_DATA]
        helpers = {True: "", False: ""}
        for name, is_used in self._helpers.items():
            helpers[is_used] += "".join(map(source_of, _sources_of(self._beside, name)))
        for own, texts, is_secret in (
            (master.secret_files, [*master.codes_of_tests(), helpers[False]], True),
            (master.files, [*(one.text for one in master.pieces), helpers[True]], False),
        ):
            named = [name for name in beside if any(_path_of(name).search(text) for text in texts)]
            for name in dict.fromkeys([*own, *named]):
                place = (self._beside / name).resolve()
                inside = [one for one in beside if one.startswith(f"{name.rstrip('/')}/")] if place.is_dir() else [name]
                if not place.exists() or not place.is_relative_to(self._beside.resolve()):
                    master.look.append(f"{name}: this file of the notebook is not there: put it into exercises/")
                elif place.suffix != ".py":  # else it is imported: `_own_modules`
                    yield from ((one, is_secret) for one in inside)

    def _own_modules(self, cells: Sequence[str]) -> dict[str, bool]:
        """The modules beside the notebook that it needs, and whether its cells use them, not its tests alone."""
        used = {name for code in cells for name in names_in(ast.parse(code))}
        found = {module: False for code in self.master.codes_of_tests() for module in _modules_in(code)}
        for line in dict.fromkeys(self.names.imports.values()):
            names = {name for name, one in self.names.imports.items() if one == line}
            for file in _sources_of(self._beside, _module_of(line)) if line in names else ():
                names |= set(written_in(parse(file).body))
            found[_module_of(line)] = found.get(_module_of(line), False) or not names.isdisjoint(used)
        own, wanted = dict[str, bool](), sorted(found.items(), key=lambda one: not one[1])
        for name, is_used in wanted:  # the used ones first; what they import is appended meanwhile
            sources = list(_sources_of(self._beside, name))
            if name not in own and (sources or (name == "nose" and not _is_installed(name))):
                own[name] = is_used or not sources
                wanted += [(one, is_used) for file in sources for one in _modules_in(source_of(file))]
        return own

    def write_tests(self) -> None:
        """Writes the file of tests."""
        kept = [test for exercise in self.exercises for test in exercise.tests]
        lines = {line for test in kept for line in test.made.imports}
        lines |= {line for line in self.names.imports.values() if _module_of(line) == "pandas"}  # for tables as values
        imports = {line for line in lines if (name := _module_of(line)) in self._helpers or _is_installed(name)}
        texts = [
            f'"""Tests of {self.name}, as its author wrote them."""\n\n'
            + "\n".join(["import pytest", *sorted(imports)])
        ]
        for exercise in self.exercises:
            differs = not exercise.question.all_or_nothing and len({one.points for one in exercise.tests}) > 1
            for one in exercise.tests:
                mark = f"@pytest.mark.points({one.points:g})\n" if differs else ""
                texts.append(f"# {one.test.place}\n{mark}{one.made.text.rstrip()}")
        write(self._to / "tests" / self._file, "\n\n\n".join(texts) + "\n")

    def finish(self, course: Course) -> None:
        """Writes the notebook that students get, and names the tests in which the student's code has a say."""
        if self.master.is_notebook:
            write(course.notebook_file(self.name), notebook_with(self._cells(course)))
        file = self._to / "tests" / self._file
        lines = file.read_text(encoding="utf-8").split("\n")
        heads = {f"# {test.test.place}" for exercise in self.exercises for test in exercise.tests}
        for place in places_in(file.parent, [self.name]):
            if place.file == file:
                above = [line for line in lines[: place.line] if line in heads]
                self.master.look.append(f"{above[-1][2:]}: the test {place.text}")

    def planned(self, hides: bool) -> PlannedTopic:
        """The topic as the manifest has it.

        Args:
            hides: whether hidden tests are hidden: not while they are tried, because they say nothing then.
        """
        exercises = []
        for one in self.exercises:
            entries = [(f"{self._file}::{test.name}", test.is_hidden and hides) for test in one.tests]
            tests, hidden = ([name for name, is_hidden in entries if is_hidden is kind] for kind in (False, True))
            asked = one.question
            says = in_one_line(asked.text or asked.name)
            exercises.append(
                PlannedExercise(one.name, one.points or 1, tests, hidden, asked.hint, asked.all_or_nothing, says)
            )
        modules = {_module_of(line) for line in self.names.imports.values()} - INSTALLED - self._helpers.keys()
        return PlannedTopic(self.name, self.title, exercises, sorted(filter(_is_installed, modules)))

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
                stub = piece.skeleton or stub_of(piece.text, f"cell {piece.cell}", keeps_helpers=True)
                yield "code", stub.strip("\n")
            else:
                yield ("code" if piece.kind == "prompt" else "markdown"), piece.text
            if piece.question >= 0 and last[piece.question] == at:
                question = self.master.questions[piece.question]
                for one in self.automatic:
                    if one.question is question:
                        yield "code", f'check("{self.name}.{one.name}")'


def _path_of(name: str) -> re.Pattern[str]:
    """The path of a file in code or, after ``](``, in a text."""
    return re.compile(rf"""(["']|\]\()(?:\./)?{re.escape(name)}(["')])""")


def _is_shown_only(code: str) -> bool:
    """Whether a cell only shows values: it gives nothing a name."""
    return all(isinstance(one, ast.Expr) for one in ast.parse(code).body) and "# solution:" not in code


def _sources_of(folder: Path, module: str) -> Iterator[Path]:
    """The files of a module or a package in a folder; none if it is not there."""
    if (file := folder / f"{module}.py").is_file():
        yield file
    elif (folder / module).is_dir():
        yield from sorted((folder / module).rglob("*.py"))


def _modules_in(code: str) -> set[str]:
    """The modules that code imports anywhere; none if it is not Python."""
    with contextlib.suppress(SyntaxError):
        return {_module_of(ast.unparse(one)) for one in ast.walk(ast.parse(code)) if isinstance(one, _IMPORT)}
    return set()


def _without_imports(piece: NotebookPiece, modules: Container[str]) -> NotebookPiece:
    """A piece without the imports of some modules."""
    body = ast.parse(piece.text).body
    gone = [one for one in body if isinstance(one, _IMPORT) and _module_of(ast.unparse(one)) in modules]
    return piece._replace(text=without(piece.text, gone)) if gone else piece


def _module_of(line: str) -> str:
    """The module that an import statement needs."""
    return re.split(r"[\s.,]+", line)[1]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
