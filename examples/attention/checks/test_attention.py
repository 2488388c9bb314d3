"""Checks of attention: numbers of small cases by hand, any shapes drawn, and what no position may see."""

from __future__ import annotations

import math

import pytest
import torch
from checks import expected
from checks.reference.attention import attend
from hypothesis import given, settings
from hypothesis import strategies as st
from letters_kit import probes
from torch import Tensor

from grader.testkit import (
    Grid,
    Submission,
    assert_calls,
    assert_close,
    assert_equal,
    assert_that,
    devices,
    exercise,
    load_weights,
    observe,
    picture,
    raises,
    recipes,
    seeds,
    tensors,
    value_and_grad,
)

FEW = settings(max_examples=6)
NORMAL = {"kind": ("normal", "small_ints")}

# ---------------------------------------------------------------- attention_scores


@exercise("attention.attention_scores")
def test_two_queries_and_three_keys(submission: Submission) -> None:
    """Entry (i, j) is the dot product of query i and key j, divided by the square root of the width."""
    q = torch.tensor([[2.0, 0, 0, 0], [0, 1, 1, 0]])
    k = torch.tensor([[3.0, 1, 1, 1], [0, 5, 0, 0], [1, 1, 1, 1]])
    assert_close(submission.attention_scores(q, k), torch.tensor([[3.0, 0.0, 1.0], [1.0, 2.5, 1.0]]))


@exercise("attention.attention_scores")
@given(q=tensors("t d", **NORMAL, d=(1, 9)), k=tensors("s d", **NORMAL, d=(1, 9)))
def test_scores_of_any_shape(submission: Submission, q: Tensor, k: Tensor) -> None:
    """There is one row for each query and one column for each key, for any number of both and any width."""
    assert_close(submission.attention_scores(q, k), torch.einsum("td,sd->ts", q, k) / math.sqrt(q.shape[1]))


@exercise("attention.attention_scores")
@given(
    q=tensors("b h t d", dtype=(torch.float32, torch.float64), kind="normal"),
    k=tensors("b h s d", dtype=torch.float64, kind="normal"),
)
@FEW
def test_dims_in_front(submission: Submission, q: Tensor, k: Tensor) -> None:
    """All dims in front of the last two are kept, as for a batch of heads; the dtype is that of the queries."""
    k = k.to(q.dtype)
    found = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    assert_close(submission.attention_scores(q, k), found)


# ---------------------------------------------------------------- causal_mask


@exercise("attention.causal_mask")
def test_three_positions(submission: Submission) -> None:
    """Each of three positions sees itself and those before it, and the mask is bool."""
    mask = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    assert_equal(submission.causal_mask(3), mask)


@exercise("attention.causal_mask")
@pytest.mark.parametrize("t", [0, 1, 2, 9])
def test_any_number_of_positions(submission: Submission, t: int) -> None:
    """Entry (i, j) is True where j is not after i, for any number of positions, also for none."""
    assert_equal(submission.causal_mask(t), expected.not_later(t))


# ---------------------------------------------------------------- attention


@exercise("attention.attention", points=2)
def test_two_positions_by_hand(submission: Submission) -> None:
    """Weights are the softmax over the keys that are seen, and the output is the values' sum with these weights."""
    q, k, v = torch.zeros(2, 4), torch.ones(2, 4), torch.tensor([[1.0], [3.0]])
    found = submission.attention(q, k, v, torch.tensor([[True, False], [True, True]]))
    assert_close(found, (torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0, 0.0], [0.5, 0.5]])))


