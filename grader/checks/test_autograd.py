"""Checks of autograd: gradients by autograd and by differences, where they are stored, and the modes of a model.

Never decide what the contract leaves open: whether `predict_logits` detaches or never records, whether gradients are
found by `torch.autograd.grad` or by `backward`, the return values of functions that return nothing.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.testkit import (
    Diagram,
    Lines,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    exercise,
    observe,
    picture,
    probes,
    recipes,
    seeds,
    situations,
    tensors,
    value_and_grad,
)
from kit import autograd, checklist, restoring

SEEDS = seeds()
FLOATS = st.sampled_from([torch.float32, torch.float64])
EDGE_SHAPES = st.sampled_from([(), (0,), (1,), (3,), (2, 3), (2, 0), (2, 1, 2)])
"""Shapes with no dims, with no elements, and with up to three dims."""


def one_number(value: float) -> Tensor:
    """A float32 tensor of shape (1,)."""
    return torch.tensor([value])


# ---------------------------------------------------------------- logistic_loss


NO_GRAPH = "the loss has no graph: backward() from it reaches neither w nor b"


@exercise("autograd.logistic_loss")
def test_the_book_example(submission: Submission) -> None:
    """For x = 1.1, y = 1, w = 2.2, b = 0 the loss is 0.0852, with gradients -0.0898 and -0.0817."""
    numbers = one_number(1.1), one_number(1.0), one_number(2.2), one_number(0.0)
    seen = value_and_grad(submission.logistic_loss, *numbers, wrt=(2, 3))
    assert_close(seen.value, torch.tensor(0.0852), atol=1e-4, what="the loss")
    assert_that(seen.has_graph, NO_GRAPH)
    assert_close(
        seen.grads, [one_number(-0.0898), one_number(-0.0817)], atol=1e-4, what="the gradients", each=("w", "b")
    )


def examples_of_two_classes(n: int, seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, y, w and b."""
    w, b = recipes.normal((2, 1), seed + 1, dtype)
    return recipes.normal((n,), seed, dtype), recipes.labels(n, 2, seed).to(dtype), w, b


@exercise("autograd.logistic_loss")
@given(n=st.integers(1, 8), seed=SEEDS, dtype=FLOATS)
def test_mean_over_the_examples(submission: Submission, n: int, seed: int, dtype: torch.dtype) -> None:
    """The loss is the mean over all examples, of both classes: one number, whatever n is."""
    x, y, w, b = examples_of_two_classes(n, seed, dtype)
    words = {
        "for several examples": n > 1,
        "with an example of class 0": bool((y == 0).any()),
        "with an example of class 1": bool((y == 1).any()),
        "in the digits of float64": dtype == torch.float64,
    }
    situations(submission, words)
    z = x * w + b
    expected = -(y * torch.sigmoid(z).log() + (1 - y) * torch.sigmoid(-z).log()).mean()
    assert_close(submission.logistic_loss(x, y, w, b), expected)


@exercise("autograd.logistic_loss", when="in the gradients of w and b")
@given(n=st.integers(1, 8), seed=SEEDS, dtype=FLOATS)
def test_gradients_reach_w_and_b(submission: Submission, n: int, seed: int, dtype: torch.dtype) -> None:
    """backward() from the loss puts mean((p - y) * x) into w.grad and mean(p - y) into b.grad, and nothing else was
    there before."""
    x, y, w, b = examples_of_two_classes(n, seed, dtype)
    _, *grads = submission.there(autograd.backward_from, submission.logistic_loss, x, y, w, b)
    off = torch.sigmoid(x * w + b) - y
    assert_that(any(grad is not None for grad in grads), NO_GRAPH)
    expected = [(off * x).mean().reshape(1), off.mean().reshape(1)]
    assert_close(grads, expected, rtol=1e-4, atol=1e-6, what="the gradients", each=("w", "b"))


