"""Results of a submission whose graph is on the far side: a test may differentiate through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from grader.suites.bridge import Bridge

ALWAYS: Final = torch.zeros((), requires_grad=True)
"""An argument of all results: so they have a gradient, whatever the test has passed."""


def added(one: torch.Tensor | None, other: torch.Tensor | None) -> torch.Tensor | None:
    """The sum of two gradients, of which each may be missing."""
    return other if one is None else one if other is None else one + other


class _Graph(torch.autograd.Function):
    """A result whose graph is on the far side."""

    @staticmethod
    def forward(ctx: Any, bridge: Bridge, key: int, value: torch.Tensor, keys: list[int], *inputs: Any) -> Any:
        ctx.bridge, ctx.key, ctx.keys = bridge, key, keys
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        wanted = ctx.bridge.wanted
        keys = [*ctx.keys, *(wanted or ())]
        inputs = [ctx.bridge.twins.tensor(key) for key in keys] if torch.is_grad_enabled() else []
        found = ctx.bridge.differentiate(ctx.key, grad, inputs, None if wanted is None else keys)
        own = [found.pop(key, None) for key in ctx.keys]
        if wanted is not None:
            for key, one in found.items():
                wanted[key] = added(wanted.get(key), one)
            found = {}
        for key, one in found.items():  # of tensors that an earlier call was given
            tensor = ctx.bridge.twins.tensor(key)
            if tensor is not None and tensor.is_leaf:
                tensor.grad = added(tensor.grad, one)
        return None, None, None, None, *own, None


# `grad_fn` of a result is of this class.
_Graph._backward_cls.saved_tensors = property(lambda node: node.bridge.saved_for(node.key))  # type: ignore[attr-defined]


def with_graph(bridge: Bridge, key: int, value: torch.Tensor, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """A tensor here whose gradients are asked for over there."""
    unique = list({id(one): one for one in inputs}.values())
    keys = [bridge.twins.key_of(one) for one in unique]
    result: torch.Tensor = _Graph.apply(bridge, key, value, keys, *unique, ALWAYS)  # type: ignore[no-untyped-call]
    return result


def leaves_of(result: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensors that collect gradients in the graph of a result."""
    nodes: list[Any] = [result.grad_fn]
    seen = set(nodes)
    for node in nodes:
        if hasattr(node, "variable"):
            yield node.variable
        new = dict.fromkeys(one for one, _ in node.next_functions if one is not None and one not in seen)
        seen.update(new)
        nodes.extend(new)
