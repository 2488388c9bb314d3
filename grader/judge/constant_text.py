"""The text that an expression of constants stands for, e.g. of ``"mod" + "ules"``: without running it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

_MOST_TERMS: Final = 40
"""Terms that a text is put together of."""


def constant_text(node: ast.AST, depth: int = 8) -> str | None:
    """The text of a constant, or of one that is put together of constants only; None if it is not one."""
    if not depth:
        return None
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _together([left, right], "", depth)
        case ast.JoinedStr(values=values):
            return _together(values, "", depth)
        case ast.FormattedValue(value=value, format_spec=None):
            return constant_text(value, depth - 1)
        case ast.Call(
            func=ast.Attribute(value=value, attr="join"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]
        ):
            between = constant_text(value, depth - 1)
            return None if between is None else _together(parts, between, depth)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
            forwards = constant_text(value, depth - 1)
            return None if forwards is None else forwards[::-1]
    return None


def _together(nodes: Sequence[ast.expr], between: str, depth: int) -> str | None:
    texts = [constant_text(node, depth - 1) for node in nodes[:_MOST_TERMS]]
    known = [text for text in texts if text is not None]
    return between.join(known) if len(known) == len(nodes) else None
