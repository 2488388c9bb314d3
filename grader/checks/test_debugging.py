"""Checks of debugging: what each program should do, all of it; the first check of an exercise shows the symptom.

Never decide what the contract leaves open: how a program is repaired, in which mode models are after training,
gradients that are left over from before or after a call, the order of the rows in the parts of a split.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any, Final, NamedTuple

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import (
    Lines,
    Mismatch,
    Remote,
    Submission,
    assert_close,
    assert_equal,
    assert_global_numbers,
    assert_that,
    counted,
    devices,
    exercise,
    needs,
    observe,
    picture,
    probes,
    recipes,
    reference,
    seeds,
    tensors,
    value_and_grad,
)
from grader.testkit import ranks as r
from kit import debugging, files, moving, restoring, training
from kit import distributed as d

SEEDS = seeds()
ONCE = settings(max_examples=1)
"""The drawn values differ with each seed of the grading."""
TWICE = settings(max_examples=2)
CLOSE: Final[dict[str, Any]] = {"rtol": 1e-3, "atol": 1e-4}
"""How close weights and losses must be after some steps: sums in another order differ by far less."""
EVAL: Final = {name: False for name in ("", *"0123456789")}
"""Training flags of a model in eval mode throughout."""


def check_state(submission: Submission, model: Remote, expected: nn.Module, **close: float) -> None:
    """Parameters and buffers over there are those of a model here."""
    what = "the model's weights and buffers afterwards"
    assert_close(submission.there(probes.state, model), probes.state(expected), **(close or CLOSE), what=what)
    assert_that(submission.there(training.grad_enabled), "the recording of gradients is switched off afterwards")


# ---------------------------------------------------------------- training with SGD, and with Adam

OPTIMIZERS: Final[dict[str, Callable[[nn.Module, float], torch.optim.Optimizer]]] = {
    "loss_goes_down": lambda model, lr: torch.optim.SGD(model.parameters(), lr=lr),
    "probabilities_learn": lambda model, lr: torch.optim.Adam(model.parameters(), lr=lr),
}


def check_training(
    submission: Submission, name: str, recipe: tuple[Any, ...], cut: dict[str, Any], epochs: int, lr: float, seed: int
) -> None:
    """The loss of each epoch and the model afterwards are those of the same training here."""
    make, *args = recipe
    model = submission.there(make, *args)
    loader = submission.there(training.shuffled, seed=seed, **cut)
    losses = getattr(submission, name)(model, loader, lr, epochs)
    here, loader_here = make(*args), training.shuffled(seed=seed, **cut)
    optimizer = OPTIMIZERS[name](here, lr)
    expected = [reference.per_example(*reference.train(here, loader_here, optimizer)) for _ in range(epochs)]
    assert_close(losses, expected, **CLOSE, what="the mean loss", each="epoch 1")
    check_state(submission, model, here)


@exercise("debugging.loss_goes_down")
def test_the_loss_goes_down(submission: Submission) -> None:
    """With a linear model and one batch, the loss of each of 12 epochs is lower than that of the epoch before."""
    model, loader = submission.there(recipes.model, "linear", 2), submission.there(recipes.loader, 20, 20, 2)
    losses = submission.loss_goes_down(model, loader, 0.5, 12)
    assert_equal(len(losses), 12, what="how many losses there are")
    for epoch, (before, after) in enumerate(pairwise(losses), start=2):
        text = f"the loss does not fall: it is {before:.6g} in epoch {epoch - 1} and {after:.6g} in epoch {epoch}"
        assert_that(after < before, text)


@exercise("debugging.loss_goes_down")
@given(full=st.integers(1, 3), batch_size=st.integers(2, 4), epochs=st.integers(1, 3), seed=SEEDS)
@settings(max_examples=5)
def test_each_step_is_that_of_its_batch(
    submission: Submission, full: int, batch_size: int, epochs: int, seed: int
) -> None:
    """Each step moves the weights by lr times the gradient of its own batch. Every epoch has a loss: the mean over its
    examples, also with a short last batch."""
    cut = {"count": full * batch_size + 1, "batch_size": batch_size}
    check_training(submission, "loss_goes_down", (recipes.model, "mlp", seed), cut, epochs, 0.3, seed)


@exercise("debugging.loss_goes_down", when="with 0 epochs")
def test_no_epochs(submission: Submission) -> None:
    """0 epochs give an empty list, and change nothing."""
    check_training(submission, "loss_goes_down", (recipes.model, "mlp", 1), {"count": 4, "batch_size": 2}, 0, 0.3, 1)


@exercise("debugging.loss_goes_down")
@pytest.mark.parametrize(("kind", "flags"), [("counted", EVAL), ("tied", {}), ("frozen", {}), ("hooked", {})])
@given(seed=SEEDS)
@ONCE
def test_all_kinds_of_models(submission: Submission, kind: str, flags: dict[str, bool], seed: int) -> None:
    """It works with shared weights, frozen weights and hooks; a model in eval mode is trained in training mode."""
    recipe = (recipes.model, kind, seed, flags)
    check_training(submission, "loss_goes_down", recipe, {"count": 12, "batch_size": 4}, 2, 0.2, seed)


@exercise("debugging.probabilities_learn")
def test_the_loss_comes_close_to_0(submission: Submission) -> None:
    """On rows that are easy to tell apart, the loss is below 0.05 after 40 epochs."""
    model, loader = submission.there(recipes.model, "linear", 3), submission.there(debugging.easy, 12, 6)
    losses = submission.probabilities_learn(model, loader, 0.2, 40)
    assert_equal(len(losses), 40, what="how many losses there are")
    assert_that(losses[-1] < 0.05, f"the loss is {losses[19]:.4f} in epoch 20, and {losses[-1]:.4f} in epoch 40")


@exercise("debugging.probabilities_learn")
@given(full=st.integers(1, 3), batch_size=st.integers(2, 4), epochs=st.integers(1, 3), seed=SEEDS)
@settings(max_examples=5)
def test_each_step_is_that_of_adam(submission: Submission, full: int, batch_size: int, epochs: int, seed: int) -> None:
    """Each step is that of Adam on the cross-entropy of its own batch. Every epoch has a loss: the mean over its
    examples, also with a short last batch."""
    cut = {"count": full * batch_size + 1, "batch_size": batch_size}
    check_training(submission, "probabilities_learn", (recipes.model, "mlp", seed), cut, epochs, 0.02, seed)


@exercise("debugging.probabilities_learn", when="from the second epoch on")
@given(seed=SEEDS)
@ONCE
def test_one_adam_for_all_epochs(submission: Submission, seed: int) -> None:
    """The optimizer remembers its steps from epoch to epoch; 0 epochs give an empty list."""
    for epochs in (3, 0):
        cut = {"count": 4, "batch_size": 4}
        check_training(submission, "probabilities_learn", (recipes.model, "mlp", seed), cut, epochs, 0.02, seed)


@exercise("debugging.probabilities_learn")
@pytest.mark.parametrize("kind", ["tied", "frozen", "hooked"])
@given(seed=SEEDS)
@ONCE
def test_kinds_of_models_with_adam(submission: Submission, kind: str, seed: int) -> None:
    """It works with shared weights, frozen weights and hooks."""
    cut = {"count": 12, "batch_size": 4}
    check_training(submission, "probabilities_learn", (recipes.model, kind, seed), cut, 2, 0.02, seed)


@exercise("debugging.probabilities_learn", when="for a model that comes in eval mode")
@given(seed=SEEDS)
@ONCE
def test_a_model_in_eval_mode(submission: Submission, seed: int) -> None:
    """A model that comes in eval mode is trained in training mode."""
    flags = dict.fromkeys(("", "first", "inner", "last"), False)
    recipe = (training.mode_dependent_model, seed, flags)
    check_training(submission, "probabilities_learn", recipe, {"count": 8, "batch_size": 4}, 2, 0.02, seed)


@picture(
    "debugging.loss_goes_down",
    title="Loss of each epoch: with gradients that pile up it swings, with yours it goes down",
)
def before_and_after(submission: Submission) -> Lines:
    model, loader = submission.there(recipes.model, "linear", 2), submission.there(recipes.loader, 20, 20, 2)
    after = submission.loss_goes_down(model, loader, 0.5, 30)
    here, optimizer = recipes.model("linear", 2), None
    optimizer = torch.optim.SGD(here.parameters(), lr=0.5)
    before = []
    for _ in range(30):
        for x, y in recipes.loader(20, 20, 2):
            loss = F.cross_entropy(here(x), y)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            before.append(loss.item())
    return Lines(series={"before": before, "yours": after}, x_label="epoch", y_label="loss")


# ---------------------------------------------------------------- memory_stays_flat


@exercise("debugging.memory_stays_flat")
@given(count=st.integers(4, 7), seed=SEEDS)
@TWICE
def test_no_graph_is_kept(submission: Submission, count: int, seed: int) -> None:
    """When the model is called for a batch, the graph of at most one earlier batch is still in memory."""
    model = submission.there(debugging.graphs_counted, "mlp", seed)
    submission.memory_stays_flat(model, submission.there(recipes.loader, 2 * count, 2, seed))
    check_graphs(submission, model)


def check_graphs(submission: Submission, model: Remote) -> None:
    """Fails if more than one graph was in memory when a `debugging.graphs_counted` model was called."""
    for number, kept in enumerate(submission.there(debugging.graphs_seen), start=1):
        assert_that(kept <= 1, f"at batch {number}, the graphs of {kept} earlier batches were still in memory")


@exercise("debugging.memory_stays_flat")
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=SEEDS)
@settings(max_examples=6)
def test_loss_and_weights_of_one_epoch(submission: Submission, sizes: list[int], seed: int) -> None:
    """The result is a float, the mean loss per example; the weights are those after one step of SGD per batch, with
    learning rate 0.1."""
    check_epoch(submission, "mlp", sizes, seed)


@exercise("debugging.memory_stays_flat")
@pytest.mark.parametrize(("kind", "flags"), [("counted", EVAL), ("tied", {}), ("frozen", {}), ("hooked", {})])
@given(seed=SEEDS)
@ONCE
def test_one_epoch_of_all_kinds_of_models(submission: Submission, kind: str, flags: dict[str, bool], seed: int) -> None:
    """It works with shared weights, frozen weights and hooks; a model in eval mode is trained in training mode."""
    check_epoch(submission, kind, [4, 4, 3], seed, flags)


def check_epoch(
    submission: Submission, kind: str, sizes: list[int], seed: int, flags: dict[str, bool] | None = None
) -> None:
    """Loss and model of `memory_stays_flat` are those of an epoch here. A loader gives other batches in each pass."""
    model = submission.there(recipes.model, kind, seed, flags)
    loss = submission.memory_stays_flat(model, submission.there(moving.passes, sizes, seed))
    here = recipes.model(kind, seed, flags)
    expected = reference.per_example(*reference.train(here, moving.passes(sizes, seed), recipes.optimizer(here)))
    assert_close(loss, expected, **CLOSE, what="the mean loss")
    check_state(submission, model, here)


# ---------------------------------------------------------------- evaluation_repeats


@exercise("debugging.evaluation_repeats")
@pytest.mark.parametrize("kind", ["dropout", "norm"])
def test_twice_the_same(submission: Submission, kind: str) -> None:
    """Two calls in a row give the same accuracy, with Dropout and with BatchNorm."""
    submission.there(probes.start_global, 5)
    model, loader = submission.there(recipes.model, kind, 5), submission.there(recipes.loader, 100, 40, 5)
    first, second = (submission.evaluation_repeats(model, loader) for _ in range(2))
    assert_that(first == second, f"the first call returned {first}, the second one {second}")


@functools.cache
def mode_dependent_data(seed: int) -> tuple[int, float]:
    """The first seed from this one on with which a `training.mode_dependent_model` has another accuracy in every mode
    but the right one, and that accuracy."""
    for candidate in range(seed, seed + 1000):
        batches = recipes.batches([7, 5], seed=candidate)
        x, y = (torch.cat(parts) for parts in zip(*batches, strict=True))
        found = []
        for mode in (True, False):
            for recording in (True, False):
                model = training.mode_dependent_model(candidate).train(mode)
                with torch.set_grad_enabled(recording):
                    found.append(int((model(x).argmax(1) == y).sum()) / len(y))
        if found[3] not in found[:3] and 0 < found[3] < 1:
            return candidate, found[3]
    raise ValueError("no seed shows the modes")


@exercise("debugging.evaluation_repeats")
@given(seed=SEEDS)
@settings(max_examples=3)
def test_runs_as_after_training(submission: Submission, seed: int) -> None:
    """The accuracy is that of the model as it is after training: in eval mode, and without recording a graph (a model
    whose output shows how it runs). Hooks run."""
    seed, expected = mode_dependent_data(seed)
    flags = {"": True, "first": True, "inner": bool(seed % 2), "last": False}
    model = submission.there(training.mode_dependent_model, seed, flags)
    found = submission.evaluation_repeats(model, recipes.batches([7, 5], seed=seed))
    assert_close(found, expected, what="the accuracy")


@exercise("debugging.evaluation_repeats", when="over batches of any size")
@given(sizes=st.lists(st.integers(2, 6), min_size=1, max_size=4), seed=SEEDS)
@settings(max_examples=6)
def test_right_over_all_examples(submission: Submission, sizes: list[int], seed: int) -> None:
    """The result is a float: the examples that the model gets right, divided by all examples, whatever the batches'
    sizes."""
    batches = recipes.batches(sizes, seed=seed)
    _, expected = reference.measure(recipes.model("norm", seed), batches)
    assert_close(submission.evaluation_repeats(submission.there(recipes.model, "norm", seed), batches), expected)


@exercise("debugging.evaluation_repeats")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_nothing_is_changed(submission: Submission, recording: bool) -> None:
    """Weights, buffers, gradients and all training flags are as before, also of parts within parts; gradients are
    recorded if they were before."""
    loader = submission.there(recipes.loader, 8, 4, 3)
    found = submission.there(restoring.after, submission.evaluation_repeats, recording, loader)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")
    model = submission.there(recipes.model, "norm", 3)
    submission.evaluation_repeats(model, loader)
    state = submission.there(probes.state, model)
    what = "the weights and buffers of a model with BatchNorm afterwards"
    assert_equal(state, probes.state(recipes.model("norm", 3)), what=what)


@exercise("debugging.evaluation_repeats")
def test_no_graph_is_recorded(submission: Submission) -> None:
    """While the model runs, no gradients are recorded."""
    model, loader = submission.there(recipes.model, "mlp", 2), submission.there(recipes.loader, 6, 3, 2)
    modes = submission.there(probes.forward_modes, submission.evaluation_repeats, model, loader)
    assert_that(not any(modes["grad"]), "gradients were recorded while the model ran")


# ---------------------------------------------------------------- honest_split


def parts_of(submission: Submission, n: int, fraction: float, seed: int, start: int = 0) -> tuple[list[Any], list[Any]]:
    """The rows of the two parts of 0, ..., n - 1."""
    submission.there(probes.start_global, start)
    parts = submission.honest_split(submission.there(recipes.numbered, n, "numbers"), fraction, seed)
    return items_of(submission, parts)


def items_of(submission: Submission, parts: Any) -> tuple[list[Any], list[Any]]:
    """The items of the two parts."""
    if not isinstance(parts, (list, tuple)) or len(parts) != 2:
        raise Mismatch("not a pair of two datasets", parts, "(train, val)")
    train, val = (submission.there(probes.items, part) for part in parts)
    return train, val


@exercise("debugging.honest_split")
@given(n=st.integers(0, 30), fraction=st.floats(0, 1, width=32), seed=SEEDS)
@settings(max_examples=10)
def test_no_row_is_in_both_parts(submission: Submission, n: int, fraction: float, seed: int) -> None:
    """Every row is in one of the two parts, and in one only."""
    train, val = parts_of(submission, n, fraction, seed)
    both = [row for row in range(n) if row in train and row in val]
    assert_that(not both, f"in both parts: row {', row '.join(map(str, both[:5]))}")
    assert_equal(sorted([*train, *val], key=repr), sorted(range(n), key=repr), what="the rows of both parts")


@exercise("debugging.honest_split", when="for rows that are equal")
def test_rows_may_be_equal(submission: Submission) -> None:
    """A row that is equal to another one is a row of its own: it is not lost."""
    rows = [7, 7, 7, 7, 8, 8, 8, 8, 8, 8]
    train, val = items_of(submission, submission.honest_split(rows, 0.3, 1))
    assert_equal(len(val), 3, what="how many of 10 rows are for validation")
    assert_equal(sorted([*train, *val], key=repr), rows, what="the rows of both parts")


@exercise("debugging.honest_split")
@pytest.mark.parametrize(("n", "fraction"), [(10, 0.3), (5, 0.5), (7, 0.5), (10, 0.29), (4, 0.0), (4, 1.0)])
def test_how_many_are_for_validation(submission: Submission, n: int, fraction: float) -> None:
    """The second part has round(n * val_fraction) rows, the first one the others."""
    train, val = parts_of(submission, n, fraction, 1)
    sizes = n - round(n * fraction), round(n * fraction)
    assert_equal((len(train), len(val)), sizes, what=f"sizes of the parts of {n} rows")


@exercise("debugging.honest_split", when="with the same seed again")
@given(seed=SEEDS)
@settings(max_examples=3)
def test_the_seed_decides(submission: Submission, seed: int) -> None:
    """One seed gives one split, whatever the global random numbers are; other seeds give others, drawn at random."""
    drawn = [parts_of(submission, 60, 0.25, seed + step)[1] for step in (0, 1, 2)]
    again = parts_of(submission, 60, 0.25, seed, start=8)[1]
    assert_equal(sorted(again, key=repr), sorted(drawn[0], key=repr), what="the validation rows of the same seed again")
    for first, second in combinations(drawn, 2):
        assert_that(sorted(first, key=repr) != sorted(second, key=repr), "two seeds give the same split")
    for rows in drawn:
        places = sorted(row for row in rows if type(row) is int)
        gaps = {(second - first) % 60 for first, second in pairwise([*places, *places[:1]])}
        assert_that(len(gaps) > 2, f"the rows for validation do not look random: {places}")


@exercise("debugging.honest_split", when="in torch's global random numbers")
@given(seed=SEEDS)
@ONCE
def test_global_numbers_are_left_alone(submission: Submission, seed: int) -> None:
    """Splitting and reading the parts leave torch's global random numbers alone."""
    parts_of(submission, 12, 0.5, seed, start=1)
    check_global_stream(submission)


