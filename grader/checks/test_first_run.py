"""Checks of first_run: a rate that trains, a network with a hidden layer, and classes by scores.

Never decide what the contract leaves open: which activation bends, how the network is made and begins, whether its
layers have biases.
"""

from __future__ import annotations

import math
from typing import Final

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Grid,
    Lines,
    Points,
    Submission,
    assert_equal,
    assert_that,
    exercise,
    picture,
    probes,
    recipes,
    seeds,
)
from kit import first_run as kit

RATE: Final = 0.3
"""The learning rate that the docstring of `with_hidden_layer` names."""
SEEDS = seeds()

# ---------------------------------------------------------------- pick_rate


@exercise("first_run.pick_rate")
def test_the_rate_is_a_number_above_zero(submission: Submission) -> None:
    """The learning rate is a number above 0."""
    rate = submission.pick_rate()
    assert_that(type(rate) in (float, int), f"the rate is of type {type(rate).__name__}, not a number")
    assert_that(0 < rate < math.inf, f"the rate is {rate}")


@exercise("first_run.pick_rate")
def test_the_loss_comes_down(submission: Submission) -> None:
    """With your rate, the training that is given brings the loss of the given network below 0.35."""
    rate = submission.pick_rate()
    if type(rate) not in (float, int) or not 0 < rate < math.inf:
        assert_that(False, f"there is no training with a rate of {rate!r}")
    losses = kit.train(kit.network(), float(rate), kit.STEPS)
    last = losses[-1]
    if min(losses) >= 0.35:
        has_jumped = not math.isfinite(last) or max(losses) > 1.5 * losses[0]
        why = (
            "it jumped about and did not come down: the steps are too large"
            if has_jumped
            else "it came down too slowly: the steps are too small"
        )
        assert_that(False, f"the loss was {losses[0]:.2f} at first and {last:.4g} at the end; {why}")


@picture("first_run.pick_rate", title="Loss of each step: it falls with your rate, and hardly with a hundredth of it")
def loss_per_step(submission: Submission) -> Lines:
    rate = float(submission.pick_rate())
    series = {name: kit.train(kit.network(), lr, kit.STEPS) for name, lr in (("yours", rate), ("1/100", rate / 100))}
    return Lines(series=series, x_label="step", y_label="loss")


# ---------------------------------------------------------------- with_hidden_layer


@exercise("first_run.with_hidden_layer")
@settings(max_examples=8)
@given(n=st.integers(1, 6), hidden=st.sampled_from([7, 1, 20]), seed=SEEDS)
def test_three_scores_for_each_point(submission: Submission, n: int, hidden: int, seed: int) -> None:
    """For n points it gives n rows of three scores, however many hidden units it has."""
    model = submission.with_hidden_layer(hidden)
    scores = model(recipes.normal((n, 2), seed))
    assert_equal(tuple(scores.shape), (n, 3), what="the shape of the scores")
    assert_equal(scores.dtype, torch.float32, what="the dtype of the scores")


@exercise("first_run.with_hidden_layer")
@pytest.mark.parametrize("hidden", [32, 5])
def test_one_layer_of_hidden_units(submission: Submission, hidden: int) -> None:
    """There is one hidden layer, with as many units as asked for: 2 numbers to `hidden` numbers, and these to 3."""
    model = submission.with_hidden_layer(hidden)
    count = sum(one.numel() for one in submission.there(probes.weights, model))
    with_biases = 6 * hidden + 3
    known = {with_biases: "", 5 * hidden: "", 5 * hidden + 3: "", 6 * hidden: ""}
    text = (
        f"the network has {count} weights and biases; two layers, 2 to {hidden} and {hidden} to 3, have {with_biases}"
    )
    assert_that(count in known, text)


@exercise("first_run.with_hidden_layer")
def test_scores_and_not_probabilities(submission: Submission) -> None:
    """The scores are plain numbers (logits): the three of a point do not add up to 1."""
    points, _ = kit.spirals()
    scores = submission.with_hidden_layer(32)(points)
    sums = scores.double().sum(dim=1)
    are_probabilities = bool(((sums - 1).abs() < 1e-3).all())
    assert_that(not are_probabilities, "the three scores of each point add up to 1, as probabilities do")


