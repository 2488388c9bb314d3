"""The text of an answer as nodes in the order in which they run, with the helpers that it uses. Runs nothing of it."""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from grader.course.source import Definition, Function, names_in

MOST_NODES: Final = 3_000
"""Nodes of an answer and its helpers that are looked at; of a longer one nothing is said, as looking at it would cost
the judge the square of its length."""
_KNOWN: Final = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}
"""Modules whose functions do nothing to a model that their names do not say."""
_LOOPS: Final = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class PlacedNode:
    """A node of an answer, and the nodes that it is inside of, outermost first, those of a helper's call included."""

    node: ast.AST
    inside: tuple[ast.AST, ...]

    @property
    def line(self) -> int:
        """Its line in the file."""
        return getattr(self.node, "lineno", 0)

    @property
    def loops(self) -> list[ast.AST]:
        """The loops that it is in."""
        return [one for one in self.inside if isinstance(one, _LOOPS)]


class AnswerCode:
    """A function or a class at the top of a file, with all that it uses of the same file.

    Args:
        tree: the file.
        name: the name of the function or class.

    Attributes:
        places: its nodes, parts before the whole; a helper's come where its name is used. Empty if there is no such
            definition, or if it is too long.
        is_closed: whether nothing that it uses has its code in another file: then it does not do what it lacks.
    """

    def __init__(self, tree: ast.Module, name: str) -> None:
        self.places: list[PlacedNode] = []
        self.is_closed = True
        self._defined: dict[str, ast.AST] = {}
        self._elsewhere: set[str] = set()
        for one in tree.body:
            self._define(one)
        self._own = self._defined.get(name)
        try:
            if isinstance(self._own, Definition):
                self._walk(self._own, ())
        except RecursionError:
            self.places = []
        if len(self.places) >= MOST_NODES:
            self.places = []

    def _define(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._defined[name] = node
            case ast.Assign([ast.Name(name)], value):
                self._defined[name] = value
            case ast.Import(names) | ast.ImportFrom(names=names):
                for alias in names:
                    module = (getattr(node, "module", None) or alias.name).partition(".")[0]
                    if module not in _KNOWN or getattr(node, "level", None):
                        self._elsewhere.add((alias.asname or alias.name).partition(".")[0])

    def _walk(self, node: ast.AST, inside: tuple[ast.AST, ...]) -> None:
        if len(self.places) >= MOST_NODES:
            return
        for part in _parts(node):
            if isinstance(part, Function) and not isinstance(node, ast.ClassDef):
                self._define(part)  # it runs where its name is used
            else:
                self._walk(part, (*inside, node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._define(node)
        self.places.append(PlacedNode(node, inside))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.is_closed &= node.id not in self._elsewhere
            used = self._defined.get(node.id)
            if used is not None and used not in inside:
                self._walk(used, (*inside, node))

    def calls(self, *names: str) -> list[PlacedNode]:
        """The calls of functions or methods with these names, such as ``backward`` or ``torch.manual_seed``."""
        return [one for one in self.places if isinstance(one.node, ast.Call) and is_named(one.node.func, names)]

    def mentions(self, *names: str) -> bool:
        """Whether any of these names occurs: as a variable, an attribute, a keyword, or a text."""
        return any(not names_of(one.node).isdisjoint(names) for one in self.places)

    @property
    def arguments(self) -> set[str]:
        """The names of the arguments of all its functions."""
        functions = {*(one.node for one in self.places), *(node for one in self.places for node in one.inside)}
        return {each.arg for one in functions if isinstance(one, Function) for each in one.args.args}

    @property
    def first_call(self) -> int:
        """The line of the first call of an argument, such as the model; else that of the definition."""
        arguments = self.arguments
        calls = (one for one in self.places if isinstance(one.node, ast.Call) and dotted(one.node.func) in arguments)
        return next((one.line for one in calls), getattr(self._own, "lineno", 0))

    def values(self, name: str, until: int | None = None) -> Iterator[ast.AST]:
        """The values that a name was given, or that were added to it, in the places before `until`."""
        for one in self.places[:until]:
            match one.node:
                case ast.Assign(targets, value):
                    yield from (part for to, part in _pairs(targets, value) if name in names_in(to))
                case (
                    ast.AugAssign(ast.Name(to), _, value)
                    | ast.AnnAssign(ast.Name(to), value=ast.expr() as value)
                    | ast.NamedExpr(ast.Name(to), value)
                    | ast.Call(ast.Attribute(ast.Name(to), "append"), [value])
                ) if to == name:
                    yield value

    def origin(self, expression: ast.AST, until: int | None = None) -> Iterator[ast.AST]:
        """The nodes of an expression, of the values of its names before `until`, and of what its helpers return."""
        seen: set[str] = set()
        todo = [expression]
        while todo:
            for node in ast.walk(todo.pop()):
                yield node
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    todo += self.values(node.id, until)
                    used = self._defined.get(node.id)
                    if isinstance(used, Function):
                        todo += [one.value for one in ast.walk(used) if isinstance(one, ast.Return) and one.value]


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """The part of a node that runs: no annotations, and not the decorator by which a course names the answer."""
    if isinstance(node, Function):
        decorators = [one for one in node.decorator_list if not is_named(getattr(one, "func", one), ["misconception"])]
        return [*decorators, *node.args.defaults, *node.body]
    return [*node.bases, *node.body] if isinstance(node, ast.ClassDef) else ast.iter_child_nodes(node)


def _pairs(targets: list[ast.expr], value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment with the value of each: of ``a, b = 1, 2``, a with 1 and b with 2."""
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=False)
        else:
            yield target, value


def dotted(node: ast.AST) -> str:
    """A name with those in front of it: ``torch.optim.SGD``; ``?`` stands for any other expression."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(owner, name):
            return f"{dotted(owner)}.{name}"
    return "?"


def is_named(node: ast.AST, names: Collection[str]) -> bool:
    """Whether it ends with one of the names; one with dots must be all of it, or its last part stand alone."""
    text = dotted(node)
    last = text.rpartition(".")[2]
    return any(text in (name, name.rpartition(".")[2]) if "." in name else last == name for name in names)


def names_of(node: ast.AST) -> set[str]:
    """The name that a node is: a variable, an attribute, a keyword, a text, or what is imported."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.Constant(str(name)):
            return {name}
        case ast.Import(names) | ast.ImportFrom(names=names):
            return {one.name for one in names}
    return set()
