"""Checks of layers: each part against torch's own, by value and by gradient, and that torch's own is not called.

Never decide what the contract leaves open: the order in which `dropout` draws, a loop over the places of a kernel in
`conv2d`, whether `zero_grad` leaves None or zeros.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Grid,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    exercise,
    labels,
    observe,
    picture,
    probes,
    raises,
    recipes,
    seeds,
    situations,
    tensors,
    value_and_grad,
)
from kit import autograd, layers

SEEDS = seeds()
FLOATS = (torch.float32, torch.float64)


def assert_as_torch(found: object, expected: object, what: str = "") -> None:
    """Close to 1e-5."""
    assert_close(found, expected, rtol=1e-5, atol=1e-5, what=what)


def assert_without(seen: Any, part: str) -> None:
    """Nothing of torch ran that has these letters in its name."""
    used = [name for name in seen.called if part in name]
    assert_that(not used, f"torch's own {', '.join(used)} was called: write it with simpler operations")


# ---------------------------------------------------------------- layer_norm

EDGE_SHAPES = st.sampled_from([(3,), (2, 4), (2, 3, 5), (2, 1, 3, 2), (1, 6)])


def scale_and_shift(d: int, seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    weight, bias = recipes.normal((2, d), seed, dtype)
    return weight, bias


@exercise("layers.layer_norm")
def test_two_rows(submission: Submission) -> None:
    """Each row gets mean 0 and variance 1 by itself; then weight multiplies and bias is added, number by number."""
    x = torch.tensor([[1.0, 3.0, 5.0, 7.0], [30.0, 10.0, 10.0, 30.0]])
    weight, bias = torch.tensor([1.0, 2.0, 1.0, 2.0]), torch.tensor([0.0, 0.0, 10.0, 10.0])
    assert_as_torch(submission.layer_norm(x, weight, bias), F.layer_norm(x, (4,), weight, bias))


@exercise("layers.layer_norm")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=5)
@given(shape=EDGE_SHAPES, seed=SEEDS)
def test_norm_over_the_last_dim(submission: Submission, dtype: torch.dtype, shape: tuple[int, ...], seed: int) -> None:
    """Mean and biased variance of the last dimension, for any dims before it, in the dtype of x; nothing is changed,
    and torch's own layer norm is not called."""
    x, (weight, bias) = 3 * recipes.normal(shape, seed, dtype), scale_and_shift(shape[-1], seed + 1, dtype)
    seen = observe(submission.layer_norm, x, weight, bias)
    atol = 1e-4 if dtype == torch.float32 else 1e-5
    assert_close(seen.result, F.layer_norm(x, shape[-1:], weight, bias), rtol=atol, atol=atol)
    assert_that(seen.changed == (), "an argument was changed in place")
    assert_without(seen, "layer_norm")


@exercise("layers.layer_norm")
@pytest.mark.parametrize("eps", [None, 1e-2, 1.0])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_eps_inside_the_root(submission: Submission, eps: float | None, seed: int) -> None:
    """eps is added to the variance, inside the root; it is 1e-5 unless another one is given."""
    x = recipes.normal((3, 4), seed, torch.float64) * math.sqrt(eps or 1e-5)
    weight, bias = scale_and_shift(4, seed + 1, torch.float64)
    found = submission.layer_norm(x, weight, bias, **({} if eps is None else {"eps": eps}))
    assert_as_torch(found, F.layer_norm(x, (4,), weight, bias, **({} if eps is None else {"eps": eps})))


@exercise("layers.layer_norm")
@pytest.mark.parametrize("shape", [(2, 3), (3, 1)])
def test_equal_numbers_in_a_row(submission: Submission, shape: tuple[int, ...]) -> None:
    """A row of equal numbers, also of a single one, gives the bias."""
    x, (weight, bias) = torch.full(shape, 0.5), scale_and_shift(shape[-1], 7, torch.float32)
    seen = value_and_grad(submission.layer_norm, x, weight, bias, wrt=(0, 1, 2))
    assert_as_torch(seen.value, bias.expand(shape))
    expected = as_torch(lambda *args: F.layer_norm(args[0], shape[-1:], *args[1:]), x, weight, bias)
    assert_close(seen.grads, expected, atol=1e-3, what="the gradients of x, weight and bias")


