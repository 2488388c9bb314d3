"""Checks of training: losses and weights compared with a training run of the check itself, and the changes
afterwards.

Never decide what the contract leaves open: how gradients are cleared and whether any are left after a step (only
`train_step` promises to ignore gradients that were there before), in which mode `fit` and `fit_best` leave the model,
how a loss is summed up, what happens to a model that comes to `fit` in eval mode, and to gradients that are left over
when `clip_and_step` is called.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import count, pairwise
from typing import Any, Final, NamedTuple

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.testkit import (
    Lines,
    Remote,
    Spot,
    Submission,
    assert_close,
    assert_equal,
    assert_global_numbers,
    assert_that,
    exercise,
    observe,
    picture,
    probes,
    raises,
    recipes,
    reference,
    seeds,
    situations,
)
from kit import restoring, training

SEEDS = seeds()
CLOSE: Final[dict[str, Any]] = {"rtol": 1e-3, "atol": 1e-4}
"""How close weights and losses must be after some steps: sums in another order differ by far less."""
CLOSER: Final[dict[str, Any]] = {"rtol": 1e-5, "atol": 1e-6}
"""How close they must be after a single forward or step."""
TWO_CALLS = ("the first call", "the call after the weights have changed")
MODES: dict[str, dict[str, bool]] = {
    "train": {},
    "one_eval": {"1": False},
    "outermost_eval": {"": False},
    "eval": {name: False for name in ("", *"0123456789")},
}
"""Training flags of a model, from training throughout to eval throughout."""


def check_state(submission: Submission, model: Remote, expected: nn.Module, kind: str) -> None:
    """Parameters and buffers over there are those of a model here."""
    what = f"the model ({kind}) afterwards"
    assert_close(submission.there(probes.state, model), probes.state(expected), **CLOSE, what=what)
    assert_that(submission.there(training.grad_enabled), "the recording of gradients is switched off afterwards")


# ---------------------------------------------------------------- reference trajectories


class Epoch(NamedTuple):
    """The notes of `epochs_of` after an epoch."""

    val_loss: float
    state: dict[str, Tensor]


def epochs_of(
    model: nn.Module, train_batches: Iterable[Any], val_batches: Iterable[Any], epochs: int, lr: float
) -> list[Epoch]:
    """Validation loss and a copy of the state after each epoch of plain SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    found = []
    for _ in range(epochs):
        reference.train(model, train_batches, optimizer)
        loss, _ = reference.measure(model, val_batches)
        found.append(Epoch(loss, probes.state(model)))
    return found


def clipped(model: nn.Module, loss: Tensor, optimizer: torch.optim.Optimizer, max_norm: float) -> float:
    """A step whose gradients are scaled down to ``max_norm`` together; the norm that they had."""
    torch.autograd.backward(loss)
    grads = [param.grad for param in model.parameters() if param.grad is not None]
    norm = float(torch.linalg.vector_norm(torch.cat([grad.flatten() for grad in grads])))
    if norm > max_norm:
        for grad in grads:
            grad.mul_(max_norm / norm)
    optimizer.step()
    return norm


# ---------------------------------------------------------------- train_step


def check_steps(
    submission: Submission,
    kind: str,
    sizes: list[int],
    seed: int,
    *,
    momentum: float = 0.0,
    transposed: bool = False,
    scale: float = 1.0,
    close: dict[str, Any] = CLOSE,
) -> None:
    """Some steps over there give the losses and the model of the same steps here; stale gradients are there before."""
    situations(submission, {"with very large gradients": scale > 100, "from the second step on": len(sizes) > 1})
    batches = [(scale * x, y) for x, y in recipes.batches(sizes, seed=seed)]
    if transposed:
        batches = [(x.T.contiguous().T, y) for x, y in batches]
    model = submission.there(recipes.with_stale_grads, submission.there(recipes.model, kind, seed), seed)
    optimizer = submission.there(recipes.optimizer, model, momentum)
    submission.there(probes.start_global, 1)
    losses = [submission.train_step(model, x, y, optimizer) for x, y in batches]
    here = recipes.model(kind, seed)
    with reference.global_stream(1):
        expected, _ = reference.train(here, batches, recipes.optimizer(here, momentum))
    assert_close(losses, expected, **close, what=f"losses of the steps of a model ({kind})", each="step 1")
    check_state(submission, model, here, kind)
    flags = submission.there(probes.training_flags, model)
    assert_equal(flags, probes.training_flags(here), what="training flags afterwards")


@exercise("training.train_step")
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@given(size=st.integers(1, 6), seed=SEEDS)
@example(size=6, seed=1)  # a loss of 100 at the largest scale, whatever else is drawn
@settings(max_examples=3)
def test_one_step(submission: Submission, size: int, seed: int, scale: float) -> None:
    """The result is the loss before the step, a number; the weights change by the gradient of that loss only, however
    large it is."""
    check_steps(submission, "mlp", [size], seed, scale=scale, close=CLOSER)


@exercise("training.train_step")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_steps_of_all_kinds_of_models(submission: Submission, seed: int) -> None:
    """Three steps with BatchNorm, Dropout, shared weights, frozen weights or a hook give the right losses, weights and
    buffers, and leave the model in training mode."""
    for kind in ("norm", "dropout", "functional", "tied", "frozen", "hooked"):
        check_steps(submission, kind, [5, 4, 6], seed)


@exercise("training.train_step", when="over several batches with the same optimizer")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_the_optimizer_that_was_given(submission: Submission, seed: int) -> None:
    """Each step is taken by the given optimizer, which may have momentum; batches may differ in size."""
    for momentum in (0.0, 0.9):
        check_steps(submission, "mlp", [5, 2, 1, 3], seed, momentum=momentum)


@exercise("training.train_step", when="for features of three dims")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_features_of_three_dimensions(submission: Submission, seed: int) -> None:
    """Features have any shape (n, ...), and the model gets them as they are; each parameter may have a rate of its
    own."""
    model, here = submission.there(training.of_sequences, seed), training.of_sequences(seed)
    optimizer, optimizer_here = submission.there(training.grouped_sgd, model), training.grouped_sgd(here)
    batches = [(recipes.normal((n, 2, recipes.FEATURES), seed + n), recipes.labels(n, seed=seed)) for n in (3, 4)]
    losses = [submission.train_step(model, x, y, optimizer) for x, y in batches]
    expected, _ = reference.train(here, batches, optimizer_here)
    assert_close(losses, expected, **CLOSE, what="losses of two steps", each="step 1")
    check_state(submission, model, here, "of sequences")


@exercise("training.train_step", when="when the features do not lie contiguous in memory")
def test_features_in_any_memory_layout(submission: Submission) -> None:
    """Features need not be contiguous, and neither they nor the labels are changed."""
    check_steps(submission, "mlp", [4, 3], 4, transposed=True)
    model = submission.there(recipes.model, "mlp", 4)
    optimizer = submission.there(recipes.optimizer, model)
    seen = observe(submission.train_step, model, recipes.normal((3, 4), 5), recipes.labels(3), optimizer)
    assert_that(seen.changed == (), "an argument was changed in place")