def check_global_stream(submission: Submission) -> None:
    """Fails unless the global generator is where ``start_global(1)`` has put it."""
    assert_global_numbers(submission, 1)


# ---------------------------------------------------------------- each_epoch_new


def orders_of(submission: Submission, n: int, batch_size: int, seed: int, epochs: int, start: int = 0) -> Any:
    """The orders of a dataset with the rows 5, 8, 11, ..."""
    submission.there(probes.start_global, start)
    return submission.each_epoch_new(submission.there(debugging.numbers, n, 5, 3), batch_size, seed, epochs)


@exercise("debugging.each_epoch_new")
@given(seed=SEEDS)
@settings(max_examples=3)
def test_epochs_differ(submission: Submission, seed: int) -> None:
    """Of five epochs, no two have the same order, nor the same one from another row on."""
    orders = orders_of(submission, 24, 5, seed, 5)
    assert_equal(len(orders), 5, what="how many orders there are")
    for (one, first), (other, second) in combinations(enumerate(orders, start=1), 2):
        text = f"epochs {one} and {other} have the same order: {', '.join(map(str, first[:6]))}, ..."
        assert_that(first != second, text)
        shared = set(pairwise(first)) & set(pairwise(second))
        assert_that(len(shared) < 12, f"epochs {one} and {other}: {len(shared)} of 24 rows follow the same row in both")


