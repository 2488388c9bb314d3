"""Reads tests that are texts with code: lists of them in modules, and otter's generated files. Runs nothing."""

from __future__ import annotations

import ast
import contextlib
import doctest
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grader.course.source import first_line, names_bound_by
from grader.errors import UserError
from grader.grading.adopt import ExerciseNotes
from grader.grading.adopted_tests import Step, WrittenTest, written_in
from grader.grading.master_notebooks import Master, NotebookPiece, NotebookQuestion, code_pieces, sentence
from grader.grading.solution_marks import MarkedLine, marked


class CodedTask(NamedTuple):
    """A list of tests.

    Attributes:
        file: the module that it is in.
        name: of the function or class that the tests are about.
        about: all that the module says of it.
    """

    file: Path
    name: str
    about: Mapping[str, Any]

    @property
    def points(self) -> float | None:
        return self.about.get("points")

    @property
    def hint(self) -> str:
        return " ".join(str(self.about.get("hint") or "").split())

    def tests(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Code, sentence, and all that is said of each test."""
        for test in self.about["tests"]:
            one = test if isinstance(test, dict) else {"code": test}
            code = textwrap.dedent(str(one.get("code", ""))).replace("{fn}", self.name).strip()
            yield code, sentence(str(one.get("failure_message") or one.get("name") or "")), one


def is_code_strings(path: Path) -> bool:
    """Whether a module, or every module of a folder, is a list of tests that are texts with code."""
    files = _modules(path)
    return bool(files) and all(_tasks_in(file) for file in files)


def tasks_of(path: Path) -> list[CodedTask]:
    """The lists of tests in a module, or in all modules of a folder."""
    return [
        CodedTask(file, str(about.get("function_name") or about.get("name") or file.stem), about)
        for file in _modules(path)
        for about in _tasks_in(file)
    ]


def are_doctests(tasks: Sequence[CodedTask]) -> bool:
    """Whether some of the tests are lines with a prompt, which expect the output below them."""
    return any(code.startswith(">>>") for task in tasks for code, _, _ in task.tests())


def write_suite(
    tasks: Sequence[CodedTask], folder: Path, path: Path, solution: Path | None
) -> dict[str, ExerciseNotes]:
    """Writes tests of assertions as a suite for plain pytest, ``tests/``, and beside it the modules that they test.

    Args:
        folder: a new one.
        path: of the tasks.
        solution: as for `read_code_strings`.

    Returns:
        The tasks' own words on each function or class.

    Raises:
        UserError: there is no solution.
    """
    (folder / "tests").mkdir()
    shared = _plain_name(path)
    notes: dict[str, ExerciseNotes] = {}
    for task in tasks:
        own = task.about.get("solution")
        module, source = (task.file.stem, str(own)) if own else (shared, "")
        if not own:
            source = "\n\n\n".join(piece.text.strip("\n") for piece in _solved(path, solution) if piece.kind == "code")
        source = textwrap.dedent(source).strip("\n") + "\n"
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
        written = [one for one in ast.parse(source).body if not isinstance(one, ast.Import | ast.ImportFrom)]
        defined = {name for node in written for name in names_bound_by(node)}
        functions: list[str] = []
        hidden: set[str] = set()
        for number, (code, says, about) in enumerate(task.tests(), start=1):
            function = f"test_{re.sub(r'[^a-z0-9]+', '_', says.lower()).strip('_') or number}"
            function += f"_{number}" if f"def {function}(" in "".join(functions) else ""
            words = (says or f"{task.name}, test {number}").replace("\\", "/").replace('"', "'")
            functions.append(f'def {function}():\n    """{words}"""\n{textwrap.indent(code, "    ")}\n')
            if about.get("hidden"):
                hidden.add(f"test_{task.file.stem}.py::{function}")
        used = sorted(defined & set(re.findall(r"[^\W\d]\w*", "\n".join(functions))))
        head = f"from {module} import {', '.join(used)}" if used else f"import {module}"
        text = "\n\n".join([f'"""Tests of {task.name}."""', f"{head}\n", *functions])
        (folder / "tests" / f"test_{task.file.stem}.py").write_text(text, encoding="utf-8")
        notes[task.name] = ExerciseNotes(task.points, tuple(filter(None, [task.hint])), frozenset(hidden))
    return notes


def read_code_strings(path: Path, solution: Path | None) -> list[Master]:
    """The topics of modules of such tests: one for all, or one for each that has its own solution.

    Args:
        solution: a module, a notebook or a folder of them; None: the files beside the tests.

    Raises:
        UserError: there is no solution.
    """
    found: list[Master] = []
    shared = Master(_plain_name(path))
    for task in tasks_of(path):
        master = Master(task.file.stem) if "solution" in task.about else shared
        master.title = str(task.about.get("title") or master.name)
        if "solution" in task.about:
            master.pieces.append(NotebookPiece(1, "code", str(task.about["solution"])))
        master.questions.append(_question_of(task))
        if master not in found:
            found.append(master)
    if shared.questions:
        shared.pieces = list(_solved(path, solution))
        shared.title = shared.name
    for master in found:
        wanted = {name for question in master.questions for test in question.tests for name in _mentioned(test)}
        master.pieces = [_all_marked(piece, wanted) for piece in master.pieces]
    return found


def _modules(path: Path) -> list[Path]:
    return [one for one in (sorted(path.glob("*.py")) if path.is_dir() else [path]) if not one.name.startswith("_")]


def _plain_name(path: Path) -> str:
    return path.stem if path.is_file() else path.resolve().parent.name


def _tasks_in(file: Path) -> list[dict[str, Any]]:
    """The dicts and lists of a module that have tests in them; only plain data is read."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return []
    values = []
    for one in tree.body:
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            with contextlib.suppress(ValueError):
                values.append(ast.literal_eval(one.value))
    return [task for value in values for task in _tasks(value)]


def _tasks(value: Any) -> Iterator[dict[str, Any]]:
    match value:
        case {"suites": list(suites)}:
            yield {**value, "tests": [case for suite in suites for case in suite.get("cases", ())]}
        case {"tests": list()}:
            yield value
        case dict():
            for one in value.values():
                yield from _tasks(one) if isinstance(one, dict) else ()
        case [str(first), *_] if "assert" in first or ">>>" in first:
            yield {"tests": value}
        case [{"code": _}, *_]:
            yield {"tests": value}


def _question_of(task: CodedTask) -> NotebookQuestion:
    question = NotebookQuestion(task.name, 0, sentence(str(task.about.get("title") or "")), task.points)
    question.hint = task.hint
    for number, (code, says, one) in enumerate(task.tests(), start=1):
        steps = tuple(_steps(code)) if code.startswith(">>>") else (Step(code, None),)
        place = f"{task.file.name}, test {number}"
        question.tests.append(WrittenTest(place, steps, says, one.get("points"), bool(one.get("hidden"))))
    return question


def _steps(code: str) -> Iterator[Step]:
    for example in doctest.DocTestParser().get_examples(code):
        prints = re.match(r"\s*print\(", example.source) is not None
        yield Step(example.source, "" if prints else example.want, example.want if prints else "")


def _solved(path: Path, solution: Path | None) -> Iterator[NotebookPiece]:
    """The pieces of the solution: a notebook's or a module's."""
    places = [solution] if solution else [path.resolve().parent]
    if places[0].is_dir():
        places = [
            one for one in sorted(places[0].iterdir()) if one.suffix in (".py", ".ipynb") and one != path.resolve()
        ]
    if not places:
        raise UserError(f"there is no solution beside {path}", fix="name it: --solution FILE")
    for place in places:
        if place.suffix == ".ipynb":
            yield from code_pieces(place)
        else:
            yield NotebookPiece(1, "code", place.read_text(encoding="utf-8"))


def _mentioned(test: WrittenTest) -> set[str]:
    return {word for step in test.steps for word in re.findall(r"[^\W\d]\w*", step.code)}


def _all_marked(piece: NotebookPiece, wanted: set[str]) -> NotebookPiece:
    """A piece with markers round what gives one of these names a meaning, if it has no markers."""
    if piece.kind != "code" or "# solution:" in piece.text:
        return piece
    lines = [MarkedLine(text) for text in piece.text.split("\n")]
    for one in ast.parse(piece.text).body:
        if wanted.intersection(written_in([one])):
            for at in range(first_line(one) - 1, one.end_lineno or one.lineno):
                lines[at] = lines[at]._replace(is_solution=True)
    return piece._replace(text=marked(lines))