# ---------------------------------------------------------------- train_epoch

LOADERS: dict[str, dict[str, Any]] = {
    "even": {"count": 8, "batch_size": 4},
    "ragged": {"count": 9, "batch_size": 4},
    "drop_last": {"count": 11, "batch_size": 4, "drop_last": True},
    "one_row": {"count": 1, "batch_size": 4},
    "single_batch": {"count": 3, "batch_size": 5},
    "many": {"count": 40, "batch_size": 1},
}


def check_epochs(
    submission: Submission,
    kind: str,
    cut: dict[str, Any],
    seed: int,
    *,
    flags: dict[str, bool] | None = None,
    momentum: float = 0.0,
) -> None:
    """Two epochs over there give the mean losses and the model of two epochs here, and end in training mode."""
    model = submission.there(recipes.model, kind, seed, flags)
    optimizer = submission.there(recipes.optimizer, model, momentum)
    loader = submission.there(training.shuffled, seed=seed, **cut)
    losses = [submission.train_epoch(model, loader, optimizer) for _ in range(2)]
    here, loader_here = recipes.model(kind, seed), training.shuffled(seed=seed, **cut)
    optimizer_here = recipes.optimizer(here, momentum)
    expected = [reference.per_example(*reference.train(here, loader_here, optimizer_here)) for _ in range(2)]
    assert_close(losses, expected, **CLOSE, what=f"mean losses of a model ({kind})", each="epoch 1")
    check_state(submission, model, here, kind)
    flags_there = submission.there(probes.training_flags, model)
    assert_equal(flags_there, probes.training_flags(here), what="training flags afterwards")


@exercise("training.train_epoch")
@pytest.mark.parametrize("cut", ["ragged", "drop_last"])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_mean_over_the_examples_seen(submission: Submission, cut: str, seed: int) -> None:
    """The result is the mean loss per example, a number, also when the last batch is short or left out."""
    check_epochs(submission, "mlp", LOADERS[cut], seed)


@exercise("training.train_epoch")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_even_batches_and_single_ones(submission: Submission, seed: int) -> None:
    """It works for equally large batches, a single batch, a single row and many batches: the mean loss per example,
    one step per batch."""
    for cut in ("even", "single_batch", "one_row", "many"):
        check_epochs(submission, "mlp", LOADERS[cut], seed)


@exercise("training.train_epoch")
@given(n=st.integers(5, 14), batch_size=st.integers(2, 5), seed=SEEDS)
@settings(max_examples=8)
def test_epochs_of_any_size(submission: Submission, n: int, batch_size: int, seed: int) -> None:
    """One pass: one step per batch, in the loader's order, for any number of rows."""
    check_epochs(submission, "mlp", {"count": n, "batch_size": batch_size}, seed)


@exercise("training.train_epoch")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_epochs_of_all_kinds_of_models(submission: Submission, seed: int) -> None:
    """With BatchNorm, Dropout, shared weights, frozen weights or hooks, an epoch gives the right loss, weights and
    buffers."""
    for kind in ("norm", "counted", "tied", "frozen", "hooked"):
        check_epochs(submission, kind, {"count": 14, "batch_size": 5}, seed)


@exercise("training.train_epoch", when="for a model that comes in eval mode")
@pytest.mark.parametrize("flags", ["eval", "outermost_eval", "one_eval"])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_trains_in_training_mode(submission: Submission, flags: str, seed: int) -> None:
    """A model that is in eval mode, whole or in part, is trained in training mode, and ends in training mode."""
    check_epochs(submission, "counted", {"count": 12, "batch_size": 6}, seed, flags=MODES[flags])


@exercise("training.train_epoch", when="with an optimizer with momentum")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_an_optimizer_with_a_memory(submission: Submission, seed: int) -> None:
    """The given optimizer takes every step: its momentum is kept from batch to batch and epoch to epoch."""
    check_epochs(submission, "mlp", {"count": 9, "batch_size": 3}, seed, momentum=0.9)


# ---------------------------------------------------------------- fit


def check_fit(
    submission: Submission, recipe: tuple[Any, ...], cut: dict[str, Any], epochs: int, lr: float, seed: int
) -> Remote:
    """Losses and model over there, which is returned, are those of plain SGD here."""
    words = {
        "with several epochs": epochs > 1,
        "with 0 epochs": epochs == 0,
        "with very large gradients": "scale" in cut,
    }
    situations(submission, words)
    make, *args = recipe
    model: Remote = submission.there(make, *args)
    loader = submission.there(training.shuffled, seed=seed, **cut)
    losses = submission.fit(model, loader, epochs=epochs, lr=lr)
    here, loader_here = make(*args), training.shuffled(seed=seed, **cut)
    optimizer = recipes.optimizer(here, lr=lr)
    expected = [loss for _ in range(epochs) for loss in reference.train(here, loader_here, optimizer)[0]]
    what = str(args[0]) if make is recipes.model else make.__name__.replace("_", " ")
    assert_close(losses, expected, **CLOSE, what=f"losses, with a model ({what})", each="batch 1")
    assert_close(losses[:1], expected[:1], **CLOSER, what=f"the first loss, with a model ({what})")
    check_state(submission, model, here, what)
    return model


@exercise("training.fit")
def test_the_six_losses_of_the_book(submission: Submission) -> None:
    """On the toy data of appendix A, 3 epochs with lr 0.5 give 0.75, 0.65, 0.44, 0.13, 0.03, 0.00."""
    model, loader = submission.there(training.appendix_a)
    losses = submission.fit(model, loader, 3, 0.5)
    assert_close(
        losses, [0.75, 0.65, 0.44, 0.13, 0.03, 0.00], rtol=0.0, atol=0.0051, what="losses to 2 decimals", each="batch 1"
    )


@exercise("training.fit")
@given(n=st.integers(1, 9), batch_size=st.integers(1, 4), epochs=st.integers(0, 3), drop_last=st.booleans(), seed=SEEDS)
@settings(max_examples=8)
def test_every_batch_of_every_epoch(
    submission: Submission, n: int, batch_size: int, epochs: int, drop_last: bool, seed: int
) -> None:
    """There is one loss per batch and epoch, in order, as numbers; 0 epochs give an empty list. The loader may give
    other batches in each epoch."""
    cut = {"count": n, "batch_size": batch_size, "drop_last": drop_last}
    check_fit(submission, (recipes.model, "mlp", seed), cut, epochs, 0.1, seed)


@exercise("training.fit")
@given(lr=st.sampled_from([0.5, 0.1, 0.003]), seed=SEEDS)
@settings(max_examples=3)
def test_plain_sgd_with_this_rate(submission: Submission, lr: float, seed: int) -> None:
    """The weights change by lr times the gradient of each batch, and by nothing else."""
    check_fit(submission, (recipes.model, "mlp", seed), {"count": 7, "batch_size": 3}, 3, lr, seed)


@exercise("training.fit", when="with large gradients, or a weight without any")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_nothing_but_the_gradient_counts(submission: Submission, seed: int) -> None:
    """Large gradients are not clipped, and a weight without influence on the loss stays as it is."""
    cut = {"count": 6, "batch_size": 3, "scale": 30.0}
    check_fit(submission, (recipes.model, "linear", seed), cut, 2, 0.01, seed)
    model = check_fit(submission, (training.with_idle_parameters, seed), {"count": 6, "batch_size": 3}, 3, 0.2, seed)
    check_idle(submission, model, seed)