@exercise("debugging.each_epoch_new")
@example(n=11, batch_size=4, epochs=2, seed=5)  # a short last batch after full ones
@given(n=st.integers(1, 20), batch_size=st.integers(1, 7), epochs=st.integers(0, 3), seed=SEEDS)
@settings(max_examples=5)
def test_every_row_once_in_each_epoch(submission: Submission, n: int, batch_size: int, epochs: int, seed: int) -> None:
    """There is a list of ints for each epoch, and each has every row once, also of a short last batch."""
    orders = orders_of(submission, n, batch_size, seed, epochs)
    rows = list(range(5, 5 + 3 * n, 3))
    assert_equal([sorted(order) for order in orders], [rows] * epochs, what="the rows of each epoch, sorted")


@exercise("debugging.each_epoch_new", when="with the same seed again")
@given(seed=SEEDS)
@settings(max_examples=3)
def test_all_orders_come_from_the_seed(submission: Submission, seed: int) -> None:
    """One seed gives the same orders again, whatever the global random numbers are; another seed gives others."""
    orders = orders_of(submission, 20, 4, seed, 3)
    assert_equal(orders_of(submission, 20, 4, seed, 3, start=8), orders, what="the orders of the same seed again")
    other = orders_of(submission, 20, 4, seed + 1, 3)
    for epoch, (first, second) in enumerate(zip(orders, other, strict=True), start=1):
        assert_that(first != second, f"two seeds give the same order in epoch {epoch}")