def as_torch(function: Any, *args: Tensor) -> list[Tensor]:
    """The gradients of the sum of a function of torch."""
    leaves = [arg.detach().clone().requires_grad_(True) for arg in args]
    return list(torch.autograd.grad(function(*leaves).sum(), leaves))


@exercise("layers.layer_norm")
@settings(max_examples=4)
@given(shape=EDGE_SHAPES, seed=SEEDS)
def test_gradients_of_the_norm(submission: Submission, shape: tuple[int, ...], seed: int) -> None:
    """The gradients that flow back to x, weight and bias are those of torch's own."""
    x, (weight, bias) = recipes.normal(shape, seed), scale_and_shift(shape[-1], seed + 1, torch.float32)
    seen = value_and_grad(submission.layer_norm, x, weight, bias, wrt=(0, 1, 2))
    assert_that(seen.has_graph, "no gradient flows from the result to x, weight and bias")
    expected = as_torch(lambda *args: F.layer_norm(args[0], shape[-1:], *args[1:]), x, weight, bias)
    assert_close(seen.grads, expected, rtol=1e-4, atol=1e-4, what="the gradients of x, weight and bias")


# ---------------------------------------------------------------- embed


@exercise("layers.embed")
@settings(max_examples=10)
@given(table=tensors("r d", dtype=FLOATS, r=(5, 7)), ids=labels(st.sampled_from([(), (4,), (2, 3), (2, 1, 2)]), 5))
def test_a_row_for_each_id(submission: Submission, table: Tensor, ids: Tensor) -> None:
    """Each id is replaced with its row of the table, for ids of any shape, in the dtype of the table; nothing is
    changed, and torch's own embedding is not called."""
    seen = observe(submission.embed, ids, table)
    assert_equal(seen.result, table[ids])
    assert_that(seen.changed == (), "an argument was changed in place")
    assert_without(seen, "embedding")


@exercise("layers.embed")
@settings(max_examples=4)
@given(table=tensors("r d", r=(4, 6), kind="normal"), ids=labels("n m", 3, n=3, m=2))
def test_gradients_add_up_in_a_row(submission: Submission, table: Tensor, ids: Tensor) -> None:
    """A row that is used several times gets the gradients of all its uses, and one that is not used gets zeros."""
    seen = value_and_grad(submission.embed, ids, table, wrt=(1,))
    assert_that(seen.has_graph, "no gradient flows from the result to the table")
    uses = torch.bincount(ids.flatten(), minlength=len(table)).float()
    assert_close(seen.grads[0], uses[:, None].expand_as(table), what="the gradient of the table")


# ---------------------------------------------------------------- dropout


