"""Checks of curves: every window, and nothing but windows."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.testkit import Submission, assert_close, exercise, tensors


@exercise("curves.moving_average")
@given(x=tensors(shape=(6,), kind="small_ints"), width=st.integers(1, 6))
def test_mean_of_every_window(submission: Submission, x: torch.Tensor, width: int) -> None:
    """Entry i is the mean of entries i to i + width - 1."""
    expected = torch.stack([x[i : i + width].mean() for i in range(7 - width)])
    assert_close(submission.moving_average(x, width), expected)


@exercise("curves.moving_average")
def test_width_of_one_changes_nothing(submission: Submission) -> None:
    """A window of one entry gives the curve itself."""
    assert_close(submission.moving_average(torch.tensor([1.0, 3.0, 5.0]), 1), torch.tensor([1.0, 3.0, 5.0]))
