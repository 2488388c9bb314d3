"""A network that learns, in ten minutes."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEPS = 300
"""How often the training improves the network."""


def spirals() -> tuple[Tensor, Tensor]:
    """The data, which is given: 150 points in the plane, 50 on each of three spirals, and which spiral each is on."""
    generator = torch.Generator().manual_seed(0)
    radius = torch.linspace(0, 1, 50).repeat(3)
    labels = torch.arange(3).repeat_interleave(50)
    angle = 4 * radius + 2 * math.pi * labels / 3 + 0.1 * torch.randn(150, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


def train(model: nn.Module, lr: float, steps: int) -> list[float]:
    """The training, which is given: makes the network a little better, `steps` times.

    Args:
        model: any network from 2 numbers (a point) to 3 (a score for each spiral).
        lr: the learning rate: how far each step goes.
        steps: how many steps.

    Returns:
        The loss before each step: how wrong the network was, 1.1 for a guess and 0 for certainty.
    """
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


def network() -> nn.Module:
    """A network for your first exercise, which is given: with two layers of 32 hidden units, always the same one."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))


def picture(model: nn.Module) -> str:
    """What the network says of each place in the plane, which is given: one character for each of the three spirals."""
    x, y = torch.linspace(-1.1, 1.1, 56), torch.linspace(1.1, -1.1, 26)
    places = torch.stack([x.repeat(26), y.repeat_interleave(56)], dim=1)
    scores = model(places).tolist()
    signs = "".join(" o#"[row.index(max(row))] for row in scores)
    return "\n".join(signs[start : start + 56] for start in range(0, len(signs), 56))


def pick_rate() -> float:
    return 0.3


def with_hidden_layer(hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 3))


def predict(model: nn.Module, points: Tensor) -> Tensor:
    return model(points).argmax(dim=1)


if __name__ == "__main__":
    model = network()  # then: with_hidden_layer(32)
    losses = train(model, pick_rate(), STEPS)
    print(picture(model))
    print(f"loss: {losses[0]:.2f} at first, {losses[-1]:.2f} after {STEPS} steps")
    # points, labels = spirals()
    # print(f"right: {(predict(model, points) == labels).sum().item()} of 150 points")