def nonzero(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Numbers of both signs, none of them near zero."""
    x = recipes.normal(shape, seed, dtype)
    return x + x.sign()


def dropped(submission: Submission, x: Tensor, p: float, seed: int) -> Any:
    return submission.dropout(x, p, True, submission.there(layers.generator, seed))


@exercise("layers.dropout")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=4)
@given(p=st.sampled_from([0.1, 0.5, 0.8]), seed=SEEDS)
def test_zero_or_larger(submission: Submission, dtype: torch.dtype, p: float, seed: int) -> None:
    """Each number is 0 or multiplied by 1 / (1 - p), in the dtype of x; x is not changed, and torch's own dropout is
    not called."""
    x = nonzero((4, 3, 5), seed, dtype)
    seen = observe(submission.dropout, x, p, True, submission.there(layers.generator, seed))
    assert_that(isinstance(seen.result, Tensor) and seen.result.shape == x.shape, "the result has another shape than x")
    assert_as_torch(seen.result, torch.where(seen.result == 0, 0.0, x / (1 - p)))
    assert_that(seen.changed == (), "x was changed in place")
    assert_without(seen, "dropout")


# Six standard deviations: with 20,000 numbers at most 0.0036 each.
@exercise("layers.dropout")
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_as_many_as_p_says(submission: Submission, p: float, seed: int) -> None:
    """Of many numbers, the fraction that becomes 0 is close to p."""
    found = dropped(submission, torch.ones(200, 100), p, seed)
    fraction = (found == 0).double().mean().item()
    text = f"with p = {p}, {fraction:.1%} of 20000 numbers are 0; by chance it is nearer to {p:.0%}"
    assert_that(abs(fraction - p) < 0.022, f"{text}: is each number drawn on its own?")


@exercise("layers.dropout")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_not_a_fixed_number(submission: Submission, seed: int) -> None:
    """How many numbers become 0 is chance: it is not the same in each call."""
    counts = {int((dropped(submission, torch.ones(64), 0.5, seed + call) == 0).sum()) for call in range(12)}
    text = f"just {counted(min(counts), 'number')} of 64 became 0 in each of 12 calls: is each one drawn on its own?"
    assert_that(len(counts) > 1, text)


@exercise("layers.dropout")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_each_on_its_own(submission: Submission, seed: int) -> None:
    """Whether a number becomes 0 does not depend on its neighbours: no whole rows, columns or batches are dropped."""
    found = dropped(submission, torch.ones(40, 30, 20), 0.5, seed) == 0
    for dim, name in enumerate(("first", "second", "last")):
        same = (found.narrow(dim, 1, found.shape[dim] - 1) == found.narrow(dim, 0, found.shape[dim] - 1)).double()
        assert_that(
            abs(same.mean().item() - 0.5) < 0.03,
            f"along the {name} dimension {same.mean().item():.0%} of all neighbours are dropped or kept together; by "
            "chance it would be a half",
        )


@exercise("layers.dropout")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_the_generator_decides(submission: Submission, seed: int) -> None:
    """Generators in the same state give the same result, whatever torch's global random numbers are; the next call, and
    another generator, give another result. The global random numbers go on as if nothing had been drawn."""
    x, generator = torch.ones(8, 8), submission.there(layers.generator, seed)
    submission.there(probes.start_global, seed)
    first, second = submission.dropout(x, 0.5, True, generator), submission.dropout(x, 0.5, True, generator)
    after = submission.there(probes.draw_from_global)
    submission.there(probes.start_global, seed + 1)
    again, other = dropped(submission, x, 0.5, seed), dropped(submission, x, 0.5, seed + 1)
    assert_equal(again, first, what="the result by another generator in the same state")
    assert_that(not torch.equal(second, first), "a second call with the same generator drops the same numbers")
    assert_that(not torch.equal(other, first), "another generator drops the same numbers")
    submission.there(probes.start_global, seed)
    untouched = submission.there(probes.draw_from_global)
    assert_equal(after, untouched, what="torch's global random numbers after the calls")


@exercise("layers.dropout", when="if not in training, or if p is 0")
@pytest.mark.parametrize(("p", "training"), [(0.5, False), (0.0, True), (0.0, False)])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_x_itself(submission: Submission, p: float, training: bool, seed: int) -> None:
    """If not in training, or if p is 0, the result is x itself."""
    x = nonzero((3, 4), seed)
    seen = observe(submission.dropout, x, p, training, submission.there(layers.generator, seed))
    assert_equal(seen.result, x)
    assert_that(seen.returned == "0", "the result has the numbers of x, but is not x itself")


@exercise("layers.dropout")
@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
def test_impossible_probability(submission: Submission, p: float) -> None:
    """p below 0, or 1 and above, is a ValueError."""
    with raises(ValueError):
        dropped(submission, torch.ones(3), p, 0)


@exercise("layers.dropout")
@settings(max_examples=2)
@given(p=st.sampled_from([0.2, 0.6]), seed=SEEDS)
def test_gradient_of_what_stays(submission: Submission, p: float, seed: int) -> None:
    """The gradient is 1 / (1 - p) for the numbers that stay, and 0 for the others."""
    x = nonzero((6, 5), seed)
    seen = value_and_grad(submission.dropout, x, p, True, submission.there(layers.generator, seed))
    assert_that(seen.has_graph, "no gradient flows from the result to x")
    assert_as_torch(seen.grads[0], torch.where(seen.value == 0, 0.0, torch.ones_like(x) / (1 - p)), what="the gradient")


# ---------------------------------------------------------------- conv2d


@exercise("layers.conv2d")
def test_one_small_image(submission: Submission) -> None:
    """Every output is the sum of a window times the weights, which are not flipped, plus the bias."""
    x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 13.0]]]])
    weight, bias = torch.tensor([[[[1.0, 2.0], [0.0, -1.0]]]]), torch.tensor([0.5])
    assert_as_torch(submission.conv2d(x, weight, bias), F.conv2d(x, weight, bias))


def images(seed: int, stride: int, padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """Images, weights and a bias of sizes that differ, in which a window fits."""
    n, c, o, kh, kw, more, wider = (recipes.labels(7, 3, seed) + torch.tensor([1, 1, 1, 1, 1, 0, 0])).tolist()
    height, width = max(kh - 2 * padding, 1) + stride + more, max(kw - 2 * padding, 1) + 2 * stride + wider
    x, weight = recipes.normal((n, c, height, width), seed + 1), recipes.normal((o, c, kh, kw), seed + 2)
    return x, weight, recipes.normal((o,), seed + 3)


def in_words(weight: Tensor, stride: int, padding: int) -> dict[str, object]:
    """The situation of a convolution."""
    return {
        "with padding": padding > 0,
        "with a stride above 1": stride > 1,
        "for windows that are not square": weight.shape[2] != weight.shape[3],
        "with several channels": weight.shape[1] > 1,
        "with several outputs": len(weight) > 1,
    }


@exercise("layers.conv2d")
@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 0), (1, 1), (2, 1), (3, 2)])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_any_images(submission: Submission, stride: int, padding: int, seed: int) -> None:
    """With any number of images, channels and outputs, windows that need not be square, and any stride and padding, the
    result is that of torch's own, to 1e-5; nothing is changed."""
    x, weight, bias = images(seed, stride, padding)
    situations(submission, in_words(weight, stride, padding))
    seen = observe(submission.conv2d, x, weight, bias, stride=stride, padding=padding)
    assert_as_torch(seen.result, F.conv2d(x, weight, bias, stride, padding))
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("layers.conv2d")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_defaults(submission: Submission, seed: int) -> None:
    """Without more arguments there is no bias, the stride is 1, and there is no padding; float64 stays float64."""
    x, weight = (one.double() for one in images(seed, 2, 0)[:2])
    assert_as_torch(submission.conv2d(x, weight), F.conv2d(x, weight))


@exercise("layers.conv2d")
@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0)])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_gradients_of_a_convolution(submission: Submission, stride: int, padding: int, seed: int) -> None:
    """The gradients that flow back to x, weight and bias are those of torch's own."""
    args = images(seed, stride, padding)
    seen = value_and_grad(submission.conv2d, *args, stride=stride, padding=padding, wrt=(0, 1, 2))
    assert_that(seen.has_graph, "no gradient flows from the result to x, weight and bias")
    expected = as_torch(lambda x, weight, bias: F.conv2d(x, weight, bias, stride, padding), *args)
    assert_close(seen.grads, expected, rtol=1e-4, atol=1e-4, what="the gradients of x, weight and bias")


