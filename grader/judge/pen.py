"""Slips of the pen that are wrong in any answer, as sentences with their lines.

Each must be silent in right code, and so wherever it cannot know. Runs nothing.
"""

import ast
import itertools
from collections.abc import Callable, Iterator
from typing import Final

from grader.course.answer_code import MOST_NODES, dotted
from grader.course.source import Function, names_in

Place = Callable[[int], str]

_YES_OR_NO: Final = """
is_available is_built is_initialized is_nccl_available is_gloo_available is_mpi_available is_ucc_available
is_torchelastic_launched is_contiguous is_grad_enabled is_inference_mode_enabled is_autocast_enabled
is_bf16_supported is_pinned is_shared is_tensor is_storage is_alive is_set exists is_file is_dir isfile isdir
islink isabs startswith endswith isdigit isalpha isnumeric isspace isidentifier isnan isinf isfinite
"""
_PREDICATES: Final = frozenset(_YES_OR_NO.split())
"""Functions and methods of torch and Python that answer yes or no; none is an attribute of a dtype or a module."""
_NEW: Final = """
div mul sub clamp clip masked_fill detach clone reshape view unsqueeze squeeze transpose permute contiguous
softmax log_softmax exp sqrt abs neg pow triu tril flatten expand masked_select index_select round floor ceil
sigmoid tanh relu where cat stack argmax mean
"""
_PURE: Final = frozenset(_NEW.split())
"""Methods of tensors, and functions of torch, that only give a new tensor."""
_MOVES: Final = frozenset(("to", "cuda", "cpu", "float", "half", "double", "bfloat16"))
"""The same of tensors; what they do to a module, they do in place."""
_MADE: Final = frozenset(("tensor", "as_tensor", "from_numpy", "zeros", "ones", "full", "arange", "rand", "randn"))
"""Functions of torch that make a tensor."""


def plain_slips(own: ast.AST, place: Place) -> Iterator[str]:
    """The sentences about a function or a class; none of a very long one, as this would cost the judge its time."""
    nodes = list(itertools.islice(ast.walk(own), MOST_NODES + 1))
    tensors = _tensors(own)
    for node in nodes if len(nodes) <= MOST_NODES else ():
        yield from _not_called(node, place)
        yield from _made_anew(node, place)
        for body in (getattr(node, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(body, list) and not isinstance(node, ast.Try):
                yield from _dropped(body, tensors, place)
                yield from _overwritten(body, place)


def _not_called(node: ast.AST, place: Place) -> Iterator[str]:
    """A function that is a condition itself, which is always true."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            asked = [test]
        case ast.BoolOp(values=values):
            asked = values
        case ast.UnaryOp(ast.Not(), operand):
            asked = [operand]
        case ast.comprehension(ifs=ifs):
            asked = ifs
        case ast.keyword(arg="pin_memory", value=value):
            asked = [value]
        case _:
            asked = []
    for one in asked:
        if isinstance(one, ast.Attribute) and one.attr in _PREDICATES and "?" not in (text := dotted(one)):
            yield f"`{text}` in {place(one.lineno)} is a function, and so always true: write `{text}()`"


def _dropped(body: list[ast.stmt], tensors: set[str], place: Place) -> Iterator[str]:
    """New tensors that nothing keeps."""
    for statement in body:
        if not isinstance(statement, ast.Expr):
            continue
        of = statement.value
        for call in of.elts if isinstance(of, ast.Tuple) else [of]:
            match call:
                case ast.Call(ast.Attribute(ast.Name(owner), name), args, keywords):
                    is_given = bool({one.arg for one in keywords} & {"out", "inplace", None})
                    is_new = name in _PURE or (name in _MOVES and owner in tensors)
                    changed = next(iter(names_in(args[0])), "") if owner in ("torch", "F") and args else owner
                    if is_new and not is_given and changed and owner != "self":
                        said = f"`{owner}.{name}(...)` in {place(call.lineno)} gives a new tensor, which nothing keeps"
                        yield f"{said}: `{changed}` stays as it was. Write `{changed} = {owner}.{name}(...)`"


def _tensors(own: ast.AST) -> set[str]:
    """Names that stand for tensors: arguments that say so, the parts of each batch in a loop, and what torch made."""
    found: set[str] = set()
    for node in ast.walk(own):
        match node:
            case ast.arg(name, annotation) if annotation and dotted(annotation) in ("Tensor", "torch.Tensor"):
                found.add(name)
            case ast.For(ast.Tuple(parts), ast.Name()):
                found |= {one.id for one in parts if isinstance(one, ast.Name)}
            case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("torch"), made))) if made in _MADE:
                found.add(name)
    return found


def _made_anew(node: ast.AST, place: Place) -> Iterator[str]:
    """Lists that begin again in each epoch, and of which those of the last epoch are returned."""
    if not isinstance(node, Function):
        return
    for index, loop in enumerate(node.body):
        if not isinstance(loop, ast.For) or not any(isinstance(one, ast.For) for one in loop.body):
            continue
        after = node.body[index + 1 :]
        for statement in loop.body:
            match statement:
                case ast.Assign([ast.Name(name)], ast.List([])) | ast.AnnAssign(ast.Name(name), _, ast.List([])):
                    uses = [one for one in ast.walk(loop) if isinstance(one, ast.Name) and one.id == name]
                    fills = [one for one in ast.walk(loop) if _appends(one, name)]
                    is_returned = any(isinstance(one, ast.Return) and name in names_in(one) for one in after)
                    is_made_before = any(name in names_in(one) for one in node.body[:index])
                    if fills and len(uses) == 1 + len(fills) and is_returned and not is_made_before:
                        said = f"`{name}` is made anew in {place(statement.lineno)}, in each round of the loop"
                        yield f"{said} in {place(loop.lineno)}: you return what belongs to the last round alone"


def _appends(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name(to), "append" | "extend")) | ast.AugAssign(ast.Name(to)):
            return to == name
    return False


def _overwritten(body: list[ast.stmt], place: Place) -> Iterator[str]:
    """A second `if` with an `else`, all of whose branches give another value to what the `if` before has set."""
    for first, second in itertools.pairwise(body):
        if not isinstance(first, ast.If) or not isinstance(second, ast.If):
            continue
        before, *branches = _given(first.body), *_branches(second)
        lost = before.intersection(*branches) - names_in(second.test) if len(branches) > 1 else set()
        if lost and not isinstance(first.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break):
            last = second.orelse[0].lineno
            said = f"the `if` in {place(second.lineno)} and its `else` give `{min(lost)}` a value in every case"
            yield f"{said}, the one in {place(last)} also after the `if` in {place(first.lineno)}: write `elif`"


def _branches(chain: ast.If) -> list[set[str]]:
    """The names that each branch of an `if` sets; none for an `else` that is not there."""
    if not chain.orelse:
        return [_given(chain.body), set()]
    inner = chain.orelse[0]
    others = _branches(inner) if isinstance(inner, ast.If) and len(chain.orelse) == 1 else [_given(chain.orelse)]
    return [_given(chain.body), *others]


def _given(body: list[ast.stmt]) -> set[str]:
    """The names that a branch gives values which do not depend on the values before."""
    found: set[str] = set()
    for one in body:
        match one:
            case ast.Assign([ast.Name(name)], value) if name not in names_in(value):
                found.add(name)
    return found
