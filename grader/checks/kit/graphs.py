"""Counts the graphs of a model's calls that are still in memory.

Must never hold an expected answer, or import anything but torch and the standard library.
"""

import weakref
from typing import Any

import torch
from torch import Tensor


class Token:
    """Lives as long as the graph that holds it."""


class _HoldingToken(torch.autograd.Function):
    """The same numbers; the graph holds a token."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, token: Token) -> Tensor:
        ctx.token = token
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


def counted(x: Tensor, alive: weakref.WeakSet[Token]) -> Tensor:
    """The same numbers; `alive` has one more token for as long as their graph is in memory."""
    token = Token()
    alive.add(token)
    return _HoldingToken.apply(x, token)  # type: ignore[no-any-return,no-untyped-call]
