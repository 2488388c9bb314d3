"""Mistakes that are seen in the text of an answer, beside those of `grader.course.slips`: for exercises of this course.

Each must return 0 for every right answer, however that is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.course.answer_code import AnswerCode, PlacedNode, dotted, is_named, names_of
from grader.course.source import names_in

_SHAPES = frozenset(("unsqueeze", "view", "reshape", "expand", "expand_as", "bool", "float", "double", "to", "type_as"))
"""Methods that give a tensor another shape or dtype."""


def fills_where(answer: AnswerCode, mask: str, number: int = -1) -> int:
    """Numbers are replaced where an argument is True: by a very low number, or by 0, as a product does with what the
    argument says turned round. It was not turned round before."""
    if any(answer.values(mask)) or mask not in answer.arguments:
        return 0
    for one in answer.places:
        match one.node:
            case ast.Call(ast.Attribute(attr="masked_fill" | "masked_fill_"), [where, value]) | ast.Call(
                ast.Attribute(attr="where"), [where, value, _]
            ) if _is_shaped(where, mask) and (_is_low(value) if number else _is_zero(value)):
                return one.line
            case ast.BinOp(left, ast.Mult(), right) if not number:
                if any(_is_turned(answer, side, mask) for side in (left, right)):
                    return one.line
    return 0


def _is_shaped(node: ast.AST, name: str) -> bool:
    """Whether it is this variable, at most in another shape or dtype."""
    return is_named(_bare(node), [name])


def _is_turned(answer: AnswerCode, node: ast.AST, mask: str) -> bool:
    """Whether it is the mask turned round, by a name of its own or not."""
    bare = _bare(node)
    found = [bare, *(map(_bare, answer.values(bare.id)) if isinstance(bare, ast.Name) else ())]
    turned = [one.operand for one in found if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Invert)]
    return any(_is_shaped(one, mask) for one in turned)


def _bare(node: ast.AST) -> ast.AST:
    """An expression without the calls that only change its shape or dtype."""
    while True:
        match node:
            case ast.Call(ast.Attribute(of, name)) if name in _SHAPES:
                node = of
            case ast.Subscript(of):
                node = of
            case _:
                return node


def _is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_low(node: ast.AST) -> bool:
    """Whether it is a negative number, minus infinity, or the least number of a dtype."""
    match node:
        case ast.UnaryOp(ast.USub()) | ast.Attribute(ast.Call(ast.Attribute(attr="finfo")), "min"):
            return True
        case ast.Call(ast.Name("float"), [ast.Constant(str(text))]):
            return text.strip().startswith("-inf")
        case ast.Call(ast.Attribute(attr="tensor" | "full_like"), [*_, value]):
            return _is_low(value)
    return False


def under_a_root(answer: AnswerCode, name: str) -> int:
    """Something with this name is added to the argument of a root."""
    for one, of in _roots(answer):
        nodes = [*ast.walk(of), *(answer.values(of.id) if isinstance(of, ast.Name) else ())]
        if any(_is_added(each, name) for each in nodes):
            return one.line
    return 0


def added_to_a_root(answer: AnswerCode, name: str) -> int:
    """Something with this name is added to a root, or to a standard deviation."""
    roots = {id(one.node) for one, _ in _roots(answer)} | {id(one.node) for one in answer.calls("std")}
    for one in answer.places:
        match one.node:
            case ast.BinOp(left, ast.Add(), right) if _is_added(one.node, name):
                names = (side.id for side in (left, right) if isinstance(side, ast.Name))
                sides = [left, right, *(value for each in names for value in answer.values(each))]
                if any(id(side) in roots for side in sides):
                    return one.line
    return 0


def logs_a_sum(answer: AnswerCode) -> int:
    """A number is added to the argument of a logarithm."""
    for one in answer.calls("log"):
        match one.node:
            case ast.Call(ast.Attribute(ast.Name("torch" | "math")), [of]) | ast.Call(ast.Attribute(of), []):
                if isinstance(of, ast.BinOp) and isinstance(of.op, ast.Add) and isinstance(of.right, ast.Constant):
                    return one.line
    return 0


def never_divides(answer: AnswerCode) -> int:
    """There is no division, no mean and no negative power. The code of classes that an answer uses does not count."""
    names = (
        *("mean", "fmean", "nanmean", "average", "div", "div_", "divide", "true_divide", "truediv", "reciprocal"),
        *("pow", "rsqrt", "log", "baddbmm"),
    )
    if not answer.is_closed or answer.mentions(*names):
        return 0
    for one in _outside_of_classes(answer):
        match one.node:
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div() | ast.Pow()):
                return 0
            case ast.BinOp(op=ast.Pow(), right=exponent) if not _is_whole(exponent):
                return 0
    return answer.first_call


def climbs(answer: AnswerCode, rate: str) -> int:
    """The rate times a gradient is added, and the rate is nowhere made negative."""
    found = 0
    for one in answer.places:
        match one.node:
            case ast.UnaryOp(ast.USub()):
                return 0
            case ast.BinOp(op=ast.Add(), right=change) | ast.AugAssign(op=ast.Add(), value=change):
                if isinstance(change, ast.BinOp) and isinstance(change.op, ast.Mult):
                    names = names_of(change.left) | names_of(change.right)
                    found = found or (one.line if names == {rate, "grad"} else 0)
    return found


def divides_by_one_less(answer: AnswerCode) -> int:
    """A variance or a deviation is the unbiased one, as torch's are, and nothing makes the other of it."""
    for one in answer.places:
        match one.node:
            case ast.BinOp(op=ast.Sub(), right=ast.Constant(1)):
                return 0
    for one in answer.calls("var", "std", "var_mean", "std_mean"):
        assert isinstance(one.node, ast.Call)
        words = {each.arg for each in one.node.keywords}
        is_chosen = any(isinstance(each, ast.Constant) and type(each.value) is bool for each in one.node.args)
        if not words & {"unbiased", "correction", None} and not is_chosen:
            return one.line
    return 0


