"""Keeps answers out of all that a course hands out: what lies in ``checks/reference/``, and what needs it.

Helpers of checks that know answers, such as a reference implementation, have that folder of their own; checks import
them: ``from checks.reference.attention import attend``. Students do not get the checks that use it; if an exercise has
no other, its checks skip themselves there. Reads source, and never runs a line of it.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from grader.course.model import Course, checking_files, files_to_begin_with, lesson_files
from grader.course.source import Function, decorator, first_line, names_bound_by, names_in
from grader.course.suite_tests import without_hidden

_REFERENCE: Final = "checks.reference"
"""The folder in ``checks/`` that is never handed out, as a module."""
_SKIP: Final = """
def {name}(submission):
    import pytest
    pytest.skip("it needs the course's reference, so it is checked when your work is graded")
"""
_FEWEST_NODES: Final = 25
"""Nodes of the syntax tree of a function that is more than a coincidence when it is written twice."""


def handed_out(course: Course) -> Iterator[tuple[str, bytes]]:
    """Path and content of all that a course hands out: manifest, stubs, lessons, checks, kit.

    No answer, and no check with ``hidden="all"``.
    """
    for name, file in (*files_to_begin_with(course), *lesson_files(course)):
        yield name, file.read_bytes()
    if course.suite is not None:
        for name, file in checking_files(course):
            data = file.read_bytes()
            inside = name.partition("/")[2]
            yield name, without_hidden(data, inside, course.groups) if file.suffix == ".py" else data
        return
    check_files = {course.check_file(topic.name) for topic in course.modules}
    answers = modules_with_answers(course.checks_dir.glob("*.py"))
    for name, file in checking_files(course):
        if not _is_of(".".join(Path(name).with_suffix("").parts), answers):
            data = file.read_bytes()
            yield name, without_answers(data, answers) if file in check_files else data


def files_that_students_read(course: Course, topic: str) -> list[Path]:
    """The Python files of a course beside the stubs that a student gets for a topic: its checks, helpers, the kit."""
    if course.suite is not None:
        return sorted(course.checks_dir.rglob("*.py"))
    beside = [one for one in sorted(course.checks_dir.glob("*.py")) if not one.stem.startswith("test_")]
    return [course.check_file(topic), *beside, *(course.kit.files if course.kit else ())]


def modules_with_answers(files: Iterable[Path]) -> set[str]:
    """The modules that know answers, of the Python files in ``checks/``: the reference, and helpers that import it."""
    found = {_REFERENCE}
    helpers = {f"checks.{one.stem}": ast.parse(one.read_bytes()) for one in files if not one.stem.startswith("test_")}
    while more := {name for name, tree in helpers.items() if name not in found and _imports(tree, found)}:
        found |= more
    return found


def without_answers(content: bytes, modules: set[str]) -> bytes:
    """A file of checks as students get it, without those that are hidden from them or use a module with answers.

    The checks of an exercise that has no other stay, but do nothing but skip themselves.

    Args:
        modules: those that know answers.
    """
    tree = ast.parse(content)
    shown = [node for node in tree.body if not _is_secret(node)]
    users: set[ast.stmt] = set()
    names: set[str] = set()
    while more := {one for one in shown if one not in users and (_imports(one, modules) or names_in(one) & names)}:
        users |= more
        names |= {name for node in more for name in names_bound_by(node)}
    left = {_exercise_of(node) for node in shown if node not in users}
    lines = content.splitlines(keepends=True)
    for node in reversed(tree.body):
        if node in users or node not in shown:
            skips = node in users and _exercise_of(node) not in left
            lines[first_line(node) - 1 : node.end_lineno] = [_skipping(node).encode()] if skips else []
    return b"".join(lines)


def given_away(
    topic: str, solution: bytes, stub: bytes, handed_out: Mapping[Path, bytes]
) -> Iterator[tuple[Path, int, str, str]]:
    """The functions of files that are handed out which are equal to functions of a solution, except for names.

    Args:
        stub: what students get of the solution: its functions are no answers.
        handed_out: Python files, and their content.

    Returns:
        File, line and name of each, and the full name of the solution's.
    """
    known = {_shape(one): f"{topic}.{one.name}" for one in _functions(solution)}
    for shape in ["", *map(_shape, _functions(stub))]:
        known.pop(shape, None)
    for file, content in handed_out.items():
        for function in _functions(content):
            if of := known.get(_shape(function)):
                yield file, function.lineno, function.name, of


def _is_secret(node: ast.stmt) -> bool:
    call = decorator(node, "exercise")
    return call is not None and any(one.arg == "hidden" and ast.unparse(one.value) == "'all'" for one in call.keywords)


def _exercise_of(node: ast.stmt) -> str:
    """The exercise that a statement is a check of, as it is written; empty if it is none."""
    call = decorator(node, "exercise")
    return ast.unparse(call.args[0]) if call and call.args else ""


def _skipping(check: ast.stmt) -> str:
    """A check with the same name, exercise and sentence that skips itself; empty if the statement is no check."""
    call = decorator(check, "exercise")
    if call is None or not isinstance(check, ast.FunctionDef):
        return ""
    (made,) = ast.parse(_SKIP.format(name=check.name)).body
    assert isinstance(made, ast.FunctionDef)
    made.decorator_list = [call]
    made.body[:0] = check.body[:1] if ast.get_docstring(check) is not None else []
    return f"{ast.unparse(made)}\n"


def _imports(tree: ast.AST, modules: set[str]) -> bool:
    """Whether something in a tree imports one of these modules, or something of them."""
    imported: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported += [f"{node.module}.{one.name}" for one in node.names]
    return any(_is_of(name, modules) for name in imported)


def _is_of(name: str, modules: set[str]) -> bool:
    return any(f"{name}.".startswith(f"{one}.") for one in modules)


def _functions(source: bytes) -> Iterator[Function]:
    return (node for node in ast.walk(ast.parse(source)) if isinstance(node, Function))


def _shape(function: Function) -> str:
    """What a function does, whatever its names are; empty for one that is too short to tell."""
    body = ast.Module(function.body[1:] if ast.get_docstring(function) is not None else function.body, [])
    nodes = list(ast.walk(body))
    if len(nodes) < _FEWEST_NODES:
        return ""
    arguments = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    stored = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    numbers = {name: f"_{number}" for number, name in enumerate(dict.fromkeys([*arguments, *stored]))}
    return re.sub(
        r"(Name\(id=|arg\(arg=)'(\w+)'", lambda found: found[1] + numbers.get(found[2], found[2]), ast.dump(body)
    )
