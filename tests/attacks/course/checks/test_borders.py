"""Checks of borders: they use what came back before they compare it."""

import pytest
import torch
from hypothesis import given

from grader.testkit import Submission, assert_close, assert_equal, assert_that, exercise, tensors


@exercise("borders.encode")
def test_one_number(submission: Submission) -> None:
    """Two becomes seven."""
    y = submission.encode(torch.tensor([2.0, 5.0]))
    assert_equal(submission.decode(torch.tensor([4.0, 1.0])), torch.tensor([1.0, 0.0]))
    assert_close(y, y)


@exercise("borders.encode")
@given(x=tensors(shape=((2, 5),), kind="normal"))
def test_there_and_back(submission: Submission, x: torch.Tensor) -> None:
    """Three times and one more; and what was encoded can be decoded."""
    expected = 3 * x + 1
    y = submission.encode(x)
    assert_close(submission.decode(expected), x, atol=1e-4)
    assert_close(y, expected)


@exercise("borders.stream")
@pytest.mark.parametrize("n", [2, 3])
def test_n_items(submission: Submission, n: int) -> None:
    """The iterator gives n tensors of two numbers, then ends."""
    items = list(submission.stream(n))
    assert_equal(len(items), n)
    assert_equal(items, [torch.full((2,), float(i)) for i in range(n)])


@exercise("borders.positive")
@given(x=tensors(shape=((1, 4),)))
def test_no_number_is_negative(submission: Submission, x: torch.Tensor) -> None:
    """No number of the result is negative, and each has the size that it had."""
    result = submission.positive(x)
    assert_that(bool((result >= 0).all()), "a number is negative")
    assert_close(result, x.abs())
