"""Checks of spirals: runs compared with a training of the check itself on the same batches, and runs that stop.

Never decide what the contract leaves open: tanh or ReLU, how rows are shuffled (only that an order differs from the one
before), how the second file of a run is called or laid out, how the class of a point between two is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, cycle, pairwise
from typing import Any, Final, NamedTuple

import pytest
import torch
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import (
    Grid,
    Lines,
    Points,
    Spot,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    devices,
    exercise,
    needs,
    observe,
    picture,
    probes,
    raises,
    reference,
    seeds,
    situations,
)
from grader.testkit import ranks as r
from kit import files, restoring
from kit import spirals as kit

SEEDS = seeds()
CLOSE: Final[dict[str, Any]] = {"rtol": 1e-3, "atol": 1e-3}
"""How close weights and losses must be after some steps: sums in another order differ by far less."""
ONCE = settings(max_examples=1, phases=[Phase.explicit, Phase.generate])
"""Without a search for a smaller seed, which is no easier to look at, and costs a training for each try."""
TWICE = settings(ONCE, max_examples=2)

# ---------------------------------------------------------------- make_spirals


def spirals(n: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """The points of three spirals, and their classes."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.stack([torch.randn(n, generator=generator) for _ in range(3)]).double()
    radius = torch.linspace(0, 1, n, dtype=torch.float64)
    angle = 4 * radius + torch.arange(3, dtype=torch.float64)[:, None] * (2 * math.pi / 3) + noise * z
    points = radius * torch.stack([angle.cos(), angle.sin()])
    return points.flatten(1).T.float().contiguous(), torch.arange(3 * n) // n


