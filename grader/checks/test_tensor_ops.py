"""Checks of tensor_ops: making, describing, reshaping and combining whole tensors.

Never compare what a contract leaves open, such as whether `flatten_rows` copies, in which order sums are taken, or
whether a shape is a `torch.Size` or a plain tuple.
"""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Lines,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    exercise,
    observe,
    picture,
    raises,
    recipes,
    seeds,
    situations,
    tensors,
    value_and_grad,
)
from kit import tensor_ops

DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.bool)
OTHER_DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.bool)


SEEDS = seeds()
FLOATS = (torch.float32, torch.float64)
PRECISION = {torch.float32: 1e-3, torch.float64: 1e-8}
"""How close results must be, absolutely."""


def assert_as_exact(actual: object, expected: Tensor, atol: float) -> None:
    """Close, relatively, to 1e-4; in float64 so close that nothing can have passed through float32 (6e-8)."""
    assert_close(actual, expected, rtol=1e-4 if expected.dtype == torch.float32 else 1e-10, atol=atol)


def ranks(low: int, high: int, largest: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of ``low`` to ``high`` dims, each of size 1 to ``largest``."""
    return st.lists(st.integers(1, largest), min_size=low, max_size=high).map(tuple)


@exercise("tensor_ops.make_tensor")
@pytest.mark.parametrize("values", [[[1, 2, 3], [4, 5, 6.5]], [[[7]], [[8]]], [0.1, -0.2]])
def test_values_and_shape(submission: Submission, values: Any) -> None:
    """Numbers and shape are kept; ints and floats may be mixed. The list is not changed."""
    seen = observe(submission.make_tensor, values)
    assert_equal(seen.result, torch.tensor(values, dtype=torch.float32))
    assert_that(seen.changed == (), "the list was changed")


@exercise("tensor_ops.make_tensor")
@given(x=tensors(ranks(1, 4, largest=3), dtype=(torch.float32, torch.int64), contiguous=True))
def test_any_nested_list_becomes_float32(submission: Submission, x: Tensor) -> None:
    """Lists of any depth become float32, whether their numbers are ints or floats."""
    assert_equal(submission.make_tensor(x.tolist()), x.to(torch.float32))


# No positive whole number here: torch.Tensor(n) has n numbers of whatever the memory holds, never twice the same.
@exercise("tensor_ops.make_tensor", when="for a bare number")
@given(number=st.one_of(st.integers(-99, 0), st.floats(-99, 99, width=32)))
def test_bare_number_has_no_dims(submission: Submission, number: float) -> None:
    """A bare number makes a tensor of shape () that holds this number."""
    assert_equal(submission.make_tensor(number), torch.tensor(number, dtype=torch.float32))


@exercise("tensor_ops.make_tensor", when="while torch's default dtype is float64")
@pytest.mark.parametrize("values", [0.5, [1, 2.5], [[3]]], ids=str)
def test_float32_whatever_the_default(submission: Submission, values: Any) -> None:
    """The dtype is float32 also while torch's default dtype is another one."""
    found = submission.there(tensor_ops.with_default_float64, submission.make_tensor, values)
    assert_equal(found, torch.tensor(values, dtype=torch.float32))


def plain_shape(found: Any) -> Any:
    """The same description with a torch.Size as a tuple: both are right."""
    return tuple(tuple(one) if type(one) is torch.Size else one for one in found) if type(found) is tuple else found


@exercise("tensor_ops.describe")
@given(x=tensors(ranks(1, 4), dtype=DTYPES))
def test_rank_shape_and_dtype(submission: Submission, x: Tensor) -> None:
    """The number of dims, the shape as a tuple of ints, and the dtype, for any tensor."""
    assert_equal(plain_shape(submission.describe(x)), (x.dim(), tuple(x.shape), x.dtype))


@exercise("tensor_ops.describe", when="for a tensor without dims")
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_tensor_without_dims(submission: Submission, dtype: torch.dtype) -> None:
    """A single number has rank 0 and the shape ()."""
    assert_equal(plain_shape(submission.describe(torch.tensor(5, dtype=dtype))), (0, (), dtype))


@exercise("tensor_ops.describe", when="for a tensor without elements")
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 4)])
def test_tensor_without_elements(submission: Submission, shape: tuple[int, ...]) -> None:
    """A tensor with no elements still has a rank and a shape."""
    assert_equal(plain_shape(submission.describe(torch.zeros(shape))), (len(shape), shape, torch.float32))


@exercise("tensor_ops.as_float32")
@given(x=tensors(ranks(0, 3), dtype=OTHER_DTYPES))
def test_equal_values_in_float32(submission: Submission, x: Tensor) -> None:
    """A tensor of another dtype comes back as float32 with the same shape and equal values."""
    assert_equal(submission.as_float32(x), x.to(torch.float32))


