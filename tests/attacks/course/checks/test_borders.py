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


@exercise("borders.is_positive")
@given(x=tensors(shape=((2, 5),), kind="normal"))
def test_the_expected_fact_follows(submission: Submission, x: torch.Tensor) -> None:
    """Whether the sum is positive, in words that Python has."""
    expected = bool(x.sum() > 0)
    answer = submission.is_positive(x)
    submission.note(x, expected)
    assert_equal(answer, expected)


@exercise("borders.is_positive")
@given(x=tensors(shape=((2, 5),), kind="normal"))
def test_nothing_or_false_follows(submission: Submission, x: torch.Tensor) -> None:
    """None if the sum is positive, else False."""
    expected = None if x.sum() > 0 else False
    answer = submission.none_or_false(x)
    submission.note(x, expected)
    assert_equal(answer, expected)


@exercise("borders.is_positive")
@given(x=tensors(shape=((2, 5),), kind="normal"))
def test_the_same_bytes_in_another_form_follow(submission: Submission, x: torch.Tensor) -> None:
    """The tensor as a row if its sum is positive, else as a column; the numbers are those that were sent before."""
    expected = x.view(1, -1) if x.sum() > 0 else x.view(-1, 1)
    answer = submission.as_row_or_column(x)
    submission.note(expected, None)
    assert_equal(tuple(answer.shape), tuple(expected.shape))


@exercise("borders.is_positive")
@given(x=tensors(shape=((2, 5),), kind="normal"))
def test_the_same_bytes_of_another_dtype_follow(submission: Submission, x: torch.Tensor) -> None:
    """The bits as float32 if the sum is positive, else as int32."""
    expected = x if x.sum() > 0 else x.view(torch.int32)
    answer = submission.as_floats_or_ints(x)
    submission.note(expected, None)
    assert_equal(str(answer.dtype), str(expected.dtype))