@exercise("debugging.each_epoch_new")
@given(seed=SEEDS)
@ONCE
def test_rows_are_shuffled_not_batches(submission: Submission, seed: int) -> None:
    """Rows that are in one batch in one epoch are in different batches in others."""
    orders = orders_of(submission, 24, 4, seed, 3)
    batches = [{frozenset(order[start : start + 4]) for start in range(0, 24, 4)} for order in orders]
    rows = list(range(5, 77, 3))
    cut = {frozenset(rows[start : start + 4]) for start in range(0, 24, 4)}
    for first, second in combinations([cut, *batches], 2):
        assert_that(first != second, "two epochs have the same batches, in another order")


@exercise("debugging.each_epoch_new", when="in torch's global random numbers")
@given(seed=SEEDS)
@ONCE
def test_shuffling_leaves_global_numbers_alone(submission: Submission, seed: int) -> None:
    """Torch's global random numbers are as if the function had not been called."""
    orders_of(submission, 10, 3, seed, 2, start=1)
    check_global_stream(submission)


# ---------------------------------------------------------------- no_nan


def check_likelihood(submission: Submission, logits: Tensor, labels: Tensor, atol: float = 1e-5) -> None:
    """Value and gradient are those in float64."""
    found = value_and_grad(submission.no_nan, logits, labels, wrt=(0,))
    exact = logits.double().requires_grad_()
    expected = F.cross_entropy(exact, labels)
    (gradient,) = torch.autograd.grad(expected, exact)
    close: dict[str, Any] = {"rtol": 1e-5, "atol": atol}
    assert_close(found.value, expected.detach().to(logits.dtype), **close, what="the loss")
    assert_that(found.has_graph, "no gradient flows back from the loss to the logits")
    assert_close(found.grads[0], gradient.to(logits.dtype), **close, what="the gradient")


# logsumexp(x) minus the label's logit is right too; its float32 error at 1e4 is about 1e-3.
@exercise("debugging.no_nan", when="for logits of ±200, ±1,000 or ±10,000")
@pytest.mark.parametrize("largest", [200.0, 1e3, 1e4])
def test_large_logits(submission: Submission, largest: float) -> None:
    """With logits of ±200, ±1,000 and ±10,000 the loss and its gradient are right, and finite."""
    logits = torch.tensor([[largest, -largest, 0.0], [0.0, largest, largest], [-largest, -largest, -largest]])
    for label in range(3):
        check_likelihood(submission, logits, torch.full((3,), label), atol=5e-3)


@exercise("debugging.no_nan", when="for large logits")
@given(logits=tensors(((1, 5), (2, 4)), kind="large"), pick=st.integers(0, 999))
@settings(max_examples=10)
def test_any_large_logits(submission: Submission, logits: Tensor, pick: int) -> None:
    """Logits up to 1e4 and down to -1e4, of any number of rows and classes."""
    labels = recipes.labels(len(logits), logits.shape[1], pick)
    check_likelihood(submission, logits.clamp(-1e4, 1e4), labels, atol=5e-3)


@exercise("debugging.no_nan", when="for small logits")
@given(logits=tensors(((1, 5), (1, 4)), dtype=[torch.float32, torch.float64]), pick=st.integers(0, 999))
@settings(max_examples=15)
def test_small_logits(submission: Submission, logits: Tensor, pick: int) -> None:
    """The mean over the rows of minus the logarithm of the label's probability, in the dtype of the logits."""
    check_likelihood(submission, logits, recipes.labels(len(logits), logits.shape[1], pick))


@exercise("debugging.no_nan")
def test_logits_stay_as_they_are(submission: Submission) -> None:
    """The logits and the labels are not changed."""
    seen = observe(submission.no_nan, recipes.normal((3, 4), 1), recipes.labels(3))
    assert_that(seen.changed == (), "an argument was changed in place")


# ---------------------------------------------------------------- best_weights_kept


def runs(kind: str, seed: int, flags: dict[str, bool] | None = None, zeros: bool = False) -> tuple[Any, Any, Any]:
    """The makers of a model and of its two loaders; the first one has other batches in each epoch."""
    train = (training.shuffled, {"count": 10, "batch_size": 5, "seed": seed})
    val = (recipes.loader, {"count": 10, "batch_size": 4, "seed": seed + 100, "zeros": zeros})
    own = {"unbiased": (training.unbiased, seed)}
    return own.get(kind, (recipes.model, kind, seed, flags)), train, val


def epochs_here(kind: str, seed: int, lr: float, epochs: int, zeros: bool = False) -> list[tuple[float, Any]]:
    """Validation loss after each epoch, and the state of the model then."""
    (make, *args), (train, train_cut), (val, val_cut) = runs(kind, seed, zeros=zeros)
    model, train_loader, val_loader = make(*args), train(**train_cut), val(**val_cut)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    found = []
    for _ in range(epochs):
        reference.train(model, train_loader, optimizer)
        loss, _ = reference.measure(model, val_loader)
        found.append((loss, probes.state(model)))
    return found


FIRST_SEEDS: Final = {"middle": 9, "first": 0, "dip": 45, "last": 4}
"""From which seed on a run of `mlp` is looked for, by the wanted place; before it there is none."""