@exercise("training.fit", when="over many epochs, with a loss near 0 or growing")
def test_it_never_stops_early(submission: Submission) -> None:
    """All epochs are run: also after the loss is 0 or nearly so, and while it grows."""
    check_fit(submission, (recipes.model, "linear", 0), {"count": 1, "batch_size": 1, "scale": 100.0}, 4, 5.0, 0)
    check_fit(submission, (recipes.model, "linear", 0), {"count": 2, "batch_size": 2}, 14, 5.0, 0)
    check_fit(submission, (recipes.model, "linear", 0), {"count": 8, "batch_size": 4}, 6, 6.0, 0)


def check_idle(submission: Submission, model: Remote, seed: int) -> None:
    """The weights that the loss does not depend on are exactly as before."""
    found, at_first = submission.there(probes.state, model), probes.state(training.with_idle_parameters(seed))
    for name in ("idle", "unused"):
        assert_equal(found[name], at_first[name], what=f"the weight `{name}`, on which the loss does not depend")


@exercise("training.fit")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_fit_of_all_kinds_of_models(submission: Submission, seed: int) -> None:
    """With BatchNorm, Dropout, shared weights, frozen weights or hooks, the losses, weights and buffers are right."""
    for kind in ("norm", "counted", "tied", "frozen", "hooked"):
        check_fit(submission, (recipes.model, kind, seed), {"count": 14, "batch_size": 5}, 2, 0.1, seed)


# ---------------------------------------------------------------- evaluate


@exercise("training.evaluate")
@pytest.mark.parametrize("cuts", [("ragged",), ("drop_last",), ("even", "single_batch", "one_row", "many")], ids=str)
@given(seed=SEEDS)
@settings(max_examples=1)
def test_loss_and_accuracy_per_example(submission: Submission, cuts: tuple[str, ...], seed: int) -> None:
    """The mean loss and the fraction right over all examples, each counting the same, as two numbers."""
    for cut in cuts:
        model = submission.there(recipes.model, "mlp", seed)
        found = submission.evaluate(model, submission.there(recipes.loader, seed=seed + 6, **LOADERS[cut]))
        expected = reference.measure(recipes.model("mlp", seed), recipes.loader(seed=seed + 6, **LOADERS[cut]))
        assert_close(found, expected, **CLOSER, what="evaluate", each=("the loss", "the accuracy"))


@exercise("training.evaluate")
@given(n=st.integers(1, 12), batch_size=st.integers(1, 5), seed=SEEDS)
@settings(max_examples=10)
def test_any_number_of_rows(submission: Submission, n: int, batch_size: int, seed: int) -> None:
    """The two numbers are right for any number of rows and any batch size."""
    model = submission.there(recipes.model, "norm", seed)
    found = submission.evaluate(model, submission.there(recipes.loader, n, batch_size, seed))
    expected = reference.measure(recipes.model("norm", seed), recipes.loader(n, batch_size, seed))
    assert_close(found, expected, **CLOSE, what="evaluate", each=("the loss", "the accuracy"))


@exercise("training.evaluate", when="with a model that runs otherwise in eval mode")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_measured_in_eval_mode(submission: Submission, seed: int) -> None:
    """The model runs in eval mode, with its hooks: no dropout, and BatchNorm uses its running statistics."""
    for kind in ("norm", "dropout", "functional", "tied", "hooked"):
        submission.there(probes.start_global, 0)
        model = submission.there(recipes.model, kind, seed)
        found = submission.evaluate(model, submission.there(recipes.loader, 12, 4, seed + 7))
        expected = reference.measure(recipes.model(kind, seed), recipes.loader(12, 4, seed + 7))
        assert_close(found, expected, **CLOSE, what=f"of a model ({kind})", each=("the loss", "the accuracy"))


def check_as_before(submission: Submission, model: Remote, here: nn.Module) -> None:
    """A model over there equals a model here that nothing was done to."""
    flags = submission.there(probes.training_flags, model)
    assert_equal(flags, probes.training_flags(here), what="training flags afterwards")
    assert_equal(submission.there(probes.state, model), probes.state(here), what="parameters and buffers afterwards")
    assert_equal(submission.there(probes.model_grads, model), probes.model_grads(here), what="gradients afterwards")
    trainable = submission.there(probes.trainable, model)
    assert_equal(trainable, probes.trainable(here), what="which parameters require a gradient afterwards")


@exercise("training.evaluate")
@pytest.mark.parametrize("flags", MODES)
@given(seed=SEEDS)
@settings(max_examples=1)
def test_model_is_as_before(submission: Submission, flags: str, seed: int) -> None:
    """Parameters, buffers, gradients and every training flag are the same as before."""
    submission.there(probes.start_global, 0)
    model, here = (
        submission.there(recipes.model, "dropout", seed, MODES[flags]),
        recipes.model("dropout", seed, MODES[flags]),
    )
    model = submission.there(recipes.with_stale_grads, model, seed)
    found = submission.evaluate(model, submission.there(recipes.loader, 8, 4, seed + 8))
    untouched = recipes.with_stale_grads(recipes.model("dropout", seed, MODES[flags]), seed)
    assert_close(
        found,
        reference.measure(here, recipes.loader(8, 4, seed + 8)),
        **CLOSE,
        what="evaluate",
        each=("the loss", "the accuracy"),
    )
    check_as_before(submission, model, untouched)


PARTS = [{}, {"": False}, {"inner": False}, {"": False, "first": False, "inner": False, "last": False}]
"""Training flags of a model that shows how it ran (`training.mode_dependent_model`)."""


@exercise("training.evaluate", when="in whether gradients are recorded, the mode of the model, or its hooks")
@given(seed=SEEDS, flags=st.sampled_from(PARTS), batch_size=st.integers(1, 4))
@settings(max_examples=6)
def test_no_gradients_are_recorded(submission: Submission, seed: int, flags: dict[str, bool], batch_size: int) -> None:
    """The model runs in eval mode, with its hooks, and records no gradients: here its logits show that. Afterwards it
    runs as before."""
    model, loader = (training.mode_dependent_model, seed, flags), (recipes.loader, 6, batch_size, seed)
    there, here = submission.there(*model), training.mode_dependent_model(seed, flags)
    found = submission.evaluate(there, submission.there(*loader))
    assert_close(
        found,
        reference.measure(here, recipes.loader(*loader[1:])),
        **CLOSER,
        what="evaluate",
        each=("the loss", "the accuracy"),
    )
    check_runs_as_before(there, seed, flags)


def check_runs_as_before(model: Remote, seed: int, flags: dict[str, bool]) -> None:
    """A `training.mode_dependent_model` gives the same output as at first."""
    x = recipes.normal((2, recipes.FEATURES), seed)
    expected = training.mode_dependent_model(seed, flags)(x).detach()
    assert_close(model(x).detach(), expected, what="what model(x) gives afterwards, in the mode that it was in")