@exercise("autograd.logistic_loss", when="for logits of up to ±1,000")
def test_large_logits(submission: Submission) -> None:
    """For logits up to 1,000, of the right class and of the wrong one, loss and gradients are finite and right."""
    x = torch.tensor([-1000.0, -200.0, -90.0, 90.0, 200.0, 1000.0])
    for right in (0.0, 1.0):
        y = torch.full((6,), right)
        seen = value_and_grad(submission.logistic_loss, x, y, one_number(1.0), one_number(0.0), wrt=(2, 3))
        z = x if right == 0.0 else -x
        assert_close(seen.value, z.clamp(min=0.0).mean(), what="the loss")
        off = torch.sigmoid(x) - y
        assert_close(
            seen.grads, [(off * x).mean().reshape(1), off.mean().reshape(1)], what="the gradients", each=("w", "b")
        )


@picture(
    "autograd.logistic_loss",
    title="The loss for each weight, and its slope: where the slope is near 0, little is learned",
)
def loss_and_slope(submission: Submission) -> Lines:
    weights = [number / 4 for number in range(-16, 17)]
    found: dict[str, list[float]] = {"loss": [], "slope": []}
    for weight in weights:
        numbers = one_number(1.1), one_number(1.0), one_number(weight), one_number(0.0)
        seen = value_and_grad(submission.logistic_loss, *numbers, wrt=(2,))
        (slope,) = seen.grads
        found["loss"].append(seen.value.item())
        found["slope"].append(math.nan if slope is None else slope.item())
    return Lines(series=found, x=weights, x_label="w", y_label="of x = 1.1, y = 1, b = 0")


@picture("autograd.logistic_loss", title="The graph of your loss: backward goes down from the loss, to w and to b")
def recorded_graph(submission: Submission) -> Diagram:
    lines = submission.there(autograd.graph_lines, submission.logistic_loss, 1.1, 1.0, 2.2, 0.0)
    return Diagram(lines=list(lines))


# ---------------------------------------------------------------- gradients


def gradients_of(problem: autograd.Problem) -> list[Tensor]:
    """Torch's own gradient, zeros if the loss does not depend on a parameter."""
    return list(torch.autograd.grad(problem.loss, problem.params, allow_unused=True, materialize_grads=True))


def assert_grads_kept(found: list[Tensor | None], before: list[Tensor | None], others: int = 0) -> None:
    """Fails, in words, unless every .grad is what it was before the call.

    Args:
        others: how many leaves at the end are no parameters.
    """
    for place, (one, other) in enumerate(zip(found, before, strict=True), others - len(found)):
        if other is None:
            leaf = "a leaf that is not among `params`" if place >= 0 else "a parameter"
            said = f"your call leaves a tensor in the `.grad` of {leaf}, where None was before"
            assert_that(one is None, f"{said}: `backward` writes to every leaf" if place >= 0 else said)
        else:
            assert_that(one is not None, "a `.grad` from before your call is gone: it is None afterwards")
            assert_equal(one, other, what="your call changes a `.grad` itself")


@exercise("autograd.gradients")
@given(seed=SEEDS, dtype=FLOATS)
def test_one_gradient_per_parameter(submission: Submission, seed: int, dtype: torch.dtype) -> None:
    """A list with the gradient of each parameter, in the order of the parameters."""
    problem = submission.there(autograd.problem, seed, dtype=dtype)
    (found,) = submission.there(autograd.differentiate, submission.gradients, problem)
    assert_close(found, gradients_of(autograd.problem(seed, dtype=dtype)), rtol=1e-4, atol=1e-5)


@exercise("autograd.gradients", when="for a parameter that the loss does not depend on")
@given(seed=SEEDS, dtype=FLOATS)
def test_zeros_where_the_loss_does_not_depend(submission: Submission, seed: int, dtype: torch.dtype) -> None:
    """A parameter that the loss does not depend on gets zeros of its shape and dtype, at its place in the list."""
    problem = submission.there(autograd.problem, seed, unused=True, dtype=dtype)
    (found,) = submission.there(autograd.differentiate, submission.gradients, problem)
    assert_close(found, gradients_of(autograd.problem(seed, unused=True, dtype=dtype)))


