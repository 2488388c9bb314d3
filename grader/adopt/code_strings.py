"""Reads tests that are texts with code: lists of them in modules, and files that otter has generated. Runs nothing."""

from __future__ import annotations

import ast
import contextlib
import doctest
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.adopt.adopted import source_of
from grader.adopt.master import Master, NotebookPiece, NotebookQuestion
from grader.adopt.notebook_reader import CHECK_CALL, code_pieces, sentence
from grader.adopt.notebook_tests import Step, WrittenTest, indented, written_in
from grader.adopt.solution_marks import MarkedLine, marked
from grader.course.source import assigned_by, decorator, first_line
from grader.errors import UserError


def is_code_strings(path: Path) -> bool:
    """Whether a module, or every module of a folder, is a list of tests that are texts with code."""
    files = _modules(path)
    return bool(files) and all(_tasks_in(file) for file in files)


def read_code_strings(path: Path, solution: Path | None) -> list[Master]:
    """The topics of modules of such tests: one for all, or one for each that has its own solution.

    Args:
        solution: a module, a notebook or a folder of them; None: the files beside the tests.

    Raises:
        UserError: there is no solution.
    """
    found: list[Master] = []
    shared = Master(path.stem if path.is_file() else path.resolve().parent.name, is_notebook=False)
    for file, about in [(one, about) for one in _modules(path) for about in _tasks_in(one)]:
        master = Master(file.stem, is_notebook=False) if "solution" in about else shared
        master.title = str(about.get("title") or master.name)
        if "solution" in about:
            master.pieces.append(NotebookPiece(1, "code", textwrap.dedent(str(about["solution"])).strip("\n")))
        master.questions.append(_question_of(file, about))
        if master not in found:
            found.append(master)
    if shared.questions:
        shared.pieces = list(_solved(path, solution))
        shared.title = shared.name
    for master in found:
        _mark_all(master)
    return found


def read_generated(path: Path) -> Master | None:
    """A solved notebook of otter's, whose tests are in its metadata or in ``tests/`` beside it; None if it is none."""
    try:
        notebook = json.loads(path.read_bytes())
        checked = [name for cell in notebook["cells"] for name in CHECK_CALL.findall("".join(cell["source"]))]
        own = notebook["metadata"].get("otter", {}).get("tests", {})
        tasks = {
            name: list(_tasks(one) if isinstance(one, dict) else _otter_functions(one)) for name, one in own.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SyntaxError, RecursionError):
        return None  # `read_master` says it
    for name in dict.fromkeys(checked):
        if name not in tasks and (file := path.parent / "tests" / f"{name}.py").is_file():
            tasks[name] = _tasks_in(file)
    master = Master(path.stem)
    master.questions = [_question_of(Path(name), task) for name in tasks for task in tasks[name][:1]]
    master.pieces = code_pieces(path, [one.name for one in master.questions])
    _mark_all(master)
    return master if checked and master.questions else None


def _mark_all(master: Master) -> None:
    mentioned = {word for code in master.codes_of_tests() for word in re.findall(r"[^\W\d]\w*", code)}
    master.pieces = [_all_marked(piece, mentioned) for piece in master.pieces]


def _modules(path: Path) -> list[Path]:
    return [one for one in (sorted(path.glob("*.py")) if path.is_dir() else [path]) if not one.name.startswith("_")]


def _tasks_in(file: Path) -> list[dict[str, Any]]:
    """The dicts and lists of a module that have tests in them; only plain data is read."""
    try:
        text = file.read_text(encoding="utf-8")
        body = ast.parse(text).body
    except (SyntaxError, ValueError, OSError):
        return []
    return [*(task for value in _values(body).values() for task in _tasks(value)), *_otter_functions(text)]


def _values(body: Iterable[ast.stmt]) -> dict[str, Any]:
    """The plain data that statements give names."""
    found = {}
    for one in body:
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            with contextlib.suppress(ValueError):
                found[next(assigned_by(one), "")] = ast.literal_eval(one.value)
    return found


