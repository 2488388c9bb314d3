"""Checks of five functions: three examples and one property of 50 examples each."""

import torch
from hypothesis import given, settings

from grader.testkit import Submission, assert_close, assert_equal, exercise, tensors

MATRICES = tensors(((1, 5), (1, 5)))


# ------------------------------------------------------------ row_sums


@exercise("five.row_sums")
def test_row_sums_two_rows(submission: Submission) -> None:
    """The sum of each row: two rows."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(submission.row_sums(x), x.sum(dim=1))


@exercise("five.row_sums")
def test_row_sums_one_number(submission: Submission) -> None:
    """The sum of each row: one number."""
    x = torch.tensor([[5.0]])
    assert_close(submission.row_sums(x), x.sum(dim=1))


@exercise("five.row_sums")
def test_row_sums_three_columns(submission: Submission) -> None:
    """The sum of each row: three columns."""
    x = torch.tensor([[0.0, -1.0, 1.0], [2.0, 2.0, 2.0]])
    assert_close(submission.row_sums(x), x.sum(dim=1))


@exercise("five.row_sums")
@settings(max_examples=50)
@given(x=MATRICES)
def test_row_sums_any_matrix(submission: Submission, x: torch.Tensor) -> None:
    """The sum of each row, for any matrix."""
    assert_close(submission.row_sums(x), x.sum(dim=1))


# ------------------------------------------------------------ scaled


@exercise("five.scaled")
def test_scaled_two_rows(submission: Submission) -> None:
    """Column j is times factor j: two rows."""
    x, factors = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([2.0, 0.5])
    assert_close(submission.scaled(x, factors), x * factors)


@exercise("five.scaled")
def test_scaled_one_number(submission: Submission) -> None:
    """Column j is times factor j: one number."""
    x, factors = torch.tensor([[5.0]]), torch.tensor([3.0])
    assert_close(submission.scaled(x, factors), x * factors)


@exercise("five.scaled")
def test_scaled_three_columns(submission: Submission) -> None:
    """Column j is times factor j: three columns."""
    x, factors = torch.tensor([[0.0, -1.0, 1.0], [2.0, 2.0, 2.0]]), torch.tensor([1.0, 0.0, -1.0])
    assert_close(submission.scaled(x, factors), x * factors)


@exercise("five.scaled")
@settings(max_examples=50)
@given(x=MATRICES)
def test_scaled_any_matrix(submission: Submission, x: torch.Tensor) -> None:
    """Column j is times factor j, for any matrix."""
    factors = torch.arange(x.shape[1]) - 1.5
    assert_close(submission.scaled(x, factors), x * factors)


# ------------------------------------------------------------ centred


@exercise("five.centred")
def test_centred_two_rows(submission: Submission) -> None:
    """Every column without its mean: two rows."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(submission.centred(x), x - x.mean(dim=0))


@exercise("five.centred")
def test_centred_one_number(submission: Submission) -> None:
    """Every column without its mean: one number."""
    x = torch.tensor([[5.0]])
    assert_close(submission.centred(x), x - x.mean(dim=0))


@exercise("five.centred")
def test_centred_three_columns(submission: Submission) -> None:
    """Every column without its mean: three columns."""
    x = torch.tensor([[0.0, -1.0, 1.0], [2.0, 2.0, 2.0]])
    assert_close(submission.centred(x), x - x.mean(dim=0))


@exercise("five.centred")
@settings(max_examples=50)
@given(x=MATRICES)
def test_centred_any_matrix(submission: Submission, x: torch.Tensor) -> None:
    """Every column without its mean, for any matrix."""
    assert_close(submission.centred(x), x - x.mean(dim=0))


# ------------------------------------------------------------ products


@exercise("five.products")
def test_products_two_rows(submission: Submission) -> None:
    """The dot products of all columns: two rows."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(submission.products(x), x.T @ x)


@exercise("five.products")
def test_products_one_number(submission: Submission) -> None:
    """The dot products of all columns: one number."""
    x = torch.tensor([[5.0]])
    assert_close(submission.products(x), x.T @ x)


@exercise("five.products")
def test_products_three_columns(submission: Submission) -> None:
    """The dot products of all columns: three columns."""
    x = torch.tensor([[0.0, -1.0, 1.0], [2.0, 2.0, 2.0]])
    assert_close(submission.products(x), x.T @ x)


@exercise("five.products")
@settings(max_examples=50)
@given(x=MATRICES)
def test_products_any_matrix(submission: Submission, x: torch.Tensor) -> None:
    """The dot products of all columns, for any matrix."""
    assert_close(submission.products(x), x.T @ x)


# ------------------------------------------------------------ largest


@exercise("five.largest")
def test_largest_two_rows(submission: Submission) -> None:
    """The column of the largest entry of each row: two rows."""
    x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    assert_equal(submission.largest(x), torch.argmax(x, dim=1))


@exercise("five.largest")
def test_largest_one_number(submission: Submission) -> None:
    """The column of the largest entry of each row: one number."""
    x = torch.tensor([[5.0]])
    assert_equal(submission.largest(x), torch.argmax(x, dim=1))


@exercise("five.largest")
def test_largest_three_columns(submission: Submission) -> None:
    """The column of the largest entry of each row: three columns."""
    x = torch.tensor([[0.0, -1.0, 1.0], [2.0, 1.0, 0.5]])
    assert_equal(submission.largest(x), torch.argmax(x, dim=1))


@exercise("five.largest")
@settings(max_examples=50)
@given(x=MATRICES)
def test_largest_any_matrix(submission: Submission, x: torch.Tensor) -> None:
    """The column of the largest entry of each row, for any matrix."""
    assert_equal(submission.largest(x), torch.argmax(x, dim=1))
