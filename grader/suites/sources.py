"""The source of a class of a suite, for the far side: with the imports, constants and classes that stand beside it.

It is read from the suite's file. Functions of the file, and with them its tests, are never sent, nor is anything that
the class does not mention: a constant beside it may be an expected answer.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

from grader.course.source import names_bound_by, names_in
from grader.errors import UserError
from grader.suites import honesty


def is_own(module: str, *roots: Path) -> bool:
    """Whether a module is a file of the course: all others are installed, and so are there on the far side."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and _is_below(file, roots)


@functools.lru_cache(maxsize=1 << 13)  # as many as there are modules, for each test on the solution
def _is_below(file: str, roots: tuple[Path, ...]) -> bool:
    return any(Path(file).is_relative_to(root) for root in roots)


def of_class(kind: type, root: Path) -> tuple[str, str, str, list[str]]:
    """Module, name, source and header of a class; of a library's class only its place.

    Raises:
        UserError: it has no source that could be sent.
    """
    home = kind.__module__
    if not is_own(home, root):
        return home, kind.__qualname__, "", []
    found = _source_in(home, kind.__qualname__)
    if found is None:
        raise UserError(f"the class `{kind.__qualname__}` of {home} has no source at the top of a file")
    source, line = found
    text = f"class `{kind.__name__}` {honesty.TEXTS['source-sent']}"
    honesty.note("source-sent", root, Path(sys.modules[home].__file__ or home), line, text)
    return home, kind.__name__, source, _header_of(home, source)


def needs_of(kind: type) -> dict[str, Any]:
    """Functions of its file, and variables of the function around it, that the methods of a class mention."""
    found: dict[str, Any] = {}
    for one in vars(kind).values():
        method = getattr(one, "__func__", one)
        if isinstance(method, FunctionType):
            cells = zip(method.__code__.co_freevars, method.__closure__ or (), strict=True)
            found |= {name: cell.cell_contents for name, cell in cells if name != "__class__"}
            beside = ((name, method.__globals__.get(name)) for name in method.__code__.co_names)
            found |= {name: value for name, value in beside if isinstance(value, FunctionType)}
    return found


@functools.lru_cache(maxsize=64)
def _tree(home: str) -> ast.Module:
    try:
        return ast.parse(inspect.getsource(sys.modules[home]))
    except (OSError, TypeError, KeyError):
        return ast.Module([], [])


@functools.lru_cache(maxsize=256)
def _source_in(home: str, name: str) -> tuple[str, int] | None:
    """A class and its line, wherever it is in its file: one in a test's body is called ``test_x.<locals>.Name``."""
    body: Any = _tree(home).body
    node: Any = None
    for part in name.replace(".<locals>", "").split("."):
        node = next((one for one in body if getattr(one, "name", None) == part), None)
        if node is None:
            return None
        body = [one for one in ast.walk(node) if isinstance(one, ast.ClassDef | ast.FunctionDef) and one is not node]
    return (ast.unparse(node), node.lineno) if isinstance(node, ast.ClassDef) else None


@functools.lru_cache(maxsize=256)
def _header_of(home: str, source: str) -> list[str]:
    """The imports, and the constants and classes at the top of its module, that a class needs, each as a text."""
    imports = [one for one in ast.walk(_tree(home)) if isinstance(one, ast.Import | ast.ImportFrom)]
    found = [sent for one in (*imports, *_tree(home).body) if (sent := _sent(one, home)) is not None]
    needed, more = names_in(ast.parse(source)), {"*"}
    while more:
        needed |= more
        mentioned = [names_in(one) for one in found if not needed.isdisjoint(names_bound_by(one))]
        more = set[str]().union(*mentioned) - needed
    return list(dict.fromkeys(ast.unparse(one) for one in found if not needed.isdisjoint(names_bound_by(one))))


def _sent(node: ast.stmt, home: str) -> ast.stmt | None:
    """A statement as the far side runs it; None for one that it does not get."""
    if isinstance(node, ast.ImportFrom):
        package = home.split(".")[: -node.level] if node.level else []
        module = ".".join([*package, *filter(None, [node.module])])
        far = vars(sys.modules.get(module, sys)).get("_far")  # of what students write
        if far is not None or not node.level:
            return ast.ImportFrom(far or module, node.names, 0)
        return None
    if isinstance(node, ast.Import | ast.ClassDef):
        return node
    try:
        ast.literal_eval(node.value if isinstance(node, ast.Assign) else ast.Name("_"))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return node