AFTERWARDS = pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])


@exercise("training.evaluate")
@AFTERWARDS
def test_all_is_as_before(submission: Submission, recording: bool) -> None:
    """Of parts within parts too: flags, frozen weights and gradients; whether gradients are recorded is as the caller
    had it, off or on."""
    loader = submission.there(recipes.loader, 8, 4, 3)
    found = submission.there(restoring.after, submission.evaluate, recording, loader)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")


@exercise("training.evaluate", when="from the second call with the same model on")
def test_the_same_model_with_other_weights(submission: Submission) -> None:
    """Called again for the same model and loader, it measures the weights that the model has by then."""
    loader = submission.there(recipes.loader, 8, 4, 3)
    found = submission.there(restoring.before_and_after_a_change, submission.evaluate, loader)
    expected = restoring.before_and_after_a_change(reference.measure, recipes.loader(8, 4, 3))
    assert_close(found, expected, **CLOSE, what="(loss, accuracy)", each=TWO_CALLS)


# ---------------------------------------------------------------- predict_proba, predict_labels


def logits_here(kind: str, seed: int, x: Tensor) -> Tensor:
    """The model's logits in eval mode, worked out here."""
    with torch.no_grad():
        return recipes.model(kind, seed).eval()(x)  # type: ignore[no-any-return]


@exercise("training.predict_proba")
@given(n=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=15)
def test_rows_are_probabilities(submission: Submission, n: int, seed: int) -> None:
    """Each row is the softmax of that example's logits, and sums to 1."""
    x = recipes.normal((n, 4), seed)
    found = submission.predict_proba(submission.there(recipes.model, "mlp", seed), x)
    assert_close(found, logits_here("mlp", seed, x).softmax(dim=1))


@exercise("training.predict_labels")
@given(n=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=15)
def test_the_largest_logit(submission: Submission, n: int, seed: int) -> None:
    """Entry i is the class with the largest logit of example i: int64, one per example."""
    x = 3 * recipes.normal((n, 4), seed)
    found = submission.predict_labels(submission.there(recipes.model, "mlp", seed), x)
    assert_equal(found, logits_here("mlp", seed, x).argmax(dim=1))


@exercise("training.predict_proba", when="with a model that runs otherwise in eval mode")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_probabilities_in_eval_mode(submission: Submission, seed: int) -> None:
    """The model runs in eval mode, with its hooks; x may have any memory layout."""
    x = recipes.normal((4, 7), seed).T
    for kind in ("norm", "dropout", "functional", "tied", "hooked"):
        submission.there(probes.start_global, 0)
        found = submission.predict_proba(submission.there(recipes.model, kind, seed), x)
        assert_close(found, logits_here(kind, seed, x).softmax(dim=1), what=f"probabilities by a model ({kind})")


@exercise("training.predict_labels", when="with a model that runs otherwise in eval mode")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_labels_in_eval_mode(submission: Submission, seed: int) -> None:
    """The model runs in eval mode, with its hooks; x may have any memory layout."""
    x = 3 * recipes.normal((4, 25), seed).T
    for kind in ("norm", "dropout", "functional", "tied", "hooked"):
        submission.there(probes.start_global, 0)
        found = submission.predict_labels(submission.there(recipes.model, kind, seed), x)
        assert_equal(found, logits_here(kind, seed, x).argmax(dim=1), what=f"labels by a model ({kind})")


def check_left_alone(submission: Submission, name: str, flags: str, seed: int) -> None:
    """A prediction leaves the model as it was."""
    x = recipes.normal((4, 4), seed)
    submission.there(probes.start_global, 0)
    model = submission.there(recipes.model, "dropout", seed, MODES[flags])
    model = submission.there(recipes.with_stale_grads, model, seed)
    getattr(submission, name)(model, x)
    check_as_before(submission, model, recipes.with_stale_grads(recipes.model("dropout", seed, MODES[flags]), seed))


@exercise("training.predict_proba")
@pytest.mark.parametrize("flags", MODES)
@given(seed=SEEDS)
@settings(max_examples=1)
def test_model_is_as_before_probabilities(submission: Submission, flags: str, seed: int) -> None:
    """Training flags, parameters, buffers and gradients of the model and of each submodule are the same as before."""
    check_left_alone(submission, "predict_proba", flags, seed)


@exercise("training.predict_labels")
@pytest.mark.parametrize("flags", MODES)
@given(seed=SEEDS)
@settings(max_examples=1)
def test_model_is_as_before_labels(submission: Submission, flags: str, seed: int) -> None:
    """Training flags, parameters, buffers and gradients of the model and of each submodule are the same as before."""
    check_left_alone(submission, "predict_labels", flags, seed)


@exercise("training.predict_proba")
@AFTERWARDS
def test_all_is_as_before_probabilities(submission: Submission, recording: bool) -> None:
    """Of parts within parts too: flags, frozen weights and gradients; whether gradients are recorded is as the caller
    had it, off or on."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.after, submission.predict_proba, recording, x)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")


@exercise("training.predict_labels")
@AFTERWARDS
def test_all_is_as_before_labels(submission: Submission, recording: bool) -> None:
    """Of parts within parts too: flags, frozen weights and gradients; whether gradients are recorded is as the caller
    had it, off or on."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.after, submission.predict_labels, recording, x)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")


def in_eval_mode(model: nn.Module, x: Tensor) -> Tensor:
    """The model's logits without dropout."""
    with torch.no_grad():
        return model.eval()(x)  # type: ignore[no-any-return]


