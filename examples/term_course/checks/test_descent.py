"""Checks of descent."""

import torch
from hypothesis import given

from grader.testkit import Submission, assert_close, exercise, tensors

X, Y = torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 5.0, 7.0])


@exercise("descent.step")
def test_the_line_that_fits_stays(submission: Submission) -> None:
    """A line through all points does not move."""
    assert_close(submission.step(X, Y, 2.0, 1.0, 0.1), (2.0, 1.0))


@exercise("descent.step")
@given(x=tensors(shape=((2, 6),), kind="small_ints"))
def test_both_move_against_the_gradient(submission: Submission, x: torch.Tensor) -> None:
    """Slope and intercept move by the rate times the derivatives of the loss, taken at the same place."""
    slope, intercept = (torch.tensor(value, requires_grad=True) for value in (0.5, -1.0))
    (slope * x + intercept - X[1]).square().mean().backward()
    expected = tuple((value - 0.125 * value.grad).item() for value in (slope, intercept) if value.grad is not None)
    assert_close(submission.step(x, torch.full_like(x, 1.0), 0.5, -1.0, 0.125), expected, atol=1e-5)


@exercise("descent.fit")
def test_two_steps(submission: Submission) -> None:
    """After two steps of rate 1/8 from slope 0 and intercept 0."""
    assert_close(submission.fit(torch.tensor([0.0, 2.0]), torch.tensor([2.0, 2.0]), 2, 0.125), (0.625, 0.75))


@exercise("descent.fit")
def test_many_steps_find_the_line(submission: Submission) -> None:
    """After 500 steps the line goes through the points."""
    assert_close(submission.fit(X, Y, 500, 0.1), (2.0, 1.0), atol=1e-3)