@functools.lru_cache(maxsize=256)
def clear_run(kind: str, seed: int, want: str) -> tuple[int, int]:
    """The first seed from this one on whose best of five epochs is clear and in the wanted place, and its index."""
    for candidate in range(seed, seed + 10_000):
        losses = [loss for loss, _ in epochs_here(kind, candidate, 1.0, 5)]
        best = losses.index(min(losses))
        others = losses[:best] + losses[best + 1 :]
        places = {"first": best == 0, "middle": best in (1, 2, 3), "last": best == 4}
        dips = want != "dip" or (best in (2, 3) and any(a < b for a, b in pairwise(losses[: best + 1])))
        if places.get(want, dips) and min(others) > 1.02 * losses[best] and max(losses) < 50:
            return candidate, best
    raise ValueError(f"no run has its best epoch at the {want}")


def check_best(
    submission: Submission, kind: str, seed: int, best: int, lr: float = 1.0, epochs: int = 5, **how: Any
) -> None:
    """The model that is left is that of the best epoch."""
    (make, *args), (train, train_cut), (val, val_cut) = runs(kind, seed, **how)
    model = submission.there(make, *args)
    loaders = submission.there(train, **train_cut), submission.there(val, **val_cut)
    submission.best_weights_kept(model, *loaders, lr, epochs)
    states = [state for _, state in epochs_here(kind, seed, lr, epochs, zeros=how.get("zeros", False))]
    found = submission.there(probes.state, model)
    what = f"the model ({kind}) afterwards; its best epoch is {best + 1} of {epochs}"
    assert_close(found, states[best], **CLOSE, what=what)
    assert_that(submission.there(training.grad_enabled), "the recording of gradients is switched off afterwards")


@exercise("debugging.best_weights_kept")
@pytest.mark.parametrize("want", FIRST_SEEDS)
def test_ends_with_the_best_epoch(submission: Submission, want: str) -> None:
    """The model ends with the weights of the epoch with the lowest validation loss, whichever epoch that is."""
    check_best(submission, "mlp", *clear_run("mlp", FIRST_SEEDS[want], want))


@exercise("debugging.best_weights_kept", when="in BatchNorm's buffers")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_buffers_too(submission: Submission, seed: int) -> None:
    """BatchNorm's buffers are those of the best epoch too, and validation runs in eval mode and changes none."""
    check_best(submission, "norm", *clear_run("norm", seed, "middle"))


@exercise("debugging.best_weights_kept")
@pytest.mark.parametrize(("kind", "flags"), [("counted", EVAL), ("tied", {}), ("frozen", {}), ("hooked", {})])
def test_best_of_all_kinds_of_models(submission: Submission, kind: str, flags: dict[str, bool]) -> None:
    """It works with shared weights, frozen weights and hooks; a model in eval mode is trained in training mode."""
    seed, best = clear_run(kind, {"tied": 12, "frozen": 9}.get(kind, 0), "middle")
    check_best(submission, kind, seed, best, flags=flags)


@exercise("debugging.best_weights_kept", when="with a last validation batch that is shorter")
def test_every_validation_row_counts_the_same(submission: Submission) -> None:
    """The best epoch is the one with the lowest mean over all validation rows, also with a short last batch."""
    check_best(submission, "mlp", 40, 2)  # by the mean of the batches' means, another epoch would be the best


@exercise("debugging.best_weights_kept", when="with epochs of equal validation loss")
def test_the_first_of_equal_epochs(submission: Submission) -> None:
    """If all epochs have the same validation loss, the model ends with the weights of the first one."""
    check_best(submission, "unbiased", 3, 0, lr=0.5, epochs=3, zeros=True)


# ---------------------------------------------------------------- same_after_resume


def not_stopped(kind: str, optimizer: str, scheduler: str, seed: int, data: list[Any], epochs: int) -> nn.Module:
    """The model after a run without a stop."""
    model, made, schedule = debugging.making(kind, optimizer, scheduler, seed)()
    for _ in range(epochs):
        reference.train(model, data, made)
        schedule.step()
    return model


def check_resumed(
    submission: Submission, kind: str, optimizer: str, scheduler: str, stop: int, epochs: int, seed: int
) -> None:
    """A run that is stopped and resumed over there ends as one here that is not."""
    submission.outside(files.empty, "here")
    path = submission.there(files.path, "here", "checkpoint.pt")
    data = recipes.batches([4, 3], seed=seed)
    make = submission.there(debugging.making, kind, optimizer, scheduler, seed)
    model = submission.same_after_resume(make, data, path, stop, epochs)
    found = submission.there(probes.state, model)
    expected = probes.state(not_stopped(kind, optimizer, scheduler, seed, data, epochs))
    what = f"the weights after {counted(epochs, 'epoch')} with a stop after {stop}, compared with a run without a stop"
    assert_close(found, expected, **CLOSE, what=what)
    assert_equal(submission.there(debugging.times_made, make), 2, what="how often `make` was called")
    found_kind, content = submission.outside(files.contents, "here", "checkpoint.pt")
    assert_that(found_kind != "nothing", "no file at `path`")
    if found_kind == "weights" and optimizer == "momentum" and stop:
        trained = sum(p.numel() for p in recipes.model(kind, seed).parameters() if p.requires_grad)
        text = "the model is right, but not from the file: its momentum is not in it, and only the file is left"
        assert_that(numbers_in(content) >= 2 * trained, text)


def numbers_in(content: Any) -> int:
    """How many numbers a file holds."""
    if isinstance(content, dict):
        return sum(map(numbers_in, content.values()))
    if isinstance(content, list | tuple):
        return sum(map(numbers_in, content))
    return content.numel() if isinstance(content, Tensor) else int(isinstance(content, float))


@exercise("debugging.same_after_resume")
@pytest.mark.parametrize(
    ("optimizer", "scheduler"), [("momentum", "constant"), ("plain", "steps"), ("adam", "restarts")]
)
@given(seed=SEEDS)
@ONCE
def test_as_if_it_had_not_stopped(submission: Submission, optimizer: str, scheduler: str, seed: int) -> None:
    """The weights are those of a run that was not stopped, with momentum, with a learning rate that changes, and with
    Adam."""
    check_resumed(submission, "mlp", optimizer, scheduler, 3, 6, seed)


@exercise("debugging.same_after_resume", when="when it is stopped after another epoch")
@example(stop=5, scheduler="steps", seed=5)  # nothing is left to train
@given(stop=st.integers(0, 5), scheduler=st.sampled_from(["steps", "exponential", "milestones", "cosine"]), seed=SEEDS)
@settings(max_examples=4)
def test_stopped_after_any_epoch(submission: Submission, stop: int, scheduler: str, seed: int) -> None:
    """The run may be stopped before its first epoch, after any, and after its last one."""
    check_resumed(submission, "mlp", "momentum", scheduler, stop, 5, seed)


@exercise("debugging.same_after_resume", when="with BatchNorm, shared or frozen weights")
@pytest.mark.parametrize("kind", ["norm", "tied", "frozen"])
@given(seed=SEEDS)
@ONCE
def test_buffers_are_resumed(submission: Submission, kind: str, seed: int) -> None:
    """It works with BatchNorm's buffers, with shared and with frozen weights."""
    check_resumed(submission, kind, "momentum", "exponential", 2, 4, seed)


