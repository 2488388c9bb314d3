"""A network that learns, in ten minutes: it tells three spirals apart, and you change one thing at a time.

Nearly all is given here: the points, the training, a picture in characters. You need to understand none of it yet;
``grader learn first_run`` says what each line is, and in which topic it comes again. Three small things are yours. Run
the file whenever you have changed one, and look how the picture changes:

    python first_run.py

Read:
- PyTorch tutorial, Learn the Basics: https://docs.pytorch.org/tutorials/beginner/basics/intro.html
- PyTorch docs, torch.nn.Sequential: https://docs.pytorch.org/docs/stable/generated/torch.nn.Sequential.html
- Dive into Deep Learning, Multilayer Perceptrons: https://d2l.ai/chapter_multilayer-perceptrons/mlp.html
"""

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
    """A learning rate with which the given training works.

    ``train(network(), rate, STEPS)`` must bring the loss below 0.35. A step that is too small gets nowhere in time; one
    that is too large jumps over what it looks for, further each time. Try some: run this file.

    Returns:
        The rate, a number above 0. (0.0001 is too small and 100 is too large.)

    Example:
        >>> losses = train(network(), pick_rate(), STEPS)
        >>> losses[0] > 1.0, min(losses) < 0.35
        (True, True)

    Read: Dive into Deep Learning, "Gradient Descent", which shows rates that are too small and too large.
    """
    # one number; half a dozen powers of ten to try
    raise NotImplementedError("write `pick_rate` here")


def with_hidden_layer(hidden: int) -> nn.Module:
    """A network with one layer of hidden units, made of parts that torch has.

    From the 2 numbers of a point to `hidden` numbers, then an activation, which bends (``nn.Tanh()`` or ``nn.ReLU()``),
    then on to 3 numbers: a score for each spiral. Without the part that bends, two layers are no more than one, and the
    borders that the network draws are straight. Nothing comes after the last layer: the loss works with plain scores,
    which are called logits.

    Args:
        hidden: how many hidden units, at least 1.

    Returns:
        A network that takes points of shape ``(n, 2)`` and gives scores of shape ``(n, 3)``. With 32 hidden units,
        ``train(model, 0.3, STEPS)`` teaches it nine of ten points and more.

    Example:
        >>> with_hidden_layer(32)(torch.zeros(5, 2)).shape
        torch.Size([5, 3])

    Read: Dive into Deep Learning, "Multilayer Perceptrons"; PyTorch docs, `nn.Sequential`, `nn.Linear`.
    """
    # `network`, above, is written in the same way
    raise NotImplementedError("write `with_hidden_layer` here")


def predict(model: nn.Module, points: Tensor) -> Tensor:
    """The class of each point, by the scores that the network gives it.

    Args:
        model: gives scores of shape ``(n, 3)`` for points of shape ``(n, 2)``.
        points: shape ``(n, 2)``; n may be 0.

    Returns:
        For each point the number of the class with the highest score, int64 of shape ``(n,)``.

    Example:
        >>> scores = nn.Linear(2, 3)
        >>> with torch.no_grad():
        ...     _ = scores.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])), scores.bias.zero_()
        >>> predict(scores, torch.tensor([[2.0, 1.0], [0.0, 3.0], [-1.0, -1.0], [5.0, 0.0]]))
        tensor([0, 1, 2, 0])

    Read: PyTorch docs, `torch.argmax`.
    """
    # which position in each row has the largest number?
    raise NotImplementedError("write `predict` here")


if __name__ == "__main__":
    model = network()  # then: with_hidden_layer(32)
    losses = train(model, pick_rate(), STEPS)
    print(picture(model))
    print(f"loss: {losses[0]:.2f} at first, {losses[-1]:.2f} after {STEPS} steps")
    # points, labels = spirals()
    # print(f"right: {(predict(model, points) == labels).sum().item()} of 150 points")
