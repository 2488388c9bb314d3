"""Keeps answers out of all that a course hands out: what lies in ``checks/reference/``, and what needs it.

Helpers of checks that know answers, such as a reference implementation, have that folder of their own; checks import
them: ``from checks.reference.attention import attend``. Students do not get the checks that use it; if an exercise has
no other, its checks skip themselves there. Reads source, and never runs a line of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from grader.course.model import Course

REFERENCE: Final = "reference"
"""The folder in ``checks/`` that is never handed out."""
_MODULE: Final = f"checks.{REFERENCE}"
_REASON: Final = "it needs the course's reference, so it is checked when your work is graded"
_FEWEST_NODES: Final = 25
"""Nodes of the syntax tree of a function that is more than a coincidence when it is written twice."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class GivenAway(msgspec.Struct, frozen=True):
    """A function in a file that is handed out which does the same as a function of a solution."""

    file: Path
    line: int
    function: str
    of: str


def modules_with_answers(files: Iterable[Path]) -> set[str]:
    """The modules that know answers, of the Python files in ``checks/``: the reference, and helpers that import it."""
    found = {_MODULE}
    helpers = {
        f"checks.{file.stem}": ast.parse(file.read_bytes()) for file in files if not file.stem.startswith("test_")
    }
    while more := {name for name, tree in helpers.items() if name not in found and _names_from(tree, found)}:
        found |= more
    return found


def without_answers(content: bytes, modules: set[str]) -> bytes:
    """A file of checks as students get it, without those that use a module with answers.

    The checks of an exercise that has no other stay, but do nothing but skip themselves.

    Args:
        modules: those that know answers.
    """
    tree = ast.parse(content)
    names = _names_from(tree, modules)
    if not names:
        return content
    cuts: list[tuple[int, int, str]] = []
    for node in tree.body:  # in order: a name is bound before it is used, but for functions
        if isinstance(node, ast.Import | ast.ImportFrom) and _imported(node, modules):
            cuts.append((node.lineno, node.end_lineno or node.lineno, ""))
    users: set[ast.stmt] = set()
    while more := {
        node
        for node in tree.body
        if node not in users and not isinstance(node, ast.Import | ast.ImportFrom) and _uses(node, names)
    }:
        users |= more
        names |= {name for node in more for name in _bound_by(node)}
    left = {_exercise_of(node) for node in tree.body if node not in users}
    for node in users:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        stays = isinstance(node, ast.FunctionDef) and (name := _exercise_of(node)) and name not in left
        cuts.append((first, node.end_lineno or node.lineno, _skipping(node) if stays else ""))  # type: ignore[arg-type]
    lines = content.decode().splitlines(keepends=True)
    for first, last, text in sorted(cuts, reverse=True):
        lines[first - 1 : last] = [text]
    return "".join(lines).encode()


def given_away(topic: str, solution: bytes, stub: bytes, handed_out: Iterable[Path]) -> Iterator[GivenAway]:
    """The functions of files that are handed out which are, but for names, functions of a solution.

    Args:
        stub: what students get of the solution: its functions are no answers.
        handed_out: Python files.
    """
    shared = {_shape(one) for one in _functions(ast.parse(stub))}
    functions = [(one, _shape(one)) for one in _functions(ast.parse(solution))]
    known = {shape: f"{topic}.{one.name}" for one, shape in functions if shape and shape not in shared}
    sizes = {_size(one) for one, _ in functions}
    for file in handed_out:
        for function in _functions(ast.parse(file.read_bytes())):
            if _size(function) in sizes and (of := known.get(_shape(function))):
                yield GivenAway(file, function.lineno, function.name, of)


def files_that_students_read(course: Course, topic: str) -> list[Path]:
    """The Python files of a course beside the stubs that a student gets for a topic: its checks, helpers, the kit."""
    beside = [one for one in sorted(course.checks_dir.glob("*.py")) if not one.stem.startswith("test_")]
    return [course.check_file(topic), *beside, *(course.kit.files if course.kit else ())]


def _exercise_of(node: ast.stmt) -> str:
    """The exercise that a statement is a check of, as it is written; empty if it is none."""
    for one in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        if isinstance(one, ast.Call) and _last_name(one.func) == "exercise":
            return ast.unparse(one.args[0]) if one.args else ""
    return ""


def _skipping(check: ast.FunctionDef) -> str:
    """A check with the same name, exercise and sentence that skips itself."""
    marks: list[ast.expr] = [
        one for one in check.decorator_list if isinstance(one, ast.Call) and _last_name(one.func) == "exercise"
    ]
    body = [ast.parse(f"import pytest; pytest.skip({_REASON!r})").body]
    docstring = [check.body[0]] if ast.get_docstring(check) is not None else []
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg("submission")], kwonlyargs=[], kw_defaults=[], defaults=[])
    made = ast.FunctionDef(
        name=check.name, args=arguments, body=[*docstring, *body[0]], decorator_list=marks, lineno=check.lineno
    )
    return f"{ast.unparse(ast.fix_missing_locations(made))}\n"


def _names_from(tree: ast.Module, modules: set[str]) -> set[str]:
    """The names that a file binds by importing modules with answers, or something of them."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {name for node in imports for name in _imported(node, modules)}


def _imported(node: ast.Import | ast.ImportFrom, modules: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.asname or one.name.partition(".")[0] for one in node.names if _is_of(one.name, modules)]
    home = node.module or ""
    return [one.asname or one.name for one in node.names if _is_of(home, modules) or f"{home}.{one.name}" in modules]


def _is_of(module: str, modules: set[str]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in modules)


def _uses(node: ast.stmt, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))


def _bound_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _Function | ast.ClassDef):
        yield node.name
        return
    yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _functions(tree: ast.Module) -> Iterator[_Function]:
    return (node for node in ast.walk(tree) if isinstance(node, _Function))


def _size(function: _Function) -> int:
    """The number of nodes of a function but for its docstring and annotations, which `_shape` compares."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return sum(1 for statement in body for _ in ast.walk(statement))


def _shape(function: _Function) -> str:
    """What a function does, whatever its names are; empty for one that is too short to tell."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    made = ast.Module([_plain(ast.unparse(one)) for one in body], [])
    nodes = list(ast.walk(made))
    if len(nodes) < _FEWEST_NODES:
        return ""
    arguments = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    stored = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    numbers = {name: f"_{number}" for number, name in enumerate(dict.fromkeys([*arguments, *stored]))}
    for one in nodes:
        if isinstance(one, ast.Name):
            one.id = numbers.get(one.id, one.id)
        elif isinstance(one, ast.arg):
            one.arg, one.annotation = numbers.get(one.arg, one.arg), None
    return ast.dump(made)


def _plain(text: str) -> ast.stmt:
    return ast.parse(text).body[0]