@exercise("training.predict_proba", when="from the second call with the same model on")
def test_probabilities_of_other_weights(submission: Submission) -> None:
    """Called again with the same model and x, it gives the probabilities of the weights that the model has by then."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.before_and_after_a_change, submission.predict_proba, x)
    expected = [logits.softmax(dim=1) for logits in restoring.before_and_after_a_change(in_eval_mode, x)]
    assert_close(found, expected, what="probabilities", each=TWO_CALLS)


@exercise("training.predict_labels", when="from the second call with the same model on")
def test_labels_of_other_weights(submission: Submission) -> None:
    """Called again with the same model and x, it gives the classes by the weights that the model has by then."""
    x = recipes.normal((9, recipes.FEATURES), 3)
    found = submission.there(restoring.before_and_after_a_change, submission.predict_labels, x)
    expected = [logits.argmax(dim=1) for logits in restoring.before_and_after_a_change(in_eval_mode, x)]
    assert_equal(found, expected, what="labels", each=TWO_CALLS)


def mode_dependent_logits(seed: int, x: Tensor) -> Tensor:
    """The logits of a `training.mode_dependent_model` in eval mode, without gradients."""
    with torch.no_grad():
        return training.mode_dependent_model(seed).eval()(x)  # type: ignore[no-any-return]


@exercise("training.predict_proba", when="in whether gradients are recorded, the mode of the model, or its hooks")
@given(seed=SEEDS, flags=st.sampled_from(PARTS))
@settings(max_examples=6)
def test_no_gradients_for_probabilities(submission: Submission, seed: int, flags: dict[str, bool]) -> None:
    """The model runs in eval mode, with its hooks, and records no gradients: here its logits show that. Afterwards it
    runs as before."""
    x = recipes.normal((3, recipes.FEATURES), seed + 2)
    model = submission.there(training.mode_dependent_model, seed, flags)
    found = submission.predict_proba(model, x)
    assert_close(found, mode_dependent_logits(seed, x).softmax(dim=1))
    assert_that(not found.requires_grad, "the result requires grad")
    check_runs_as_before(model, seed, flags)


@exercise("training.predict_labels", when="in whether gradients are recorded, the mode of the model, or its hooks")
@given(seed=SEEDS, flags=st.sampled_from(PARTS))
@settings(max_examples=6)
def test_no_gradients_for_labels(submission: Submission, seed: int, flags: dict[str, bool]) -> None:
    """The model runs in eval mode, with its hooks, and records no gradients: here its logits show that. Afterwards it
    runs as before."""
    x = recipes.normal((12, recipes.FEATURES), seed + 2)
    model = submission.there(training.mode_dependent_model, seed, flags)
    assert_equal(submission.predict_labels(model, x), mode_dependent_logits(seed, x).argmax(dim=1))
    check_runs_as_before(model, seed, flags)


@exercise("training.predict_proba", when="for a model in float64")
@settings(max_examples=1)
@given(seed=SEEDS)
def test_probabilities_of_float64(submission: Submission, seed: int) -> None:
    """A model in float64 gives a result in float64."""
    x = recipes.normal((3, recipes.FEATURES), seed, torch.float64)
    found = submission.there(restoring.in_float64, submission.predict_proba, "mlp", seed, x)
    with torch.no_grad():
        expected = restoring.in_float64(lambda model, x: model(x).softmax(dim=1), "mlp", seed, x)
    assert_close(found, expected, rtol=1e-12, atol=1e-12)


@exercise("training.predict_proba", when="for logits that are very large, of three dims")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_large_logits_and_three_dimensions(submission: Submission, seed: int) -> None:
    """x may have any shape (n, ...), and logits may be so large that exp of them overflows: rows still sum to 1."""
    x = 2000 * recipes.normal((5, 2, recipes.FEATURES), seed)
    found = submission.predict_proba(submission.there(training.of_sequences, seed), x)
    with torch.no_grad():
        assert_close(found, training.of_sequences(seed)(x).softmax(dim=1))


@exercise("training.predict_labels", when="for features of three dims")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_labels_of_three_dimensions(submission: Submission, seed: int) -> None:
    """x may have any shape (n, ...), and the model gets it as it is."""
    x = 3 * recipes.normal((9, 2, recipes.FEATURES), seed)
    found = submission.predict_labels(submission.there(training.of_sequences, seed), x)
    with torch.no_grad():
        assert_equal(found, training.of_sequences(seed)(x).argmax(dim=1))


# ---------------------------------------------------------------- fit_best


class Run(NamedTuple):
    """A training run with validation: how it is built, over there and here."""

    kind: str
    seed: int
    lr: float
    epochs: int = 6
    zeros: bool = False
    flags: str = "train"

    @property
    def loaders(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The maker of the two loaders; the first one has other batches in each epoch."""
        val = {"count": 9, "batch_size": 4, "seed": self.seed + 100, "zeros": self.zeros}
        return (training.shuffled, {"count": 10, "batch_size": 5, "seed": self.seed}), (recipes.loader, val)

    @property
    def recipe(self) -> tuple[Any, ...]:
        """The maker of the model."""
        own = {"unbiased": training.unbiased, "idle": training.with_idle_parameters}
        if self.kind in own:
            return own[self.kind], self.seed
        return recipes.model, self.kind, self.seed, MODES[self.flags]

    def check(self, submission: Submission, best: int) -> Remote:
        """The loss that is returned and the model that is left, which is returned, are those of the best epoch."""
        model: Remote = submission.there(*self.recipe)
        loaders = [submission.there(make, **cut) for make, cut in self.loaders]
        found = submission.fit_best(model, *loaders, epochs=self.epochs, lr=self.lr)
        expected = trajectory(self)[best]
        assert_close(found, expected.val_loss, **CLOSE, what=f"the lowest validation loss, with a model ({self.kind})")
        state = submission.there(probes.state, model)
        assert_close(
            state, expected.state, **CLOSE, what=f"the model ({self.kind}) afterwards, compared with epoch {best + 1}"
        )
        assert_that(submission.there(training.grad_enabled), "the recording of gradients is switched off afterwards")
        return model


@lru_cache(maxsize=256)
def trajectory(run: Run) -> list[Epoch]:
    """The expected results of each epoch of a run."""
    recipe, *args = run.recipe
    train, val = (make(**cut) for make, cut in run.loaders)
    return epochs_of(recipe(*args), train, val, run.epochs, run.lr)


@lru_cache(maxsize=256)
def clear_run(kind: str, seed: int, lr: float, want: str) -> tuple[int, int]:
    """The first seed from this one on whose best epoch is clear and in the wanted place, and that epoch's index.

    Args:
        want: "first", "middle", "last", "any", or "dip": some epoch before the best one is worse than one before it.
    """
    for candidate in count(seed):
        losses = [epoch.val_loss for epoch in trajectory(Run(kind, candidate, lr))]
        best = losses.index(min(losses))
        clear = all(loss > losses[best] + 0.01 for i, loss in enumerate(losses) if i != best)
        places = {"any", "first" if best == 0 else "last" if best == len(losses) - 1 else "middle"}
        if any(losses[i] > losses[i - 1] + 0.01 for i in range(1, best)):
            places.add("dip")
        if clear and want in places:
            return candidate, best
    raise AssertionError("unreachable")


@exercise("training.fit_best")
@pytest.mark.parametrize("want", ["first", "middle", "last", "dip"])
def test_the_best_epoch_is_kept(submission: Submission, want: str) -> None:
    """The model has the weights and buffers of the epoch with the lowest validation loss, whichever epoch that is."""
    for kind in ("mlp", "norm"):
        seed, best = clear_run(kind, 21 if kind == "mlp" and want in ("last", "dip") else 0, 1.0, want)
        Run(kind, seed, 1.0).check(submission, best)


@exercise("training.fit_best")
@given(seed=SEEDS)
@settings(max_examples=4)
def test_the_best_epoch_of_any_run(submission: Submission, seed: int) -> None:
    """The lowest validation loss is per example, measured in eval mode after each epoch, and belongs to the model."""
    seed, best = clear_run("norm", seed, 0.7, "middle")
    Run("norm", seed, 0.7).check(submission, best)


@exercise("training.fit_best")
def test_best_of_all_kinds_of_models(submission: Submission) -> None:
    """Dropout is on in training and off in validation; it also works with shared weights, frozen weights and hooks."""
    for kind in ("counted", "tied", "frozen", "hooked"):
        seed, best = clear_run(kind, 99 if kind == "frozen" else 0, 1.0, "middle")
        Run(kind, seed, 1.0).check(submission, best)


