"""The statements at the top level of a module, and which of them its definitions need. Reads code, and runs none.

A statement is needed if it gives a value to a name that is needed, or may change what such a name stands for:
``TABLE["a"] = 1``, ``TABLE.append(2)``, ``fill(TABLE)``, ``torch.manual_seed(0)``. What a function needs when it is
called counts as well. What another function does to an object behind its back cannot be seen here.
"""

from __future__ import annotations
import __future__

import ast
import dis
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Final, NamedTuple

Names = frozenset[str]

_IS_FUNCTION: Final = 0x1 | 0x2  # CO_OPTIMIZED, CO_NEWLOCALS: a class's body has neither
# fmt: off
_ONLY_LOOK: Final = frozenset((
    "print", "display", "repr", "str", "format", "len", "type", "isinstance", "id", "sum", "max", "min", "any", "all",
    "sorted", "list", "tuple", "dict", "set", "float", "int", "bool", "range", "enumerate", "zip", "help", "dir",
    "hash", "abs", "round", "callable", "hasattr", "getattr",
))
# fmt: on
"""Functions that change nothing of what they are given."""
_CHANGING: Final = frozenset(("shuffle", "heapify", "heappush", "heappop", "setattr", "insort", "register"))
"""Functions of packages that change what they are given; so do those whose names end with an underscore."""


@dataclass(frozen=True)
class Statement:
    """One statement at the top level; of an import of several names, the part for one of them.

    Attributes:
        code: None where it cannot be compiled.
        problem: why not.
        first, last: its lines, from 1.
        gives: names that it gives a value, or deletes.
        stores: names of objects of which it replaces an attribute or an item.
        touches: names of objects that it may change in another way: calls a method of, hands to a function.
        now: names that it needs when it is run.
        later: names that its functions need when they are called.
        sets: names of the module that its functions set when they are called.
        is_setting: whether it is one plain call, such as ``torch.manual_seed(0)``.
        is_constant: whether it gives its names values that cannot be changed, such as numbers.
    """

    code: CodeType | None
    problem: SyntaxError | None
    node: ast.stmt
    first: int
    last: int
    gives: Names
    stores: Names
    touches: Names
    now: Names
    later: Names
    sets: Names
    is_setting: bool
    is_constant: bool

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_definition(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)

    @property
    def always_gives(self) -> bool:
        """Whether it gives its names a value whenever it does not raise."""
        return self.is_import or self.is_definition or isinstance(self.node, ast.Assign | ast.AnnAssign)

    @property
    def never_runs(self) -> bool:
        """Whether an import runs nothing of it: a text, or what is under ``if __name__ == "__main__":``."""
        if isinstance(self.node, ast.Expr):
            return isinstance(self.node.value, ast.Constant)
        return self.is_script

    @property
    def is_script(self) -> bool:
        """Whether it is ``if __name__ == "__main__":``."""
        return isinstance(self.node, ast.If) and self.now >= {"__name__"} and not self.gives

    @property
    def is_part_of_package(self) -> bool:
        """Whether it is ``import a.b``, which gives ``a`` a value that it may have already."""
        return isinstance(self.node, ast.Import) and any("." in one.name and not one.asname for one in self.node.names)


class Kinds(NamedTuple):
    """What the names of a module stand for: modules, definitions, and data that can be changed."""

    modules: Names
    definitions: Names
    data: Names

    @classmethod
    def of(cls, statements: Sequence[Statement]) -> Kinds:
        """The kinds of the names that these statements give values."""
        modules = _given(one for one in statements if one.is_import)
        definitions = _given(one for one in statements if one.is_definition)
        data = _given(one for one in statements if not (one.is_import or one.is_definition or one.is_constant))
        return cls(modules, definitions, data - modules - definitions)


def _given(statements: Iterable[Statement]) -> Names:
    return frozenset(name for one in statements for name in one.gives)


def statements_of(source: bytes, filename: str) -> list[Statement]:
    """The statements of a module, in order. A ``from __future__`` counts for all of it, wherever it stands.

    Raises:
        SyntaxError: it cannot be parsed.
    """
    tree = ast.parse(source, filename=filename)
    flags = 0
    parts: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level:
            flags |= _future_flags(node)
        elif isinstance(node, ast.Import | ast.ImportFrom) and len(node.names) > 1:
            parts += _one_by_one(node)
        else:
            parts.append(node)
    return [_statement(node, filename, flags) for node in parts]


def needed(statements: Sequence[Statement], wanted: Collection[str]) -> list[bool]:
    """Which of the statements the wanted names need, directly or through others.

    Definitions that nobody needs are kept as well where all that they need to be made is there.
    """
    sets = _set_by_calls(statements)
    names = set(wanted)
    kept = [one.is_import and "*" in one.gives for one in statements]
    kinds = Kinds.of(statements)
    is_growing = True
    while is_growing:
        is_growing = False
        for number, one in enumerate(statements):
            if kept[number]:
                continue
            called = () if one.is_definition else (name for user in one.now for name in sets.get(user, ()))
            touched = one.touches & (kinds.data | kinds.modules if one.is_setting else kinds.data)
            if one.gives.union(called, one.stores, touched) & names:
                kept[number] = is_growing = True
                names |= one.now | one.later
    own = _given(statements)
    there = {*_given(one for one, is_kept in zip(statements, kept, strict=True) if is_kept)}
    for number, one in enumerate(statements):
        if not kept[number] and one.is_definition and one.now & own <= there:
            kept[number] = True
            there |= one.gives
    return kept


