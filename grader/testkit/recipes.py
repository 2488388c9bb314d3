"""Recipes: named constructors of the tensors, models, losses and batches that a check hands to a submission.

They run in the student process through ``submission.there(recipe, ...)``; a check calls the very same recipe locally to
work out what to expect. The same arguments give the same bits. Must never hold an expected answer, use torch's
global generator, or import anything but torch and the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import accumulate, pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import models

FEATURES: Final = 4
"""Width of the input of every model that `model` makes."""
CLASSES: Final = 3
"""Number of logits of every model that `model` makes."""


# ---------------------------------------------------------------- tensors


def normal(shape: Sequence[int], seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def labels(count: int, classes: int = CLASSES, seed: int = 0) -> Tensor:
    """``count`` int64 class indices in ``[0, classes)``."""
    return torch.randint(0, classes, (count,), generator=torch.Generator().manual_seed(seed))


def batches(
    sizes: Sequence[int], features: int = FEATURES, classes: int = CLASSES, seed: int = 0
) -> list[tuple[Tensor, Tensor]]:
    """One ``(features (size, features), labels (size,))`` per size; no two rows are alike."""
    x, y = normal((sum(sizes), features), seed), labels(sum(sizes), classes, seed + 1)
    stops = list(accumulate(sizes))
    return [
        (x[stop - size : stop].clone(), y[stop - size : stop].clone()) for size, stop in zip(sizes, stops, strict=True)
    ]


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
        value = normal(shape, seed + 2 * index, dtype)
        if transposed and value.dim() >= 2:
            value = value.mT.contiguous().mT
        param = nn.Parameter(value)
        if grads is None or grads[index]:
            param.grad = normal(shape, seed + 2 * index + 1, dtype)
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


# ---------------------------------------------------------------- models


def mlp(
    sizes: Sequence[int],
    seed: int = 0,
    *,
    bias: bool = True,
    batch_norm: bool = False,
    dropout: float = 0.0,
    device: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between them, and BatchNorm and Dropout there if asked for.

    BatchNorm has running statistics as after some training, so that train and eval mode differ in every row.

    Args:
        device: where to make it; ``"meta"`` makes shapes without numbers.
    """
    layers: list[nn.Module] = []
    with models.numbers_of(seed), nullcontext() if device is None else torch.device(device):
        for index, (inputs, outputs) in enumerate(pairwise(sizes)):
            if index:
                if batch_norm:
                    layers.append(models.used_batch_norm(inputs, seed + index, dtype))
                layers.append(nn.ReLU())
                if dropout:
                    layers.append(nn.Dropout(dropout))
            layers.append(nn.Linear(inputs, outputs, bias=bias, dtype=dtype))
    return nn.Sequential(*layers)


_MODELS: Final[dict[str, Callable[[int], nn.Module]]] = {
    "linear": lambda seed: nn.Linear(FEATURES, CLASSES),
    "mlp": lambda seed: mlp((FEATURES, 6, 5, CLASSES), seed),
    "norm": lambda seed: mlp((FEATURES, 6, 5, CLASSES), seed, batch_norm=True),
    "dropout": lambda seed: mlp((FEATURES, 6, 5, CLASSES), seed, batch_norm=True, dropout=0.5),
    "counted": lambda seed: models.counted(mlp((FEATURES, 6, 5, CLASSES), seed, batch_norm=True, dropout=0.5)),
    "functional": lambda seed: models.FunctionalNet(FEATURES, CLASSES),
    "tied": lambda seed: models.TiedNet(FEATURES, CLASSES),
    "frozen": lambda seed: models.first_frozen(mlp((FEATURES, 5, CLASSES), seed)),
    "hooked": lambda seed: models.hooked(mlp((FEATURES, 5, CLASSES), seed)),
    "buffers": lambda seed: models.BufferedNet(FEATURES, CLASSES),
    "names": lambda seed: models.NamesNet(FEATURES, CLASSES),
    "empty": lambda seed: nn.Sequential(nn.Flatten(), nn.ReLU()),
}


def model(kind: str, seed: int = 0, flags: Mapping[str, bool] | None = None) -> nn.Module:
    """A small model, ``(n, FEATURES)`` to ``(n, CLASSES)`` (but "empty", which has no parameters and keeps the width).

    Args:
        kind: "linear"; "mlp"; "norm" (BatchNorm); "dropout" (BatchNorm and Dropout); "counted" (with masks by count);
            "functional" (BatchNorm, and a dropout without a module of its own); "tied" (a shared weight);
            "frozen" (the first layer is); "hooked" (a forward hook changes the output); "buffers" (see
            `models.BufferedNet`); "names" (see `models.NamesNet`); "empty".
        flags: training flags by module name (``""`` is the model itself alone); True for all others.
    """
    with models.numbers_of(seed):
        made = _MODELS[kind](seed)
    for name, module in made.named_modules():
        module.training = (flags or {}).get(name, True)
    return made


def on_meta(kind: str) -> nn.Module:
    """The model of that kind on the meta device: shapes and sharing, but no numbers."""
    with torch.device("meta"):
        return _MODELS[kind](0)


def with_stale_grads(made: nn.Module, seed: int = 0) -> nn.Module:
    """The same model, with a gradient left over in every trainable parameter."""
    for index, param in enumerate(made.parameters()):
        if param.requires_grad:
            param.grad = normal(param.shape, seed + index, param.dtype)
    return made


def build_linear() -> nn.Module:
    """A Linear whose numbers come from torch's global generator (use under a seed)."""
    return nn.Linear(FEATURES, CLASSES)


def build_mlp() -> nn.Module:
    """Two Linear layers from torch's global generator (use under a seed)."""
    return nn.Sequential(nn.Linear(FEATURES, 5), nn.ReLU(), nn.Linear(5, CLASSES))


def draw_numbers() -> Tensor:
    """Five numbers, the next ones of torch's global generator (use under a seed)."""
    return torch.randn(5)


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
    x = normal((5, 4), seed + 20, dtype) + other
    hidden = torch.tanh(x @ weight.T + bias) * scale + offset
    loss = (torch.tanh(hidden @ weight) ** 2).mean()
    params: list[Tensor] = [weight, bias, scale]
    if unused:
        spare = leaves([(2, 2), (1,)], [False, stale], seed + 30, dtype)
        params = [spare[0], weight, bias, spare[1], scale]
    return Problem(loss, params, [offset, other])