# ---------------------------------------------------------------- gpu_not_waiting

LR: Final = 0.13
"""A learning rate that nobody would write by themselves."""


@exercise("debugging.gpu_not_waiting")
@settings(max_examples=3)
@example(count=40, before=2, after=1)  # more than anybody would read at once
@given(count=st.integers(3, 6), before=st.integers(0, 3), after=st.integers(0, 3))
def test_one_wait_in_an_epoch(submission: Submission, count: int, before: int, after: int) -> None:
    """Python waits for the GPU once in the whole epoch, for any number of batches."""
    submission.there(devices.start, gpus=1, recording=True)
    model = submission.there(recipes.model, "mlp", 1)
    loader = submission.there(recipes.loader, 2 * count, 2, 5)
    submission.there(moving.read_back, before)
    losses = submission.gpu_not_waiting(model, loader, torch.device("cuda", 0), LR)
    submission.there(moving.read_back, after)
    assert_equal(len(losses), count, what="how many losses there are")
    inside, behind = submission.there(moving.waits)  # apart: mistakes differ in where Python waits
    waits = [*inside, *behind]
    assert_equal([*waits[:before], *waits[len(waits) - after :]], ["item"] * (before + after), what="other waits")
    waits = waits[before : len(waits) - after]
    text = f"Python waited for the GPU {counted(len(waits), 'time')} in {counted(count, 'batch', 'batches')}"
    assert_that(len(waits) == 1, text)


@exercise("debugging.gpu_not_waiting")
@settings(max_examples=3)
@given(count=st.integers(3, 9), batch_size=st.integers(1, 4), seed=SEEDS)
def test_every_tensor_moves_once(submission: Submission, count: int, batch_size: int, seed: int) -> None:
    """The model's tensors and each tensor of a batch move to the device once, and nothing else moves there."""
    submission.there(devices.start, gpus=2, recording=True)
    model, loader = submission.there(recipes.model, "mlp", 1), submission.there(recipes.loader, count, batch_size, seed)
    submission.gpu_not_waiting(model, loader, torch.device("cuda", 1), LR)
    moves = [event for event in submission.there(devices.events) if event["kind"] == "transfer"]
    shapes = [tuple(p.shape) for p in recipes.model("mlp", 1).parameters()]
    shapes += [tuple(part.shape) for batch in recipes.loader(count, batch_size, seed) for part in batch]
    there = sorted(str((e["from"], e["to"], e["shape"])) for e in moves if e["to"] != "cpu")
    expected = sorted(str(("cpu", "cuda:1", shape)) for shape in shapes)
    assert_equal(there, expected, what="transfers to a GPU: (from, to, shape)")


@exercise("debugging.gpu_not_waiting")
@given(count=st.integers(4, 6), seed=SEEDS)
@ONCE
def test_no_graph_is_kept_on_the_gpu(submission: Submission, count: int, seed: int) -> None:
    """When the model is called for a batch, the graph of at most one earlier batch is still in memory."""
    submission.there(devices.start, gpus=1)
    model = submission.there(debugging.graphs_counted, "mlp", seed)
    loader = submission.there(recipes.loader, 2 * count, 2, seed)
    submission.gpu_not_waiting(model, loader, torch.device("cuda", 0), LR)
    check_graphs(submission, model)


@exercise("debugging.gpu_not_waiting")
@pytest.mark.parametrize(
    ("kind", "device"),
    [("mlp", "cpu"), ("mlp", "cuda:0"), ("norm", "cuda:1"), ("tied", "cuda:0"), ("frozen", "cuda:1")],
)
@ONCE
@given(seed=SEEDS)
def test_losses_and_weights_on_any_device(submission: Submission, kind: str, device: str, seed: int) -> None:
    """The loss of every batch and the weights at the end are those of plain SGD, and the model ends on the device. The
    batches come from an iterable without a length."""
    submission.there(devices.start, gpus=2)
    model = submission.there(recipes.model, kind, seed)
    loader = submission.there(moving.passes, [4, 4, 3], seed)
    losses = submission.gpu_not_waiting(model, loader, torch.device(device), LR)
    assert_equal(set(submission.there(devices.device_map, model).values()), {device}, what="where the model is")
    here = recipes.model(kind, seed)
    expected, _ = reference.train(here, moving.passes([4, 4, 3], seed), recipes.optimizer(here, lr=LR))
    assert_close(losses, expected, rtol=1e-4, atol=1e-5, what="the losses", each="batch 1")
    found = {name: devices.on(value, "cpu") for name, value in submission.there(probes.state, model).items()}
    assert_close(found, probes.state(here), what="the model's state_dict afterwards")


# ---------------------------------------------------------------- ranks


def secrets(seed: int, count: int) -> list[int]:
    """Different numbers, one for each rank."""
    return random.Random(seed).sample(range(1, 1 << 20), count)


def trained_alone(kind: str, seed: int, count: int, data: int, epochs: int, lr: float) -> dict[str, Tensor]:
    """The weights of one process that takes all rows in each step."""
    model = d.within(kind, seed)
    reference.train(model, [d.points(count, data).tensors] * epochs, torch.optim.SGD(model.parameters(), lr=lr))
    return probes.state(model)


def check_ranks(submission: Submission, kind: str, size: int, epochs: int, seed: int) -> None:
    """All ranks end with the weights of one process that begins with those of rank 0."""
    data, *models = secrets(seed, 1 + size)
    world = r.run(
        submission.ranks_agree, r.RANK, r.WORLD_SIZE, r.call(d.within, kind, r.each(*models)),
        r.call(d.points, 4 * size, data), epochs, 0.3, world_size=size, look=r.call(probes.state, r.argument(2)),
    )  # fmt: skip
    for rank, state in enumerate(world.looks[1:], start=1):
        assert_close(state, world.looks[0], what=f"the weights of rank {rank}, compared with those of rank 0")
    expected = trained_alone(kind, models[0], 4 * size, data, epochs, 0.3)
    what = "the weights, compared with one process that trains on all rows and begins with rank 0's weights"
    assert_close(world.looks[0], expected, **CLOSE, what=what)


@exercise("debugging.ranks_agree")
@needs("ranks")
@pytest.mark.parametrize("size", [2, 3])
@given(seed=SEEDS)
@ONCE
def test_equal_weights_on_all_ranks(submission: Submission, size: int, seed: int) -> None:
    """All ranks end with the same weights: those of one process that begins with rank 0's and takes all rows."""
    check_ranks(submission, "mlp", size, 3, seed)


