"""The source of a class of a suite, for the far side: with the imports, constants and classes that stand beside it.

It is read from the suite's file. Functions of the file, and with them its tests, are never sent, nor is anything that
the class does not mention: a constant beside it may be an expected answer.
"""

from __future__ import annotations

import ast
import collections
import copy
import functools
import inspect
import sys
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Final, NamedTuple

from grader.course.source import names_bound_by, names_in
from grader.errors import UserError
from grader.suites import honesty
from grader.testkit.rebuilt import PLAIN

_CONTAINERS: Final = (list, dict, set, collections.deque)
_CHANGING: Final = frozenset({
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft", "remove", "setdefault",
    "update",
})  # fmt: skip
"""Methods that change a list, dict, set or deque."""


class Variable(NamedTuple):
    """A variable of a test that its classes may change: of the function around one, of its file, or of the class."""

    name: str
    home: CellType | dict[str, Any] | type

    def get(self) -> Any:
        """Its value now."""
        if isinstance(self.home, CellType):
            return self.home.cell_contents
        return (self.home if isinstance(self.home, dict) else vars(self.home))[self.name]

    def set(self, value: object) -> None:
        """Gives it another one."""
        if isinstance(self.home, CellType):
            self.home.cell_contents = value
        elif isinstance(self.home, dict):
            self.home[self.name] = value
        else:
            type.__setattr__(self.home, self.name, value)


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
    found = _source_in(home, kind.__qualname__, frozenset(_cells_of(kind)))
    if found is None:
        raise UserError(f"the class `{kind.__qualname__}` of {home} has no source at the top of a file")
    source, line = found
    text = f"class `{kind.__name__}` {honesty.TEXTS['source-sent']}"
    honesty.note("source-sent", root, Path(sys.modules[home].__file__ or home), line, text)
    return home, kind.__name__, source, _header_of(home, source)


def needs_of(kind: type, source: str) -> tuple[dict[str, Any], list[Variable]]:
    """Functions of its file, and variables of the function around it, that the methods of a class mention; and apart
    from these the variables that it may change."""
    cells, home, changes = _cells_of(kind), vars(sys.modules[kind.__module__]), _changed_by(source)
    found: dict[str, Any] = {name: cell.cell_contents for name, cell in cells.items() if name not in changes}
    variables = [Variable(name, cell) for name, cell in cells.items() if name in changes]
    for method in _methods_of(kind):
        beside = [name for name in method.__code__.co_names if name not in cells and name in home]
        found |= {name: home[name] for name in beside if isinstance(home[name], FunctionType)}
        variables += [Variable(name, home) for name in beside if name in changes and name not in found]
    own = [name for name, one in vars(kind).items() if f".{name}" in changes and type(one) in (*PLAIN, *_CONTAINERS)]
    return found, [*variables, *(Variable(name, kind) for name in own)]


def _methods_of(kind: type) -> list[FunctionType]:
    own = (getattr(one, "__func__", one) for one in vars(kind).values())
    return [one for one in own if isinstance(one, FunctionType)]


def _cells_of(kind: type) -> dict[str, CellType]:
    """The variables of the function around a class that its methods mention."""
    pairs = (zip(one.__code__.co_freevars, one.__closure__ or (), strict=True) for one in _methods_of(kind))
    return {name: cell for cells in pairs for name, cell in cells if name != "__class__"}


@functools.lru_cache(maxsize=256)
def _changed_by(source: str) -> frozenset[str]:
    """The names whose values, or what is in them, a source may change; those of attributes begin with a dot."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Global(names) | ast.Nonlocal(names):
                found.update(names)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _CHANGING:
                found.add(_root_of(owner))
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()) | ast.AugAssign(target=owner):
                found.add(_root_of(owner))
            case ast.Attribute(ctx=ast.Store()):
                found.add(_root_of(node))
    return frozenset(found)


def _root_of(node: ast.expr) -> str:
    """The name, or the attribute with a dot, that is changed in an expression such as ``seen["a"][0]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else f".{node.attr}" if isinstance(node, ast.Attribute) else ""


@functools.lru_cache(maxsize=64)
def _tree(home: str) -> ast.Module:
    try:
        return ast.parse(inspect.getsource(sys.modules[home]))
    except (OSError, TypeError, KeyError):
        return ast.Module([], [])


@functools.lru_cache(maxsize=256)
def _source_in(home: str, name: str, around: frozenset[str]) -> tuple[str, int] | None:
    """A class and its line, wherever it is in its file: one in a test's body is called ``test_x.<locals>.Name``.

    Args:
        around: variables of the function around it, which are global on the far side.
    """
    body: Any = _tree(home).body
    node: Any = None
    for part in name.replace(".<locals>", "").split("."):
        node = next((one for one in body if getattr(one, "name", None) == part), None)
        if node is None:
            return None
        body = [one for one in ast.walk(node) if isinstance(one, ast.ClassDef | ast.FunctionDef) and one is not node]
    if not isinstance(node, ast.ClassDef):
        return None
    return ast.unparse(_OneLevelUp(around).visit(copy.deepcopy(node))), node.lineno


class _OneLevelUp(ast.NodeTransformer):
    """Makes variables of the function around a class global."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        return ast.Global(node.names) if self._names.issuperset(node.names) else node


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
