"""Datasets, loaders and optimizers that a check hands to a submission, and looks at those that it hands back.

Recipes (`numbered`, `loader`, ...) are also called locally by a check; the same arguments give the same batches,
whatever torch's global generator does. Looks (`items`, `epochs`, ...) are bounded: a dataset that never ends costs
no more than a long one. Must never hold an expected answer, or import anything but torch and the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset, Sampler

from grader.testkit import models
from grader.testkit.recipes import CLASSES, FEATURES, labels, mlp, normal

MOST_ITEMS: Final = 300
"""Items of a dataset, and batches of a loader, that are looked at."""


# ---------------------------------------------------------------- datasets


class Rows(Dataset[Any]):
    """A dataset in memory of which nothing is known but ``len`` and ``[i]``.

    Args:
        rows: the items.
    """

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._rows[index]


_ITEMS: Final[dict[str, Callable[[int], Any]]] = {
    "pairs": lambda i: (torch.tensor([float(i), 0.5 - i]), torch.tensor(i)),
    "dicts": lambda i: {"x": torch.tensor([float(i)]), "name": torch.tensor(-i)},
    "numbers": lambda i: i,
}


def numbered(count: int, kind: str = "pairs") -> Rows:
    """A dataset whose items tell their index.

    Args:
        kind: "pairs" (features ``(2,)``, a label without dims); "dicts" (of tensors); "numbers".
    """
    return Rows([_ITEMS[kind](index) for index in range(count)])


# ---------------------------------------------------------------- loaders


def loader(
    count: int, batch_size: int, seed: int = 0, *, drop_last: bool = False, zeros: bool = False
) -> DataLoader[Any]:
    """A loader of ``[features (b, FEATURES), labels (b,)]`` in the order of its dataset.

    Args:
        drop_last: whether it leaves out a last batch that is short.
        zeros: whether all features are 0.
    """
    x = torch.zeros(count, FEATURES) if zeros else normal((count, FEATURES), seed)
    rows = Rows(list(zip(x, labels(count, CLASSES, seed + 1), strict=True)))
    return DataLoader(rows, batch_size, drop_last=drop_last, generator=torch.Generator().manual_seed(seed))


class _Orders(Sampler[int]):
    """Gives one recorded order per epoch, from the first again after the last."""

    def __init__(self, orders: Sequence[Sequence[int]]) -> None:
        self._orders = orders
        self._epoch = 0

    def __iter__(self) -> Iterator[int]:
        self._epoch += 1
        return iter(self._orders[(self._epoch - 1) % len(self._orders)])

    def __len__(self) -> int:
        return len(self._orders[0])


def appendix_a() -> tuple[nn.Module, DataLoader[Any]]:
    """The network, first weights and shuffled batches of the toy training run in Raschka's appendix A (3 epochs)."""
    x = torch.tensor([[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]])
    rows = Rows(list(zip(x, torch.tensor([0, 0, 0, 1, 1]), strict=True)))
    with models.numbers_of(123):
        net = nn.Sequential(nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 2))
        shuffled = DataLoader(numbered(5, "numbers"), batch_size=5, shuffle=True)
        orders = [next(iter(shuffled)).tolist() for _ in range(3)]
    generator = torch.Generator().manual_seed(0)
    return net, DataLoader(rows, batch_size=2, sampler=_Orders(orders), drop_last=True, generator=generator)


# ---------------------------------------------------------------- optimizers, and models for them


def unbiased(seed: int = 0) -> nn.Module:
    """Linear layers without biases: zeros give logits of 0, whatever the weights are."""
    return mlp((FEATURES, 5, CLASSES), seed, bias=False)


def optimizer(model: nn.Module, momentum: float = 0.0, lr: float = 0.1) -> Optimizer:
    """SGD over the model's parameters; with momentum it remembers earlier steps."""
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)


def clipped_steps(
    step: Callable[..., Any],
    model: nn.Module,
    optimizer: Optimizer,
    batches: Sequence[tuple[Tensor, Tensor]],
    max_norm: float,
    scale: float = 1.0,
) -> list[Any]:
    """What ``step(model, loss, optimizer, max_norm)`` returns for each batch, gradients cleared before each.

    Args:
        scale: what the mean cross-entropy is multiplied by, to make gradients large or small.
    """
    found = []
    for features, targets in batches:
        model.zero_grad()
        found.append(step(model, scale * F.cross_entropy(model(features), targets), optimizer, max_norm))
    return found


# ---------------------------------------------------------------- looks


def items(dataset: Any) -> list[Any]:
    """Length and ``[i]`` of a dataset: every item from 0 to ``len - 1``, up to `MOST_ITEMS`."""
    return [dataset[index] for index in range(min(len(dataset), MOST_ITEMS))]


def walked(dataset: Iterable[Any]) -> list[Any]:
    """The items that a plain ``for`` gives, up to `MOST_ITEMS`."""
    return list(islice(iter(dataset), MOST_ITEMS))


def epochs(batches: Iterable[Any], times: int = 1) -> list[list[Any]]:
    """The batches of each of ``times`` passes through a loader, up to `MOST_ITEMS` in each."""
    return [list(islice(iter(batches), MOST_ITEMS)) for _ in range(times)]


def grad_enabled() -> bool:
    """Whether gradients are being recorded at this moment."""
    return torch.is_grad_enabled()