# Whole numbers beyond 2048 do not fit into half precision; up to 2 ** 24, float32 has all of them.
@exercise("tensor_ops.as_float32", when="for large whole numbers")
@given(
    numbers=st.lists(st.integers(-(1 << 24), 1 << 24), min_size=1, max_size=3),
    dtype=st.sampled_from([torch.int64, torch.int32, torch.float64]),
)
def test_large_numbers(submission: Submission, numbers: list[int], dtype: torch.dtype) -> None:
    """Large whole numbers keep their values."""
    x = torch.tensor(numbers, dtype=dtype)
    assert_equal(submission.as_float32(x), x.to(torch.float32))


@exercise("tensor_ops.as_float32", when="for a tensor that is float32 already")
@given(x=tensors(ranks(0, 3)), seed=SEEDS)
def test_float32_comes_back_itself(submission: Submission, x: Tensor, seed: int) -> None:
    """A tensor that is float32 already is returned itself, unchanged and not copied."""
    later = recipes.normal(x.shape, seed)
    found, itself = submission.there(tensor_ops.result_and_itself, submission.as_float32, x, later)
    assert_equal(found, x)
    is_x = isinstance(itself, Tensor) and itself.shape == (1, *x.shape) and torch.equal(itself[0], later)
    assert_that(is_x, "for a float32 input, the input itself must come back: when it changes later, so does the result")


@exercise("tensor_ops.as_float32", when="for a tensor without elements")
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_no_elements(submission: Submission, dtype: torch.dtype) -> None:
    """An empty tensor becomes an empty float32 tensor of the same shape."""
    assert_equal(submission.as_float32(torch.zeros(0, 3, dtype=dtype)), torch.zeros(0, 3))


@exercise("tensor_ops.flatten_rows")
@given(x=tensors(ranks(2, 5, largest=3), dtype=(torch.float32, torch.int64), contiguous=True))
def test_each_example_is_one_row(submission: Submission, x: Tensor) -> None:
    """Row i holds the elements of x[i], in the same order and with the same dtype."""
    assert_equal(submission.flatten_rows(x), x.reshape(x.shape[0], math.prod(x.shape[1:])))


@exercise("tensor_ops.flatten_rows", when="for a tensor that does not lie contiguous in memory")
@given(x=tensors(((2, 4), (2, 4), (2, 3)), kind=("counting", "normal"), contiguous=False))
def test_any_memory_layout(submission: Submission, x: Tensor) -> None:
    """It also works for a tensor whose memory is not in reading order (non-contiguous)."""
    assert_equal(submission.flatten_rows(x), x.reshape(x.shape[0], math.prod(x.shape[1:])))


@exercise("tensor_ops.flatten_rows", when="for a vector")
@given(x=tensors(((1, 6),)))
def test_vector_becomes_a_column(submission: Submission, x: Tensor) -> None:
    """A vector (n,) becomes a column (n, 1); the vector that was passed keeps its shape."""
    seen = observe(submission.flatten_rows, x)
    assert_equal(seen.result, x.reshape(-1, 1))
    assert_that(seen.changed == (), "the input itself was changed")


@exercise("tensor_ops.flatten_rows", when="for a tensor without rows")
@pytest.mark.parametrize(("shape", "width"), [((0, 4), 4), ((0, 2, 3), 6), ((0,), 1)])
def test_no_rows(submission: Submission, shape: tuple[int, ...], width: int) -> None:
    """With n = 0 the result has no rows, and the same width that it would have with rows."""
    assert_equal(submission.flatten_rows(torch.zeros(shape)), torch.zeros(0, width))


@exercise("tensor_ops.swap_last_axes")
@given(x=tensors(ranks(2, 5, largest=3), dtype=(torch.float32, torch.int64)))
def test_last_two_indices_change_places(submission: Submission, x: Tensor) -> None:
    """Element [..., i, j] becomes [..., j, i], with any dims before the last two."""
    assert_equal(submission.swap_last_axes(x), x.transpose(-2, -1))


@exercise("tensor_ops.swap_last_axes", when="for a batch of matrices")
def test_batch_of_matrices(submission: Submission) -> None:
    """Each matrix of a batch is transposed, and the batch keeps its order."""
    x = torch.arange(12).reshape(2, 2, 3)
    assert_equal(submission.swap_last_axes(x), torch.stack([x[0].T, x[1].T]))