@exercise("autograd.gradients", when="from the second call on the same loss on")
@settings(max_examples=5)
@given(seed=SEEDS)
def test_a_second_call_on_the_same_graph(submission: Submission, seed: int) -> None:
    """Calling twice on the same loss gives the same gradients twice, and backward() from it works afterwards."""
    problem, here = submission.there(autograd.problem, seed), autograd.problem(seed)
    found = submission.there(autograd.differentiate, submission.gradients, problem, times=2)
    assert_close(found, [gradients_of(autograd.problem(seed))] * 2)
    after = submission.there(autograd.problem_grads, problem)
    assert_grads_kept(after, autograd.problem_grads(here), len(here.bystanders))
    again = submission.there(autograd.grads_after_backward, problem)
    assert_close(again, autograd.grads_after_backward(here), what=".grad after backward() from the same loss")


@exercise("autograd.gradients", when="in the .grad of the parameters and of other leaves")
@pytest.mark.parametrize("stale", [False, True])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_no_grad_is_touched(submission: Submission, stale: bool, seed: int) -> None:
    """Every .grad is unchanged, None or an old gradient: for the parameters and for all other leaves."""
    problem = submission.there(autograd.problem, seed, unused=True, stale=stale)
    (found,) = submission.there(autograd.differentiate, submission.gradients, problem)
    after = submission.there(autograd.problem_grads, problem)
    here = autograd.problem(seed, unused=True, stale=stale)
    assert_close(found, gradients_of(here))
    assert_grads_kept(after, autograd.problem_grads(here), len(here.bystanders))


# ---------------------------------------------------------------- numerical_gradient


@exercise("autograd.numerical_gradient")
@given(x=tensors(EDGE_SHAPES, dtype=torch.float64, kind=("small_ints", "normal")))
def test_agrees_with_the_true_gradient(submission: Submission, x: Tensor) -> None:
    """For a smooth function the result is its gradient to seven digits, in float64 and in the shape of x."""
    found = submission.numerical_gradient(autograd.sum_of_waves, x)
    expected, bend = x.cos() - 0.25 * (-0.5 * x).exp(), 0.125 * (-0.5 * x).exp() - x.sin()
    if isinstance(found, Tensor) and found.shape == x.shape and found.dtype == x.dtype and x.numel():
        errors = [float((found - expected - share * 1e-4 * bend).abs().max()) for share in (0, 0.5, -0.5)]
        text = "the error is that of a difference taken on one side: take f(x + eps) and f(x - eps), on both sides of x"
        assert_that(not (errors[0] > 1e-6 and min(errors[1:]) < 1e-8), text)
    assert_close(found, expected, rtol=1e-6, atol=1e-7)


@exercise("autograd.numerical_gradient", when="with a large eps")
@given(x=tensors(((1, 3), (1, 3)), dtype=torch.float64), eps=st.sampled_from([0.5, 0.1, 1e-3]))
def test_error_of_central_differences(submission: Submission, x: Tensor, eps: float) -> None:
    """With a large eps, the gradient of a cube shows that central differences were taken: their error is exactly eps
    squared."""
    weights = torch.arange(1, x.numel() + 1, dtype=x.dtype).reshape(x.shape)
    found = submission.numerical_gradient(autograd.sum_of_cubes, x, eps)
    assert_close(found, weights * (3 * x**2 + eps**2))


# Across the corner of abs at 0, a difference of |x + eps| and |x - eps| over 2 eps is x / eps.
@exercise("autograd.numerical_gradient", when="with the default eps")
@given(x=tensors((3,), dtype=torch.float64, kind="normal"))
def test_default_step(submission: Submission, x: Tensor) -> None:
    """The default eps is 1e-4."""
    steps = x.tanh()
    assert_close(submission.numerical_gradient(autograd.sum_of_distances, steps * 1e-4), steps)


@exercise("autograd.numerical_gradient", when="for elements of a row that depend on each other")
@given(x=tensors(((1, 3), (1, 3)), dtype=torch.float64, kind=("small_ints", "normal")))
def test_one_element_moves_at_a_time(submission: Submission, x: Tensor) -> None:
    """Where the elements of a row depend on each other, each one is changed alone while the others stay the same; the
    function gets tensors of the shape of x. Nothing is rounded to float32."""
    found = submission.numerical_gradient(autograd.squares_of_row_sums, x, eps=0.25)
    assert_close(found, (2 * x.sum(dim=-1, keepdim=True)).expand(x.shape), rtol=1e-10, atol=1e-11)


