"""Makes mutants of a solution: the same module with one operator, constant, call or argument changed.

A check that no mutant fails, or a mutant that no check fails, says something about the checks. Runs nothing.
"""

import ast
from collections.abc import Iterator
from typing import Final

import msgspec

_LONGEST: Final = 60
"""Characters of a piece of source in a line about a mutant."""
_BEFORE: Final = 20
"""Characters that are shown before the first difference."""

_OTHER_OPERATOR: Final[dict[type[ast.operator], ast.operator]] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.Pow: ast.Mult(),
    ast.MatMult: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}
_OTHER_COMPARISON: Final[dict[type[ast.cmpop], ast.cmpop]] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_IN_ORDER: Final = (ast.Sub, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod, ast.Pow)
"""Operators whose operands are no less a mistake when they are exchanged."""

_SAME_EITHER_WAY: Final = frozenset(
    ("transpose", "transpose_", "swapaxes", "swapdims", "max", "min", "maximum", "minimum", "add", "mul", "multiply",
     "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "equal", "eq", "ne", "dot",
     "gcd", "hypot")
)  # fmt: skip
"""Functions of two arguments that can be exchanged: the result is the same, so no check could tell."""


class Mutant(msgspec.Struct, frozen=True):
    """A module with one change.

    Attributes:
        definition: the function or class at the top of the module that holds the change.
        line: the line of the change.
        source_line: that line in the unchanged module, without its indentation.
        change: the replacement: ``a + b -> a - b``.
        text: the whole module.
    """

    definition: str
    line: int
    source_line: str
    change: str
    text: str


def mutants_of(source: str) -> list[Mutant]:
    """The mutants of all functions and classes at the top of a module, in order of their lines; no two are the same."""
    tree = ast.parse(source)
    modules = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    text = _Text(source)
    found: dict[str, Mutant] = {}
    for definition in tree.body:
        if not isinstance(definition, ast.FunctionDef | ast.ClassDef):
            continue
        for node in _running_code(definition):
            for old, new in _changes(node, modules):
                mutated = text.with_replaced(old, new)
                if mutated is not None and mutated not in found and mutated != source:
                    change = " -> ".join(_short(text.of(old), new))
                    line = text.lines[old.lineno - 1].decode().strip()
                    found[mutated] = Mutant(definition.name, old.lineno, line, change, mutated)
    return sorted(found.values(), key=lambda mutant: mutant.line)


Piece = ast.expr | ast.stmt


class _Text:
    """Source text by lines of bytes: the columns of the syntax tree count bytes."""

    def __init__(self, source: str) -> None:
        self.lines = source.encode().splitlines(keepends=True)

    def _offsets(self, node: Piece) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = sum(map(len, self.lines[: node.lineno - 1])) + node.col_offset
        return start, sum(map(len, self.lines[: node.end_lineno - 1])) + node.end_col_offset

    def of(self, node: Piece) -> str:
        start, end = self._offsets(node)
        return b"".join(self.lines)[start:end].decode()

    def with_replaced(self, node: Piece, new: str) -> str | None:
        """The module with other text in a node's place; None if that is not Python."""
        start, end = self._offsets(node)
        whole = b"".join(self.lines)
        mutated = (whole[:start] + new.encode() + whole[end:]).decode()
        try:
            compile(mutated, "mutant", "exec", dont_inherit=True)
        except SyntaxError:
            return None
        return mutated


def _running_code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that run: no annotations, no docstrings, no parts of f-strings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr) or _is_text(child):
                continue
            yield child
            yield from _running_code(child)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST, modules: set[str]) -> Iterator[tuple[Piece, str]]:
    """The texts that can replace a node, or a part of it."""
    match node:
        case ast.BinOp(left, operator, right):
            if type(operator) in _OTHER_OPERATOR:
                yield node, _expression(ast.BinOp(left, _OTHER_OPERATOR[type(operator)], right))
            if isinstance(operator, _IN_ORDER):
                yield node, _expression(ast.BinOp(right, operator, left))
        case ast.Compare(left, [first, *others], rights):
            yield node, _expression(ast.Compare(left, [_OTHER_COMPARISON[type(first)], *others], rights))
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield node, _expression(ast.BoolOp(other, values))
        case ast.UnaryOp(_, operand):
            yield node, _expression(operand)
        case ast.Constant(bool(value)):
            yield node, repr(not value)
        case ast.Constant(int(value)):
            yield from ((node, repr(value + step)) for step in (1, -1) if value + step >= 0)
        case ast.Constant(float(value)):
            yield node, repr(2 * value + (value == 0))
        case ast.Call():
            yield from _changed_calls(node, modules)
        case ast.If(test) | ast.IfExp(test) | ast.While(test):
            yield test, f"(not {_expression(test)})"
        case ast.withitem(context):
            yield context, '__import__("contextlib").nullcontext()'
        case ast.AugAssign(target, operator, value):
            if type(operator) in _OTHER_OPERATOR:
                yield node, ast.unparse(ast.AugAssign(target, _OTHER_OPERATOR[type(operator)], value))
            yield node, "pass"
        case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.Raise() | ast.Delete() | ast.Expr(ast.Call()):
            yield node, "pass"
        case ast.FunctionDef(decorator_list=decorators):
            for decorator in decorators:
                if not isinstance(decorator, ast.Name):  # without `@staticmethod` a call by the class is the same
                    yield decorator, "(lambda it: it)"


def _changed_calls(call: ast.Call, modules: set[str]) -> Iterator[tuple[Piece, str]]:
    args, keywords = call.args, call.keywords
    for position in range(len(keywords)):
        yield call, _expression(ast.Call(call.func, args, [*keywords[:position], *keywords[position + 1 :]]))
    may_exchange = len(args) >= 2 and not any(isinstance(arg, ast.Starred) for arg in args[:2])
    is_same = len(args) == 2 and not keywords and _name_of(call) in _SAME_EITHER_WAY
    if may_exchange and not is_same:
        yield call, _expression(ast.Call(call.func, [args[1], args[0], *args[2:]], keywords))
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    is_method = isinstance(call.func, ast.Attribute) and not (isinstance(root, ast.Name) and root.id in modules)
    if isinstance(call.func, ast.Attribute) and is_method:
        yield call, _expression(call.func.value)
    elif args and not isinstance(args[0], ast.Starred):
        yield call, _expression(args[0])


def _name_of(call: ast.Call) -> str:
    """The name of a called function or method, without the module or object that it is of."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _expression(node: ast.expr) -> str:
    """An expression as text that can stand anywhere in another."""
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript) else f"({text})"


def _short(old: str, new: str) -> tuple[str, str]:
    """Two pieces of source on one line each; of long ones, the part around the first difference."""
    old, new = " ".join(old.split()), " ".join(new.split())
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    start = max(0, same - _BEFORE) if max(len(old), len(new)) > _LONGEST else 0
    cut = [("…" if start else "") + text[start:] for text in (old, new)]
    first, second = (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in cut)
    return first, second