@exercise("tensor_ops.swap_last_axes", when="when the numbers of the input change later")
@given(
    x=tensors(((1, 2), (2, 4), (2, 4)), kind=("counting", "normal"), contiguous=True),
    seed=SEEDS,
    layout=st.sampled_from(["contiguous", "transposed", "part"]),
)
def test_is_a_view(submission: Submission, x: Tensor, seed: int, layout: str) -> None:
    """The result is a view, however the input lies in memory: when the numbers of the input change later, so do the
    result's. The input keeps its shape."""
    later = recipes.normal(x.shape, seed)
    found, view, shape = submission.there(tensor_ops.result_and_later, submission.swap_last_axes, x, later, layout)
    assert_equal(found, x.transpose(-2, -1))
    assert_equal(shape, list(x.shape), what="the shape of the input afterwards")
    assert_equal(view, later.transpose(-2, -1), what="the result after the input got other numbers")


@exercise("tensor_ops.gram")
def test_three_rows(submission: Submission) -> None:
    """For three rows of two numbers: all nine dot products."""
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0], [0.0, 2.0]])
    assert_close(submission.gram(x), torch.tensor([[5.0, -5.0, -4.0], [-5.0, 25.0, 8.0], [-4.0, 8.0, 4.0]]))


@exercise("tensor_ops.gram")
@given(x=tensors(((1, 6), (1, 6)), dtype=FLOATS))
def test_rows_dotted_with_rows(submission: Submission, x: Tensor) -> None:
    """Entry (i, j) is the dot product of rows i and j, for any matrix, in the dtype of the matrix."""
    assert_as_exact(submission.gram(x), x @ x.T, atol=PRECISION[x.dtype] / 10)


# Whole numbers hide a detour through float32, and other float64 numbers may not be drawn.
@exercise("tensor_ops.gram", when="for float64")
@settings(max_examples=2)
@given(x=tensors(((2, 4), (2, 4)), dtype=torch.float64, kind="normal"))
def test_float64_keeps_its_digits(submission: Submission, x: Tensor) -> None:
    """A float64 matrix gives dot products with all the digits that float64 has."""
    assert_as_exact(submission.gram(x), x @ x.T, atol=1e-9)


@exercise("tensor_ops.gram", when="for a table with one row or one column")
@pytest.mark.parametrize(("n", "d"), [(1, 5), (5, 1)])
def test_one_row_or_one_column(submission: Submission, n: int, d: int) -> None:
    """One row gives a (1, 1) matrix, n rows of one number give an (n, n) matrix."""
    x = torch.arange(1.0, 6.0).reshape(n, d)
    assert_close(submission.gram(x), x @ x.T)


def standardized(x: Tensor, eps: float) -> Tensor:
    std, mean = torch.std_mean(x, 0, keepdim=True)
    return x.sub(mean).div(std.add(eps))


@exercise("tensor_ops.standardize")
@given(x=tensors(((2, 6), (1, 4)), dtype=FLOATS), eps=st.sampled_from([0.01, 0.1, 1.0]))
def test_each_column_by_its_own_mean_and_std(submission: Submission, x: Tensor, eps: float) -> None:
    """(x - mean) / (unbiased std + eps), with a mean and a standard deviation per column, in the dtype of x."""
    assert_as_exact(submission.standardize(x, eps), standardized(x, eps), atol=PRECISION[x.dtype])


@exercise("tensor_ops.standardize", when="with the default eps")
@given(steps=tensors((3, (1, 3)), kind="counting"))
def test_default_eps(submission: Submission, steps: Tensor) -> None:
    """The default eps is 1e-5, which makes a difference where a column hardly varies."""
    x = steps * 1e-5
    assert_close(submission.standardize(x), standardized(x, 1e-5), rtol=1e-3, atol=1e-3)


# Small constants and a wide tolerance: a rounding error of the mean is divided by eps = 1e-5.
@exercise("tensor_ops.standardize", when="for a column of equal numbers")
@given(rows=st.integers(2, 5), constant=st.sampled_from([0.0, 1.0, -0.5, 0.75]))
def test_constant_column_gives_zeros(submission: Submission, rows: int, constant: float) -> None:
    """A column of equal numbers gives zeros, not nan, and does not change the result of the column beside it."""
    x = torch.stack([torch.full((rows,), constant), torch.arange(rows).float()], dim=1)
    expected = standardized(x, 1e-5)
    expected[:, 0] = 0.0
    assert_close(submission.standardize(x), expected, atol=0.05)


@exercise("tensor_ops.standardize")
@given(x=tensors(((2, 4), (1, 3)), kind=("counting", "normal")))
def test_input_is_untouched(submission: Submission, x: Tensor) -> None:
    """The tensor that was passed holds the same numbers afterwards."""
    seen = observe(submission.standardize, x, eps=0.1)
    assert_that(seen.changed == (), "the input was changed")
    assert_close(seen.result, standardized(x, 0.1), atol=1e-3)


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, None] - b[None]).pow(2).sum(dim=-1)


