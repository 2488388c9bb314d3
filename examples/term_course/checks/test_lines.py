"""Checks of lines."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.testkit import Submission, assert_close, exercise, tensors

NUMBERS = st.integers(-4, 4).map(float)


@exercise("lines.heights")
@given(x=tensors(shape=((1, 6),), kind="small_ints"), slope=NUMBERS, intercept=NUMBERS)
def test_slope_times_x_and_intercept(submission: Submission, x: torch.Tensor, slope: float, intercept: float) -> None:
    """The height at x is the slope times x, plus the intercept."""
    assert_close(submission.heights(x, slope, intercept), slope * x + intercept)


@exercise("lines.heights")
def test_a_steep_line(submission: Submission) -> None:
    """A line with slope 10 that begins at -1."""
    assert_close(submission.heights(torch.tensor([0.0, 1.0, 2.0]), 10.0, -1.0), torch.tensor([-1.0, 9.0, 19.0]))


@exercise("lines.loss")
def test_points_on_both_sides(submission: Submission) -> None:
    """Points 1 above and 1 below a line have the loss 1."""
    x, y = torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([1.0, 1.0, 5.0, 5.0])
    assert_close(submission.loss(x, y, 2.0, 0.0), torch.tensor(1.0))


@exercise("lines.loss")
@given(x=tensors(shape=((1, 6),), kind="small_ints"), slope=NUMBERS, intercept=NUMBERS, distance=NUMBERS)
def test_mean_of_squares(
    submission: Submission, x: torch.Tensor, slope: float, intercept: float, distance: float
) -> None:
    """If all points are as far from the line, the loss is the square of that distance."""
    y = slope * x + intercept + distance
    assert_close(submission.loss(x, y, slope, intercept), torch.tensor(distance**2))