def _otter_functions(text: str) -> Iterator[dict[str, Any]]:
    """The tests of a module of otter's whose tests are functions below ``@test_case(...)``, if it is one."""
    body, lines = ast.parse(text).body, text.split("\n")
    tests = []
    for one in body:
        if isinstance(one, ast.FunctionDef) and (case := decorator(one, "test_case")):
            options = {each.arg: ast.literal_eval(each.value) for each in case.keywords if each.arg}
            tests.append({**options, "name": "", "code": "\n".join(lines[one.lineno - 1 : one.end_lineno])})
    if tests:
        yield {"points": None, **_values(body), "tests": tests}


def _tasks(value: Any) -> Iterator[dict[str, Any]]:
    match value:
        case {"suites": list(suites)}:
            yield {"points": None, **value, "tests": [case for suite in suites for case in suite.get("cases", ())]}
        case {"tests": list()}:
            yield value
        case dict():
            for one in value.values():
                yield from _tasks(one) if isinstance(one, dict) else ()
        case [str(first), *_] if "assert" in first or ">>>" in first:
            yield {"tests": value}
        case [{"code": _}, *_]:
            yield {"tests": value}


def _question_of(file: Path, about: Mapping[str, Any]) -> NotebookQuestion:
    """The tests of a dict, with its words about the function or class that they are for."""
    name = str(about.get("function_name") or about.get("name") or file.stem)
    question = NotebookQuestion(name, 0, sentence(str(about.get("title") or "")), about.get("points", {"each": 1}))
    question.all_or_nothing = bool(about.get("all_or_nothing"))
    question.hint = " ".join(str(about.get("hint") or "").split())
    for number, test in enumerate(about["tests"], start=1):
        one = test if isinstance(test, dict) else {"code": test}
        code = textwrap.dedent(str(one.get("code", ""))).replace("{fn}", name).strip()
        steps = tuple(_steps(code)) if code.startswith(">>>") else (Step(code, None),)
        says = sentence(str(one.get("failure_message") or one.get("name") or ""))
        own = re.sub(r"[^a-z0-9]+", "_", says.lower()).strip("_")
        place = f"{file.name}, test {number}"
        question.tests.append(WrittenTest(place, steps, says, one.get("points"), bool(one.get("hidden")), own))
    return question


def _steps(code: str) -> Iterator[Step]:
    for example in doctest.DocTestParser().get_examples(code):
        last = ast.parse(example.source).body[-1:]
        flags = sum(flag for flag, is_on in example.options.items() if is_on)
        if example.exc_msg is not None:
            yield Step(_raising(example, flags), None)
        elif not last or not isinstance(last[0], ast.Expr) or re.match(r"\s*print\(", example.source):
            yield Step(example.source, "", example.want, flags=flags)
        else:
            yield Step(example.source, example.want, None, flags=flags)


def _raising(example: doctest.Example, flags: int) -> str:
    """Code that asks for the exception of an example."""
    name, _, message = (example.exc_msg or "").strip().partition(":")
    code = f"raised = None\ntry:\n{indented(example.source)}\nexcept Exception as error:\n    raised = error\n"
    code += f"assert type(raised).__name__ == {name.rpartition('.')[2]!r}"
    return code if flags & doctest.IGNORE_EXCEPTION_DETAIL else f"{code}\nassert str(raised) == {message.strip()!r}"


def _solved(path: Path, solution: Path | None) -> Iterator[NotebookPiece]:
    """The pieces of the solution: a notebook's or a module's."""
    own = path.resolve()
    places = [solution or own.parent]
    if places[0].is_dir():
        places = [one for one in sorted(places[0].iterdir()) if one.suffix in (".py", ".ipynb") and one != own]
    if not places:
        raise UserError(f"there is no solution beside {path}", fix="name it: --solution FILE")
    for place in places:
        if place.suffix == ".ipynb":
            yield from code_pieces(place)
        else:
            yield NotebookPiece(1, "code", source_of(place))


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