def _set_by_calls(statements: Sequence[Statement]) -> dict[str, Names]:
    """What calling each name of the module sets, by ``global``, also through the functions that it calls."""
    sets = {name: one.sets for one in statements for name in one.gives if one.sets}
    users = [(name, one.later) for one in statements if one.later for name in one.gives]
    is_growing = bool(sets)
    while is_growing:
        is_growing = False
        for name, later in users:
            more = frozenset(what for other in later for what in sets.get(other, ()))
            if not more <= sets.get(name, frozenset()):
                sets[name] = sets.get(name, frozenset()) | more
                is_growing = True
    return sets


def _future_flags(node: ast.ImportFrom) -> int:
    features = (getattr(__future__, alias.name, None) for alias in node.names)
    return sum(feature.compiler_flag for feature in features if feature is not None)


def _one_by_one(node: ast.Import | ast.ImportFrom) -> Iterator[ast.stmt]:
    """An import of several names as one of each: a package that is not there takes no other with it."""
    for alias in node.names:
        one = (
            ast.Import(names=[alias])
            if isinstance(node, ast.Import)
            else ast.ImportFrom(module=node.module, names=[alias], level=node.level)
        )
        yield ast.copy_location(one, node)


def _statement(node: ast.stmt, filename: str, flags: int) -> Statement:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    last = node.end_lineno or node.lineno
    code, problem = None, None
    try:
        code = compile(ast.Module(body=[node], type_ignores=[]), filename, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        problem = error
    gives: set[str] = set()
    now: set[str] = set()
    later: set[str] = set()
    sets: set[str] = set()
    if code is not None:
        _read(code, gives, now, later, sets)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        gives.add(node.name)
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        gives.add("*")
    stores, touches = _changed(node)
    return Statement(
        code=code,
        problem=problem,
        node=node,
        first=first,
        last=last,
        gives=frozenset(gives),
        stores=frozenset(stores),
        touches=frozenset(touches),
        now=frozenset(now),
        later=frozenset(later),
        sets=frozenset(sets),
        is_setting=_is_setting(node),
        is_constant=_is_constant(node),
    )


def _read(code: CodeType, gives: set[str], now: set[str], later: set[str], sets: set[str]) -> None:
    """What the code of a statement does with the names of its module."""
    todo: list[tuple[CodeType, str]] = [(code, "module")]
    for part, place in todo:
        own: set[str] = set()
        for step in dis.get_instructions(part):
            operation, name = step.opname, step.argval
            if not isinstance(name, str):
                continue
            is_global = operation.endswith("_GLOBAL")
            if operation.startswith(("STORE_", "DELETE_")) and (is_global or operation.endswith("_NAME")):
                if is_global:
                    (sets if place == "later" else gives).add(name)
                else:
                    (gives if place == "module" else own).add(name)
            elif operation in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS") and name not in own:
                (later if place == "later" else now).add(name)
        for constant in part.co_consts:
            if isinstance(constant, CodeType):
                todo.append((constant, _place_of(constant, place)))


def _place_of(code: CodeType, around: str) -> str:
    """When a code object within another one is run: with it, as a class's body is, or later, when it is called."""
    if around == "later":
        return "later"
    if code.co_name.startswith("<") and code.co_name != "<lambda>":  # a comprehension, or what has type parameters
        return "now"
    return "later" if code.co_flags & _IS_FUNCTION == _IS_FUNCTION else "class"


def _is_setting(node: ast.stmt) -> bool:
    """Whether a statement is a call of a module's function with nothing that has to be worked out."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    arguments = [*node.value.args, *(one.value for one in node.value.keywords)]
    return not any(isinstance(part, ast.Call) for one in arguments for part in ast.walk(one))


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement gives names numbers, texts, or tuples of these."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    plain = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(part, plain) for part in ast.walk(node.value))


def _changed(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names whose objects a statement may change when it is run: by storing in them, and in other ways."""
    stores: set[str] = set()
    touches: set[str] = set()
    todo: list[ast.AST] = [node]
    for part in todo:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue  # runs when it is called
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            stores.add(_root(part))
        elif isinstance(part, ast.Call):
            touches.update(_touched_by(part))
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Name | ast.Attribute | ast.Subscript):
            touches.add(_root(part.value))  # another name for it, by which it may be changed
        todo += ast.iter_child_nodes(part)
    return stores - {""}, touches - {""}


def _touched_by(call: ast.Call) -> Iterator[str]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if isinstance(call.func, ast.Attribute):
        yield _root(call.func)
        if not (name in _CHANGING or name.endswith("_")):
            return
    elif name in _ONLY_LOOK:
        return
    yield from map(_root, (*call.args, *(one.value for one in call.keywords)))


def _root(node: ast.AST) -> str:
    """The name that an expression begins with; empty if none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