@exercise("attention.attention", points=2)
@given(q=tensors("b t d", **NORMAL), k=tensors("b s d", **NORMAL), v=tensors("b s e", **NORMAL))
def test_without_a_mask(submission: Submission, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Without a mask every query sees every key; values may have another width than keys."""
    assert_close(submission.attention(q, k, v), expected.attention(q, k, v))


@exercise("attention.attention", points=2)
@given(
    q=tensors("b h t d", kind="normal", t=(1, 5)),
    k=tensors("b h s d", kind="normal", s=(1, 5)),
    v=tensors("b h s e", kind="normal", s=(1, 5)),
    shared=st.booleans(),
    seed=seeds(),
)
def test_any_mask(submission: Submission, q: Tensor, k: Tensor, v: Tensor, shared: bool, seed: int) -> None:
    """Hidden keys have weight 0 and the others sum to 1, for a mask of the full shape or one that broadcasts."""
    shape = (q.shape[2], k.shape[2]) if shared else (*q.shape[:3], k.shape[2])
    mask = recipes.normal(shape, seed) > -0.3
    mask[..., 0] |= ~mask.any(dim=-1)  # every query sees a key
    assert_close(submission.attention(q, k, v, mask), expected.attention(q, k, v, mask))


@exercise("attention.attention")
@given(q=tensors("b t d", kind="normal"), k=tensors("b s d", kind="normal"), v=tensors("b s e", kind="normal"))
@FEW
def test_a_query_that_sees_nothing(submission: Submission, q: Tensor, k: Tensor, v: Tensor) -> None:
    """A query that may see no key has weights 0 and output 0."""
    mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool)
    mask[0] = False
    right = expected.attention(q, k, v)
    for part in right:
        part[:, 0] = 0.0
    assert_close(submission.attention(q, k, v, mask), right)


@exercise("attention.attention", hidden=True)
@given(q=tensors("3 d", kind="normal"), k=tensors("4 d", kind="normal"), v=tensors("4 e", kind="normal"))
@FEW
def test_gradients_are_finite(submission: Submission, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Gradients are finite, and 0 for a query that sees nothing and for a value that nobody sees."""
    mask = torch.tensor([[False] * 4, [True, True, False, True], [True, False, False, False]])
    seen = value_and_grad(submission.attention, q, k, v, mask, wrt=(0, 1, 2), part=0)
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    right = torch.autograd.grad(attend(*leaves, mask)[0].sum(), leaves)
    assert_close(seen.grads, list(right), what="gradients of the output's sum with respect to q, k and v")


@exercise("attention.attention", bonus=0.5)
@pytest.mark.parametrize("size", [60.0, 1e4])
def test_large_scores(submission: Submission, size: float) -> None:
    """A bonus: scores may be large; the weights are exact where e to the score has no number."""
    q, k = torch.tensor([[size, 0.0], [0.0, -size]]), torch.tensor([[size, 0.0], [0.0, size], [0.0, 0.0]])
    v, mask = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[True, True, True], [False, True, False]])
    assert_close(submission.attention(q, k, v, mask), expected.attention(q, k, v, mask))


# ---------------------------------------------------------------- split_heads


@exercise("attention.split_heads")
def test_heads_by_hand(submission: Submission) -> None:
    """Head 0 has the first half of each position's numbers, head 1 the second half."""
    x = torch.arange(8.0).reshape(1, 2, 4)
    assert_equal(submission.split_heads(x, 2), torch.tensor([[[[0.0, 1], [4, 5]], [[2, 3], [6, 7]]]]))


@exercise("attention.split_heads")
@given(x=tensors("b t 12", kind="counting", contiguous=True), heads=st.sampled_from([1, 2, 3, 4, 6, 12]))
def test_heads_of_any_number(submission: Submission, x: Tensor, heads: int) -> None:
    """The shape is (b, heads, t, d / heads), for any number of heads that divides the width."""
    assert_equal(submission.split_heads(x, heads), expected.cut(x, heads))


@exercise("attention.split_heads")
@given(x=tensors("b h t w", kind="normal"))
def test_merge_puts_heads_side_by_side(submission: Submission, x: Tensor) -> None:
    """merge_heads puts the numbers of all heads side by side for each position, whatever the memory layout is."""
    assert_equal(submission.merge_heads(x), torch.cat(list(x.unbind(dim=1)), dim=-1))


@exercise("attention.split_heads")
@given(x=tensors("b t 6", kind="normal", contiguous=True, t=(2, 4)), heads=st.sampled_from([1, 2, 3]))
@FEW
def test_there_and_back(submission: Submission, x: Tensor, heads: int) -> None:
    """merge_heads undoes split_heads, and neither copies a number."""
    assert_that(observe(submission.split_heads, x, heads).shares == ("0",), "split_heads copies its input")
    found = submission.there(probes.there_and_back, submission.split_heads, submission.merge_heads, x, heads)
    assert_equal(found[0], x, what="merge_heads(split_heads(x, heads))")
    assert_that(found[1], "merge_heads copies what split_heads returned")


@exercise("attention.split_heads")
@pytest.mark.parametrize(("d", "heads"), [(6, 4), (5, 2), (3, 4)])
def test_heads_that_do_not_divide(submission: Submission, d: int, heads: int) -> None:
    """Heads that do not divide the width raise ValueError."""
    with raises(ValueError):
        submission.split_heads(torch.zeros(2, 3, d), heads)


# ---------------------------------------------------------------- CausalSelfAttention


@exercise("attention.CausalSelfAttention", points=2)
@given(x=tensors("b t 12", kind="normal", t=(1, 6)), heads=st.sampled_from([1, 2, 3, 6]), seed=seeds())
def test_output_for_any_weights(submission: Submission, x: Tensor, heads: int, seed: int) -> None:
    """With the layers query, key, value and out, the output is that of causal attention in each head."""
    module, weights = submission.CausalSelfAttention(12, heads), expected.drawn(expected.attention_shapes(12), seed)
    load_weights(submission, module, weights)
    assert_close(module(x), expected.self_attention(x, weights, heads))
    assert_equal(module.heads, heads, what="the attribute heads")