@exercise("training.fit_best", when="for a model that comes in eval mode")
@pytest.mark.parametrize("flags", ["eval", "one_eval"])
def test_it_trains_in_training_mode(submission: Submission, flags: str) -> None:
    """A model that is in eval mode, whole or in part, is trained in training mode from the first epoch on."""
    seed, best = clear_run("counted", 0, 1.0, "middle")
    Run("counted", seed, 1.0, flags=flags).check(submission, best)


@exercise("training.fit_best", when="with a weight on which the loss does not depend")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_best_of_plain_sgd(submission: Submission, seed: int) -> None:
    """A weight without influence on the loss stays as it is: there is no weight decay."""
    seed, best = clear_run("idle", seed, 0.5, "any")
    check_idle(submission, Run("idle", seed, 0.5).check(submission, best), seed)


@exercise("training.fit_best", when="with epochs of equal validation loss")
def test_the_first_of_equal_epochs(submission: Submission) -> None:
    """If all epochs have the same validation loss, the first one is kept."""
    Run("unbiased", 3, 0.5, epochs=3, zeros=True).check(submission, 0)


@exercise("training.fit_best", when="when the last of many epochs is the best")
def test_a_late_best_epoch_is_kept(submission: Submission) -> None:
    """All epochs are run: the last of 16 may be the best one, after 14 that were no better than the first."""
    run = Run("mlp", 119, 1.0, epochs=16)
    losses = [epoch.val_loss for epoch in trajectory(run)]
    assert losses[15] + 0.01 < losses[0] < min(losses[1:15]), losses
    run.check(submission, 15)


@exercise("training.fit_best", when="when the model before training was better than every epoch")
def test_the_model_before_training_takes_no_part(submission: Submission) -> None:
    """Even if no epoch is better than the model before training, the best epoch is kept, not that model."""
    run, best = worsening_run()
    run.check(submission, best)


@lru_cache(maxsize=1)
def worsening_run() -> tuple[Run, int]:
    """A run whose epochs are all clearly worse than the model before it, and the index of the best of them."""
    for run in (Run("mlp", seed, 3.0, epochs=2) for seed in count()):
        recipe, *args = run.recipe
        at_first, _ = reference.measure(recipe(*args), recipes.loader(**run.loaders[1][1]))
        losses = [epoch.val_loss for epoch in trajectory(run)]
        if at_first + 0.1 < min(losses) and min(losses) + 0.05 < max(losses):
            return run, losses.index(min(losses))
    raise AssertionError("unreachable")


@exercise("training.fit_best", when="when each epoch is better by very little")
def test_a_little_better_is_better(submission: Submission) -> None:
    """With a small learning rate each epoch is better than the one before by a little, so the last one is kept."""
    run = Run("mlp", 4, 0.0005, epochs=5)
    losses = [epoch.val_loss for epoch in trajectory(run)]
    assert all(1e-6 < before - later < 1e-3 for before, later in pairwise(losses)), losses
    model = submission.there(*run.recipe)
    loaders = [submission.there(make, **cut) for make, cut in run.loaders]
    found = submission.fit_best(model, *loaders, epochs=5, lr=run.lr)
    assert_close(found, losses[-1], rtol=1e-6, atol=5e-7, what="the lowest validation loss")
    state = submission.there(probes.state, model)
    assert_close(state, trajectory(run)[-1].state, rtol=1e-6, atol=1e-6, what="the model afterwards, of the last epoch")


@exercise("training.fit_best", when="with a single epoch")
def test_a_single_epoch(submission: Submission) -> None:
    """With one epoch, that epoch is the best one, and its loss is returned as a number."""
    Run("norm", 5, 0.1, epochs=1).check(submission, 0)


# ---------------------------------------------------------------- clip_and_step


def check_clipped(
    submission: Submission, kind: str, max_norm: float, seed: int, *, scale: float = 1.0, momentum: float = 0.0
) -> None:
    """Three clipped steps over there give the norms and the model of three steps here."""
    words = {"with gradients that are too large": scale > 1 or max_norm < 0.2, "with small gradients": max_norm > 10}
    situations(submission, words)
    batches = recipes.batches([4, 3, 5], seed=seed)
    model = submission.there(recipes.model, kind, seed)
    optimizer = submission.there(recipes.optimizer, model, momentum)
    norms = submission.there(
        training.clipped_steps, submission.clip_and_step, model, optimizer, batches, max_norm, scale=scale
    )
    here = recipes.model(kind, seed)
    optimizer_here = recipes.optimizer(here, momentum)
    expected = training.clipped_steps(clipped, here, optimizer_here, batches, max_norm, scale=scale)
    assert_close(norms, expected, **CLOSE, what=f"norms before clipping, of a model ({kind})", each="step 1")
    check_state(submission, model, here, kind)


@exercise("training.clip_and_step")
@given(max_norm=st.sampled_from([0.01, 0.1, 0.5, 1.0, 100.0]), seed=SEEDS)
@settings(max_examples=10)
def test_norm_and_step(submission: Submission, max_norm: float, seed: int) -> None:
    """The result is the norm of all gradients before clipping, a number; the step uses the clipped gradients."""
    check_clipped(submission, "mlp", max_norm, seed)


@exercise("training.clip_and_step")
@pytest.mark.parametrize("scale", [50.0, 0.1], ids=["large", "small"])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_only_large_gradients_are_scaled(submission: Submission, scale: float, seed: int) -> None:
    """Gradients with a norm above max_norm are scaled down together; otherwise they are used unchanged."""
    check_clipped(submission, "mlp", 1.0, seed, scale=scale)


@exercise("training.clip_and_step")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_clipping_of_all_kinds_of_models(submission: Submission, seed: int) -> None:
    """A shared weight counts once in the norm, a frozen one does not count."""
    for kind in ("norm", "tied", "frozen", "hooked"):
        check_clipped(submission, kind, 0.3, seed, scale=4.0)


@exercise("training.clip_and_step", when="with an optimizer with momentum")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_clipped_steps_of_an_optimizer_with_a_memory(submission: Submission, seed: int) -> None:
    """The given optimizer takes the steps: its momentum is computed from the clipped gradients."""
    check_clipped(submission, "mlp", 0.2, seed, scale=3.0, momentum=0.9)


@exercise("training.clip_and_step", when="with an optimizer with several groups")
@given(seed=SEEDS)
@settings(max_examples=3)
def test_all_groups_are_clipped_together(submission: Submission, seed: int) -> None:
    """The norm is that of all gradients, also if the optimizer has several groups of parameters; a parameter may have
    no gradient."""
    for recipe in ((training.of_sequences, seed), (training.with_idle_parameters, seed)):
        make, *args = recipe
        shape = (4, 2, recipes.FEATURES) if make is training.of_sequences else (4, recipes.FEATURES)
        batches = [(3 * recipes.normal(shape, seed + i), recipes.labels(4, seed=seed + i)) for i in range(3)]
        model, here = submission.there(make, *args), make(*args)
        optimizer, optimizer_here = submission.there(training.grouped_sgd, model), training.grouped_sgd(here)
        norms = submission.there(
            training.clipped_steps, submission.clip_and_step, model, optimizer, batches, max_norm=0.3, scale=2.0
        )
        expected = training.clipped_steps(clipped, here, optimizer_here, batches, max_norm=0.3, scale=2.0)
        assert_close(norms, expected, **CLOSE, what="norms before clipping", each="step 1")
        check_state(submission, model, here, "in groups")