@exercise("debugging.ranks_agree", when="with frozen or shared weights")
@needs("ranks")
@pytest.mark.parametrize(("kind", "epochs"), [("frozen", 2), ("tied", 2), ("mlp", 0)], ids=["frozen", "tied", "none"])
@given(seed=SEEDS)
@ONCE
def test_frozen_and_shared_weights(submission: Submission, kind: str, epochs: int, seed: int) -> None:
    """Frozen weights are equal on all ranks as well, it works with shared ones, and with 0 epochs."""
    check_ranks(submission, kind, 2, epochs, seed)


@exercise("debugging.nobody_waits_for_ever")
@needs("ranks")
@pytest.mark.parametrize("size", [2, 3])
@given(seed=SEEDS)
@ONCE
def test_all_ranks_go_on(submission: Submission, size: int, seed: int) -> None:
    """Every rank returns. The file has rank 0's weights by then. (In this check the ranks have different weights, and
    rank 0 takes its time to write.)"""
    models = secrets(seed, size)
    world = r.run(
        submission.nobody_waits_for_ever, r.RANK, r.WORLD_SIZE, "weights.pt",
        r.call(d.held_when_saved, "mlp", r.each(*models)), world_size=size, held=0, names_places=False,
        look_outside=r.call(d.saved, r.in_folder("weights.pt")),
    )  # fmt: skip
    early = ", ".join(f"rank {rank}" for rank in world.early)
    assert_that(not world.early, f"{early} returned before rank 0 had written the file")
    assert_that(world.outside is not None, "no file at `path` when all ranks have returned")
    assert_close(world.outside, probes.state(d.nested("mlp", models[0])), what="the content of the file")


@exercise("debugging.nobody_waits_for_ever", when="when rank 1 takes its time")
@needs("ranks")
@given(seed=SEEDS)
@ONCE
def test_one_rank_writes(submission: Submission, seed: int) -> None:
    """Only rank 0 writes. (In this check rank 1 takes its time: if it writes, its weights are in the file.)"""
    models = secrets(seed, 2)
    world = r.run(
        submission.nobody_waits_for_ever, r.RANK, r.WORLD_SIZE, "weights.pt",
        r.call(d.held_when_saved, "mlp", r.each(*models)), held=1, names_places=False,
        look_outside=r.call(d.saved, r.in_folder("weights.pt")),
    )  # fmt: skip
    assert_close(world.outside, probes.state(d.nested("mlp", models[0])), what="the content of the file")


@exercise("debugging.nobody_waits_for_ever", when="when saving fails")
@needs("ranks")
@pytest.mark.parametrize("fails", ["no such folder", "no space left"])
@given(seed=SEEDS)
@ONCE
def test_that_error_on_every_rank(submission: Submission, fails: str, seed: int) -> None:
    """If saving fails, every rank raises the error of rank 0, and the ranks can still communicate. (They save once
    without an error first.)"""
    numbers = secrets(seed, 2)
    is_no_folder = fails == "no such folder"
    path = "missing/weights.pt" if is_no_folder else "other.pt"
    model = r.call(recipes.model, "mlp") if is_no_folder else r.call(debugging.unsavable)
    again = r.call(
        debugging.error_of, submission.nobody_waits_for_ever, r.each(*numbers), r.RANK, r.WORLD_SIZE, path, model
    )
    world = r.run(
        submission.nobody_waits_for_ever, r.RANK, r.WORLD_SIZE, "weights.pt", r.call(recipes.model, "mlp"),
        names_places=False, look=again,
    )  # fmt: skip
    # For a folder that is not there, torch.save(path) raises the first of these, and open(path) the second.
    kinds, words = (
        (("RuntimeError", "FileNotFoundError"), "missing") if is_no_folder else (("OSError",), "No space left")
    )
    first = world.looks[0][0]
    kind = first if first in kinds else kinds[0]
    for rank, (found, text, total) in enumerate(world.looks):
        assert_equal(found, kind, what=f"the type of the error that rank {rank} raises")
        assert_that(words in text, f"the error on rank {rank} has another text than the one that saving raises")
        assert_equal(text, world.looks[0][1], what=f"the text of the error on rank {rank}, compared with rank 0's")
        assert_equal(total, sum(numbers), what=f"what rank {rank} adds up of all ranks' numbers afterwards")


# ---------------------------------------------------------------- forecast


def walk(n: int, seed: int) -> Tensor:
    """A random walk with a trend, far from 0 and in large units: raw values cannot be trained on."""
    steps = torch.randn(n, generator=torch.Generator().manual_seed(seed))
    return 500 + 20 * steps.cumsum(0) + 5 * torch.arange(n)