def yields_unprotected(answer: AnswerCode) -> int:
    """A generator has a yield, and nothing that runs after an error, too."""
    has_exit = any(getattr(one.node, "name", "") in ("__exit__", "__del__") for one in answer.places)
    if not answer.is_closed or has_exit or answer.mentions("ExitStack", "callback", "closing", "__exit__"):
        return 0
    if any(isinstance(one.node, ast.Try) for one in answer.places):
        return 0
    return next((one.line for one in answer.places if isinstance(one.node, ast.Yield)), 0)


def _outside_of_classes(answer: AnswerCode) -> list[PlacedNode]:
    """The nodes of an answer that are in no class which it only uses."""
    return [one for one in answer.places if not any(isinstance(each, ast.ClassDef) for each in one.inside[1:])]


def _is_whole(node: ast.AST) -> bool:
    """Whether it is a whole number that is written out, without a minus."""
    return isinstance(node, ast.Constant) and type(node.value) is int


def shuffles(answer: AnswerCode, name: str) -> int:
    """A DataLoader of the variable with this name gets ``shuffle=True``."""
    for one in answer.calls("DataLoader"):
        assert isinstance(one.node, ast.Call)
        given = {each.arg: each.value for each in one.node.keywords}
        of, how = (*one.node.args[:1], given.get("dataset")), (*one.node.args[2:3], given.get("shuffle"))
        is_on = isinstance(how[0], ast.Constant) and how[0].value is True
        if is_on and isinstance(of[0], ast.Name) and of[0].id == name:
            return one.line
    return 0


def asked_at_import(answer: AnswerCode, *names: str) -> int:
    """One of the functions is called when the file is loaded, and the answer uses its result."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for one in answer.calls(*names):
        uses = [place for place, node in enumerate(one.inside) if isinstance(node, ast.Name)]
        if uses and not any(isinstance(node, kinds) for node in one.inside[uses[-1] :]):
            return one.line
    return 0


def never_loads(answer: AnswerCode, name: str) -> int:
    """Something gets the state that was saved of it, and the variable with this name, which there is, does not."""
    if name not in answer.arguments and not answer.mentions(name):
        return 0
    loads = answer.calls("load_state_dict")
    owners = {dotted(getattr(one.node, "func", one.node)).split(".")[-2] for one in loads}
    in_turns = {each for one in loads for loop in one.loops for each in names_in(getattr(loop, "target", loop))}
    is_in_helper = any(isinstance(node, ast.Name) for one in loads for node in one.inside)
    is_set = answer.mentions("__setstate__") or any(_sets_part_of(one.node, name) for one in answer.places)
    if not answer.is_closed or is_in_helper or is_set or owners & {*in_turns, "?", name}:
        return 0
    return loads[0].line if loads else 0


def _sets_part_of(node: ast.AST, name: str) -> bool:
    """Whether it gives a value to an attribute of a variable, or to an item of one."""
    is_part = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return is_part and name in names_in(node)


def keeps_live(answer: AnswerCode, key: str) -> int:
    """A state_dict is kept under this key as it is, and nothing is copied or loaded."""
    if answer.mentions("deepcopy", "clone", "load_state_dict"):
        return 0
    for one in answer.places:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        match one.node:
            case ast.Dict(keys, values):
                pass
            case ast.Assign([ast.Subscript(slice=at)], value):
                keys, values = [at], [value]
        for at_key, value in zip(keys, values, strict=True):
            is_state = isinstance(value, ast.Call) and is_named(value.func, ["state_dict"])
            if is_state and isinstance(at_key, ast.Constant) and at_key.value == key:
                return value.lineno
    return 0


def _roots(answer: AnswerCode) -> Iterator[tuple[PlacedNode, ast.AST]]:
    """The square roots, each with its argument."""
    for one in answer.places:
        match one.node:
            case ast.Call(ast.Attribute(ast.Name("torch" | "math"), "sqrt"), [of]):
                yield one, of
            case ast.Call(ast.Attribute(of, "sqrt" | "sqrt_"), []) | ast.BinOp(of, ast.Pow(), ast.Constant(0.5)):
                yield one, of


def _is_added(node: ast.AST, name: str) -> bool:
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return any(is_named(side, [name]) for side in (left, right))
    return False