# ---------------------------------------------------------------- init_weights


def initialized(model: nn.Module, seed: int) -> dict[str, Tensor]:
    """The state that a model should have after `init_weights` with a generator of that seed."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear):
                bound = (6 / module.in_features) ** 0.5
                module.weight.copy_((2 * torch.rand(module.weight.shape, generator=generator) - 1) * bound)
                if module.bias is not None:
                    module.bias.zero_()
    return probes.state(model)


def check_weights(submission: Submission, make: Any, *args: Any, seed: int) -> None:
    model, generator = submission.there(make, *args), submission.there(training.generator, seed)
    submission.there(probes.start_global, seed)
    submission.init_weights(model, generator)
    assert_global_numbers(submission, seed, why="draw from the generator that is passed")
    here = make(*args)
    assert_close(submission.there(probes.state, model), initialized(here, seed), **CLOSER, what="the model afterwards")
    trainable = submission.there(probes.trainable, model)
    assert_equal(trainable, probes.trainable(here), what="which parameters require gradients afterwards")


@exercise("training.init_weights")
@given(sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4), bias=st.booleans(), seed=SEEDS)
@settings(max_examples=6)
def test_uniform_to_the_bound(submission: Submission, sizes: list[int], bias: bool, seed: int) -> None:
    """Weights are uniform up to the square root of 6 / fan_in, drawn from the generator layer by layer, in the order of
    modules(); biases, if there are any, are 0; torch's global generator is left alone."""
    check_weights(submission, training.linear_layers, sizes, bias, seed, seed=seed)


@exercise("training.init_weights", when="for layers inside other modules")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_linear_layers_at_any_depth(submission: Submission, seed: int) -> None:
    """Linear layers inside other modules get new weights, too, and layers of other kinds stay as they are."""
    check_weights(submission, training.many_layers, seed, seed=seed)


@exercise("training.init_weights", when="with a frozen layer, or a single one")
@pytest.mark.parametrize("kind", ["frozen", "linear"])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_frozen_layers_and_a_layer_alone(submission: Submission, kind: str, seed: int) -> None:
    """A frozen layer gets new weights and stays frozen; the model may be a single linear layer."""
    check_weights(submission, recipes.model, kind, seed, seed=seed)


@exercise("training.init_weights", when="in the parameters afterwards")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_weights_can_be_trained(submission: Submission, seed: int) -> None:
    """The parameters are the same tensors as before, leaves without a gradient: an optimizer that has them goes on."""
    model, generator = submission.there(recipes.model, "mlp", seed), submission.there(training.generator, seed)
    kept = submission.there(training.kept_parameters, submission.init_weights, model, generator)
    assert_that(kept is True, "the parameters are other tensors than before, or part of a graph: write into them")
    recording = submission.there(training.grad_enabled)
    assert_that(recording, "the recording of gradients is switched off afterwards, for everything that follows")


# ---------------------------------------------------------------- parameter_groups


def check_groups(submission: Submission, make: Any, *args: Any, weight_decay: float) -> None:
    model = submission.there(make, *args)
    groups = submission.there(training.groups, submission.parameter_groups, model, weight_decay)
    trainable = dict(make(*args).named_parameters())
    names = {name: parameter.dim() for name, parameter in trainable.items() if parameter.requires_grad}
    decays = {name: [weight_decay if dims >= 2 else 0.0] for name, dims in names.items()}
    are_lists = all(decay != "no list" for decay, _, _ in groups)
    assert_that(are_lists, "the params of a group are no list: a generator, for one, is used up by whoever looks first")
    assert_equal(sorted(decay for decay, _, _ in groups), [0.0, weight_decay], what="weight_decay of the groups")
    found: dict[str, list[float]] = {}
    for decay, members, _ in groups:
        for name in members:
            found.setdefault(name, []).append(decay)
    twice = [name for name, each in found.items() if len(each) > 1]
    assert_that(not twice, f"of the parameters, these are there more than once: {', '.join(twice)}")
    assert_equal(found, decays, what="the weight_decay of each parameter")
    rates = [rate for _, _, rate in groups]
    assert_equal(rates, [0.5, 0.5], what="the learning rates of the groups in an optimizer with lr=0.5")
    trainable_now = submission.there(probes.trainable, model)
    assert_equal(trainable_now, probes.trainable(make(*args)), what="which parameters require gradients afterwards")


@exercise("training.parameter_groups")
@pytest.mark.parametrize("kind", ["mlp", "norm", "buffers"])
@given(weight_decay=st.sampled_from([0.01, 0.1, 0.5]), seed=SEEDS)
@settings(max_examples=2)
def test_matrices_decay_and_others_do_not(submission: Submission, kind: str, weight_decay: float, seed: int) -> None:
    """Two groups that an optimizer takes: parameters of two or more dims with weight_decay, all others with 0.0."""
    check_groups(submission, recipes.model, kind, seed, weight_decay=weight_decay)


@exercise("training.parameter_groups", when="for convolutions, embeddings and parameters without dims")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_parameters_of_any_number_of_dims(submission: Submission, seed: int) -> None:
    """Convolutions and embeddings decay; a parameter without dims does not. What counts is the number of dims, not the
    name or the kind of layer."""
    check_groups(submission, training.many_layers, seed, weight_decay=0.1)


@exercise("training.parameter_groups", when="for a model without biases")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_a_group_without_parameters(submission: Submission, seed: int) -> None:
    """There are two groups also if one of them has no parameters, as in a model without biases."""
    check_groups(submission, training.linear_layers, [3, 4, 2], False, seed, weight_decay=0.1)


@exercise("training.parameter_groups")
@pytest.mark.parametrize("kind", ["tied", "frozen"])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_each_trainable_parameter_once(submission: Submission, kind: str, seed: int) -> None:
    """A parameter that layers share is in one group, once; frozen parameters are in none."""
    check_groups(submission, recipes.model, kind, seed, weight_decay=0.1)


@exercise("training.parameter_groups", when="in the model afterwards")
def test_grouping_changes_nothing(submission: Submission) -> None:
    """The model is only looked at: its numbers, gradients and flags are afterwards what they were."""
    found = submission.there(restoring.after, submission.parameter_groups, True, 0.1)
    assert_equal(found, restoring.untouched(True), what="the model and torch afterwards")


# ---------------------------------------------------------------- warmup_cosine


def rate_of_step(step: int, warmup: int, total: int, peak: float, floor: float) -> float:
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    angle = math.pi * min(1.0, (step - warmup) / (total - 1 - warmup))
    return floor + (peak - floor) * 0.5 * (1 + math.cos(angle))


def steps_in_words(step: int, warmup: int, total: int, floor: float) -> dict[str, object]:
    """The situation of a step, in words."""
    return {
        "during the warm-up": step < warmup,
        "at the peak": step == warmup,
        "in the first step without a warm-up": step == warmup == 0,
        "on the way down": warmup < step < total - 1,
        "in the last step": step == total - 1,
        "after the last step": step >= total,
        "from the peak on": step >= warmup,
        "after the peak": step > warmup,
        "from the last step on": step >= total - 1,
        "with a floor": floor > 0,
    }