def two_tables(structure: tuple[int, torch.dtype], kind: str | None = None) -> st.SearchStrategy[tuple[Tensor, Tensor]]:
    width, dtype = structure
    return st.tuples(tensors(((1, 5), width), dtype, kind), tensors(((1, 5), width), dtype, kind))


@exercise("tensor_ops.pairwise_sq_dists")
def test_two_rows_against_three(submission: Submission) -> None:
    """Two rows against three give a (2, 3) matrix of squared distances."""
    a, b = torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.tensor([[0.0, 2.0], [1.0, 0.0], [3.0, 0.0]])
    assert_close(submission.pairwise_sq_dists(a, b), torch.tensor([[4.0, 1.0, 9.0], [13.0, 20.0, 16.0]]), atol=1e-3)


@exercise("tensor_ops.pairwise_sq_dists")
@given(tables=st.tuples(st.integers(1, 4), st.sampled_from(FLOATS)).flatmap(two_tables))
def test_every_row_against_every_row(submission: Submission, tables: tuple[Tensor, Tensor]) -> None:
    """Entry (i, j) is the squared distance of row i of a from row j of b, for any n and m, in the tables' dtype."""
    a, b = tables
    assert_as_exact(submission.pairwise_sq_dists(a, b), squared_distances(a, b), atol=PRECISION[a.dtype])


@exercise("tensor_ops.pairwise_sq_dists", when="for float64")
@settings(max_examples=2)
@given(tables=two_tables((3, torch.float64), kind="normal"))
def test_float64_tables_keep_their_digits(submission: Submission, tables: tuple[Tensor, Tensor]) -> None:
    """Two float64 tables give squared distances with all the digits that float64 has."""
    a, b = tables
    assert_as_exact(submission.pairwise_sq_dists(a, b), squared_distances(a, b), atol=PRECISION[a.dtype])


@exercise("tensor_ops.pairwise_sq_dists", when="for rows that are close together")
@settings(max_examples=3)
@given(x=tensors((20, 3), kind="normal", contiguous=True))
def test_never_negative(submission: Submission, x: Tensor) -> None:
    """Rows that are close together, far from zero, have distances that are small but not below 0."""
    points = 30 + x / 1000
    result = submission.pairwise_sq_dists(points, points)
    assert_close(result, squared_distances(points, points), atol=0.02)
    assert_that(bool((result >= 0).all()), f"a squared distance is negative: {result.min().item():.3g}")


def numbers_apart(n: int, m: int, seed: int) -> list[Tensor]:
    """Two tables of one column, one above 1 and one below -1: `torch.cdist` finds short distances less exactly."""
    return [recipes.normal((n, 1), seed).abs() + 1, -1 - recipes.normal((m, 1), seed + 1).abs()]


# The same measurement on a loop, in an order that is drawn, tells whether it measures at all.
@exercise("tensor_ops.pairwise_sq_dists", when="for many rows")
@pytest.mark.parametrize("of_a", [True, False], ids=["a", "b"])
@settings(max_examples=2)
@given(more=st.integers(4000, 4400), loop_first=st.booleans(), seed=SEEDS)
def test_as_many_steps_for_many_rows(
    submission: Submission, of_a: bool, more: int, loop_first: bool, seed: int
) -> None:
    """The number of torch calls is the same for few rows as for many, of a as of b, and there is no loop over rows:
    the processor time of a call grows as that of operations on whole tensors."""
    few, many = numbers_apart(2, 2, seed), numbers_apart(2 + more * of_a, 2 + more * (not of_a), seed + 2)
    grows = {}
    for is_loop in (loop_first, not loop_first):
        function = tensor_ops.in_pieces if is_loop else submission.pairwise_sq_dists
        first, second, grows[is_loop] = submission.there(tensor_ops.cost_grows, function, few, many)
        assert_close([first, second], [squared_distances(*few), squared_distances(*many)], atol=1e-3)
    assert_that(
        grows[True], "the processor time of a loop over rows does not grow with the rows while your module is loaded"
    )
    sentence = f"with {more} rows of {'a' if of_a else 'b'} more, the call takes more steps: is there a loop over rows?"
    assert_that(not grows[False], sentence)


