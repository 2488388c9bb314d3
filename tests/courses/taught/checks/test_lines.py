"""Checks of straight lines."""

from __future__ import annotations

from grader.testkit import Submission, assert_close, exercise


@exercise("lines.slope")
def test_rise_over_run(submission: Submission) -> None:
    """Rise over run."""
    assert_close(submission.slope((1.0, 2.0), (3.0, 8.0)), 3.0)


@exercise("lines.intercept")
def test_where_x_is_zero(submission: Submission) -> None:
    """The y at x = 0."""
    assert_close(submission.intercept((1.0, 2.0), (3.0, 8.0)), -1.0)
