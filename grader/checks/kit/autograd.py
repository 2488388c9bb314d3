"""What the checks of autograd need: parameters whose memory can be looked at, functions to differentiate, losses.

Runs in the student process, and locally where a check works out what to expect: the same arguments give the same
numbers. Must never hold an expected answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import recipes

# ---------------------------------------------------------------- parameters


class Leaves(list[Tensor]):
    """A list of tensors that stays where it was made: it crosses the border as a handle, so the tensors keep
    their identity, their ``.grad`` and their memory.

    Attributes:
        aliases: for each tensor, a view of the memory that it had at first.
        at_first: the tensors themselves, whatever is done to the list.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        super().__init__(tensors)
        self.at_first = tuple(tensors)
        self.aliases = tuple(tensor.detach() for tensor in tensors)


def leaves(
    shapes: Sequence[Sequence[int]],
    grads: Sequence[bool] | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    transposed: bool = False,
) -> Leaves:
    """Parameters with gradients of standard normal numbers.

    Args:
        shapes: one per parameter.
        grads: which of them have a gradient, the others have ``.grad`` None; all of them when left out.
        transposed: whether matrices lie in memory column by column.
    """
    params: list[Tensor] = []
    for index, shape in enumerate(shapes):
        value = recipes.normal(shape, seed + 2 * index, dtype)
        if transposed and value.dim() >= 2:
            value = value.mT.contiguous().mT
        param = nn.Parameter(value)
        if grads is None or grads[index]:
            param.grad = recipes.normal(shape, seed + 2 * index + 1, dtype)
        params.append(param)
    return Leaves(params)


# ---------------------------------------------------------------- functions


def sum_of_cubes(x: Tensor) -> Tensor:
    """Scalar: each element cubed, weighed by its place in reading order (1, 2, ...), and summed."""
    weights = torch.arange(1, x.numel() + 1, dtype=x.dtype).reshape(x.shape)
    return (weights * x**3).sum()


def square_of_sum(x: Tensor) -> Tensor:
    """Scalar in which every element meets every other one."""
    return x.sum() ** 2


def sum_of_waves(x: Tensor) -> Tensor:
    """Scalar with a bounded, smooth gradient: sines and exponentials of the elements."""
    return (x.sin() + 0.5 * (-0.5 * x).exp()).sum()


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Loss function: cross-entropy of logits, mean over the batch."""
    return F.cross_entropy(logits, targets)


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Loss function: squared distance of the outputs to the target's number, mean over the batch."""
    return ((outputs - targets.to(outputs.dtype)[:, None]) ** 2).mean()


# ---------------------------------------------------------------- losses with a graph


class Problem:
    """A loss with its graph, and who takes part in it.

    Attributes:
        loss: a scalar with a graph.
        params: what to differentiate by.
        bystanders: other leaves that the loss depends on.
    """

    def __init__(self, loss: Tensor, params: list[Tensor], bystanders: list[Tensor]) -> None:
        self.loss = loss
        self.params = params
        self.bystanders = bystanders


def problem(seed: int = 0, *, unused: bool = False, stale: bool = False, dtype: torch.dtype = torch.float32) -> Problem:
    """The loss of a small net in which one parameter is used twice and some saved values are needed for backward.

    Args:
        unused: whether ``params`` also has two parameters that the loss does not depend on.
        stale: whether every other leaf has a ``.grad`` left over from before.
    """
    weight, bias, scale = leaves([(3, 4), (3,), ()], [stale, False, stale], seed, dtype)
    offset, other = leaves([(3,), (4,)], [False, stale], seed + 10, dtype)
    x = recipes.normal((5, 4), seed + 20, dtype) + other
    hidden = torch.tanh(x @ weight.T + bias) * scale + offset
    loss = (torch.tanh(hidden @ weight) ** 2).mean()
    params: list[Tensor] = [weight, bias, scale]
    if unused:
        spare = leaves([(2, 2), (1,)], [False, stale], seed + 30, dtype)
        params = [spare[0], weight, bias, spare[1], scale]
    return Problem(loss, params, [offset, other])


# ---------------------------------------------------------------- probes


def _copy(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().clone()


def grads(tensors: Sequence[Tensor]) -> list[Tensor | None]:
    """The ``.grad`` of each, or None."""
    return [_copy(tensor.grad) for tensor in tensors]


def leaf_facts(leaves: Leaves) -> list[dict[str, Any]]:
    """For each tensor that was in the list at first: what became of it.

    Returns:
        Dicts of ``value``; ``memory`` (the numbers at its first address); ``grad``; ``is_leaf``; ``requires_grad``;
        ``kept`` (the list still holds the very same tensor).
    """
    return [
        {
            "value": _copy(tensor),
            "memory": _copy(alias),
            "grad": _copy(tensor.grad),
            "is_leaf": tensor.is_leaf,
            "requires_grad": tensor.requires_grad,
            "kept": index < len(leaves) and leaves[index] is tensor,
        }
        for index, (tensor, alias) in enumerate(zip(leaves.at_first, leaves.aliases, strict=True))
    ]


def differentiate(gradients: Callable[..., Any], problem: Problem, times: int = 1) -> list[Any]:
    """What each of ``times`` calls ``gradients(loss, params)`` on the same graph gives."""
    return [gradients(problem.loss, problem.params) for _ in range(times)]


def problem_grads(problem: Problem) -> list[Tensor | None]:
    """The ``.grad`` of the parameters, then of the bystanders."""
    return grads([*problem.params, *problem.bystanders])


def apply_once(function: Any, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``function.apply(x)``, its elements weighed by ``weight`` and summed, differentiated.

    Returns:
        The value of ``function.apply(x)``, the gradient at ``x``, and ``x`` as it is afterwards.
    """
    leaf = x.detach().clone().requires_grad_(True)
    out = function.apply(leaf)
    (grad,) = torch.autograd.grad((out * weight).sum(), leaf)
    return out, grad, leaf.detach()


def apply_between(function: Any, x: Tensor) -> Tensor:
    """The gradient of ``sin(function.apply(2x + x²)).sum() + function.apply(x).mean()`` at ``x``."""
    leaf = x.detach().clone().requires_grad_(True)
    out = function.apply(2 * leaf + leaf**2).sin().sum() + function.apply(leaf).mean()
    (grad,) = torch.autograd.grad(out, leaf)
    return grad


def gradcheck(function: Any, x: Tensor) -> bool:
    """Whether the backward of ``function.apply`` agrees with central differences at float64 ``x``.

    What ``torch.autograd.gradcheck`` asks, without the 0.25 s that its ``grad_outputs`` takes to import.
    """
    leaf = x.detach().clone().requires_grad_(True)
    value = function.apply(leaf)
    weights = torch.linspace(-1.0, 2.0, value.numel(), dtype=torch.float64).reshape(value.shape)
    (analytic,) = torch.autograd.grad((value * weights).sum(), leaf)
    numeric = torch.zeros_like(x)
    for index in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=torch.float64)
        step[index] = 1e-6
        change = function.apply(x + step.reshape(x.shape)) - function.apply(x - step.reshape(x.shape))
        numeric.view(-1)[index] = (change * weights).sum() / 2e-6
    return bool(torch.allclose(analytic, numeric, rtol=1e-4, atol=1e-6))