def angles_near(found: Tensor, right: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Of each class the angles of all points but the first, which has none: those found, and the right ones."""
    of_found, of_right = (torch.atan2(one[:, 1], one[:, 0]).double().reshape(3, -1)[:, 1:] for one in (found, right))
    off = torch.remainder(of_found - of_right + math.pi, 2 * math.pi) - math.pi  # -pi and pi are one direction
    return [*(of_right + off)], [*of_right]


@exercise("spirals.make_spirals")
@given(n=st.sampled_from([2, 3, 15, 16, 40]), noise=st.sampled_from([0.1, 0.0, 0.5, 1]), seed=SEEDS)
@example(n=2, noise=0.1, seed=5)
@example(n=16, noise=0.0, seed=5)
@settings(max_examples=10)
def test_the_points(submission: Submission, n: int, noise: float, seed: int) -> None:
    """Class after class, point i is at radius i / (n - 1) and angle 4r + 2πk/3 + noise·z, as float32 of shape (3n, 2);
    the labels are int64 of shape (3n,)."""
    found, right = submission.make_spirals(n, noise, seed), spirals(n, noise, seed)
    features = found[0] if isinstance(found, list | tuple) and found else None
    if isinstance(features, Tensor) and (features.shape, features.dtype) == (right[0].shape, torch.float32):
        what = f"the radius of each point, {n} of each class"
        assert_close(features.norm(dim=1), right[0].norm(dim=1), atol=1e-5, what=what)
        what = f"the angles of the points after the first, with noise {noise}"
        each = [f"class {k}" for k in range(3)]
        assert_close(*angles_near(features, right[0]), atol=1e-3, what=what, each=each)
    assert_close(found, right, what="make_spirals", each=("features", "labels"))


@exercise("spirals.make_spirals", when="in torch's global generator")
@given(seed=SEEDS)
@TWICE
def test_a_generator_of_its_own(submission: Submission, seed: int) -> None:
    """The seed decides: torch's global generator is neither used nor moved."""
    seen = observe(submission.make_spirals, 4, 0.3, seed)
    assert_that(not seen.rng_used, "your call changed torch's global random numbers")
    assert_close(submission.make_spirals(4, 0.3, seed), spirals(4, 0.3, seed), what="the second time")


@exercise("spirals.make_spirals")
@pytest.mark.parametrize(("n", "noise"), [(1, 0.1), (0, 0.1), (-3, 0.0), (5, -0.1), (2, -1e-6)])
def test_no_such_spirals(submission: Submission, n: int, noise: float) -> None:
    """Fewer than 2 points a class, or a negative noise, is a ValueError."""
    with raises(ValueError):
        submission.make_spirals(n, noise, 0)


# ---------------------------------------------------------------- SpiralNet

SIZES = [(8, 1), (6, 2), (5, 4)]
"""Width and number of hidden layers."""
ACTIVATIONS: Final[tuple[Callable[[Tensor], Tensor], ...]] = (
    torch.tanh, torch.relu, lambda x: x.clamp(min=0), lambda x: torch.maximum(x, torch.zeros(())),
)  # fmt: skip
"""Ways to write tanh and ReLU: at 0, where the first points of the spirals are, ReLUs have different slopes."""


class Net(NamedTuple):
    """A new network of the submission: the names of its state, its linear layers, and the activation between them."""

    names: list[str]
    layers: list[list[Tensor]]
    activation: Callable[[Tensor], Tensor]


def new_net(submission: Submission, hidden: int, depth: int) -> tuple[Net, Tensor, Tensor]:
    """A new network; its logits for some points, and those that linear layers with its weights should give."""
    x = torch.randn(8, 2, generator=torch.Generator().manual_seed(hidden)) * torch.tensor([3.0] * 7 + [0.0])[:, None]
    found = submission.there(kit.new_net, submission.SpiralNet, hidden, depth, x)
    shapes = [tuple(tensor.shape) for layer in found["layers"] for tensor in layer]
    assert_equal(shapes, shapes_of(hidden, depth), what="the shapes of its linear layers")
    leaf = x.clone().requires_grad_(True)
    expected = [logits_of(found["layers"], leaf, activation) for activation in ACTIVATIONS]
    slopes = [torch.autograd.grad(logits.sum(), [leaf])[0] for logits in expected]
    assert_equal(tuple(found["logits"].shape), (8, 3), what="the shape of the logits of 8 points")
    apart = [
        float((found["logits"] - one.detach()).abs().max() + (found["slopes"] - slope).abs().max())
        for one, slope in zip(expected, slopes, strict=True)
    ]
    best = apart.index(min(apart))
    return Net(found["names"], found["layers"], ACTIVATIONS[best]), found["logits"], expected[best].detach()


def shapes_of(hidden: int, depth: int) -> list[tuple[int, ...]]:
    """The shapes of weights and biases."""
    return [shape for i, o in pairwise([2, *[hidden] * depth, 3]) for shape in ((o, i), (o,))]


def logits_of(layers: Sequence[Sequence[Tensor]], x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """The logits of linear layers with these weights and biases."""
    for weight, bias in layers[:-1]:
        x = activation(F.linear(x, weight, bias))
    return F.linear(x, *layers[-1])


@exercise("spirals.SpiralNet")
@pytest.mark.parametrize(("hidden", "depth"), SIZES)
def test_the_layers(submission: Submission, hidden: int, depth: int) -> None:
    """It has depth + 1 linear layers with biases, from 2 to hidden and so on to 3, and no other parameters or
    buffers."""
    state = submission.there(probes.state, submission.SpiralNet(hidden, depth))
    shapes = [tuple(value.shape) for value in state.values()]
    assert_equal(shapes, shapes_of(hidden, depth), what="the shapes of the state_dict")


@exercise("spirals.SpiralNet")
@pytest.mark.parametrize(("hidden", "depth"), SIZES)
def test_logits(submission: Submission, hidden: int, depth: int) -> None:
    """The result is raw logits: tanh or ReLU after each hidden layer, and nothing after the last layer."""
    _, found, expected = new_net(submission, hidden, depth)
    assert_close(found, expected, what="the logits")


@exercise("spirals.SpiralNet", when="in the first weights")
@pytest.mark.parametrize(("hidden", "depth"), SIZES)
def test_first_weights(submission: Submission, hidden: int, depth: int) -> None:
    """The first weights are those that your init_weights gives with a generator of the seed 0."""
    found, expected = submission.there(kit.initialized_again, submission.SpiralNet, hidden, depth)
    again, _ = submission.there(kit.initialized_again, submission.SpiralNet, hidden, depth)
    same = all(torch.equal(again[name], weight) for name, weight in found.items())
    assert_that(same, "two new nets have different weights: init_weights needs a generator with the seed 0")
    assert_equal(found, expected, what="the weights of a new SpiralNet")
    for name, weight in found.items():
        if weight.dim() == 2:
            largest, bound = float(weight.abs().max()), 1.0001 * math.sqrt(6 / weight.shape[1])
            assert_that(0 < largest <= bound, f"the largest weight of {name} is {largest}; it should be below {bound}")


@exercise("spirals.SpiralNet", when="from the second net on")
def test_two_nets_are_equal(submission: Submission) -> None:
    """Two new nets of the same size have equal weights, whatever is drawn between them, and share none."""
    one, other = submission.there(kit.after_another, submission.SpiralNet, 6, 2)
    assert_equal(other, one, what="the weights of the second SpiralNet, made after the first one has changed")


@exercise("spirals.SpiralNet")
def test_its_seed_is_for_its_own_generator(submission: Submission) -> None:
    """The seed 0 is that of a new generator: torch's global generator is not seeded."""
    first, second = submission.there(kit.drawn_after, submission.SpiralNet, 6, 2)
    text = "after a new SpiralNet the global random numbers are the same, whatever their seed was"
    assert_that(not torch.equal(first, second), text)


# ---------------------------------------------------------------- run

HANDED_OUT: Final[dict[str, Any]] = {
    "N_PER_CLASS": 200, "NOISE": 0.1, "VAL_FRACTION": 0.2, "HIDDEN": 32, "DEPTH": 2, "BATCH_SIZE": 60,
    "WEIGHT_DECAY": 0.01, "WARMUP": 3, "PEAK": 0.02, "FLOOR": 0.0002,
}  # fmt: skip
SMALL: Final[dict[str, Any]] = {
    "N_PER_CLASS": 20, "NOISE": 3.0, "VAL_FRACTION": 0.2, "HIDDEN": 16, "DEPTH": 2, "BATCH_SIZE": 32,
    "WEIGHT_DECAY": 0.5, "WARMUP": 1, "PEAK": 0.1, "FLOOR": 0.01,
}  # fmt: skip
"""With so much noise nothing can be learned but by heart: the validation loss soon rises, the training loss falls."""
OTHER: Final[dict[str, Any]] = {
    **SMALL, "N_PER_CLASS": 15, "VAL_FRACTION": 0.4, "HIDDEN": 12, "DEPTH": 1, "BATCH_SIZE": 20,
    "WARMUP": 3, "PEAK": 0.5, "FLOOR": 0.3,
}  # fmt: skip
SLOW: Final[dict[str, Any]] = {**SMALL, "PEAK": 0.003, "FLOOR": 0.0025}
"""The validation loss moves by less than 0.01 from epoch to epoch, downwards for one seed, upwards for another."""
EPOCHS: Final = 5
STOP: Final = 3
STEPS: Final = 2
"""In each epoch of all three."""
MOST_RUNS: Final = 24
"""Runs of one check: their order is the submission's choice, so that it is seen afterwards which cases they were."""


def rows_of(batches: Sequence[Sequence[Tensor]], data: tuple[Tensor, Tensor]) -> list[list[int]]:
    """Which rows of the data each batch has. The first points of all spirals differ in their labels only."""
    found = []
    for features, labels in batches:
        apart = torch.cdist(features, data[0], compute_mode="donot_use_mm_for_euclid_dist")
        rows = (apart + 1e-3 * (labels[:, None] != data[1])).argmin(dim=1)
        near = apart.gather(1, rows[:, None]).max() < 1e-4
        assert_that(bool(near), "it trains on points that make_spirals(N_PER_CLASS, NOISE, seed) does not have")
        found.append(rows.tolist())
    return found


class Outcome(NamedTuple):
    """The results of a training, epoch by epoch; `best` is the epoch with the lowest validation loss."""

    train_losses: list[float]
    val_losses: list[float]
    accuracies: list[float]
    weights: list[dict[str, Tensor]]

    @property
    def best(self) -> int:
        """The epoch, from 0."""
        return self.val_losses.index(min(self.val_losses))


def followed(
    submission: Submission, setting: dict[str, Any], seed: int, epochs: list[list[list[int]]]
) -> tuple[Outcome, list[str]]:
    """Training on these rows, by epoch and batch, from the first weights of the submission's network; the names that
    its `state_dict` has."""
    x, y = spirals(setting["N_PER_CLASS"], setting["NOISE"], seed)
    net, _, _ = new_net(submission, setting["HIDDEN"], setting["DEPTH"])
    names, layers, activation = net
    params = [nn.Parameter(tensor) for layer in layers for tensor in layer]
    pairs = list(zip(params[::2], params[1::2], strict=True))
    groups = [
        {"params": params[::2], "weight_decay": setting["WEIGHT_DECAY"]},
        {"params": params[1::2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    left_out = sorted(set(range(len(x))) - set(epochs[0][0]).union(*epochs[0]))
    outcome = Outcome([], [], [], [])
    for epoch, batches in enumerate(epochs):
        for group in optimizer.param_groups:
            group["lr"] = rate(epoch, len(epochs), setting)
        losses = []
        for rows in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(logits_of(pairs, x[rows], activation), y[rows])
            torch.autograd.backward(loss)
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            logits = logits_of(pairs, x[left_out], activation)
        outcome.train_losses.append(reference.per_example(losses, list(map(len, batches))))
        outcome.val_losses.append(F.cross_entropy(logits, y[left_out]).item())
        outcome.accuracies.append(int((logits.argmax(1) == y[left_out]).sum()) / len(left_out))
        outcome.weights.append({name: p.detach().clone() for name, p in zip(names, params, strict=True)})
    return outcome, names


def rate(epoch: int, epochs: int, setting: dict[str, Any]) -> float:
    """The learning rate of an epoch."""
    warmup, peak, floor = setting["WARMUP"], setting["PEAK"], setting["FLOOR"]
    if epoch < warmup:
        return float(peak * (epoch + 1) / (warmup + 1))
    part = (epoch - warmup) / (epochs - 1 - warmup)
    return float(floor + (peak - floor) * (1 + math.cos(math.pi * part)) / 2)


def epochs_of(
    submission: Submission, setting: dict[str, Any], seed: int, batches: list[list[int]], batch_size: int
) -> list[list[list[int]]]:
    """The batches by epoch; fails unless each epoch takes each training row once, in batches of that size, in a new
    order."""
    count, fraction = 3 * setting["N_PER_CLASS"], setting["VAL_FRACTION"]
    train = sorted(submission.there(kit.training_rows, count, fraction, seed))
    sizes = [batch_size] * (len(train) // batch_size) + [len(train) % batch_size] * (len(train) % batch_size > 0)
    assert_equal(
        [len(rows) for rows in batches],
        sizes * EPOCHS,
        what=f"the rows in each batch of {EPOCHS} epochs of {len(train)} rows",
    )
    epochs = [batches[first : first + len(sizes)] for first in range(0, len(batches), len(sizes))]
    for number, epoch in enumerate(epochs):
        assert_equal(sorted(chain(*epoch)), train, what=f"the rows of epoch {number}, sorted")
    same = [number + 1 for number, (one, other) in enumerate(pairwise(epochs)) if one == other]
    assert_equal(same, [], what="epochs that take the rows in the order of the epoch before")
    return epochs


class Case(NamedTuple):
    """What can happen in a training; a wrong choice of the best epoch shows in some of these cases only."""

    is_lower_later: bool
    """An epoch before the best one has a loss that is less than 0.01 above the lowest."""
    is_near_afterwards: bool
    """So has an epoch after it."""
    is_less_accurate: bool
    """Another epoch has a higher accuracy."""
    is_trained_less: bool
    """Another epoch has a lower training loss, and it is not the last one."""

    @classmethod
    def of(cls, outcome: Outcome) -> Case:
        """The case that a training was."""
        best, losses = outcome.best, outcome.val_losses
        trained = outcome.train_losses.index(min(outcome.train_losses))
        near = [index for index, loss in enumerate(losses) if 1e-4 < loss - losses[best] < 0.01]
        return cls(
            any(index < best for index in near) and min(losses[:best]) - losses[best] > 1e-4,
            any(index > best for index in near),
            max(outcome.accuracies) > outcome.accuracies[best],
            trained not in (best, len(losses) - 1),
        )


@exercise("spirals.train_spirals")
@given(seed=SEEDS)
@ONCE
def test_each_epoch(submission: Submission, seed: int) -> None:
    """Each epoch takes the training rows once, in a new order; the losses of all epochs, and accuracy and weights of
    the epoch with the lowest validation loss, are those of AdamW with these groups and this schedule."""
    check_training(submission, "train_spirals", seed)


@exercise("spirals.train_spirals")
@given(seed=SEEDS)
@ONCE
def test_the_seed_decides(submission: Submission, seed: int) -> None:
    """Two calls with the same seed give the same, to the last bit."""
    found = [submission.there(kit.with_settings, submission.train_spirals, SMALL, seed, EPOCHS) for _ in range(2)]
    assert_equal(found[1], found[0], what="the result of the second call with the same seed")


@exercise("spirals.train_spirals")
@given(seed=SEEDS)
@ONCE
def test_spirals_are_told_apart(submission: Submission, seed: int) -> None:
    """With the constants as they are handed out, 60 epochs reach a validation accuracy of 0.95."""
    found = submission.there(kit.with_settings, submission.train_spirals, HANDED_OUT, seed, 60)
    check_solved(found, "train_spirals")


@exercise("spirals.run")
@given(seed=SEEDS)
@ONCE
def test_the_training(submission: Submission, seed: int) -> None:
    """Each epoch takes the training rows once, in a new order; the losses of all epochs, and accuracy and weights of
    the epoch with the lowest validation loss, are those of AdamW with these groups and this schedule."""
    check_training(submission, "run", seed)


def check_training(submission: Submission, name: str, seed: int) -> None:
    """The results of that function are those of a training of the check on the same batches."""
    runs: list[tuple[Any, Outcome]] = []
    for number, setting in zip(range(MOST_RUNS), cycle([SMALL, OTHER, SLOW])):
        runs.append(run_and_followed(submission, name, setting, seed + number))
        if number >= 2 and all(map(any, zip(*(Case.of(right) for _, right in runs), strict=True))):
            break
    for found, right in runs:  # not before all have run: each kind of wrong run differs from the others in some case
        for entry in ("train_losses", "val_losses"):
            assert_close(found[entry], getattr(right, entry), **CLOSE, what=entry, each="epoch 0")
        of_best = f"of epoch {right.best}, which has the lowest validation loss"
        assert_close(found["val_accuracy"], right.accuracies[right.best], what=f"val_accuracy {of_best}")
        assert_close(found["weights"], right.weights[right.best], **CLOSE, what=f"weights {of_best}")


def run_and_followed(submission: Submission, name: str, setting: dict[str, Any], seed: int) -> tuple[Any, Outcome]:
    """The result of a run, and that of a training of the check on the same batches."""
    found, batches = submission.there(kit.noted, getattr(submission, name), setting, seed, EPOCHS)
    rows = rows_of(batches, spirals(setting["N_PER_CLASS"], setting["NOISE"], seed))
    epochs = epochs_of(submission, setting, seed, rows, setting["BATCH_SIZE"])
    right, _ = followed(submission, setting, seed, epochs)
    assert_history(found, name)
    return found, right


def assert_history(found: object, name: str = "run") -> None:
    """Fails unless what that function returned is a dict with the four entries."""
    assert_that(isinstance(found, dict), f"{name} returned {type(found).__name__}, not a dict")
    assert isinstance(found, dict)
    names = ["train_losses", "val_accuracy", "val_losses", "weights"]
    assert_equal(sorted(map(str, found)), names, what="the entries of the dict")


def in_parts(
    submission: Submission,
    setting: dict[str, Any],
    seed: int,
    stops: Sequence[int | None],
    moved: bool = False,
    name: str = "spirals.pt",
    beside: str = "",
) -> list[Any]:
    """The results of calls with one path after the other, which stop after these epochs; and how many batches each
    was trained on.

    Args:
        moved: whether all files are moved to another folder between two calls.
        name: of the file.
        beside: the name of a file in the same folder, to which another run writes as many epochs after the second call.
    """
    submission.outside(files.empty, "here")
    found = []
    for number, stop in enumerate(stops):
        place = "elsewhere" if moved and number % 2 else "here"
        path = submission.there(files.path, place, name)
        history, batches = submission.there(kit.noted, submission.run, setting, seed, EPOCHS, path, stop)
        assert_history(history)
        found.append((history, len(batches)))
        if moved:
            submission.outside(kit.move, place, "here" if number % 2 else "elsewhere")
        if beside and number == 1:
            other = submission.there(files.path, place, beside)
            submission.there(kit.with_settings, submission.run, setting, seed + 1, EPOCHS, other, stop)
    return found


def in_one_go(submission: Submission, setting: dict[str, Any], seed: int) -> Any:
    """The result of a run that does not stop."""
    return submission.there(kit.with_settings, submission.run, setting, seed, EPOCHS)


@exercise("spirals.run", when="after a stop, when the run goes on from its files")
@given(seed=SEEDS)
@ONCE
def test_stopped_and_resumed(submission: Submission, seed: int) -> None:
    """A run that is stopped after 3 of 5 epochs and goes on later, from its files alone, gives the same to the last bit
    as a run that is not stopped: losses, accuracy and best weights."""
    seen = set()
    for number in range(MOST_RUNS):
        (_, batches), (resumed, _) = in_parts(submission, SLOW, seed + number, [STOP, None], moved=True)
        assert_equal(resumed, in_one_go(submission, SLOW, seed + number), what="the result of the resumed run")
        losses = resumed["val_losses"]
        seen.add(losses.index(min(losses)) < STOP)
        if len(seen) == 2 or batches != STOP * STEPS:
            break  # the best epoch was before the stop once, and once after it; or it is a run of other sizes


@exercise("spirals.run", when="when epochs are done already")
@given(seed=SEEDS)
@ONCE
def test_no_epoch_twice(submission: Submission, seed: int) -> None:
    """stop_after counts the epochs of the whole run; what is done already is not done again: neither epochs before the
    stop, nor anything when the run is complete. (In this check the name of the file does not end with `.pt`, and
    another run writes to the same folder.)"""
    parts = in_parts(submission, SMALL, seed, [1, 3, 2, None, None, 2], name="spirals.bin", beside="another.bin")
    trained = [batches // STEPS for _, batches in parts]
    calls = "calls with stop_after=1, 3, 2, None, None, 2"
    assert_equal(trained, [1, 2, 0, 2, 0, 0], what=f"epochs that were trained in {calls}")
    lengths = [len(history["val_losses"]) for history, _ in parts]
    assert_equal(lengths, [1, 3, 3, 5, 5, 5], what=f"validation losses that came back from {calls}")
    lengths = [len(history["train_losses"]) for history, _ in parts]
    assert_equal(lengths, [1, 3, 3, 5, 5, 5], what=f"training losses that came back from {calls}")
    expected = in_one_go(submission, SMALL, seed)
    for history, _ in parts[3:]:
        assert_equal(history, expected, what="the result of a complete run")


@exercise("spirals.run", when="with stop_after")
@given(seed=SEEDS)
@ONCE
def test_stopping_early(submission: Submission, seed: int) -> None:
    """With stop_after=3 the result is that of the first three epochs, and there is one without a path, too, which
    writes nothing; a stop_after beyond the last epoch changes nothing."""
    whole = in_one_go(submission, SMALL, seed)
    for path in (None, submission.there(files.path, "here", "spirals.pt")):
        submission.outside(files.empty, "here")
        found = submission.there(kit.with_settings, submission.run, SMALL, seed, EPOCHS, path, STOP)
        assert_history(found)
        for name in ("train_losses", "val_losses"):
            assert_equal(found[name], whole[name][:STOP], what=f"{name} with stop_after={STOP}", each="epoch 0")
    found, new = submission.there(kit.with_new_files, submission.run, SMALL, seed, EPOCHS, None, EPOCHS + 3)
    assert_equal(new, [], what="files that a run without a path wrote into the current folder")
    assert_equal(found, whole, what=f"the result with stop_after={EPOCHS + 3}")


@exercise("spirals.run", when="in the checkpoint after each epoch")
@given(seed=SEEDS)
@ONCE
def test_a_checkpoint_after_each_epoch(submission: Submission, seed: int) -> None:
    """After each epoch the file at path is one of save_checkpoint: your resume can read it, and returns the next
    epoch."""
    submission.outside(files.empty, "here")
    path = submission.there(files.path, "here", "spirals.pt")
    for epochs in (1, 2, EPOCHS):
        submission.there(kit.with_settings, submission.run, SMALL, seed, EPOCHS, path, epochs)
        found = submission.there(kit.next_epoch, submission.SpiralNet, SMALL["HIDDEN"], SMALL["DEPTH"], path)
        assert_that(found != -1, f"your resume cannot read the file at path after {epochs} epochs")
        assert_equal(found, epochs, what=f"what resume returns for the file at path after {epochs} epochs")


@exercise("spirals.run", when="after Ctrl-C in the middle of an epoch")
@given(seed=SEEDS)
@ONCE
def test_interrupted(submission: Submission, seed: int) -> None:
    """Ctrl-C in the middle of an epoch costs that epoch at most: the next call begins it again, and gives the same as a
    run that was not interrupted."""
    whole = in_one_go(submission, SMALL, seed)
    path = submission.there(files.path, "here", "spirals.pt")
    for step in (1, 2 * STEPS + 1):
        submission.outside(files.empty, "here")
        submission.there(kit.interrupted, step, submission.run, SMALL, seed, EPOCHS, path)
        found, batches = submission.there(kit.noted, submission.run, SMALL, seed, EPOCHS, path)
        assert_equal(found, whole, what=f"the result after an interruption in step {step}")
        left = EPOCHS - step // STEPS
        assert_equal(len(batches) // STEPS, left, what=f"epochs trained after an interruption in step {step}")


@exercise("spirals.run", when="after a save that fails")
@given(seed=SEEDS)
@ONCE
def test_a_save_that_fails(submission: Submission, seed: int) -> None:
    """If a save fails half-way, as on a full disk, the next call goes on from what was saved before, and gives the same
    as a run in which none failed."""
    whole = in_one_go(submission, SMALL, seed)
    path = submission.there(files.path, "here", "spirals.pt")
    for save in (0, 1, 4, 5):
        submission.outside(files.empty, "here")
        submission.there(kit.full_disk, save, submission.run, SMALL, seed, EPOCHS, path)
        found = submission.there(kit.with_settings, submission.run, SMALL, seed, EPOCHS, path)
        assert_equal(found, whole, what=f"the result after call {save} of torch.save has failed")


@exercise("spirals.run", when="with the constants as they are handed out")
@given(seed=SEEDS)
@ONCE
def test_it_is_solved(submission: Submission, seed: int) -> None:
    """With the constants as they are handed out, 60 epochs reach a validation accuracy of 0.95."""
    check_solved(submission.there(kit.with_settings, submission.run, HANDED_OUT, seed, 60), "run")


def check_solved(found: Any, name: str) -> None:
    """The history of 60 epochs has an accuracy of 0.95."""
    assert_history(found, name)
    assert_equal(len(found["val_losses"]), 60, what="the number of validation losses")
    accuracy = found["val_accuracy"]
    assert_that(type(accuracy) is float, f"val_accuracy is of type {type(accuracy).__name__}, not float")
    assert_that(0.95 <= accuracy <= 1, f"the validation accuracy is {accuracy}")


@picture("spirals.run", title="Loss of each epoch: the best one is marked, after it the model learns by heart or rests")
def loss_per_epoch(submission: Submission) -> Lines:
    found = submission.run(0, 20)
    train, val = found["train_losses"], found["val_losses"]
    best = val.index(min(val))
    spot = Spot(best + 1, val[best], f"best epoch: {best + 1}")
    return Lines(series={"training": train, "validation": val}, marked=spot, x_label="epoch", y_label="loss")


@picture("spirals.run", title="Stopped and resumed: the second line must lie on the first, the run that never stopped")
def resumed_run(submission: Submission) -> Lines:
    whole = submission.run(0, 20)["val_losses"]
    submission.outside(files.empty, "here")
    path = submission.there(files.path, "here", "spirals.pt")
    submission.run(0, 20, path, 8)
    resumed = submission.run(0, 20, path)["val_losses"]
    furthest = max(abs(one - other) for one, other in zip(whole, resumed, strict=True))
    words = "equal to the last bit" if resumed == whole else f"then up to {furthest:.1g} apart"
    series = {"never stopped": whole, "resumed": [None] * 8 + list(resumed[8:])}
    spot = Spot(8, resumed[7], f"stopped after epoch 8: {words}")
    return Lines(series=series, marked=spot, x_label="epoch", y_label="validation loss")


# ---------------------------------------------------------------- decision_grid


def points(low: float, high: float, steps: int) -> Tensor:
    """The points of a grid, row by row from the top."""
    up = torch.linspace(low, high, steps, dtype=torch.float64)
    return torch.stack([up.repeat(steps), up.flip(0).repeat_interleave(steps)], dim=1).float()


def decided(low: float, high: float, steps: int, seed: int) -> tuple[int, Tensor]:
    """A seed of `kit.planar` whose classes are clear at all points of the grid and not symmetric, and the classes."""
    for turn in range(1000):
        with torch.no_grad():
            logits = kit.planar(seed + turn).eval()(points(low, high, steps))
        best = logits.topk(2).values
        grid = logits.argmax(1).reshape(steps, steps)
        others = (grid.flip(0), grid.flip(1), grid.T, grid.rot90(2))
        if bool((best[:, 0] - best[:, 1] > 1e-3).all()) and not any(torch.equal(grid, other) for other in others):
            break
    return seed + turn, grid


@exercise("spirals.decision_grid", when="in which row is at the top")
@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ([0.0, 1.0], [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]),
        ([1.0, 0.0], [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]]),
    ],
    ids=["above", "right"],
)
def test_as_on_paper(submission: Submission, weight: list[float], expected: list[list[int]]) -> None:
    """The first row is at the top, where y is high; from left to right x grows. (The model sees class 1 above the
    middle, or right of it.)"""
    model = submission.there(kit.side, weight)
    assert_equal(submission.decision_grid(model, -1.5, 1.5, 4), torch.tensor(expected))


@exercise("spirals.decision_grid")
@example(corners=(-3.0, -0.5), steps=12, seed=3)  # steps that add up past the end, by rounding: one point too many
@given(corners=st.sampled_from([(-1.0, 1.0), (0.5, 2.0), (-3.0, -0.5)]), steps=st.sampled_from([7, 2, 12]), seed=SEEDS)
@settings(max_examples=6)
def test_the_class_at_each_point(submission: Submission, corners: tuple[float, float], steps: int, seed: int) -> None:
    """Each entry is the class with the largest logit at its point, both ends included; int64 of shape (steps, steps),
    for any square. The model is in training mode and has a dropout: it must not drop anything here."""
    low, high = corners
    words = {"for a square that is not around 0": low != -high, "for a square around 0": low == -high}
    situations(submission, words | {"with more than two steps": steps > 2})
    number, expected = decided(*corners, steps, seed)
    model = submission.there(kit.planar, number)
    assert_equal(submission.decision_grid(model, *corners, steps), expected)


@exercise("spirals.decision_grid", when="in how often the model is called")
@pytest.mark.parametrize("steps", [2, 9])
def test_one_forward(submission: Submission, steps: int) -> None:
    """The model is called once, with all points together, and records no gradients."""
    sizes, recorded = submission.there(kit.forwards, submission.decision_grid, -1.0, 1.0, steps)
    assert_equal(len(sizes), 1, what=f"calls of the model for {steps} x {steps} points")
    assert_equal(sizes, [[steps * steps, 2]], what="the shape of the model's input")
    assert_equal(recorded, [False], what="whether the model's call recorded gradients")


@exercise("spirals.decision_grid")
@pytest.mark.parametrize("recording", [True, False], ids=["recording", "no_grad"])
def test_all_is_as_before(submission: Submission, recording: bool) -> None:
    """Of parts within parts too: flags, weights, buffers and gradients; whether gradients are recorded is as the caller
    had it, off or on."""
    found = submission.there(kit.grid_after, submission.decision_grid, recording)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")


@exercise("spirals.decision_grid", when="for a model on a GPU")
def test_on_the_models_device(submission: Submission) -> None:
    """For a model on a GPU the points are made there, and the result is there."""
    submission.there(devices.start, gpus=2)
    model = submission.there(kit.on_device, submission.there(kit.side, [0.0, 1.0]), "cuda:1")
    found = submission.decision_grid(model, -1.0, 1.0, 2)
    assert_equal(found, devices.on(torch.tensor([[1, 1], [0, 0]]), "cuda:1"))


@picture(
    "spirals.decision_grid", title="The class at each point: the borders wind between points that were not trained on"
)
def decision_regions(submission: Submission) -> Grid:
    module = [submission.run, submission.SpiralNet, submission.decision_grid]
    found = submission.there(kit.decisions_of_a_run, *module, HANDED_OUT, 1.1, 48)
    x, y = submission.make_spirals(50, HANDED_OUT["NOISE"], 1)
    names = ["class 0", "class 1", "class 2"]
    seen = Points(x=x[:, 0], y=x[:, 1], classes=y, names=names)
    return Grid(values=found, names=names, x=(-1.1, 1.1), y=(-1.1, 1.1), points=seen)


# ---------------------------------------------------------------- run_on_ranks


def on_ranks(submission: Submission, size: int, setting: dict[str, Any], seed: int) -> r.World:
    """A run on ranks; its looks are the batches of each."""
    return r.run(
        submission.run_on_ranks, r.RANK, r.WORLD_SIZE, seed, EPOCHS, world_size=size,
        before=r.call(kit.begin, setting), look=r.call(kit.trained),
    )  # fmt: skip


FOR_RANKS: Final[dict[str, Any]] = {
    **SMALL, "N_PER_CLASS": 19, "VAL_FRACTION": 0.16, "BATCH_SIZE": 24, "PEAK": 0.02, "FLOOR": 0.005,
}  # fmt: skip
"""48 training rows, in steps that two and three ranks can share, and 9 for validation, which two cannot."""
AS_ONE: Final[dict[str, Any]] = {"rtol": 1e-4, "atol": 1e-3}
"""A weight with a gradient of nearly 0 may be off by that: AdamW makes a step of almost the rate, 0.02, of its rounding
errors. A wrong gradient puts weights off by such steps."""


@exercise("spirals.run_on_ranks")
@needs("ranks")
@pytest.mark.parametrize("size", [2, 3, 1])
@given(seed=SEEDS)
@ONCE
def test_as_one_process(submission: Submission, size: int, seed: int) -> None:
    """All ranks return equal weights: those of one process that trains with the batches of all ranks joined. Each epoch
    takes each training row once, in a new order; val_accuracy is that of all validation rows, on every rank."""
    for number in range(MOST_RUNS):
        accuracy = assert_as_one(submission, size, seed + number)
        if 0 < accuracy < 1:  # otherwise that of any part of the rows is the same
            break


def assert_as_one(submission: Submission, size: int, seed: int) -> float:
    """Fails unless ranks train as one process; the accuracy at the end."""
    world = on_ranks(submission, size, FOR_RANKS, seed)
    data = spirals(FOR_RANKS["N_PER_CLASS"], FOR_RANKS["NOISE"], seed)
    own = [rows_of(batches, data) for batches, _ in world.looks]
    for rank, batches in enumerate(own):
        rows = FOR_RANKS["BATCH_SIZE"] // size
        found, sizes = [len(batch) for batch in batches], [rows] * (2 * EPOCHS)
        said = f"rank {rank} of {size} takes batches of {min(found, default=0)} to {max(found, default=0)} rows"
        assert_that(
            set(found) == {rows}, f"{said}, where {rows} were expected: BATCH_SIZE is that of all ranks together"
        )
        assert_equal(found, sizes, what=f"the rows in each batch of rank {rank}")
    joined: list[list[int]] = [list(chain(*step)) for step in zip(*own, strict=True)]
    epochs = epochs_of(submission, FOR_RANKS, seed, joined, FOR_RANKS["BATCH_SIZE"])
    right, names = followed(submission, FOR_RANKS, seed, epochs)
    for rank, found in enumerate(world.results):
        assert_that(world.looks[rank][1], f"rank {rank} is no longer in the process group")
        assert_that(isinstance(found, dict), f"rank {rank} returned {type(found).__name__}, not a dict")
        assert_equal(sorted(map(str, found)), ["val_accuracy", "weights"], what=f"the entries of rank {rank}'s dict")
        assert_equal(sorted(found["weights"]), sorted(names), what=f"the names of rank {rank}'s weights")
        assert_close(found["weights"], world.results[0]["weights"], what=f"the weights of rank {rank}, against rank 0")
        assert_close(found["weights"], right.weights[-1], **AS_ONE, what=f"the weights of rank {rank}")
        assert_close(found["val_accuracy"], right.accuracies[-1], what=f"val_accuracy of rank {rank}")
    return right.accuracies[-1]


@exercise("spirals.run_on_ranks")
@needs("ranks")
@given(seed=SEEDS)
@ONCE
def test_the_seed_decides_the_order(submission: Submission, seed: int) -> None:
    """With another seed the rows are shuffled in another way, not only split in another way: sharded_loader gets the
    seed."""
    ways = []
    for number in (seed, seed + 1):
        ((batches, _),) = on_ranks(submission, 1, FOR_RANKS, number).looks
        rows = rows_of(batches, spirals(FOR_RANKS["N_PER_CLASS"], FOR_RANKS["NOISE"], number))
        first, second = epochs_of(submission, FOR_RANKS, number, rows, FOR_RANKS["BATCH_SIZE"])[:2]
        places = list(chain(*first))
        ways.append([places.index(row) for row in chain(*second)])  # whatever rows the split has chosen
    assert_that(ways[0] != ways[1], "the second epoch is the same mixture of the first for every seed")


@picture("spirals.run_on_ranks", title="Training loss of each epoch: two ranks learn as fast as one process")
def loss_on_one_process_and_on_two_ranks(submission: Submission) -> Lines:
    submission.there(kit.begin_losses, HANDED_OUT)
    submission.run(0, 20)
    ranks = r.run(
        submission.run_on_ranks, r.RANK, r.WORLD_SIZE, 0, 20, before=r.call(kit.begin_losses, HANDED_OUT),
        look=r.call(kit.losses),
    ).looks  # fmt: skip
    both = [sum(step) / len(step) for step in zip(*ranks, strict=True)]
    series = {"one process": per_epoch(submission.there(kit.losses), 20), "two ranks": per_epoch(both, 20)}
    return Lines(series=series, x_label="epoch", y_label="training loss")


def per_epoch(losses: Sequence[float], epochs: int) -> list[float]:
    """The mean of the losses of each epoch; all have equally many."""
    steps = max(1, len(losses) // epochs)
    return [sum(losses[at : at + steps]) / steps for at in range(0, len(losses), steps)]


# ---------------------------------------------------------------- report

HISTORIES: Final = {
    "middle": [0.9, 0.31249, 0.0001, 0.2, 0.25],
    "last": [1.25, 0.75, 0.5, 0.333333],
    "first": [0.12345, 0.5, 12.0],
    "equal": [0.5, 0.25, 0.75, 0.25],
    "one": [1.0986123],
}


@exercise("spirals.report")
@pytest.mark.parametrize("name", HISTORIES)
@given(right=st.integers(0, 120), seed=SEEDS)
@TWICE
def test_three_lines(submission: Submission, name: str, right: int, seed: int) -> None:
    """The three lines name the best epoch, counted from 1, its loss and accuracy with 4 decimals, and whether the best
    epoch is the last one; the first counts if several are the best."""
    val = HISTORIES[name]
    best = val.index(min(val))
    train = [0.01 * loss for loss in reversed(val)]
    history = {"train_losses": train, "val_losses": val, "val_accuracy": right / 120, "weights": {"w": torch.ones(1)}}
    expected = (
        f"best epoch: {best + 1} of {len(val)}\n"
        f"validation: loss {val[best]:.4f}, accuracy {right / 120:.4f}\n"
        f"still improving: {'yes' if best + 1 == len(val) else 'no'}"
    )
    seen = observe(submission.report, history)
    assert_equal(seen.result, expected)
    assert_that(seen.changed == (), "the history was changed")