@exercise("autograd.numerical_gradient", when="in x afterwards")
@given(x=tensors(((1, 3), (1, 4)), dtype=torch.float64, kind="normal"))
def test_x_is_exactly_as_before(submission: Submission, x: Tensor) -> None:
    """Afterwards x has exactly the numbers it had, to the last bit."""
    seen = observe(submission.numerical_gradient, autograd.sum_of_waves, x)
    assert_that(seen.changed == (), "an argument was changed in place")
    assert_close(seen.result, x.cos() - 0.25 * (-0.5 * x).exp(), rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------- sgd_step

STILL_OFF = "recording of gradients is still off after your call"
SHAPES = [(2, 3), (4,), (), (1, 2, 2)]
GRADS = st.lists(st.booleans(), min_size=4, max_size=4)


def moved(params: autograd.Leaves, lr: float) -> None:
    """One step here."""
    for param in autograd.originals(params):
        if param.grad is not None:
            param.data -= lr * param.grad


@exercise("autograd.sgd_step")
@settings(max_examples=10)
@given(
    seed=SEEDS,
    rates=st.lists(st.sampled_from([0.1, 1.0, 0.5, 0.003]), min_size=1, max_size=3, unique=True),
    dtype=FLOATS,
)
def test_every_parameter_moves(submission: Submission, seed: int, rates: list[float], dtype: torch.dtype) -> None:
    """Each parameter becomes p - lr * p.grad, whatever its shape, dtype and memory layout. Nothing is remembered: the
    next step depends on its own learning rate, parameters and gradients alone."""
    words = {
        "from the second step on": len(rates) > 1,
        "in the digits of float64": dtype == torch.float64,
        "when the parameters do not lie contiguous in memory": seed % 2 == 1,
    }
    situations(submission, words)
    sets = [{"seed": seed, "dtype": dtype, "transposed": seed % 2 == 1}, {"seed": seed + 100, "dtype": dtype}]
    there = [submission.there(autograd.leaves, SHAPES, **settings) for settings in sets]
    here = [autograd.leaves(SHAPES, **settings) for settings in sets]  # type: ignore[arg-type]
    for number, lr in enumerate(rates):
        for one, other in zip(there, here, strict=True):
            submission.sgd_step(one, lr)
            moved(other, lr)
            submission.there(autograd.give_grads, one, seed + 7 * number)
            autograd.give_grads(other, seed + 7 * number)
    found = [[facts["value"] for facts in submission.there(autograd.leaf_facts, one)] for one in there]
    expected = [[param.detach() for param in one] for one in here]
    what = f"the parameters after {counted(len(rates), 'step')}"
    assert_close(found, expected, rtol=1e-5, atol=1e-6 if dtype == torch.float32 else 1e-12, what=what)


@exercise("autograd.sgd_step", when="with a parameter whose .grad is None")
@given(grads=GRADS, seed=SEEDS)
def test_without_a_gradient_nothing_moves(submission: Submission, grads: list[bool], seed: int) -> None:
    """A parameter whose .grad is None is skipped, and the others still move."""
    params, here = submission.there(autograd.leaves, SHAPES, grads, seed), autograd.leaves(SHAPES, grads, seed)
    submission.sgd_step(params, 0.5)
    moved(here, 0.5)
    found = submission.there(autograd.leaf_facts, params)
    assert_close([facts["value"] for facts in found], [p.detach() for p in here], what="the parameters")


@exercise("autograd.sgd_step", when="in the memory that the parameters share with other tensors")
@settings(max_examples=5)
@given(seed=SEEDS)
def test_in_the_memory_of_the_parameter(submission: Submission, seed: int) -> None:
    """The same tensors with the same memory hold the new numbers: other tensors that share this memory see the step."""
    params, here = submission.there(autograd.leaves, SHAPES, seed=seed), autograd.leaves(SHAPES, seed=seed)
    submission.sgd_step(params, 0.5)
    moved(here, 0.5)
    found, numbers = submission.there(autograd.leaf_facts, params), [p.detach() for p in here]
    assert_equal([facts["kept"] for facts in found], [True] * 4, what="whether the list still holds the same tensors")
    assert_close([facts["memory"] for facts in found], numbers, what="the memory that the parameters had at first")


@exercise("autograd.sgd_step", when="in the gradients afterwards")
@settings(max_examples=5)
@given(grads=GRADS, seed=SEEDS)
def test_leaves_stay_leaves_with_their_gradients(submission: Submission, grads: list[bool], seed: int) -> None:
    """Gradients are unchanged by the step, and the parameters stay leaves that require grad, with no history: the next
    backward() adds its gradients to the old ones. Recording is on afterwards."""
    params, here = submission.there(autograd.leaves, SHAPES, grads, seed), autograd.leaves(SHAPES, grads, seed)
    submission.sgd_step(params, 0.5)
    found = submission.there(autograd.leaf_facts, params)
    assert_that(submission.there(autograd.is_recording), STILL_OFF)
    again = submission.there(autograd.backward_again, params, seed)
    assert_grads_kept([facts["grad"] for facts in found], autograd.grads(here))
    kept = [facts["grad_kept"] for facts in found]
    assert_equal(kept, [True] * 4, what="whether each .grad is still the very same tensor")
    assert_close(again, autograd.backward_again(here, seed), what="the gradients after the next backward()")


@exercise("autograd.sgd_step", when="in whether gradients are recorded afterwards")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_recording_is_as_the_caller_had_it(submission: Submission, recording: bool) -> None:
    """Whether gradients are recorded is afterwards as it was before, on or off."""
    found = submission.there(autograd.recording_after, submission.sgd_step, SHAPES, recording)
    assert_that(found is recording, STILL_OFF if recording else "recording of gradients, off before your call, is on")


# ---------------------------------------------------------------- clear_gradients


@exercise("autograd.clear_gradients")
@given(grads=GRADS, seed=SEEDS)
def test_every_grad_is_none(submission: Submission, grads: list[bool], seed: int) -> None:
    """Afterwards .grad is None for every parameter, with or without a gradient before."""
    params = submission.there(autograd.leaves, SHAPES, grads, seed)
    submission.clear_gradients(params)
    assert_equal(submission.there(autograd.grads, params), [None] * 4, what="the gradients")


@exercise("autograd.clear_gradients", when="with a parameter that was frozen after a backward")
def test_a_frozen_parameter_loses_its_gradient_too(submission: Submission) -> None:
    """Also a parameter that was frozen after a backward, and has requires_grad False now."""
    params = submission.there(autograd.half_frozen, SHAPES)
    submission.clear_gradients(params)
    assert_equal(submission.there(autograd.grads, params), [None] * 4, what="the gradients")


@exercise("autograd.clear_gradients", when="in what else belongs to the parameters")
@settings(max_examples=5)
@given(grads=GRADS, seed=SEEDS)
def test_nothing_else_changes(submission: Submission, grads: list[bool], seed: int) -> None:
    """The parameters keep their numbers and stay leaves that require grad: the next backward() starts from nothing."""
    params, here = submission.there(autograd.leaves, SHAPES, grads, seed), autograd.leaves(SHAPES, [False] * 4, seed)
    submission.clear_gradients(params)
    again = submission.there(autograd.backward_again, params, seed)
    found = submission.there(autograd.leaf_facts, params)
    assert_equal([facts["value"] for facts in found], [p.detach() for p in here], what="the parameters afterwards")
    assert_close(again, autograd.backward_again(here, seed), what="the gradients after the next backward()")


# ---------------------------------------------------------------- evaluating


@exercise("autograd.evaluating")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_in_the_block(submission: Submission, recording: bool) -> None:
    """Inside the block every part of the model is in eval mode, also parts of parts, and no gradient is recorded."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.block, submission.evaluating, recording, False, x)
    flags = dict.fromkeys(probes.training_flags(restoring.nested()), False)
    expected = {
        "training flags": flags,
        "gradients are recorded": False,
        "output": restoring.nested().eval()(x).detach(),
        "output requires grad": False,
    }
    assert_close(found["inside"], expected, what="what is seen inside the block")


@exercise("autograd.evaluating")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_after_the_block(submission: Submission, recording: bool) -> None:
    """After the block each training flag is as before, of parts within parts too; so is whether gradients are recorded,
    on or off; and nothing else about the model has changed."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.block, submission.evaluating, recording, False, x)
    assert_equal(found["after"], restoring.untouched(recording), what="the model and torch after the block")


@exercise("autograd.evaluating")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_an_error_in_the_block(submission: Submission, recording: bool) -> None:
    """If the block raises an error, the caller gets it, and all is as before, too."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.block, submission.evaluating, recording, True, x)
    assert_that(found["the error came through"] is True, "the error of the block did not reach its caller")
    assert_equal(found["after"], restoring.untouched(recording), what="the model and torch after the block")


@exercise("autograd.evaluating")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_any_flags(submission: Submission, seed: int) -> None:
    """Whichever parts are in training mode: one block after the other, each puts back the flags of its own model."""
    found = submission.there(restoring.one_after_the_other, submission.evaluating, seed, 3)
    assert_equal(
        found, [restoring.some_flags(seed + place) for place in range(3)], what="training flags after each block"
    )


@exercise("autograd.evaluating")
def test_a_block_in_a_block(submission: Submission) -> None:
    """A block inside of another one of the same model: after the inner one all is in eval mode still, and nothing is
    recorded; after the outer one all is as before."""
    inner, outer = submission.there(restoring.block_in_block, submission.evaluating)
    names = probes.training_flags(restoring.nested())
    expected = {"training flags": dict.fromkeys(names, False), "gradients are recorded": False}
    assert_equal(inner, expected, what="what is seen after the inner block")
    assert_equal(outer, restoring.untouched(True), what="the model and torch after the outer block")


# ---------------------------------------------------------------- predict_logits

MODES: list[dict[str, bool]] = [
    {},
    {"1": False},
    {"": False},
    {"": False, "0": False, "1": False, "5": False},
    {name: False for name in ("", *"0123456789")},
]
"""Training flags of a model with BatchNorm and Dropout, from training throughout to eval throughout."""


@exercise("autograd.predict_logits")
@pytest.mark.parametrize("kind", ["mlp", "norm", "dropout", "functional", "tied", "hooked"])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_output_in_eval_mode(submission: Submission, kind: str, seed: int) -> None:
    """The result is the output of the model in eval mode: no dropout, running statistics, and hooks are run. Another
    batch gets its own."""
    submission.there(probes.start_global, 0)
    model, here = submission.there(recipes.model, kind, seed), recipes.model(kind, seed).eval()
    batches = [recipes.normal((n, 4), seed + n) for n in (5, 2)]
    found = submission.there(autograd.for_each, submission.predict_logits, model, batches)
    assert_close(found, [here(x).detach() for x in batches], each="batch 1")


@exercise("autograd.predict_logits")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_all_is_as_before(submission: Submission, recording: bool) -> None:
    """Of parts within parts too: flags, frozen weights and gradients; whether gradients are recorded is as the caller
    had it, off or on."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.after, submission.predict_logits, recording, x)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")


