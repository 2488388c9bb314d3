"""Checks of autograd: gradients by autograd and by differences, where they are stored, and the modes of a model.

Never decide what the contract leaves open: whether `predict_logits` detaches or never records, whether gradients are
found by `torch.autograd.grad` or by `backward`, what the functions that return nothing return.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    exercise,
    observe,
    probes,
    recipes,
    tensors,
    value_and_grad,
)
from kit import autograd

SEEDS = st.integers(0, 1 << 16)
EDGE_SHAPES = st.sampled_from([(), (0,), (1,), (3,), (2, 3), (2, 0), (2, 1, 2)])
"""Shapes with no dims, with no elements, and with up to three dims."""


def one_number(value: float) -> Tensor:
    """A float32 tensor of shape (1,)."""
    return torch.tensor([value])


# ---------------------------------------------------------------- logistic_loss


@exercise("autograd.logistic_loss")
def test_the_book_example(submission: Submission) -> None:
    """For x = 1.1, y = 1, w = 2.2, b = 0 the loss is 0.0852, with gradients -0.0898 and -0.0817."""
    numbers = one_number(1.1), one_number(1.0), one_number(2.2), one_number(0.0)
    seen = value_and_grad(submission.logistic_loss, *numbers, wrt=(2, 3))
    assert_close(seen.value, torch.tensor(0.0852), atol=1e-4, what="the loss")
    assert_that(seen.has_graph, "the loss has no graph: backward() from it reaches neither w nor b")
    assert_close(seen.grads, [one_number(-0.0898), one_number(-0.0817)], atol=1e-4, what="gradients of w and b")


@exercise("autograd.logistic_loss")
@given(n=st.integers(1, 8), seed=SEEDS)
def test_mean_over_the_examples(submission: Submission, n: int, seed: int) -> None:
    """The loss is the mean over all examples, of both classes: one number, whatever n is."""
    x, y = recipes.normal((n,), seed), recipes.labels(n, 2, seed).float()
    w, b = recipes.normal((2, 1), seed + 1)
    z = x * w + b
    expected = -(y * torch.sigmoid(z).log() + (1 - y) * torch.sigmoid(-z).log()).mean()
    assert_close(submission.logistic_loss(x, y, w, b), expected)


@exercise("autograd.logistic_loss")
@given(n=st.integers(1, 8), seed=SEEDS)
def test_gradients_reach_w_and_b(submission: Submission, n: int, seed: int) -> None:
    """Differentiating the loss gives mean((p - y) * x) for w and mean(p - y) for b."""
    x, y = recipes.normal((n,), seed), recipes.labels(n, 2, seed).float()
    w, b = recipes.normal((2, 1), seed + 1)
    seen = value_and_grad(submission.logistic_loss, x, y, w, b, wrt=(2, 3))
    off = torch.sigmoid(x * w + b) - y
    assert_that(seen.has_graph, "the loss has no graph: backward() from it reaches neither w nor b")
    assert_close(seen.grads, [(off * x).mean().reshape(1), off.mean().reshape(1)], what="gradients of w and b")


# ---------------------------------------------------------------- gradients


def gradients_of(problem: autograd.Problem) -> list[Tensor]:
    """What torch gives for it, zeros where the loss does not depend on a parameter."""
    return list(torch.autograd.grad(problem.loss, problem.params, allow_unused=True, materialize_grads=True))


@exercise("autograd.gradients")
@given(seed=SEEDS, dtype=st.sampled_from([torch.float32, torch.float64]))
def test_one_gradient_per_parameter(submission: Submission, seed: int, dtype: torch.dtype) -> None:
    """A list with the gradient of each parameter, in the order of the parameters."""
    problem = submission.there(autograd.problem, seed, dtype=dtype)
    (found,) = submission.there(autograd.differentiate, submission.gradients, problem)
    assert_close(found, gradients_of(autograd.problem(seed, dtype=dtype)), rtol=1e-4, atol=1e-5)


@exercise("autograd.gradients")
@given(seed=SEEDS)
def test_zeros_where_the_loss_does_not_depend(submission: Submission, seed: int) -> None:
    """A parameter that the loss does not depend on gets zeros of its shape, at its place in the list."""
    problem = submission.there(autograd.problem, seed, unused=True)
    (found,) = submission.there(autograd.differentiate, submission.gradients, problem)
    assert_close(found, gradients_of(autograd.problem(seed, unused=True)))


@exercise("autograd.gradients")
def test_a_second_call_on_the_same_graph(submission: Submission) -> None:
    """Calling twice on the same loss gives the same gradients twice."""
    problem = submission.there(autograd.problem, 3)
    found = submission.there(autograd.differentiate, submission.gradients, problem, times=2)
    assert_close(found, [gradients_of(autograd.problem(3))] * 2)


@exercise("autograd.gradients")
@pytest.mark.parametrize("stale", [False, True])
def test_no_grad_is_touched(submission: Submission, stale: bool) -> None:
    """Every .grad is unchanged, None or an old gradient: for the parameters and for all other leaves."""
    problem = submission.there(autograd.problem, 5, unused=True, stale=stale)
    (found,) = submission.there(autograd.differentiate, submission.gradients, problem)
    after = submission.there(autograd.problem_grads, problem)
    here = autograd.problem(5, unused=True, stale=stale)
    assert_close(found, gradients_of(here))
    assert_equal(after, autograd.problem_grads(here), what=".grad of the parameters, then of other leaves, afterwards")


# ---------------------------------------------------------------- numerical_gradient


@exercise("autograd.numerical_gradient")
@given(x=tensors(EDGE_SHAPES, dtype=torch.float64, kind=("small_ints", "normal")))
def test_agrees_with_the_true_gradient(submission: Submission, x: Tensor) -> None:
    """For a smooth function the result is its gradient to seven digits, in float64 and in the shape of x."""
    found = submission.numerical_gradient(autograd.sum_of_waves, x)
    assert_close(found, x.cos() - 0.25 * (-0.5 * x).exp(), rtol=1e-6, atol=1e-7)


@exercise("autograd.numerical_gradient")
@given(x=tensors(((1, 3), (1, 3)), dtype=torch.float64), eps=st.sampled_from([0.5, 0.1, 1e-3]))
def test_error_of_central_differences(submission: Submission, x: Tensor, eps: float) -> None:
    """With a large eps, the gradient of a cube shows that central differences were taken: their error is exactly eps
    squared."""
    weights = torch.arange(1, x.numel() + 1, dtype=x.dtype).reshape(x.shape)
    found = submission.numerical_gradient(autograd.sum_of_cubes, x, eps)
    assert_close(found, weights * (3 * x**2 + eps**2))


@exercise("autograd.numerical_gradient")
@given(x=tensors(((1, 3), (1, 3)), dtype=torch.float64))
def test_one_element_moves_at_a_time(submission: Submission, x: Tensor) -> None:
    """Where all elements depend on each other, each one is changed alone while the others stay the same."""
    found = submission.numerical_gradient(autograd.square_of_sum, x, eps=0.25)
    assert_close(found, (2 * x.sum()).expand(x.shape))


@exercise("autograd.numerical_gradient")
@given(x=tensors(((1, 3), (1, 4)), dtype=torch.float64, kind="normal"))
def test_x_is_exactly_as_before(submission: Submission, x: Tensor) -> None:
    """Afterwards x has exactly the numbers it had, to the last bit."""
    seen = observe(submission.numerical_gradient, autograd.sum_of_waves, x)
    assert_equal(seen.changed, (), what="arguments that were changed")
    assert_close(seen.result, x.cos() - 0.25 * (-0.5 * x).exp(), rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------- sgd_step

SHAPES = [(2, 3), (4,), (), (1, 2, 2)]
GRADS = st.lists(st.booleans(), min_size=4, max_size=4)


def step(submission: Submission, lr: float, **kwargs: Any) -> tuple[list[dict[str, Any]], list[Tensor], list[Any]]:
    """One step over there: the facts afterwards, and the numbers and gradients that there should be."""
    params = submission.there(autograd.leaves, SHAPES, **kwargs)
    submission.sgd_step(params, lr)
    here = autograd.leaves(SHAPES, **kwargs)
    moved = [p.detach() if p.grad is None else p.detach() - lr * p.grad for p in here]
    return submission.there(autograd.leaf_facts, params), moved, autograd.grads(here)


@exercise("autograd.sgd_step")
@given(seed=SEEDS, lr=st.sampled_from([0.1, 1.0, 0.5, 0.003]), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_every_parameter_moves(submission: Submission, seed: int, lr: float, dtype: torch.dtype) -> None:
    """Each parameter becomes p - lr * p.grad, whatever its shape, dtype and memory layout."""
    found, moved, _ = step(submission, lr, seed=seed, dtype=dtype, transposed=seed % 2 == 1)
    assert_close([facts["value"] for facts in found], moved, rtol=1e-5, atol=1e-6, what="the parameters")


@exercise("autograd.sgd_step")
@given(grads=GRADS, seed=SEEDS)
def test_without_a_gradient_nothing_moves(submission: Submission, grads: list[bool], seed: int) -> None:
    """A parameter whose .grad is None is skipped, and the others still move."""
    found, moved, _ = step(submission, 0.5, grads=grads, seed=seed)
    assert_close([facts["value"] for facts in found], moved, what="the parameters")


@exercise("autograd.sgd_step")
def test_in_the_memory_of_the_parameter(submission: Submission) -> None:
    """The same tensors with the same memory hold the new numbers: other tensors that share this memory see the step."""
    found, moved, _ = step(submission, 0.5)
    assert_equal([facts["kept"] for facts in found], [True] * 4, what="whether the list still holds the same tensors")
    assert_close([facts["memory"] for facts in found], moved, what="the memory that the parameters had at first")


@exercise("autograd.sgd_step")
def test_leaves_stay_leaves_with_their_gradients(submission: Submission) -> None:
    """Parameters stay leaves that require grad, their gradients are unchanged, and nothing is recorded."""
    found, moved, grads = step(submission, 0.5, grads=[True, False, True, True])
    assert_close([facts["value"] for facts in found], moved, what="the parameters")
    assert_equal([facts["is_leaf"] for facts in found], [True] * 4, what="is_leaf of the parameters")
    assert_equal([facts["requires_grad"] for facts in found], [True] * 4, what="requires_grad of the parameters")
    assert_equal([facts["grad"] for facts in found], grads, what="the gradients")


# ---------------------------------------------------------------- clear_gradients


@exercise("autograd.clear_gradients")
@given(grads=GRADS, seed=SEEDS)
def test_every_grad_is_none(submission: Submission, grads: list[bool], seed: int) -> None:
    """Afterwards .grad is None for every parameter, with or without a gradient before."""
    params = submission.there(autograd.leaves, SHAPES, grads, seed)
    submission.clear_gradients(params)
    assert_equal(submission.there(autograd.grads, params), [None] * 4, what="the gradients")


@exercise("autograd.clear_gradients")
@pytest.mark.parametrize("grads", [[True] * 4, [True, False, True, True]])
def test_nothing_else_changes(submission: Submission, grads: list[bool]) -> None:
    """The parameters keep their numbers, stay leaves and still require grad."""
    params = submission.there(autograd.leaves, SHAPES, grads)
    submission.clear_gradients(params)
    found = submission.there(autograd.leaf_facts, params)
    here = autograd.leaf_facts(autograd.leaves(SHAPES))
    assert_equal(found, [{**facts, "grad": None} for facts in here])


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
def test_output_in_eval_mode(submission: Submission, kind: str) -> None:
    """The result is the output of the model in eval mode: no dropout, running statistics, and hooks are run."""
    x = recipes.normal((5, 4), 1)
    submission.there(probes.start_global, 0)
    model = submission.there(recipes.model, kind, 2)
    assert_close(submission.predict_logits(model, x), recipes.model(kind, 2).eval()(x).detach())


@exercise("autograd.predict_logits")
@pytest.mark.parametrize("x_requires_grad", [False, True])
def test_result_has_no_graph(submission: Submission, x_requires_grad: bool) -> None:
    """The result does not require grad, even if x does."""
    x = recipes.normal((3, 4), 1).requires_grad_(x_requires_grad)
    model = submission.there(recipes.model, "norm", 3)
    seen = observe(submission.predict_logits, model, x)
    assert_close(seen.result, recipes.model("norm", 3).eval()(x).detach())
    assert_that(not seen.requires_grad, "the result requires grad: it holds on to a graph")


@exercise("autograd.predict_logits")
@pytest.mark.parametrize("flags", MODES, ids=["train", "one_eval", "outermost_eval", "several_eval", "eval"])
def test_every_training_flag_is_as_before(submission: Submission, flags: dict[str, bool]) -> None:
    """The model and each submodule have the training flag that they had before, and buffers do not change."""
    x = recipes.normal((4, 4), 1)
    submission.there(probes.start_global, 0)
    model = submission.there(recipes.model, "dropout", 4, flags)
    found = submission.predict_logits(model, x)
    here = recipes.model("dropout", 4, flags)
    before, buffers = probes.training_flags(here), probes.state(here)
    assert_close(found, here.eval()(x).detach())
    assert_equal(submission.there(probes.training_flags, model), before, what="training flags afterwards")
    assert_equal(submission.there(probes.state, model), buffers, what="parameters and buffers afterwards")


# ---------------------------------------------------------------- Cube


@exercise("autograd.Cube")
@given(x=tensors(EDGE_SHAPES, dtype=torch.float64), seed=SEEDS)
def test_cube_and_its_gradient(submission: Submission, x: Tensor, seed: int) -> None:
    """apply gives x³; the gradient with respect to x is 3x² times grad_output; x itself is not changed."""
    weight = recipes.normal(x.shape, seed, torch.float64)
    found = submission.there(autograd.apply_once, submission.Cube, x, weight)
    assert_close(found, (x**3, 3 * x**2 * weight, x), what="apply(x), the gradient with respect to x, and x afterwards")


@exercise("autograd.Cube")
@given(x=tensors(((1, 3), (1, 3)), dtype=torch.float64))
def test_inside_a_longer_graph(submission: Submission, x: Tensor) -> None:
    """Cube works between other operations, and twice in one graph."""
    x = x.tanh()
    leaf = x.clone().requires_grad_(True)
    out = ((2 * leaf + leaf**2) ** 3).sin().sum() + (leaf**3).mean()
    (expected,) = torch.autograd.grad(out, leaf)
    assert_close(submission.there(autograd.apply_between, submission.Cube, x), expected)


@exercise("autograd.Cube")
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_passes_gradcheck(submission: Submission, shape: tuple[int, ...]) -> None:
    """Cube is a torch.autograd.Function whose backward agrees with central differences (gradcheck)."""
    x = recipes.normal(shape, 7, torch.float64)
    right = submission.there(autograd.gradcheck, submission.Cube, x)
    assert_equal(right, True, what="gradcheck")
    a_function = submission.there(probes.is_a, submission.Cube, "torch.autograd.Function")
    assert_equal(a_function, True, what="whether Cube is a torch.autograd.Function")


# ---------------------------------------------------------------- accumulate_gradients


def check_accumulated(submission: Submission, kind: str, sizes: list[int], loss: Any, seed: int, stale: bool) -> None:
    """Gradients over there are those of one big batch here, and the parameters did not move."""
    batches = recipes.batches(sizes, seed=seed)
    model, here = submission.there(recipes.model, kind, seed), recipes.model(kind, seed)
    if stale:
        model = submission.there(recipes.with_stale_grads, model, seed)
    submission.accumulate_gradients(model, loss, batches)
    found = submission.there(probes.model_grads, model)
    loss(here(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()
    expected = {name: grad for name, grad in probes.model_grads(here).items() if grad is not None}
    assert_close({name: found[name] for name in expected}, expected, what="the gradients")
    assert_equal(submission.there(probes.weights, model), probes.weights(here), what="the parameters afterwards")


@exercise("autograd.accumulate_gradients")
@pytest.mark.parametrize("sizes", [[4, 4, 1], [1, 6], [2, 5, 3], [3, 3], [5]], ids=str)
def test_as_one_big_batch(submission: Submission, sizes: list[int]) -> None:
    """The gradient is that of the mean loss over all examples, whether batches are equally large or not."""
    check_accumulated(submission, "mlp", sizes, autograd.cross_entropy, 1, stale=False)


@exercise("autograd.accumulate_gradients")
@pytest.mark.parametrize("sizes", [[4, 4, 2], [3, 3]], ids=str)
def test_old_gradients_do_not_leak_in(submission: Submission, sizes: list[int]) -> None:
    """Gradients left over from before the call make no difference."""
    check_accumulated(submission, "mlp", sizes, autograd.cross_entropy, 2, stale=True)


@exercise("autograd.accumulate_gradients")
@pytest.mark.parametrize("kind", ["linear", "tied", "frozen"])
def test_tied_and_frozen_parameters(submission: Submission, kind: str) -> None:
    """It works with shared and with frozen weights, and with any loss function."""
    check_accumulated(submission, kind, [3, 2], autograd.squared_error, 3, stale=True)