@exercise("tensor_ops.softmax")
@given(x=tensors(ranks(1, 3), dtype=FLOATS), pick=st.integers(0, 5))
def test_probabilities_along_dim(submission: Submission, x: Tensor, pick: int) -> None:
    """exp(x) divided by its sum along dim, for any shape and any dim, negative ones too, in the dtype of x."""
    dim = pick % (2 * x.dim()) - x.dim()
    words = {
        "along another dim than the last": dim != -1,
        "along the last dim": dim == -1,
        "for a tensor with more than one dim": x.dim() > 1,
        "along a dim that is longer than 1": x.shape[dim] > 1,
    }
    situations(submission, words)
    assert_as_exact(submission.softmax(x, dim), torch.softmax(x, dim), atol=PRECISION[x.dtype] / 100)


# exp(x - logsumexp(x)) is right too; its float32 error at 1e4 is about 1e-3.
@exercise("tensor_ops.softmax", when="for scores of ±10,000")
@given(x=tensors(((1, 4), (2, 4)), kind="large"), dim=st.sampled_from([0, 1, -1]))
def test_large_scores(submission: Submission, x: Tensor, dim: int) -> None:
    """Scores up to 1e4 and down to -1e4 give finite probabilities that sum to 1 along dim."""
    scores = x.clamp(-1e4, 1e4)
    assert_close(submission.softmax(scores, dim), torch.softmax(scores, dim), atol=5e-3)


@exercise("tensor_ops.softmax", when="with a row of large scores beside a row of small ones")
@pytest.mark.parametrize(("dim", "probability"), [(1, [[0.5, 0.5], [0.5, 0.5]]), (0, [[1.0, 1.0], [0.0, 0.0]])])
def test_high_and_low_rows_together(submission: Submission, dim: int, probability: list[list[float]]) -> None:
    """A row of 1e4 and a row of -1e4 in one tensor: each slice is computed separately."""
    x = torch.tensor([[1e4, 1e4], [-1e4, -1e4]])
    assert_close(submission.softmax(x, dim), torch.tensor(probability), atol=5e-3)


# The same look at torch's softmax, in an order that is drawn, tells whether it sees anything at all.
@exercise("tensor_ops.softmax")
@pytest.mark.parametrize("dim", [0, 1])
@settings(max_examples=2)
@given(torch_first=st.booleans(), seed=SEEDS)
def test_written_by_hand(submission: Submission, dim: int, torch_first: bool, seed: int) -> None:
    """The result is computed without torch's own softmax."""
    x = 3 * recipes.normal((2, 3), seed)
    used: dict[bool, Any] = {}
    for is_torch in (torch_first, not torch_first):
        function = tensor_ops.from_torch if is_torch else submission.softmax
        found, used[is_torch] = submission.there(tensor_ops.ready_made, function, x, dim)
        assert_close(found, torch.softmax(x, dim), atol=1e-5)
    assert_equal(used[True], ["softmax"], what="what torch's own softmax uses while your module is loaded")
    assert_that(used[False] == [], f"torch's own {used[False]} was called: write it with exp and sum")


@picture(
    "tensor_ops.softmax",
    title="Softmax of ten scores: a low temperature gives nearly all to the highest, a high one shares",
)
def probabilities_by_temperature(submission: Submission) -> Lines:
    scores, temperatures = torch.linspace(-2, 2, 10), (0.3, 1.0, 3.0)
    found = submission.softmax(torch.stack([scores / one for one in temperatures]), 1)
    series = {f"temperature {one:g}": row for one, row in zip(temperatures, found, strict=True)}
    return Lines(series=series, x=scores.tolist(), x_label="score", y_label="probability")


# A few calls more are no loop, such as those of a branch.
SOME_CALLS = 3


@exercise("tensor_ops.true_class_scores")
@given(scores=tensors(((1, 6), (1, 5)), dtype=FLOATS, kind=("counting", "normal", "large")), shift=st.integers(0, 4))
def test_one_score_per_row(submission: Submission, scores: Tensor, shift: int) -> None:
    """Entry i is scores[i, labels[i]], in the dtype of the scores; neither input is changed."""
    n, classes = scores.shape
    labels = (torch.arange(n) ** 2 + shift) % classes
    words = {
        "for a label that is not the class with the largest score": bool((scores.argmax(dim=1) != labels).any()),
        "for labels outside the first row": n > 1,
        "with a single row": n == 1,
        "with more than one class": classes > 1,
    }
    situations(submission, words)
    seen = observe(submission.true_class_scores, scores, labels)
    assert_equal(seen.result, torch.stack([row[label] for row, label in zip(scores, labels.tolist(), strict=True)]))
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("tensor_ops.true_class_scores", when="without rows")
@pytest.mark.parametrize("classes", [1, 4])
def test_no_rows_no_scores(submission: Submission, classes: int) -> None:
    """Without rows the result has no numbers: its shape is (0,)."""
    labels = torch.zeros(0, dtype=torch.int64)
    assert_equal(submission.true_class_scores(torch.zeros(0, classes), labels), torch.zeros(0))