# A few calls more are no loop, such as those of a branch.
SOME_CALLS = 3


@exercise("layers.conv2d")
@pytest.mark.parametrize("more", ["images", "channels", "outputs", "places"])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_no_loops(submission: Submission, more: str, seed: int) -> None:
    """The number of torch calls is the same for few images, channels, outputs and places of the window as for many; and
    torch's own convolution is not called."""
    calls = []
    for large in (False, True):
        n, c, o, size = (9 if large and more == one else 2 for one in ("images", "channels", "outputs", "places"))
        x, weight = recipes.normal((n, c, size + 2, size + 3), seed), recipes.normal((o, c, 2, 2), seed + 1)
        seen = observe(submission.conv2d, x, weight)
        assert_as_torch(seen.result, F.conv2d(x, weight))
        assert_without(seen, "conv")
        calls.append(seen.torch_calls)
    assert_that(
        calls[1] <= calls[0] + SOME_CALLS,
        f"{calls[0]} torch calls for 2 {more}, {calls[1]} for 9: is there a loop over {more}?",
    )


# ---------------------------------------------------------------- attention


def mixed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    weights = torch.softmax(scores.where(seen, torch.tensor(-1e30, dtype=scores.dtype)), dim=-1).where(seen, 0.0)
    return torch.einsum("...ij,...jd->...id", weights, v)