@exercise("training.warmup_cosine")
def test_eight_steps(submission: Submission) -> None:
    """Three steps up, the peak, and four down: nine rates."""
    rates = [submission.warmup_cosine(step, 3, 8, 2.0) for step in range(9)]
    expected = [0.5, 1.0, 1.5, 2.0, 1.7071, 1.0, 0.2929, 0.0, 0.0]
    assert_close(rates, expected, atol=1e-4, what="the rates", each="step 0")


@exercise("training.warmup_cosine")
@given(
    warmup=st.integers(0, 5),
    after=st.integers(2, 8),
    peak=st.sampled_from([1.0, 3e-2, 0.5]),
    share=st.sampled_from([0.0, 0.1, 0.5]),
    past=st.integers(1, 20),
)
@settings(max_examples=8)
def test_rate_of_each_step(
    submission: Submission, warmup: int, after: int, peak: float, share: float, past: int
) -> None:
    """A straight line up to the peak at step warmup, half a cosine down to floor at step total - 1, and floor after it,
    as Python floats; without warm-up the first step has the peak."""
    total, floor = warmup + after, share * peak
    for step in (*range(total), total, total + past):
        situations(submission, steps_in_words(step, warmup, total, floor))
        expected = rate_of_step(step, warmup, total, peak, floor)
        assert_close(submission.warmup_cosine(step, warmup, total, peak, floor), expected, rtol=1e-6, atol=1e-9)


@exercise("training.warmup_cosine", when="with the default floor")
@given(warmup=st.integers(0, 3), peak=st.sampled_from([0.1, 1.0]))
@settings(max_examples=3)
def test_floor_is_zero_by_default(submission: Submission, warmup: int, peak: float) -> None:
    """Without a floor the rate falls to 0."""
    total = warmup + 4
    for step in (total - 2, total - 1, total):
        situations(submission, steps_in_words(step, warmup, total, 0.0))
        expected = rate_of_step(step, warmup, total, peak, 0.0)
        assert_close(submission.warmup_cosine(step, warmup, total, peak), expected, rtol=1e-6, atol=1e-9)


@exercise("training.warmup_cosine", when="for impossible counts")
@pytest.mark.parametrize(("warmup", "total"), [(-1, 5), (4, 4), (6, 3), (0, 0), (2, -3)])
def test_impossible_counts(submission: Submission, warmup: int, total: int) -> None:
    """A negative warmup, or a total that is not larger than warmup, is a ValueError, whatever the step is."""
    for step in (0, 3, 9):
        with raises(ValueError):
            submission.warmup_cosine(step, warmup, total, 0.1)


@picture(
    "training.warmup_cosine",
    title="Learning rate of each step: it rises to its peak in a line, then falls as half a cosine",
)
def rate_per_step(submission: Submission) -> Lines:
    rates = [submission.warmup_cosine(step, 10, 60, 0.1, 0.01) for step in range(60)]
    peak = Spot(10, rates[10], "the peak, after the warm-up")
    return Lines(series={"learning rate": rates}, x=range(60), marked=peak, x_label="step", y_label="learning rate")


# ---------------------------------------------------------------- experiment

APPENDIX_A: dict[str, list[Any]] = {
    "TRAIN_FEATURES": [[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]],
    "TRAIN_LABELS": [0, 0, 0, 1, 1],
    "TEST_FEATURES": [[-0.8, 2.8], [2.6, -1.6]],
    "TEST_LABELS": [0, 1],
}


def toy_data(train: int, test: int, seed: int) -> dict[str, list[Any]]:
    """Other data in the same form; the first two training rows differ in their labels only, so one is not learned."""
    x, y = (2 * recipes.normal((train + test, 2), seed)).tolist(), recipes.labels(train + test, 2, seed + 1).tolist()
    x[1], y[1] = x[0], 1 - y[0]
    return {
        "TRAIN_FEATURES": x[:train],
        "TRAIN_LABELS": y[:train],
        "TEST_FEATURES": x[train:],
        "TEST_LABELS": y[train:],
    }


def experiment_here(data: dict[str, list[Any]], seed: int) -> dict[str, object]:
    """The result of the experiment."""
    x, y = torch.tensor(data["TRAIN_FEATURES"]), torch.tensor(data["TRAIN_LABELS"])
    test = torch.tensor(data["TEST_FEATURES"]), torch.tensor(data["TEST_LABELS"])
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        net = nn.Sequential(nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 2))
        rows = recipes.Rows(list(zip(x, y, strict=True)))
        loader = torch.utils.data.DataLoader(rows, 2, shuffle=True, drop_last=True)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        losses = [loss for _ in range(3) for loss in reference.train(net, loader, optimizer)[0]]
    accuracies = [reference.measure(net, [pair])[1] for pair in ((x, y), test)]
    with torch.no_grad():
        probabilities = net(x).softmax(dim=1)
    return {
        "losses": losses,
        "train_accuracy": accuracies[0],
        "test_accuracy": accuracies[1],
        "probabilities": probabilities,
    }


@exercise("training.experiment")
def test_appendix_a(submission: Submission) -> None:
    """With the data and the seed 123 of appendix A, which is the default, the losses are 0.75, 0.65, 0.44, 0.13, 0.03,
    0.00, and all rows are classified correctly; the probabilities have no graph."""
    found = submission.there(training.with_data, submission.experiment, APPENDIX_A)
    if isinstance(found, dict) and "losses" in found:
        book = [0.75, 0.65, 0.44, 0.13, 0.03, 0.00]
        assert_close(found["losses"], book, rtol=0.0, atol=0.0051, what="losses to 2 decimals", each="batch 1")
    assert_close(found, experiment_here(APPENDIX_A, 123), **CLOSE)
    assert_that(not found["probabilities"].requires_grad, "the probabilities require grad")


@exercise("training.experiment", when="with another seed than 123")
@given(seed=SEEDS)
@settings(max_examples=3)
def test_another_seed(submission: Submission, seed: int) -> None:
    """Another seed gives other first weights and another order, and so other results."""
    assert_close(submission.experiment(seed=seed), experiment_here(APPENDIX_A, seed), **CLOSE)


@exercise("training.experiment", when="with other data")
@given(train=st.sampled_from([5, 9, 6]), test=st.integers(1, 5), seed=SEEDS)
@settings(max_examples=4)
def test_other_data(submission: Submission, train: int, test: int, seed: int) -> None:
    """With other rows in the four lists, losses, accuracies and probabilities are those of these rows."""
    data = toy_data(train, test, seed)
    found = submission.there(training.with_data, submission.experiment, data, seed)
    assert_close(found, experiment_here(data, seed), **CLOSE)


@picture("training.experiment", title="Loss of each batch: seeds begin apart, and all come down")
def loss_per_batch(submission: Submission) -> Lines:
    found = {f"seed {seed}": submission.experiment(seed)["losses"] for seed in (123, 1, 2)}
    return Lines(series=found, x_label="batch", y_label="loss")