@exercise("tensor_ops.true_class_scores", when="in the gradient")
@given(n=st.integers(1, 4), classes=st.integers(2, 4), seed=SEEDS)
@settings(max_examples=3)
def test_gradient_reaches_the_scores(submission: Submission, n: int, classes: int, seed: int) -> None:
    """The gradient of the sum is 1 at the scores that were picked, and 0 at all others."""
    scores, labels = recipes.normal((n, classes), seed), recipes.labels(n, classes, seed)
    seen = value_and_grad(submission.true_class_scores, scores, labels)
    assert_that(seen.has_graph, "no gradient flows from the result to the scores")
    assert_equal(seen.grads[0], torch.eye(classes)[labels], what="the gradient of the sum at the scores")


@exercise("tensor_ops.true_class_scores")
@given(many=st.integers(3000, 3100), seed=SEEDS)
@settings(max_examples=2)
def test_no_loop_over_rows(submission: Submission, many: int, seed: int) -> None:
    """The number of torch calls is the same for 3 rows as for 3000."""
    calls, copying = [], submission.there(tensor_ops.copying, submission.true_class_scores)
    for n in (3, many):
        scores, labels = recipes.normal((n, 4), seed), recipes.labels(n, 4, seed)
        seen = observe(copying, scores, labels)
        assert_equal(seen.result, scores.gather(1, labels[:, None])[:, 0])
        calls.append(seen.torch_calls)
    assert_that(
        calls[1] <= calls[0] + SOME_CALLS,
        f"{calls[0]} torch calls for 3 rows, {calls[1]} for {many}: is there a loop over rows?",
    )


def mean_of_seen(x: Tensor, mask: Tensor) -> Tensor:
    found = [rows[seen].sum(dim=0) / max(1, int(seen.sum())) for rows, seen in zip(x, mask, strict=True)]
    return torch.stack(found)


@exercise("tensor_ops.masked_mean")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(n=st.integers(1, 4), t=st.integers(1, 4), odds=st.integers(1, 9), seed=SEEDS)
@settings(max_examples=8)
def test_mean_of_the_positions_that_count(
    submission: Submission, dtype: torch.dtype, n: int, t: int, odds: int, seed: int
) -> None:
    """For each sequence the mean over its positions where the mask is True, zeros if there is none, in the dtype of x;
    neither input is changed."""
    x, mask = recipes.normal((n, t, 2), seed, dtype), recipes.labels(n * t, 10, seed).view(n, t) < odds
    words = {
        "for a sequence in which no position counts": not mask.any(dim=1).all(),
        "for a sequence in which some positions count and some do not": bool((mask.any(1) & ~mask.all(1)).any()),
        "with positions that do not count": not mask.all(),
        "for several sequences": n > 1,
    }
    situations(submission, words)
    seen = observe(submission.masked_mean, x, mask)
    assert_as_exact(seen.result, mean_of_seen(x, mask), atol=PRECISION[x.dtype])
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("tensor_ops.masked_mean")
def test_three_sequences(submission: Submission) -> None:
    """A sequence that counts whole, with a zero in it, one of which a part does, and one that does not count at all."""
    x = torch.tensor([[[1.0, -2.0], [3.0, 0.0]], [[5.0, 6.0], [7.0, 8.0]], [[9.0, 9.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True], [False, True], [False, False]])
    assert_close(submission.masked_mean(x, mask), torch.tensor([[2.0, -1.0], [7.0, 8.0], [0.0, 0.0]]), atol=1e-5)


@exercise("tensor_ops.masked_mean", when="in the gradient")
@given(n=st.integers(2, 4), t=st.integers(1, 4), seed=SEEDS)
@settings(max_examples=4)
def test_gradient_of_a_mean(submission: Submission, n: int, t: int, seed: int) -> None:
    """The gradient is shared by the positions that count, and is zero at all others: also in a sequence without any,
    where it must not be nan."""
    x, mask = recipes.normal((n, t, 2), seed), recipes.labels(n * t, 2, seed).view(n, t).bool()
    mask[0] = False
    seen = value_and_grad(submission.masked_mean, x, mask)
    assert_that(seen.has_graph, "no gradient flows from the result to x")
    share = mask / mask.sum(dim=1, keepdim=True).clamp(min=1)
    expected = share[:, :, None].expand(n, t, 2).contiguous()
    assert_close(seen.grads[0], expected, atol=1e-5, what="the gradient of the sum at x")


def leading_dims(dims: tuple[tuple[int, ...], tuple[int, ...], int, int, int]) -> tuple[Tensor, Tensor]:
    before_a, before_b, n, m, seed = dims
    return recipes.normal((*before_a, n), seed), recipes.normal((*before_b, m), seed + 1)


@exercise("tensor_ops.outer_sum")
@pytest.mark.parametrize(
    ("before_a", "before_b"), [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 1)), ((2, 1), (2, 3))], ids=str
)
@given(n=st.integers(1, 4), m=st.integers(1, 4), seed=SEEDS)
@settings(max_examples=3)
def test_each_with_each(
    submission: Submission, before_a: tuple[int, ...], before_b: tuple[int, ...], n: int, m: int, seed: int
) -> None:
    """Entry [..., i, j] is a[..., i] + b[..., j]; the dims before the last broadcast; neither input is changed."""
    a, b = leading_dims((before_a, before_b, n, m, seed))
    words = {
        "for batches that broadcast": before_a != before_b,
        "for batches": before_a or before_b,
        "for two vectors": not before_a,
        "for vectors of unequal length": n != m,
    }
    situations(submission, words)
    seen = observe(submission.outer_sum, a, b)
    assert_close(seen.result, a[..., :, None] + b[..., None, :], atol=1e-5)
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("tensor_ops.outer_sum", when="for another dtype than float32")
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_dtype_is_kept(submission: Submission, dtype: torch.dtype) -> None:
    """Whole numbers stay whole numbers, and float64 stays float64."""
    a, b = torch.tensor([10, 20], dtype=dtype), torch.tensor([1, 2, 3], dtype=dtype)
    assert_equal(submission.outer_sum(a, b), torch.tensor([[11, 12, 13], [21, 22, 23]], dtype=dtype))


