"""Tools over there for the checks of debugging: rows that are easy to tell apart, models that count, parts to resume.

Recipes are also called locally by a check; the same arguments give the same bits. Must never hold an expected answer,
or import anything but torch, the standard library and the testkit.
"""

from __future__ import annotations

import errno
import weakref
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from grader.testkit import recipes
from kit import distributed, graphs

# ---------------------------------------------------------------- data


def easy(count: int, batch_size: int, seed: int = 0) -> DataLoader[Any]:
    """A loader of rows whose class is easy to tell: one of class k has about 2 at feature k, and about 0 elsewhere."""
    labels = torch.arange(count) % recipes.CLASSES
    features = 0.1 * recipes.normal((count, recipes.FEATURES), seed)
    features[torch.arange(count), labels] += 2.0
    return DataLoader(recipes.Rows(list(zip(features, labels, strict=True))), batch_size)


class Numbers:
    """A dataset of integers, all different: ``first``, ``first + step``, ..."""

    def __init__(self, count: int, first: int = 0, step: int = 1) -> None:
        self._items = list(range(first, first + step * count, step))

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> int:
        return self._items[index]


def numbers(count: int, first: int = 0, step: int = 1) -> Numbers:
    """`Numbers`: as many."""
    return Numbers(count, first, step)


# ---------------------------------------------------------------- graphs in memory


_alive: Final[weakref.WeakSet[graphs.Token]] = weakref.WeakSet()
_seen: Final[list[int]] = []
"""The notes of the latest `GraphsCounted` model: the graphs in memory, and how many there were at each call."""


class GraphsCounted(nn.Module):
    """A model that notes, whenever it is called, how many graphs of its earlier calls are still in memory.

    The notes are no attribute: submitted code could change it.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        _alive.clear()
        _seen.clear()

    def forward(self, x: Tensor) -> Tensor:
        """The model's logits."""
        _seen.append(len(_alive))
        return graphs.counted(self.model(x), _alive)


def graphs_counted(kind: str, seed: int) -> GraphsCounted:
    """``recipes.model(kind, seed)`` as a `GraphsCounted` model."""
    return GraphsCounted(recipes.model(kind, seed))


def graphs_seen() -> list[int]:
    """How many graphs of earlier calls were in memory at each call."""
    return list(_seen)


# ---------------------------------------------------------------- training that is stopped

_OPTIMIZERS: Final[dict[str, Callable[[Any], Optimizer]]] = {
    "momentum": lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    "plain": lambda params: torch.optim.SGD(params, lr=0.3),
    "adam": lambda params: torch.optim.Adam(params, lr=0.05),
}
_SCHEDULERS: Final[dict[str, Callable[[Any], LRScheduler]]] = {
    "constant": lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0),
    "steps": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.4),
    "exponential": lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.6),
    "milestones": lambda optimizer: torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 4], gamma=0.3),
    "cosine": lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=7),
    "restarts": lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4),
}


class Making:
    """Gives a model, an optimizer and a scheduler, new ones at each call.

    The models have different weights. A call makes all that earlier calls gave useless: every number in it is another
    one, as if it belonged to a program that has ended.
    """

    def __init__(self, kind: str, optimizer: str, scheduler: str, seed: int) -> None:
        self.kind, self.optimizer, self.scheduler, self.seed = kind, optimizer, scheduler, seed
        self.made: list[tuple[nn.Module, Optimizer]] = []

    def __call__(self) -> tuple[nn.Module, Optimizer, LRScheduler]:
        for model, optimizer in self.made:
            _spoil(model, optimizer)
        model = recipes.model(self.kind, self.seed + len(self.made))
        optimizer = _OPTIMIZERS[self.optimizer](model.parameters())
        self.made.append((model, optimizer))
        return model, optimizer, _SCHEDULERS[self.scheduler](optimizer)


def _spoil(model: nn.Module, optimizer: Optimizer) -> None:
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            tensor.fill_(7)
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor):
                value.fill_(7)
    for group in optimizer.param_groups:
        group["lr"] = 7.0


def making(kind: str, optimizer: str, scheduler: str, seed: int) -> Making:
    """`Making` models of that kind of `recipes.model`.

    Args:
        optimizer: "momentum" (SGD), "plain" (SGD), or "adam".
        scheduler: "constant", "steps", "exponential", "milestones", "cosine" or "restarts".
    """
    return Making(kind, optimizer, scheduler, seed)


def times_made(make: Making) -> int:
    """How often it was called."""
    return len(make.made)


# ---------------------------------------------------------------- saving on one of several ranks


class Unsavable(nn.Linear):
    """A model whose ``state_dict()`` raises an error."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Raises OSError."""
        raise OSError(errno.ENOSPC, "No space left on device")


def unsavable() -> Unsavable:
    """An `Unsavable` model."""
    return Unsavable(2, 2)


def error_of(call: Callable[..., Any], number: int, *args: Any) -> tuple[str, str, int]:
    """Type and text of the error that ``call(*args)`` raises, empty if it raises none; and what `group_facts` adds up
    afterwards of the number of each rank, -1 where they cannot communicate."""
    kind = text = ""
    try:
        call(*args)
    except Exception as error:
        kind, text = type(error).__name__, str(error)
    total = distributed.group_facts(number)["sum"]
    return kind, text, -1 if total is None else total
