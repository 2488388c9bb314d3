"""Classic wrong answers of first_run, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- pick_rate


@misconception(
    "pick_rate",
    tell="Your rate is so large that each step jumps over the valley and lands higher up on the other side. Divide it "
    "by ten until the loss comes down.",
)
def diverges() -> float:
    return 100.0


@misconception(
    "pick_rate",
    tell="Your rate is so small that 300 steps hardly move the network. Multiply it by ten until the loss comes down.",
)
def crawls() -> float:
    return 1e-4


@misconception(
    "pick_rate",
    name="the_usual_rate_of_adam",
    tell="0.001 is the usual rate of another optimizer, Adam. The one that is given here, SGD, is far too slow with "
    "it. There is no rate for everything: try.",
)
def usual_of_adam() -> float:
    return 1e-3


@misconception(
    "pick_rate",
    name="a_hundredth",
    tell="With 0.01 the loss comes down, but 300 steps are not enough: more steps or larger ones. The steps are given.",
)
def a_hundredth() -> float:
    return 0.01


@misconception(
    "pick_rate",
    name="rate_below_zero",
    tell="A rate below 0 walks uphill: the step is taken against the gradient already.",
)
def below_zero() -> float:
    return -0.1


# ---------------------------------------------------------------- with_hidden_layer


@misconception(
    "with_hidden_layer",
    tell="There is nothing between your two layers that bends. Two layers of sums in a row are one layer of sums, "
    "whose borders are straight lines; put nn.Tanh() or nn.ReLU() between them.",
)
def no_activation(hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2, hidden), nn.Linear(hidden, 3))


@misconception(
    "with_hidden_layer",
    tell="Your network ends with a softmax, so it gives probabilities. The loss makes those of the scores by itself; a "
    "second softmax makes learning slow. Give the scores as they are.",
    seen="calls('Softmax', 'softmax')",
)
def softmax_at_the_end(hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 3), nn.Softmax(dim=1))


@misconception(
    "with_hidden_layer",
    tell="Your activation comes after the last layer, where it squeezes the scores, and none is between the two "
    "layers.",
)
def activation_at_the_end(hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2, hidden), nn.Linear(hidden, 3), nn.Tanh())


@misconception(
    "with_hidden_layer",
    tell="Your network always has 32 hidden units, whatever is asked for: `hidden` says how many.",
    seen="passes(32)",
)
def always_32(hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))


@misconception(
    "with_hidden_layer",
    tell="Your network goes straight from 2 numbers to 3 scores: a hidden layer is missing, and the borders are "
    "straight.",
)
def no_hidden_layer(hidden: int) -> nn.Module:
    return nn.Linear(2, 3)


# ---------------------------------------------------------------- predict


@misconception(
    "predict",
    tell="You looked for the largest number of each column: dim=0 goes down the points. The scores of one point are a "
    "row: dim=1.",
)
def wrong_dim(model: nn.Module, points: Tensor) -> Tensor:
    return model(points).argmax(dim=0)


@misconception(
    "predict",
    tell="You returned how likely each class is, not which class it is: for each point, the position of the largest.",
)
def probabilities_for_classes(model: nn.Module, points: Tensor) -> Tensor:
    return torch.softmax(model(points), dim=1)


@misconception(
    "predict",
    tell="You returned the highest score of each point. Which class has it? That is its position, from argmax.",
)
def scores_for_classes(model: nn.Module, points: Tensor) -> Tensor:
    return model(points).max(dim=1).values


@misconception(
    "predict",
    name="one_class_for_all",
    tell="Without dim, argmax looks through all numbers of all points and gives one position. Say along which "
    "dimension.",
)
def no_dim(model: nn.Module, points: Tensor) -> Tensor:
    return model(points).argmax()


@misconception(
    "predict",
    tell="You rounded scores. The class is the position of the largest score in a row, whatever the scores are.",
)
def scores_rounded(model: nn.Module, points: Tensor) -> Tensor:
    return model(points)[:, 0].round().long()