# The same look at a function that copies, in an order that is drawn, tells whether it sees anything at all.
@exercise("tensor_ops.outer_sum")
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@given(n=st.integers(2, 4), m=st.integers(2, 4), copies_first=st.booleans(), seed=SEEDS)
@settings(max_examples=2)
def test_copies_nothing(submission: Submission, layout: str, n: int, m: int, copies_first: bool, seed: int) -> None:
    """Neither input is copied before the sum, however it lies in memory."""
    a, b = recipes.normal((2, n), seed), recipes.normal((2, m), seed + 1)
    copies: dict[bool, Any] = {}
    for is_ours in (copies_first, not copies_first):
        function = tensor_ops.repeats_and_adds if is_ours else submission.outer_sum
        found, copies[is_ours] = submission.there(tensor_ops.copies_of_one, function, a, b, layout)
        assert_close(found, a[..., :, None] + b[..., None, :], atol=1e-5)
    assert_that("repeat" in copies[True], "a copy of an input is not seen while your module is loaded")
    assert_that(
        copies[False] == [], f"an input is copied before the sum, by {copies[False]}: broadcasting needs no copy"
    )


@exercise("tensor_ops.one_hot")
@given(shape=ranks(0, 3), num_classes=st.integers(1, 5), seed=SEEDS)
def test_one_at_the_label(submission: Submission, shape: tuple[int, ...], num_classes: int, seed: int) -> None:
    """1 at the label and 0 elsewhere, float32, for labels of any shape; the labels are not changed."""
    labels = recipes.labels(math.prod(shape), num_classes, seed).view(shape)
    words = {
        "if no label is the last class": labels.numel() > 0 and int(labels.max()) < num_classes - 1,
        "for labels with more than one dim": len(shape) > 1,
        "for a single label without dims": not shape,
    }
    situations(submission, words)
    seen = observe(submission.one_hot, labels, num_classes)
    assert_equal(seen.result, torch.eye(num_classes)[labels])
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("tensor_ops.one_hot", when="without labels")
@pytest.mark.parametrize("shape", [(0,), (2, 0)], ids=str)
def test_no_labels(submission: Submission, shape: tuple[int, ...]) -> None:
    """Without labels the result has no rows, and a last dim of num_classes."""
    assert_equal(submission.one_hot(torch.zeros(shape, dtype=torch.int64), 3), torch.zeros(*shape, 3))


@exercise("tensor_ops.one_hot")
@pytest.mark.parametrize("above", [None, 0, 41])
@given(num_classes=st.integers(1, 4), place=st.integers(0, 3))
@settings(max_examples=2)
def test_label_outside(submission: Submission, above: int | None, num_classes: int, place: int) -> None:
    """A label below 0, or not below num_classes, is a ValueError with the first such label in its message."""
    wrong = -17 if above is None else num_classes + above
    labels = torch.zeros(5, dtype=torch.int64)
    labels[place], labels[4] = wrong, num_classes + 70
    with raises(ValueError) as caught:
        submission.one_hot(labels, num_classes)
    assert_that(
        bool(re.search(rf"(?<![\d-]){wrong}(?!\d)", caught.message)),
        f"the message must have the first label outside in it, {wrong}; it is {caught.message!r}",
    )
    with raises(ValueError):
        submission.one_hot(torch.tensor(wrong), num_classes)