@exercise("attention.CausalSelfAttention")
@given(x=tensors("2 5 8", kind="normal"), place=st.integers(1, 4))
@FEW
def test_nothing_of_what_comes_after(submission: Submission, x: Tensor, place: int) -> None:
    """A letter that changes changes no output before it."""
    module = submission.CausalSelfAttention(8, 2)
    other = x.clone()
    other[:, place:] += 3.0
    assert_close(module(other)[:, :place], module(x)[:, :place], what="outputs before the letter that changed")


@exercise("attention.CausalSelfAttention")
@given(x=tensors("64 1 6", kind="normal", contiguous=True), seed=seeds())
@settings(max_examples=2)
def test_weights_are_dropped_in_training(submission: Submission, x: Tensor, seed: int) -> None:
    """In training a single weight of 1 becomes 0 or 1 / (1 - dropout), for each head on its own; nothing else is
    dropped. In eval mode nothing is."""
    weights = expected.drawn(expected.attention_shapes(6), seed) | {"out.weight": torch.eye(6)}
    module = submission.CausalSelfAttention(6, 3, 0.75)
    load_weights(submission, module, weights)
    values = expected.cut(expected.linear(x, weights, "value"), 3)  # with one position, each head's weight is 1
    found = expected.cut(module.train()(x) - weights["out.bias"], 3)
    kept = (found - 4 * values).abs().amax(dim=(2, 3)) < 1e-3
    dropped = found.abs().amax(dim=(2, 3)) < 1e-3
    assert_that(bool((kept | dropped).all()), "with dropout 0.75, a head's output is neither 0 nor 4 times its value")
    assert_that(bool(kept.any() and dropped.any()), "with dropout 0.75, all heads are alike: dropped, or not dropped")
    assert_that(bool((kept.any(1) & dropped.any(1)).any()), "all heads of a text are dropped together")
    assert_close(module.eval()(x), expected.self_attention(x, weights, 3), what="the output in eval mode")


@exercise("attention.CausalSelfAttention", hidden="all")
@given(x=tensors("2 4 6", kind="normal"), seed=seeds())
@FEW
def test_gradients_of_all_weights(submission: Submission, x: Tensor, seed: int) -> None:
    """Gradients reach the weights of all four layers."""
    weights = expected.drawn(expected.attention_shapes(6), seed)
    module = submission.CausalSelfAttention(6, 2)
    load_weights(submission, module, weights)
    leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    total = expected.self_attention(x, leaves, 2).square().sum()
    right = dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))
    assert_close(dict(submission.there(probes.gradients, module, x)), right, rtol=1e-3, atol=1e-3)


@exercise("attention.CausalSelfAttention")
def test_on_a_gpu(submission: Submission) -> None:
    """On a GPU (simulated, if there is none) the output is there, too."""
    submission.there(devices.start, gpus=1)
    weights = expected.drawn(expected.attention_shapes(4), 1)
    module = submission.CausalSelfAttention(4, 2)
    load_weights(submission, module, weights)
    x = recipes.normal((2, 3, 4), 5)
    found = module.to(torch.device("cuda", 0))(devices.on(x, "cuda:0"))
    assert_close(found, devices.on(expected.self_attention(x, weights, 2), "cuda:0"))


@exercise("attention.CausalSelfAttention")
def test_heads_must_divide_the_width(submission: Submission) -> None:
    """Heads that do not divide the width raise ValueError."""
    with raises(ValueError):
        submission.CausalSelfAttention(6, 4)


@exercise("attention.CausalSelfAttention", bonus=0.5)
@given(seed=seeds())
@settings(max_examples=1)
def test_no_loop_over_heads(submission: Submission, seed: int) -> None:
    """A bonus: the heads are worked out together, so that many heads take as many torch calls as few."""
    x = recipes.normal((2, 3, 16), seed)
    few = observe(submission.CausalSelfAttention(16, 2), x).torch_calls
    assert_calls(observe(submission.CausalSelfAttention(16, 16), x), at_most=few + 3)


# ---------------------------------------------------------------- the picture

LETTERS = "abracadabra"


@picture("attention.attention", title="Which letters look at which")
def letters_that_look(submission: Submission) -> Grid:
    """Weights of a text in which equal letters have equal queries and keys; vowels have longer ones."""
    known = sorted(set(LETTERS))
    rows = torch.eye(len(known))[[known.index(letter) for letter in LETTERS]]
    length = torch.tensor([4.0 if letter in "aeiou" else 2.0 for letter in LETTERS])
    x = rows * length[:, None]
    _, weights = submission.attention(x, x, rows, expected.not_later(len(LETTERS)))
    return Grid(values=weights, x_label="key", y_label="query")
