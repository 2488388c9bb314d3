"""Tools for the checks of autograd: parameters whose memory can be looked at, functions to differentiate, losses.

Runs in the student process, and locally when a check works out the expected value: the same arguments give the same
numbers. Must never hold an expected answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import probes, recipes

# ---------------------------------------------------------------- graphs

_MOST_LINES: Final = 24


def graph_lines(loss_of: Callable[..., Tensor], *numbers: float) -> list[str]:
    """The graph of ``loss_of(x, y, w, b)`` as lines of text: each step below those that it was computed for.

    A node that is reached on several ways is drawn once.
    """
    x, y, w, b = (torch.tensor([number]) for number in numbers)
    w.requires_grad_()
    b.requires_grad_()
    lines: list[str] = []
    leaves = {id(w): "w", id(b): "b"}
    seen: set[Any] = set()

    def add(node: Any, first: str, others: str) -> None:
        is_leaf = hasattr(node, "variable")
        name = leaves.get(id(node.variable), "a leaf") if is_leaf else type(node).__name__
        again = node in seen and not is_leaf
        seen.add(node)
        if len(lines) < _MOST_LINES:
            lines.append(f"{first}{name}{', as above' if again else ''}")
        below = [] if again else [one for one, _ in node.next_functions if one is not None]
        for number, one in enumerate(below):
            is_last = number == len(below) - 1
            add(one, others + ("└─ " if is_last else "├─ "), others + ("   " if is_last else "│  "))

    add(loss_of(x, y, w, b).grad_fn, "", "")
    return lines


# ---------------------------------------------------------------- parameters


class _AtFirst(NamedTuple):
    """A list of tensors as it was made.

    Attributes:
        tensors: the tensors themselves, whatever is done to the list.
        memories: for each, a view of the memory that it had.
        grads: their gradients.
    """

    tensors: tuple[Tensor, ...]
    memories: tuple[Tensor, ...]
    grads: list[Tensor | None]


class Leaves(list[Tensor]):
    """A list of tensors that stays where it was made: it crosses the border as a handle, so the tensors keep
    their identity, their ``.grad`` and their memory. What it was at first is kept beside it: submitted code could
    change an attribute.
    """

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        super().__init__(tensors)
        memories = tuple(tensor.detach() for tensor in tensors)
        _at_first[self] = _AtFirst(tuple(tensors), memories, [tensor.grad for tensor in tensors])

    def is_kept(self, index: int) -> bool:
        """Whether the tensor at a place of the list is the one that was there at first."""
        return index < list.__len__(self) and list.__getitem__(self, index) is _at_first[self].tensors[index]


_at_first: Final[WeakKeyDictionary[Leaves, _AtFirst]] = WeakKeyDictionary()
_is_recording: Final = torch.is_grad_enabled


def recording_after(step: Callable[..., Any], shapes: Sequence[Sequence[int]], recording: bool) -> bool:
    """Whether gradients are recorded after a step that was taken where they are recorded, or not."""
    params = leaves(shapes)
    with torch.set_grad_enabled(recording):
        step(params, 0.1)
        return _is_recording()


def is_recording() -> bool:
    """Whether gradients are recorded: a call may have left that changed."""
    return _is_recording()


def half_frozen(shapes: Sequence[Sequence[int]]) -> Leaves:
    """Parameters with gradients; every other one was frozen since."""
    params = leaves(shapes)
    for param in params[::2]:
        param.requires_grad_(False)
    return params


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


def originals(leaves: Leaves) -> tuple[Tensor, ...]:
    """The tensors that were in the list at first."""
    return _at_first[leaves].tensors


def give_grads(leaves: Leaves, seed: int) -> None:
    """New gradients of standard normal numbers, for those that have one."""
    for index, param in enumerate(_at_first[leaves].tensors):
        if param.grad is not None:
            param.grad = _at_first[leaves].grads[index] = recipes.normal(param.shape, seed + index, param.dtype)


def ready_model(seed: int) -> nn.Module:
    """A model amid training: of its modules some are in eval mode, of its parameters some are frozen, and the others
    have a gradient; which ones, the seed says. Its dropout has masks by count."""
    made = recipes.model("counted", seed)
    bits = recipes.labels(100, 2, seed).tolist()
    for param in made.parameters():
        param.requires_grad_(bool(bits.pop()))
    for module in made.modules():
        module.training = bool(bits.pop())
    return recipes.with_stale_grads(made, seed)


def spare_model(kind: str, seed: int, stale: bool) -> nn.Module:
    """The model of that kind with one more parameter, which it never uses; ``stale``: with old gradients."""
    made = recipes.model(kind, seed)
    made.register_parameter("spare", nn.Parameter(recipes.normal((2, 2), seed)))
    for module in made.children():
        module.training = bool(seed % 2)
    return recipes.with_stale_grads(made, seed) if stale else made


# ---------------------------------------------------------------- functions


def sum_of_cubes(x: Tensor) -> Tensor:
    """Scalar: each element cubed, weighed by its place in reading order (1, 2, ...), and summed."""
    weights = torch.arange(1, x.numel() + 1, dtype=x.dtype).reshape(x.shape)
    return (weights * x**3).sum()


def squares_of_row_sums(x: Tensor) -> Tensor:
    """Scalar in which every element meets the others of its row: it depends on the shape of ``x``."""
    return (x.sum(dim=-1) ** 2).sum()


def sum_of_distances(x: Tensor) -> Tensor:
    """Scalar: how far the elements are from 0. It has no gradient there, but differences are taken across it."""
    return x.abs().sum()


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
        params: the tensors to differentiate by.
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


def grads(tensors: Sequence[Tensor]) -> list[Tensor | None]:
    """The ``.grad`` of each, or None."""
    return [probes.copied(probes.exact(tensor).grad) for tensor in tensors]


def leaf_facts(leaves: Leaves) -> list[dict[str, Any]]:
    """For each tensor that was in the list at first: its state now.

    Returns:
        Dicts of ``value``; ``memory`` (the numbers at its first address); ``grad``; ``is_leaf``; ``requires_grad``;
        ``kept`` (the list still holds the very same tensor); ``grad_kept`` (its ``.grad`` is the very same one).
    """
    return [
        {
            "value": probes.copied(tensor),
            "memory": probes.copied(alias),
            "grad": probes.copied(probes.exact(tensor).grad),
            "is_leaf": probes.exact(tensor).is_leaf,
            "requires_grad": probes.exact(tensor).requires_grad,
            "kept": Leaves.is_kept(leaves, index),
            "grad_kept": tensor.grad is grad,
        }
        for index, (tensor, alias, grad) in enumerate(zip(*_at_first[leaves], strict=True))
    ]


def backward_again(leaves: Leaves, seed: int) -> list[Tensor | None]:
    """The gradients after ``backward()`` from all tensors that were in the list at first, weighed by normal numbers."""
    total = torch.zeros(())
    for index, param in enumerate(originals(leaves)):
        total = total + (probes.exact(param) * recipes.normal(param.shape, seed + index, param.dtype)).sum()
    if total.requires_grad:
        total.backward()  # type: ignore[no-untyped-call]
    return grads(originals(leaves))


def train_once(model: nn.Module, seed: int) -> list[Any]:
    """One forward and backward of a model: its output, and after it gradients, state, training flags and
    ``requires_grad``."""
    out = model(recipes.normal((4, recipes.FEATURES), seed + 1))
    total = (out * recipes.normal(out.shape, seed)).sum()
    if total.requires_grad:
        total.backward()
    return [
        probes.copied(out),
        list(probes.model_grads(model).values()),
        list(probes.state(model).values()),
        list(probes.training_flags(model).values()),
        list(probes.trainable(model).values()),
    ]


def for_each(function: Callable[..., Any], model: nn.Module, batches: Sequence[Tensor]) -> list[Any]:
    """The results of ``function(model, batch)`` for one batch after the other."""
    return [probes.copied(function(model, batch)) for batch in batches]


def backward_from(
    loss_of: Callable[..., Any], x: Tensor, y: Tensor, w: Tensor, b: Tensor
) -> tuple[Any, Tensor | None, Tensor | None]:
    """The value of ``loss_of(x, y, w, b)``, and ``.grad`` of ``w`` and ``b`` after ``backward()`` from it."""
    w, b = (tensor.detach().clone().requires_grad_(True) for tensor in (w, b))
    loss = loss_of(x, y, w, b)
    value = probes.copied(loss) if isinstance(loss, Tensor) else loss
    if isinstance(loss, Tensor) and probes.exact(loss).requires_grad:
        Tensor.backward(loss)  # type: ignore[no-untyped-call]
    return value, *grads([w, b])  # type: ignore[return-value]


def differentiate(gradients: Callable[..., Any], problem: Problem, times: int = 1) -> list[Any]:
    """The results of ``times`` calls of ``gradients(loss, params)`` on the same graph."""
    return [gradients(problem.loss, problem.params) for _ in range(times)]


def problem_grads(problem: Problem) -> list[Tensor | None]:
    """The ``.grad`` of the parameters, then of the bystanders."""
    return grads([*problem.params, *problem.bystanders])


def grads_after_backward(problem: Problem) -> list[Tensor | None]:
    """The ``.grad`` of the parameters, then of the bystanders, after ``backward()`` from the loss."""
    problem.loss.backward()  # type: ignore[no-untyped-call]
    return problem_grads(problem)


class _RestOfTheGraph(torch.autograd.Function):
    """The sum of a tensor, and as its gradient another tensor itself, as parts of a graph may hand on one tensor.

    The same as ``grad_outputs`` of ``torch.autograd.grad``, without the 0.25 s that it takes to import.
    """

    @staticmethod
    def forward(ctx: Any, out: Tensor, weight: Tensor) -> Tensor:
        ctx.weight = weight
        return out.sum()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return ctx.weight, None


def apply_once(function: Any, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``function.apply(x)``, differentiated, with ``weight`` as the gradient of the rest of a graph.

    Returns:
        The value of ``function.apply(x)``, the gradient at ``x``, and ``x`` and ``weight`` as they are afterwards.
    """
    leaf = x.detach().clone().requires_grad_(True)
    weight = weight.clone()
    out = function.apply(leaf)
    (grad,) = torch.autograd.grad(_RestOfTheGraph.apply(out, weight), leaf)  # type: ignore[no-untyped-call]
    return probes.copied(out), probes.copied(grad), probes.copied(leaf), weight


