"""Tools for the checks of first_run: the data and the training that the stub gives, and networks that are trained.

Runs in the student process, and locally when a check trains with a student's number. Must never hold an
expected answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testkit import probes

STEPS: Final = 300


def spirals() -> tuple[Tensor, Tensor]:
    """The points and labels of the stub."""
    generator = torch.Generator().manual_seed(0)
    radius = torch.linspace(0, 1, 50).repeat(3)
    labels = torch.arange(3).repeat_interleave(50)
    angle = 4 * radius + 2 * math.pi * labels / 3 + 0.1 * torch.randn(150, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


def train(model: nn.Module, lr: float, steps: int) -> list[float]:
    """The training of the stub: the loss before each step."""
    points, labels = spirals()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def network() -> nn.Sequential:
    """The network of the stub, without a draw from torch's global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))


def trained(build: Callable[[int], Any], hidden: int, lr: float) -> Tensor:
    """The scores of a new network for the points of the stub, after its training."""
    probes.start_global(0)
    model = build(hidden)
    train(model, lr, STEPS)
    return model(spirals()[0]).detach()


def with_drawn_weights(model: nn.Module, seed: int) -> Tensor:
    """The scores of a network for the points of the stub, each time with other random weights that are large."""
    generator = torch.Generator().manual_seed(seed)
    scores = []
    with torch.no_grad():
        for _ in range(10):
            for weight in model.parameters():
                weight.copy_(10 * torch.randn(weight.shape, generator=generator))
            scores.append(model(spirals()[0]))
    return torch.cat(scores)


def regions(build: Callable[[int], Any], hidden: int, lr: float, steps: int) -> Tensor:
    """The scores that a trained network gives to the places of a square grid, row by row from the top."""
    probes.start_global(0)
    model = build(hidden)
    train(model, lr, STEPS)
    along = torch.linspace(-1.1, 1.1, steps)
    return model(torch.stack([along.repeat(steps), along.flip(0).repeat_interleave(steps)], dim=1)).detach()


def with_scores(weight: list[list[float]], bias: list[float], dtype: torch.dtype = torch.float32) -> nn.Module:
    """A network whose scores are these multiples of a point's two numbers, and these numbers added."""
    model = nn.Linear(2, len(bias), dtype=dtype)
    with torch.no_grad():
        model.weight.copy_(torch.tensor(weight, dtype=dtype))
        model.bias.copy_(torch.tensor(bias, dtype=dtype))
    return model
