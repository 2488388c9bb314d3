"""What the checks of training need: a published training run, a model without biases, steps with clipping.

Runs in the student process, and locally where a check works out what to expect. Must never hold an expected answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Sampler

from grader.testkit import recipes


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
    rows = recipes.Rows(list(zip(x, torch.tensor([0, 0, 0, 1, 1]), strict=True)))
    with recipes.seeded(123):
        net = nn.Sequential(nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 2))
        shuffled = DataLoader(recipes.numbered(5, "numbers"), batch_size=5, shuffle=True)
        orders = [next(iter(shuffled)).tolist() for _ in range(3)]
    generator = torch.Generator().manual_seed(0)
    return net, DataLoader(rows, batch_size=2, sampler=_Orders(orders), drop_last=True, generator=generator)


def unbiased(seed: int = 0) -> nn.Module:
    """Linear layers without biases: zeros give logits of 0, whatever the weights are."""
    return recipes.mlp((recipes.FEATURES, 5, recipes.CLASSES), seed, bias=False)


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


def grad_enabled() -> bool:
    """Whether gradients are being recorded at this moment."""
    return torch.is_grad_enabled()