def apply_between(function: Any, x: Tensor) -> Tensor:
    """The gradient of ``sin(function.apply(2x + x²)).sum() + function.apply(x).mean()`` at ``x``."""
    leaf = x.detach().clone().requires_grad_(True)
    out = function.apply(2 * leaf + leaf**2).sin().sum() + function.apply(leaf).mean()
    (grad,) = torch.autograd.grad(out, leaf)
    return grad


def gradcheck(function: Any, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of ``function.apply`` at float64 ``x``, weighed by ``weight``: by its backward, and by differences.

    The comparison of ``torch.autograd.gradcheck``, without the time of its import.
    """
    leaf = x.detach().clone().requires_grad_(True)
    (analytic,) = torch.autograd.grad((function.apply(leaf) * weight).sum(), leaf)
    numeric = torch.zeros_like(x)
    for index in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=torch.float64)
        step[index] = 1e-6
        change = function.apply(x + step.reshape(x.shape)) - function.apply(x - step.reshape(x.shape))
        numeric.view(-1)[index] = (change * weight).sum() / 2e-6
    return analytic, numeric


def with_other_backward(function: Any, x: Tensor, amounts: Tensor) -> Tensor:
    """The gradient at ``x`` of the sum of ``apply(x)``, for a subclass whose backward gives ``amounts``."""

    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return amounts.clone()

    replaced = type("Replaced", (function,), {"backward": staticmethod(backward)})
    leaf = x.detach().clone().requires_grad_(True)
    (grad,) = torch.autograd.grad(replaced.apply(leaf).sum(), leaf)  # type: ignore[attr-defined]
    return grad