@exercise("autograd.predict_logits", when="for a model in float64")
@settings(max_examples=1)
@given(seed=SEEDS)
def test_logits_of_float64(submission: Submission, seed: int) -> None:
    """A model in float64 gives a result in float64."""
    x = recipes.normal((3, recipes.FEATURES), seed, torch.float64)
    found = submission.there(restoring.in_float64, submission.predict_logits, "mlp", seed, x)
    with torch.no_grad():
        expected = restoring.in_float64(lambda model, x: model(x), "mlp", seed, x)
    assert_close(found, expected, rtol=1e-12, atol=1e-12)


def in_eval_mode(model: nn.Module, x: Tensor) -> Tensor:
    """The model's logits without dropout."""
    with torch.no_grad():
        return model.eval()(x)  # type: ignore[no-any-return]


@exercise("autograd.predict_logits", when="from the second call with the same model on")
def test_the_same_model_with_other_weights(submission: Submission) -> None:
    """Called again with the same model and x, it gives the output of the weights that the model has by then."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.before_and_after_a_change, submission.predict_logits, x)
    expected = restoring.before_and_after_a_change(in_eval_mode, x)
    assert_close(found, expected, what="the output", each=("the first call", "the call after the weights have changed"))


@exercise("autograd.predict_logits", when="in the graph of the result")
@pytest.mark.parametrize("x_requires_grad", [False, True])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_result_has_no_graph(submission: Submission, x_requires_grad: bool, seed: int) -> None:
    """The result does not require grad, even if x does."""
    x = recipes.normal((3 if x_requires_grad else 1, 4), seed).requires_grad_(x_requires_grad)
    found = submission.predict_logits(submission.there(recipes.model, "norm", seed), x)
    assert_close(found, recipes.model("norm", seed).eval()(x).detach())
    assert_that(not found.requires_grad, "the result requires grad: it holds on to a graph")


@exercise("autograd.predict_logits", when="in the training that goes on afterwards")
@settings(max_examples=8)
@given(seed=SEEDS)
def test_training_goes_on_as_before(submission: Submission, seed: int) -> None:
    """The next step of training is what it would have been without the call: recording is on, frozen parameters are
    frozen, the others are not, old gradients are still there, and dropout and BatchNorm are in their old modes."""
    x = recipes.normal((4, 4), seed)
    model, here = submission.there(autograd.ready_model, seed), autograd.ready_model(seed)
    found = submission.predict_logits(model, x)
    output, grads, state, flags, trainable = submission.there(autograd.train_once, model, seed)
    expected = autograd.train_once(here, seed)
    assert_close(found, autograd.ready_model(seed).eval()(x).detach())
    assert_equal(flags, expected[3], what="training flags afterwards")
    assert_equal(trainable, expected[4], what="requires_grad of the parameters afterwards")
    assert_close(output, expected[0], what="the output in the next step")
    assert_close(grads, expected[1], rtol=1e-3, atol=1e-4, what="gradients after the next step")
    assert_close(state, expected[2], what="parameters and buffers after the next step")


@exercise("autograd.predict_logits")
@pytest.mark.parametrize("flags", MODES, ids=["train", "one_eval", "outermost_eval", "several_eval", "eval"])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_every_training_flag_is_as_before(submission: Submission, flags: dict[str, bool], seed: int) -> None:
    """The model and each submodule have the training flag that they had before, and buffers do not change."""
    x = recipes.normal((4, 4), seed)
    submission.there(probes.start_global, 0)
    model = submission.there(recipes.model, "dropout", seed, flags)
    found = submission.predict_logits(model, x)
    here = recipes.model("dropout", seed, flags)
    before, buffers = probes.training_flags(here), probes.state(here)
    assert_close(found, here.eval()(x).detach())
    assert_equal(submission.there(probes.training_flags, model), before, what="training flags afterwards")
    assert_equal(submission.there(probes.state, model), buffers, what="parameters and buffers afterwards")


# ---------------------------------------------------------------- Cube


@exercise("autograd.Cube")
@given(x=tensors(EDGE_SHAPES, dtype=torch.float64), seed=SEEDS)
def test_cube_and_its_gradient(submission: Submission, x: Tensor, seed: int) -> None:
    """apply gives x³; the gradient with respect to x is 3x² times grad_output; x and grad_output are not changed."""
    weight = recipes.normal(x.shape, seed, torch.float64)
    found = submission.there(autograd.apply_once, submission.Cube, x, weight)
    names = ("apply(x)", "the gradient with respect to x", "x afterwards", "grad_output afterwards")
    assert_close(found, (x**3, 3 * x**2 * weight, x, weight), rtol=1e-12, atol=1e-12, each=names)


@exercise("autograd.Cube", when="inside a longer graph")
@given(x=tensors(((1, 3), (1, 3)), dtype=torch.float64))
def test_inside_a_longer_graph(submission: Submission, x: Tensor) -> None:
    """Cube works between other operations, and twice in one graph."""
    x = x.tanh()
    leaf = x.clone().requires_grad_(True)
    out = ((2 * leaf + leaf**2) ** 3).sin().sum() + (leaf**3).mean()
    (expected,) = torch.autograd.grad(out, leaf)
    assert_close(submission.there(autograd.apply_between, submission.Cube, x), expected)


@exercise("autograd.Cube", when="in backward")
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_passes_gradcheck(submission: Submission, shape: tuple[int, ...], seed: int) -> None:
    """Backward agrees with central differences (gradcheck), and Cube is a torch.autograd.Function: torch calls the
    backward of a subclass in place of Cube's."""
    x, weight = recipes.normal((2, *shape), seed, torch.float64)
    analytic, numeric = submission.there(autograd.gradcheck, submission.Cube, x, weight)
    expected = 3 * x**2 * weight
    assert_close(analytic, expected, what="the gradient that backward computes")
    assert_close(numeric, expected, rtol=1e-4, atol=1e-6, what="the gradient by central differences of forward")
    found = submission.there(autograd.with_other_backward, submission.Cube, x, weight)
    assert_equal(found, weight, what="the gradient of a subclass with another backward")