def three(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [recipes.normal(shape, seed + place, dtype) for place in range(3)]


@exercise("layers.attention")
def test_three_positions(submission: Submission) -> None:
    """Three positions, of which the first sees itself alone, the second itself and the first, the third nothing."""
    q, k = torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    v = torch.tensor([[1.0, 10.0], [3.0, 30.0], [5.0, 50.0]])
    mask = torch.tensor([[True, False, False], [True, True, False], [False, False, False]])
    assert_as_torch(submission.attention(q, k, v, mask), mixed(q, k, v, mask))


@exercise("layers.attention", when="without a mask")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=4)
@given(shape=st.sampled_from([(1, 3), (4, 2), (3, 9), (2, 3, 4), (2, 3, 4, 5)]), seed=SEEDS)
def test_everybody_sees_everybody(
    submission: Submission, dtype: torch.dtype, shape: tuple[int, ...], seed: int
) -> None:
    """Without a mask: softmax over the keys of the scores, which are divided by the square root of d, times the values;
    for any dims in front. Nothing is changed, and torch's own attention is not called."""
    q, k, v = three(shape, seed, dtype)
    seen = observe(submission.attention, q, k, v)
    assert_as_torch(seen.result, mixed(q, k, v))
    assert_that(seen.changed == (), "an argument was changed in place")
    assert_without(seen, "attention")


MASKS = [(4, 4), (1, 4), (4, 1), (2, 1, 4, 4), (3, 4, 4), (2, 3, 4, 4), (2, 1, 1, 4)]


@exercise("layers.attention")
@pytest.mark.parametrize("of", MASKS, ids=str)
@settings(max_examples=1)
@given(seed=SEEDS)
def test_only_what_may_be_seen(submission: Submission, of: tuple[int, ...], seed: int) -> None:
    """What the mask hides (False) has no weight; a position that may see nothing gets zeros; the mask broadcasts."""
    q, k, v = three((2, 3, 4, 5), seed)
    mask = recipes.labels(math.prod(of), 3, seed).reshape(of) > 0
    assert_as_torch(submission.attention(q, k, v, mask), mixed(q, k, v, mask))


@exercise("layers.attention")
@pytest.mark.parametrize("hidden", ["some", "all"])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_gradients_are_finite(submission: Submission, hidden: str, seed: int) -> None:
    """The gradients of q, k and v are right and finite, also where a position may see nothing, and where none may."""
    q, k, v = three((2, 4, 3), seed)
    mask = (recipes.labels(16, 2, seed).reshape(4, 4) > 0) & (torch.tensor([hidden == "some"] * 3 + [False])[:, None])
    seen = value_and_grad(submission.attention, q, k, v, mask, wrt=(0, 1, 2))
    assert_as_torch(seen.value, mixed(q, k, v, mask))
    expected = as_torch(lambda *args: mixed(args[0], args[1], args[2], mask), q, k, v)
    assert_close(
        [torch.zeros_like(q) if grad is None else grad for grad in seen.grads],
        expected,
        rtol=1e-4,
        atol=1e-5,
        what="the gradients of q, k and v",
    )


