"""Makes mutants of a solution: the same module with one operator, constant, call or argument changed.

A check that no mutant fails, or a mutant that no check fails, says something about the checks. A mutant that does the
same as the solution is written down, with the reason, in `EQUIVALENTS` beside the solutions. Runs nothing.
"""

import ast
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from grader.course import Course
from grader.course.source import names_bound_by
from grader.errors import CourseError

EQUIVALENTS: Final = "equivalent_mutants.toml"

_LONGEST: Final = 60
"""Characters of a piece of source in a line about a mutant."""
_BEFORE: Final = 20
"""Characters that are shown before the first difference."""

_OPPOSITES: Final = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.Add, ast.Sub), (ast.BitAnd, ast.BitOr)),
)
_OTHER: Final[dict[type, type]] = {
    **dict.fromkeys((ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult), ast.Mult),
    **{ast.Mult: ast.Div, ast.Mod: ast.FloorDiv},
    **{one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])},
}
"""The operator, or the comparison, that takes the place of another one."""
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
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    modules = {name for node in imports for name in names_bound_by(node)}
    content = source.encode()
    lines = content.splitlines(keepends=True)
    found: dict[str, Mutant] = {}
    for definition in tree.body:
        if not isinstance(definition, ast.FunctionDef | ast.ClassDef):
            continue
        for node in _running_code(definition):
            for old, new in _changes(node, modules):
                assert old.end_lineno is not None and old.end_col_offset is not None
                # The columns of the syntax tree count bytes.
                start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
                end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
                mutated = (content[:start] + new.encode() + content[end:]).decode()
                if mutated not in found and mutated != source and _is_python(mutated):
                    change = " -> ".join(_short(content[start:end].decode(), new))
                    line = lines[old.lineno - 1].decode().strip()
                    found[mutated] = Mutant(definition.name, old.lineno, line, change, mutated)
    return sorted(found.values(), key=lambda mutant: mutant.line)


Node = ast.expr | ast.stmt


def _is_python(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _running_code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that run: no annotations, no docstrings, no parts of f-strings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr) and not is_text:
                yield child
                yield from _running_code(child)


def _changes(node: ast.AST, modules: set[str]) -> Iterator[tuple[Node, str]]:
    """The texts that can replace a node, or a part of it."""
    match node:
        case ast.BinOp(left, operator, right):
            if type(operator) in _OTHER:
                yield node, _expression(ast.BinOp(left, _OTHER[type(operator)](), right))
            if isinstance(operator, _IN_ORDER):
                yield node, _expression(ast.BinOp(right, operator, left))
        case ast.Compare(left, [first, *others], rights):
            yield node, _expression(ast.Compare(left, [_OTHER[type(first)](), *others], rights))
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
            if type(operator) in _OTHER:
                yield node, ast.unparse(ast.AugAssign(target, _OTHER[type(operator)](), value))
            yield node, "pass"
        case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.Raise() | ast.Delete() | ast.Expr(ast.Call()):
            yield node, "pass"
        case ast.FunctionDef(decorator_list=decorators):
            for decorator in decorators:
                if not isinstance(decorator, ast.Name):  # without `@staticmethod` a call by the class is the same
                    yield decorator, "(lambda it: it)"


def _changed_calls(call: ast.Call, modules: set[str]) -> Iterator[tuple[Node, str]]:
    function, args, keywords = call.func, call.args, call.keywords
    for position in range(len(keywords)):
        yield call, _expression(ast.Call(function, args, [*keywords[:position], *keywords[position + 1 :]]))
    # The name of the function or method, without the module or object that it is of.
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    is_same = len(args) == 2 and not keywords and name in _SAME_EITHER_WAY
    if len(args) >= 2 and not is_same and not any(isinstance(arg, ast.Starred) for arg in args[:2]):
        yield call, _expression(ast.Call(function, [args[1], args[0], *args[2:]], keywords))
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(function, ast.Attribute) and not (isinstance(root, ast.Name) and root.id in modules):
        yield call, _expression(function.value)
    elif args and not isinstance(args[0], ast.Starred):
        yield call, _expression(args[0])


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


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that does the same as the solution, or is as right.

    Attributes:
        definition: the function or class, after its topic: ``tensor_ops.gram``.
        line: the line of the solution that is changed, without its indentation; empty for a change of all values that
            come back, which the checks of the exercise need not notice.
        change: as `grader verify`, with or without `--mutants`, prints it.
        reason: why no check can tell.
    """

    definition: str
    line: str
    change: str
    reason: str


def equivalents_of(course: Course) -> dict[tuple[str, str, str], Equivalent]:
    """The mutants that are written down as equivalent, by definition, line and change.

    Raises:
        CourseError: it cannot be read.
    """
    file = course.solutions_dir / EQUIVALENTS
    if not file.is_file():
        return {}
    try:
        found = msgspec.toml.decode(file.read_bytes(), type=dict[Literal["mutant"], tuple[Equivalent, ...]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CourseError(file, None, str(error)) from error
    return {(one.definition, one.line, one.change): one for one in found.get("mutant", ())}