@exercise("first_run.with_hidden_layer")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_nothing_comes_after_the_last_layer(submission: Submission, seed: int) -> None:
    """The scores may be any numbers, below 0 and above 1 (seen with large weights): the last layer gives them."""
    scores = submission.there(kit.with_drawn_weights, submission.with_hidden_layer(32), seed).double()
    low, high = float(scores.min()), float(scores.max())
    text = (
        f"all scores are between {low:.4g} and {high:.4g}, whatever the weights are: is there an activation at the end?"
    )
    assert_that(low < -1.5 and high > 1.5, text)


@exercise("first_run.with_hidden_layer")
def test_the_spirals_are_told_apart(submission: Submission) -> None:
    """With 32 hidden units and a rate of 0.3, the training that is given teaches it nine of ten points."""
    _, labels = kit.spirals()
    after = submission.there(kit.trained, submission.with_hidden_layer, 32, RATE)
    right = int((after.argmax(dim=1) == labels).sum())
    assert_that(right >= 135, f"after the training, {right} of 150 points were right")


@picture("first_run.with_hidden_layer", title="The class at each place: each colour winds along its own spiral")
def regions(submission: Submission) -> Grid:
    scores = submission.there(kit.regions, submission.with_hidden_layer, 32, RATE, 48)
    points, labels = kit.spirals()
    names = ["spiral 0", "spiral 1", "spiral 2"]
    seen = Points(x=points[:, 0].tolist(), y=points[:, 1].tolist(), classes=labels.tolist(), names=names)
    return Grid(values=scores.argmax(dim=1).reshape(48, 48), names=names, x=(-1.1, 1.1), y=(-1.1, 1.1), points=seen)


# ---------------------------------------------------------------- predict


def expected_classes(weight: list[list[float]], bias: list[float], points: Tensor) -> Tensor:
    scores = points.double() @ torch.tensor(weight, dtype=torch.float64).T + torch.tensor(bias, dtype=torch.float64)
    return scores.argmax(dim=1)


COMPASS: Final = ([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.0])
"""Class 0 lies to the right, class 1 above, class 2 below on the left."""


@exercise("first_run.predict")
@pytest.mark.parametrize("n", [3, 4, 1])
def test_the_class_with_the_highest_score(submission: Submission, n: int) -> None:
    """Each point has the class with the highest of its three scores."""
    points = torch.tensor([[2.0, 1.0], [-3.0, -1.0], [5.0, 4.0], [1.0, 6.0]])[:n]
    model = submission.there(kit.with_scores, *COMPASS)
    assert_equal(submission.predict(model, points), torch.tensor([0, 2, 0, 1])[:n])


@exercise("first_run.predict")
def test_no_points(submission: Submission) -> None:
    """No points have no classes: int64 of shape (0,)."""
    model = submission.there(kit.with_scores, *COMPASS)
    assert_equal(submission.predict(model, torch.zeros(0, 2)), torch.zeros(0, dtype=torch.int64))


@exercise("first_run.predict")
@settings(max_examples=12)
@given(n=st.integers(1, 9), seed=SEEDS)
def test_any_scores(submission: Submission, n: int, seed: int) -> None:
    """Scores may all be below 0, or far from it; what counts is which of a point's three is the highest."""
    weight = recipes.normal((3, 2), seed).mul(8).round().tolist()
    bias = (recipes.normal((3,), seed + 1).mul(8).round() + torch.tensor([-60.25, -60.0, -60.5])).tolist()
    points = recipes.normal((n, 2), seed + 2).mul(4).round()
    model = submission.there(kit.with_scores, weight, bias)
    assert_equal(submission.predict(model, points), expected_classes(weight, bias, points))


@exercise("first_run.predict")
def test_the_network_is_as_before(submission: Submission) -> None:
    """Neither the network nor the points are changed."""
    points = torch.tensor([[2.0, 1.0], [-3.0, -1.0]])
    model = submission.there(kit.with_scores, *COMPASS)
    before = submission.there(probes.state, model)
    submission.predict(model, points)
    assert_equal(submission.there(probes.state, model), before, what="the network's weights afterwards")