@exercise("layers.attention")
@pytest.mark.parametrize("masked", [False, True])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_large_scores(submission: Submission, masked: bool, seed: int) -> None:
    """Scores of some hundreds, above and below 0, give finite results."""
    q, k, v = three((4, 4), seed)
    q, mask = 300 * q.sign(), torch.ones(4, 4).tril().bool() if masked else None
    found = submission.attention(q, k, v) if mask is None else submission.attention(q, k, v, mask)
    assert_close(found, mixed(q, k, v, mask), atol=1e-3)


WORDS = ["the", "cat", "saw", "the", "other", "cat"]


@picture("layers.attention", title="Which word looks at which: at equal ones most, and with this mask at no later one")
def words_that_look(submission: Submission) -> Grid:
    """With the unit matrix as values, the result is the weights themselves."""
    known = sorted(set(WORDS))
    x = 3 * torch.eye(len(known))[[known.index(word) for word in WORDS]]
    size = len(WORDS)
    weights = submission.attention(x[None], x[None], torch.eye(size)[None], torch.ones(size, size).tril().bool())
    return Grid(values=weights[0], x_label=f"looked at: {' '.join(WORDS)}", y_label="word")


# ---------------------------------------------------------------- Adam

SHAPES = [(2, 3), (), (4,)]


def every_step(count: int) -> list[list[bool]]:
    return [[True] * len(SHAPES)] * count


def adam(plan: list[list[bool]], seed: int, scale: float = 1.0, **settings: Any) -> list[list[Tensor]]:
    return layers.after_each_step(torch.optim.Adam, SHAPES, plan, seed, settings, scale)


def assert_same_steps(found: object, expected: object, what: str) -> None:
    assert_close(found, expected, rtol=1e-6, atol=1e-7, what=what)


@exercise("layers.Adam")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_one_step(submission: Submission, seed: int) -> None:
    """The first step moves every number by lr against the sign of its gradient, however large that is."""
    params, here = submission.there(autograd.leaves, SHAPES, seed=seed), autograd.leaves(SHAPES, seed=seed)
    submission.Adam(params, lr=0.5).step()
    found = [facts["value"] for facts in submission.there(autograd.leaf_facts, params)]
    signs = [p.grad / (p.grad.abs() + 1e-8) for p in here if p.grad is not None]
    expected = [p.detach() - 0.5 * sign for p, sign in zip(here, signs, strict=True)]
    assert_as_torch(found, expected, what="the parameters after the step")


@exercise("layers.Adam")
@settings(max_examples=3)
@given(seed=SEEDS, betas=st.sampled_from([(0.9, 0.999), (0.5, 0.9), (0.0, 0.5)]), lr=st.sampled_from([0.1, 0.01]))
def test_many_steps(submission: Submission, seed: int, betas: tuple[float, float], lr: float) -> None:
    """Over many steps all parameters go where torch's own Adam takes them."""
    found = submission.there(
        layers.after_each_step, submission.Adam, SHAPES, every_step(12), seed, {"lr": lr, "betas": betas}
    )
    assert_same_steps(found, adam(every_step(12), seed, lr=lr, betas=betas), "the parameters after each of 12 steps")


@exercise("layers.Adam")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_default_settings(submission: Submission, seed: int) -> None:
    """The defaults are lr 1e-3, betas 0.9 and 0.999, and eps 1e-8, which counts where gradients are tiny."""
    for scale in (1.0, 1e-8):
        found = submission.there(layers.after_each_step, submission.Adam, SHAPES, every_step(4), seed, {}, scale)
        assert_same_steps(found, adam(every_step(4), seed, scale), f"the parameters after each of 4 steps (x {scale})")


@exercise("layers.Adam")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_eps_outside_the_root(submission: Submission, seed: int) -> None:
    """eps is added to the root of the corrected mean of squares, not inside the root."""
    options = {"lr": 0.1, "eps": 0.1}
    found = submission.there(layers.after_each_step, submission.Adam, SHAPES, every_step(4), seed, options, 0.1)
    assert_same_steps(found, adam(every_step(4), seed, 0.1, **options), "the parameters after each of 4 steps")


