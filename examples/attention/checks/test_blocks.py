"""Checks of blocks: modules with weights of the check's choice, compared with the formulas."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import expected
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Submission,
    assert_close,
    assert_equal,
    exercise,
    load_weights,
    probes,
    recipes,
    seeds,
    tensors,
    value_and_grad,
)

FEW = settings(max_examples=6)
SHAPES = st.sampled_from([(3,), (2, 4), (2, 3, 5), (2, 1, 2, 6)])

# ---------------------------------------------------------------- LayerNorm


@exercise("blocks.LayerNorm")
def test_two_positions_by_hand(submission: Submission) -> None:
    """Each position gets mean 0 and variance 1 on its own; a new module neither scales nor shifts."""
    found = submission.LayerNorm(2)(torch.tensor([[1.0, 3.0], [40.0, 20.0]]))
    assert_close(found, torch.tensor([[-1.0, 1.0], [1.0, -1.0]]))


@exercise("blocks.LayerNorm")
@given(x=tensors(SHAPES, kind="normal"), seed=seeds())
def test_scale_and_shift(submission: Submission, x: Tensor, seed: int) -> None:
    """The normalized numbers are multiplied by `weight`, and `bias` is added, for any dims in front."""
    module, d = submission.LayerNorm(x.shape[-1]), x.shape[-1]
    weights = expected.drawn({"weight": (d,), "bias": (d,)}, seed)
    load_weights(submission, module, weights)
    assert_close(module(x), expected.layer_norm(x, weights))


@exercise("blocks.LayerNorm")
@pytest.mark.parametrize("eps", [1e-5, 0.5])
@given(x=tensors("t d", kind=("small_ints", "constant")), scale=st.sampled_from([1e-3, 1.0, 100.0]))
@settings(max_examples=10)
def test_eps_is_inside_of_the_root(submission: Submission, x: Tensor, scale: float, eps: float) -> None:
    """eps is added to the variance before the root; positions whose numbers are all equal become 0."""
    d = x.shape[-1]
    right = F.layer_norm(scale * x, (d,), eps=eps)
    assert_close(submission.LayerNorm(d, eps)(scale * x), right, atol=1e-4)


@exercise("blocks.LayerNorm")
def test_parameters_at_first(submission: Submission) -> None:
    """There are two parameters, `weight` of ones and `bias` of zeros."""
    module = submission.LayerNorm(3)
    assert_equal(submission.there(probes.state, module), {"weight": torch.ones(3), "bias": torch.zeros(3)})
    assert_equal(submission.there(probes.trainable, module), {"weight": True, "bias": True})


@exercise("blocks.LayerNorm", hidden=True)
@given(x=tensors("t 4", kind="normal"), seed=seeds())
@FEW
def test_gradient_of_the_input(submission: Submission, x: Tensor, seed: int) -> None:
    """The gradient flows through mean and variance, too."""
    module, weights = submission.LayerNorm(4), expected.drawn({"weight": (4,), "bias": (4,)}, seed)
    load_weights(submission, module, weights)
    leaf = x.clone().requires_grad_()
    (right,) = torch.autograd.grad(expected.layer_norm(leaf, weights).sum(), leaf)
    assert_close(value_and_grad(module, x).grads[0], right, atol=1e-4)


# ---------------------------------------------------------------- gelu


@exercise("blocks.gelu")
def test_three_numbers(submission: Submission) -> None:
    """gelu of -1, 0 and 1 is -0.1588, 0 and 0.8412."""
    found = submission.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    assert_close(found, torch.tensor([-0.158808, 0.0, 0.841192]))


@exercise("blocks.gelu")
@given(x=tensors(SHAPES, kind="normal", dtype=(torch.float64, torch.float32)), size=st.sampled_from([1.0, 5.0, 300.0]))
def test_the_form_with_tanh(submission: Submission, x: Tensor, size: float) -> None:
    """It is the form with tanh, for any shape, in float64 to seven digits, and for large numbers."""
    assert_close(submission.gelu(size * x), F.gelu(size * x, approximate="tanh"))


@exercise("blocks.gelu")
@given(x=tensors("t d", kind="normal"))
@FEW
def test_gradient_of_gelu(submission: Submission, x: Tensor) -> None:
    """Gradients flow through it."""
    leaf = x.clone().requires_grad_()
    (right,) = torch.autograd.grad(F.gelu(leaf, approximate="tanh").sum(), leaf)
    assert_close(value_and_grad(submission.gelu, x).grads[0], right)


# ---------------------------------------------------------------- FeedForward


@exercise("blocks.FeedForward")
@given(x=tensors("b t d", kind="normal"), seed=seeds())
def test_up_gelu_down(submission: Submission, x: Tensor, seed: int) -> None:
    """`up` makes each position four times as wide, then comes gelu, then `down`."""
    d = x.shape[-1]
    module, weights = submission.FeedForward(d), expected.drawn(expected.feed_forward_shapes(d), seed)
    load_weights(submission, module, weights)
    assert_close(module(x), expected.feed_forward(x, weights), rtol=1e-3)


@exercise("blocks.FeedForward")
def test_dims_in_front_of_the_width(submission: Submission) -> None:
    """The input may have any dims in front of the width, or none."""
    module, weights = submission.FeedForward(3), expected.drawn(expected.feed_forward_shapes(3), 4)
    load_weights(submission, module, weights)
    for shape in ((3,), (2, 3), (2, 1, 2, 3)):
        x = recipes.normal(shape, 8)
        assert_close(module(x), expected.feed_forward(x, weights), rtol=1e-3)


# ---------------------------------------------------------------- Block


@exercise("blocks.Block")
@given(x=tensors("b t 6", kind="normal", t=(1, 5)), heads=st.sampled_from([1, 2, 3]), seed=seeds())
def test_block_for_any_weights(submission: Submission, x: Tensor, heads: int, seed: int) -> None:
    """First x + attn(norm1(x)), then the same with norm2 and ff; what is added is not normalized."""
    module, weights = submission.Block(6, heads), expected.drawn(expected.block_shapes(6), seed)
    load_weights(submission, module, weights)
    assert_close(module(x), expected.block(x, weights, heads), rtol=1e-3, atol=1e-4)


@exercise("blocks.Block")
def test_nothing_to_add(submission: Submission) -> None:
    """If `out` and `down` are 0, the block returns its input: both shortcuts are there."""
    module, x = submission.Block(4, 2), recipes.normal((2, 3, 4), 3)
    weights = expected.drawn(expected.block_shapes(4), 1)
    for name in ("attn.out.weight", "attn.out.bias", "ff.down.weight", "ff.down.bias"):
        weights[name] = torch.zeros_like(weights[name])
    load_weights(submission, module, weights)
    assert_close(module(x), x)


@exercise("blocks.Block", hidden=True)
@given(x=tensors("16 1 4", kind="normal", contiguous=True), seed=seeds())
@settings(max_examples=2)
def test_dropout_is_the_attention_s(submission: Submission, x: Tensor, seed: int) -> None:
    """`dropout` is that of the attention and of nothing else: with dropout 1, attention adds its bias alone."""
    weights = expected.drawn(expected.block_shapes(4), seed)
    module = submission.Block(4, 2, 1.0)
    load_weights(submission, module, weights)
    silent = weights | {"attn.out.weight": torch.zeros(4, 4)}
    assert_close(module.train()(x), expected.block(x, silent, 2), rtol=1e-3, atol=1e-4, what="the output in training")
    assert_close(module.eval()(x), expected.block(x, weights, 2), rtol=1e-3, atol=1e-4, what="the output in eval mode")
