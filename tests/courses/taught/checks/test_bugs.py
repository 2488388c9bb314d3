"""Checks of slopes, compared."""

from __future__ import annotations

from grader.testkit import Submission, assert_equal, exercise


@exercise("bugs.steeper")
def test_a_fall_is_steep_too(submission: Submission) -> None:
    """A line that falls may be steeper than one that climbs."""
    assert_equal(submission.steeper(-3.0, 2.0), True)
    assert_equal(submission.steeper(1.0, -2.0), False)


@exercise("bugs.level")
def test_slope_zero(submission: Submission) -> None:
    """Its slope is 0."""
    assert_equal(submission.level(0.0), True)
    assert_equal(submission.level(0.5), False)