@exercise("layers.Adam")
@settings(max_examples=3)
@given(seed=SEEDS)
def test_without_a_gradient(submission: Submission, seed: int) -> None:
    """A parameter without a gradient is skipped in this step: it does not move, its means stay, and the step does not
    count for it; later steps go on from there."""
    plan = [[bool(one) for one in row] for row in recipes.labels(24, 2, seed).reshape(8, 3).tolist()]
    found = submission.there(layers.after_each_step, submission.Adam, SHAPES, plan, seed, {"lr": 0.1})
    assert_same_steps(found, adam(plan, seed, lr=0.1), f"the parameters after each of {counted(8, 'step')}")


@exercise("layers.Adam", when="if zero_grad() comes after each step")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_clearing_forgets_nothing(submission: Submission, seed: int) -> None:
    """zero_grad() clears gradients, and nothing else: means and counts go on over all steps."""
    found = submission.there(
        layers.after_each_step, submission.Adam, SHAPES, every_step(6), seed, {"lr": 0.1}, 1.0, True
    )
    assert_same_steps(found, adam(every_step(6), seed, lr=0.1), "the parameters after each of 6 steps")


@exercise("layers.Adam")
@settings(max_examples=1)
@given(seed=SEEDS)
def test_two_optimizers(submission: Submission, seed: int) -> None:
    """Two optimizers know nothing of each other."""
    found = submission.there(layers.in_turns, submission.Adam, SHAPES, every_step(3), seed)
    assert_same_steps(found, layers.in_turns(torch.optim.Adam, SHAPES, every_step(3), seed), "the parameters")


@exercise("layers.Adam")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_leaves_stay_leaves(submission: Submission, seed: int) -> None:
    """A step changes the numbers of the parameters in their own memory, records no graph, and leaves the gradients as
    they are; making the optimizer changes nothing."""
    params, here = submission.there(autograd.leaves, SHAPES, seed=seed), autograd.leaves(SHAPES, seed=seed)
    optimizer = submission.Adam(params, lr=0.1)
    at_first = submission.there(autograd.leaf_facts, params)
    assert_equal([facts["value"] for facts in at_first], [p.detach() for p in here], what="the parameters at first")
    optimizer.step()
    torch.optim.Adam(here, lr=0.1).step()
    found = submission.there(autograd.leaf_facts, params)
    own = [facts["memory"] for facts in found]
    is_moved = str(own) == str([facts["value"] for facts in found])
    assert_that(
        is_moved, "the parameters got new tensors (`p.data = ...`): change the numbers that they have, in place"
    )
    assert_as_torch(own, [p.detach() for p in here], what="the parameters after the step")
    assert_equal([facts["grad"] for facts in found], autograd.grads(here), what="the gradients after the step")
    leaves = [(facts["is_leaf"], facts["requires_grad"]) for facts in found]
    assert_equal(leaves, [(True, True)] * 3, what="whether they are leaves, and require grad")
    again = submission.there(autograd.backward_again, params, seed)
    assert_as_torch(again, autograd.backward_again(here, seed), what="the gradients after the next backward()")


@exercise("layers.Adam")
def test_nothing_is_left(submission: Submission) -> None:
    """After zero_grad() nothing is left of the gradients; those of parameters that had none are no problem."""
    params = submission.there(autograd.leaves, SHAPES, [True, False, True])
    found = submission.there(layers.cleared, submission.Adam(params), params)
    assert_equal(found, [True] * 3, what="whether each gradient is gone")


@exercise("layers.Adam")
@settings(max_examples=1)
@given(seed=SEEDS)
def test_own_steps(submission: Submission, seed: int) -> None:
    """The steps are computed here: no optimizer of torch takes them."""
    found, used = submission.there(layers.ready_made, submission.Adam, SHAPES, every_step(2), seed)
    assert_same_steps(found, adam(every_step(2), seed, lr=0.1), "the parameters after each of 2 steps")
    assert_equal(used, [], what="optimizers of torch whose code ran")