def forecast_here(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    """What `forecast` should return."""
    count = len(series) * 4 // 5
    mean, std = series[:count].mean(), series[:count].std()
    values = (series - mean) / std
    x = torch.stack([values[end - window : end] for end in range(window, len(values))])
    y, known = values[window:], count - window
    generator = torch.Generator().manual_seed(seed)
    weight, bias = 0.1 * torch.randn(window, generator=generator), torch.zeros(())
    losses = []
    for _ in range(epochs):
        total = 0.0
        for rows in torch.split(torch.randperm(known, generator=generator), 16):
            off = x[rows] @ weight + bias - y[rows]
            total += float(off.square().sum())
            weight, bias = weight - lr * 2 * (off @ x[rows]) / len(rows), bias - lr * 2 * off.mean()
        losses.append(total / known)
    forecasts = (x[known:] @ weight + bias) * std + mean
    return {
        "losses": losses,
        "forecasts": forecasts.tolist(),
        "error": float((forecasts - series[count:]).abs().mean()),
    }


@exercise("debugging.forecast")
def test_a_straight_line_goes_on(submission: Submission) -> None:
    """On a straight line the forecast of each value in the last fifth is that value."""
    line = 3 * torch.arange(40.0)
    found = submission.forecast(line, 3, 60, 0.1, 0)
    assert_close(found["forecasts"], line[32:].tolist(), rtol=0, atol=0.5, what="the forecasts of the last fifth")


@exercise("debugging.forecast")
def test_the_future_is_not_known(submission: Submission) -> None:
    """Values of the last fifth change nothing in the training: its losses are the same when these are others."""
    series = walk(50, 1)
    other = torch.cat([series[:40], series[40:] + 300])
    losses = [submission.forecast(part, 2, 3, 0.05, 4)["losses"] for part in (series, other)]
    assert_close(losses[1], losses[0], rtol=1e-6, atol=0, what="the losses when the last fifth is higher by 300")


@exercise("debugging.forecast")
@given(n=st.sampled_from([20, 33, 47, 64]), window=st.integers(1, 5), epochs=st.integers(0, 4), seed=SEEDS)
@settings(max_examples=6)
def test_losses_forecasts_and_error(submission: Submission, n: int, window: int, epochs: int, seed: int) -> None:
    """Losses, forecasts and error are those of the training that the docstring describes, and all three are there."""
    found = submission.forecast(walk(n, seed), window, epochs, 0.05, seed)
    assert_that(isinstance(found, dict), f"forecast returned {type(found).__name__}, not a dict")
    assert_equal(sorted(map(str, found)), ["error", "forecasts", "losses"], what="the entries of the dict")
    expected = forecast_here(walk(n, seed), window, epochs, 0.05, seed)
    assert_close(found["losses"], expected["losses"], **CLOSE, what="losses", each="epoch 0")
    for name in ("forecasts", "error"):
        assert_close(found[name], expected[name], **CLOSE, what=name)


@exercise("debugging.forecast")
def test_the_series_is_untouched(submission: Submission) -> None:
    """The series that was handed in is as it was."""
    seen = observe(submission.forecast, walk(30, 2), 2, 1, 0.05, 0)
    assert_that(not seen.changed, "the series has been changed in place")


# ---------------------------------------------------------------- classify


def clusters(n: int, classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Rows of classes that overlap, in any order: the network learns the training rows by heart."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % classes
    centres = 2.5 * torch.randn(classes, 2, generator=generator)
    features = centres[labels] + 2 * torch.randn(n, 2, generator=generator)
    order = torch.randperm(n, generator=generator)
    return features[order], labels[order]


class Classified(NamedTuple):
    """What `classify` should return, and how clear it is."""

    result: dict[str, Any]
    gap: float
    """Between the lowest validation loss and the next one."""
    margin: float
    """Of the best network's two highest logits, at the row where these are nearest."""


@functools.lru_cache(maxsize=64)
def classify_here(n: int, classes: int, epochs: int, lr: float, seed: int) -> Classified:
    """The training that the docstring describes."""
    features, labels = clusters(n, classes, seed)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=generator)
    val, rows = order[: n // 4], order[n // 4 :]
    shapes = [(16, 2), (16,), (int(labels.max()) + 1, 16), (int(labels.max()) + 1,)]
    params = [nn.Parameter(0.3 * torch.randn(shape, generator=generator)) for shape in shapes]

    def logits(x: Tensor) -> Tensor:
        return F.linear(F.linear(x, *params[:2]).tanh(), *params[2:])

    optimizer = torch.optim.SGD(params, lr=lr, momentum=0.9)
    rates, losses, outputs = [], [], []
    for epoch in range(epochs):
        if epoch:
            rows = rows[torch.randperm(len(rows), generator=generator)]
        rates.append(lr * 0.5 ** (epoch // 2))
        optimizer.param_groups[0]["lr"] = rates[-1]
        for batch in torch.split(rows, 8):
            optimizer.zero_grad()
            torch.autograd.backward(F.cross_entropy(logits(features[batch]), labels[batch]))
            optimizer.step()
        with torch.no_grad():
            outputs.append(logits(features[val]))
            losses.append(float(F.cross_entropy(outputs[-1], labels[val])))
    best = losses.index(min(losses))
    is_right = outputs[best].argmax(1) == labels[val]
    counts = [int((labels[val] == k).sum()) for k in range(int(labels.max()) + 1)]
    accuracy = [int(is_right[labels[val] == k].sum()) / max(count, 1) for k, count in enumerate(counts)]
    two = outputs[best].topk(2, dim=1).values
    others = losses[:best] + losses[best + 1 :]
    gap = min(others, default=math.inf) - losses[best]
    result = {"rates": rates, "losses": losses, "best": best, "accuracy": accuracy}
    return Classified(result, gap, float((two[:, 0] - two[:, 1]).min()))


def clear(n: int, classes: int, seed: int) -> int:
    """The first seed from this one on whose best epoch is neither the first nor the last, and beyond rounding."""
    for candidate in range(seed, seed + 1000):
        found = classify_here(n, classes, 5, 0.5, candidate)
        if 0 < found.result["best"] < 4 and found.gap > 2e-3 and found.margin > 2e-2:
            return candidate
    raise ValueError("no such training")


@exercise("debugging.classify")
def test_goes_on_learning(submission: Submission) -> None:
    """With classes that lie far apart, the validation loss after six epochs is a small part of that after the first."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(96) % 3
    features = 3 * torch.eye(3)[labels] + 0.3 * torch.randn(96, 3, generator=generator)
    losses = submission.classify(features, labels, 6, 0.05, 0)["losses"]
    assert_equal(len(losses), 6, what="the number of losses of 6 epochs")
    what = f"the validation loss was {losses[0]:.4f} after the first epoch, and is {losses[-1]:.4f} after the sixth"
    assert_that(losses[-1] < 0.5 * losses[0], what)


@exercise("debugging.classify")
@pytest.mark.parametrize("n", [12, 60])
def test_the_rate_is_halved_after_every_second_epoch(submission: Submission, n: int) -> None:
    """Each epoch has the learning rate that its number says, however many batches an epoch has."""
    found = submission.classify(*clusters(n, 2, 3), 5, 0.08, 1)["rates"]
    assert_close(found, [0.08, 0.08, 0.04, 0.04, 0.02], what=f"the rates of 5 epochs with {n} rows")


@exercise("debugging.classify")
@given(n=st.sampled_from([41, 48]), classes=st.integers(3, 4), seed=SEEDS)
@settings(max_examples=2)
def test_the_best_epoch(submission: Submission, n: int, classes: int, seed: int) -> None:
    """Rates, losses, the best epoch and the accuracy of each class are those of the training that the docstring
    describes."""
    seed = clear(n, classes, seed)
    found = submission.classify(*clusters(n, classes, seed), 5, 0.5, seed)
    assert_that(isinstance(found, dict), f"classify returned {type(found).__name__}, not a dict")
    assert_equal(sorted(map(str, found)), ["accuracy", "best", "losses", "rates"], what="the entries of the dict")
    expected = classify_here(n, classes, 5, 0.5, seed).result
    for name in ("rates", "losses", "best", "accuracy"):
        each = "epoch 0" if name in ("rates", "losses") else ""
        assert_close(found[name], expected[name], **CLOSE, what=name, each=each)


@exercise("debugging.classify")
def test_a_class_without_rows_for_validation(submission: Submission) -> None:
    """A class that has no rows for validation has the accuracy 0.0."""
    found = submission.classify(*clusters(13, 4, 36), 3, 0.3, 36)["accuracy"]
    assert_close(found, classify_here(13, 4, 3, 0.3, 36).result["accuracy"], what="accuracy")


@exercise("debugging.classify")
def test_the_rows_are_untouched(submission: Submission) -> None:
    """The features and labels that were handed in are as they were."""
    seen = observe(submission.classify, *clusters(16, 2, 0), 2, 0.1, 0)
    assert_that(not seen.changed, "features or labels have been changed in place")