# The same look at torch's own, in an order that is drawn, tells whether it sees anything at all.
@exercise("tensor_ops.one_hot")
@given(torch_first=st.booleans())
@settings(max_examples=2)
def test_rows_by_hand(submission: Submission, torch_first: bool) -> None:
    """The result is made without F.one_hot."""
    labels = torch.tensor([[0, 2, 1]])
    used: dict[bool, Any] = {}
    for is_torch in (torch_first, not torch_first):
        function = tensor_ops.rows_from_torch if is_torch else submission.one_hot
        found, used[is_torch] = submission.there(tensor_ops.ready_made_rows, function, labels, 3)
        assert_equal(found, torch.eye(3)[labels])
    assert_equal(used[True], True, what="whether torch's own one_hot is seen while your module is loaded")
    assert_that(used[False] is False, "F.one_hot was called: compare the labels with all classes instead")


def scores_and_labels(n: int, classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Scores without ties, near and far from each other and from 0, and labels of which about half are right."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.rand(n, classes, generator=generator).argsort(dim=1).float()
    logits = 0.01 * 10 ** (seed % 4) * logits + (0, -60, 5)[seed % 3]
    guesses = torch.randint(0, classes, (n,), generator=generator)
    return logits, torch.where(torch.rand(n, generator=generator) < 0.5, logits.argmax(dim=1), guesses)


def fraction_right(logits: Tensor, labels: Tensor) -> float:
    return int((logits.argmax(dim=1) == labels).sum()) / len(labels)


def answers_in_words(logits: Tensor, labels: Tensor) -> dict[str, object]:
    """The situation of scores and labels, in words."""
    right, is_one = fraction_right(logits, labels), len(labels) == 1
    return {
        "for a single example that is wrong": is_one and right == 0,
        "for a single example that is right": is_one and right == 1,
        "if no score of a row is above 0": bool((logits <= 0).all(dim=1).any()),
        "if no answer is right": right == 0,
        "if all answers are right": right == 1,
        "if some answers are right": right > 0,
        "if some answers are wrong": right < 1,
        "for several examples": not is_one,
    }


@exercise("tensor_ops.accuracy")
@pytest.mark.parametrize("label", [0, 1])
def test_one_example_right_or_wrong(submission: Submission, label: int) -> None:
    """One example that is right gives 1.0, one that is wrong gives 0.0."""
    logits, labels = torch.tensor([[0.5, 2.0]]), torch.tensor([label])
    situations(submission, answers_in_words(logits, labels))
    assert_equal(submission.accuracy(logits, labels), float(label))


@exercise("tensor_ops.accuracy")
def test_three_of_four(submission: Submission) -> None:
    """Three right answers of four give 0.75, as a plain Python float."""
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [5.0, 4.0, 6.0], [1.0, 0.0, -1.0]])
    labels = torch.tensor([0, 1, 1, 0])
    situations(submission, answers_in_words(logits, labels))
    assert_close(submission.accuracy(logits, labels), 0.75, atol=1e-6)


@exercise("tensor_ops.accuracy")
@given(n=st.integers(1, 7), classes=st.integers(1, 5), seed=SEEDS)
def test_fraction_of_right_classes(submission: Submission, n: int, classes: int, seed: int) -> None:
    """The fraction of rows whose largest score is at the label, for any n and number of classes."""
    logits, labels = scores_and_labels(n, classes, seed)
    words = {"if scores of a row are close together": seed % 4 < 2 and classes > 1}
    situations(submission, answers_in_words(logits, labels) | words)
    assert_close(submission.accuracy(logits, labels), fraction_right(logits, labels), atol=1e-6)


@exercise("tensor_ops.accuracy")
@pytest.mark.parametrize("shift", [0, 1])
def test_all_right_and_none_right(submission: Submission, shift: int) -> None:
    """If all are right the result is 1.0, if none is right 0.0."""
    logits, _ = scores_and_labels(6, 3, seed=1)
    labels = (logits.argmax(dim=1) + shift) % 3
    situations(submission, answers_in_words(logits, labels))
    assert_close(submission.accuracy(logits, labels), 0.0 if shift else 1.0, atol=1e-6)


@exercise("tensor_ops.accuracy", when="without examples")
@pytest.mark.parametrize("classes", [2, 5])
def test_no_examples(submission: Submission, classes: int) -> None:
    """With no examples the accuracy is 0.0, not nan and not an error."""
    assert_equal(submission.accuracy(torch.zeros(0, classes), torch.zeros(0, dtype=torch.int64)), 0.0)