# ---------------------------------------------------------------- accumulate_gradients


def check_accumulated(submission: Submission, kind: str, sizes: list[int], loss: Any, seed: int, stale: bool) -> None:
    """Gradients over there are those of one big batch here, and nothing else about the model changed.

    A parameter that the model does not use may have no gradient or one of zeros.
    """
    words = {
        "with batches of unequal size": len(set(sizes)) > 1,
        "with several batches": len(sizes) > 1,
        "with gradients that are left over from before": stale,
    }
    situations(submission, words)
    batches = recipes.batches(sizes, seed=seed)
    model = submission.there(autograd.spare_model, kind, seed, stale)
    here = autograd.spare_model(kind, seed, False)
    submission.accumulate_gradients(model, loss, batches)
    found = submission.there(probes.model_grads, model)
    loss(here(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()
    expected = {name: grad for name, grad in probes.model_grads(here).items() if grad is not None}
    assert_close({name: found[name] for name in expected}, expected, what="the gradients")
    if found["spare"] is not None:
        assert_equal(found["spare"], torch.zeros(2, 2), what="the gradient of a parameter that is not used")
    assert_equal(submission.there(probes.weights, model), probes.weights(here), what="the parameters afterwards")
    assert_equal(submission.there(probes.trainable, model), probes.trainable(here), what="requires_grad afterwards")
    flags = submission.there(probes.training_flags, model)
    assert_equal(flags, probes.training_flags(here), what="training flags afterwards")


@exercise("autograd.accumulate_gradients")
@pytest.mark.parametrize("sizes", [[4, 4, 1], [1, 6], [2, 5, 3], [3, 3], [5]], ids=str)
@settings(max_examples=2)
@given(seed=SEEDS)
def test_as_one_big_batch(submission: Submission, sizes: list[int], seed: int) -> None:
    """The gradient is that of the mean loss over all examples, whether batches are equally large or not."""
    check_accumulated(submission, "mlp", sizes, autograd.cross_entropy, seed, stale=False)


@exercise("autograd.accumulate_gradients", when="in the memory for the graphs")
@settings(max_examples=2)
@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=4), seed=SEEDS)
def test_one_graph_at_a_time(submission: Submission, sizes: list[int], seed: int) -> None:
    """It works if the memory holds the graph of the largest of the small batches, and no more."""
    batches = recipes.batches(sizes, seed=seed)
    model, here = submission.there(checklist.model_in_memory, max(sizes), seed), checklist.model_in_memory(1000, seed)
    submission.accumulate_gradients(model, autograd.cross_entropy, batches)
    outputs = here(torch.cat([x for x, _ in batches]))
    autograd.cross_entropy(outputs, torch.cat([y for _, y in batches])).backward()  # type: ignore[no-untyped-call]
    assert_close(submission.there(probes.model_grads, model), probes.model_grads(here), what="the gradients")


@exercise("autograd.accumulate_gradients", when="with gradients that are left over from before")
@pytest.mark.parametrize("sizes", [[4, 4, 2], [3, 3]], ids=str)
@settings(max_examples=3)
@given(seed=SEEDS)
def test_old_gradients_do_not_leak_in(submission: Submission, sizes: list[int], seed: int) -> None:
    """Gradients left over from before the call make no difference, not even those of parameters that the loss does not
    depend on."""
    check_accumulated(submission, "mlp", sizes, autograd.cross_entropy, seed, stale=True)


@exercise("autograd.accumulate_gradients")
@pytest.mark.parametrize("kind", ["linear", "tied", "frozen"])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_tied_and_frozen_parameters(submission: Submission, kind: str, seed: int) -> None:
    """It works with shared and with frozen weights, and with any loss function; training flags and requires_grad are
    not changed."""
    check_accumulated(submission, kind, [3, 2], autograd.squared_error, seed, stale=True)
