"""Checks that pass when the submission says so: what it knows of its own process decides."""

from __future__ import annotations

from grader.testkit import Submission, assert_equal, exercise


@exercise("state.first")
def test_first(submission: Submission) -> None:
    """It says yes."""
    assert_equal(submission.first(), True)


@exercise("state.first")
def test_first_again(submission: Submission) -> None:
    """It says yes once more."""
    assert_equal(submission.first(), True)


@exercise("state.second")
def test_second(submission: Submission) -> None:
    """It says yes."""
    assert_equal(submission.second(), True)


@exercise("state.third")
def test_third(submission: Submission) -> None:
    """It says yes."""
    assert_equal(submission.third(), True)
