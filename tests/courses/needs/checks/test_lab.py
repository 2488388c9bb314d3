"""Checks of lab: what they need, and whom they ask about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.testkit import assert_equal, exercise, needs


@exercise("lab.plain")
def test_plain(submission):
    """It is 1."""
    assert_equal(submission.plain(), 1)


@exercise("lab.marked")
@needs("gpu")
def test_marked(submission):
    """On a GPU."""
    assert_equal(submission.marked(), 1)


@exercise("lab.marked")
@pytest.mark.skipif(True, reason="not on this machine")
def test_marked_for_pytest(submission):
    """On another machine."""
    assert_equal(submission.marked(), 1)


@pytest.fixture
def large_disk():
    pytest.skip("needs a large disk")


@exercise("lab.early")
def test_with_a_fixture(submission, large_disk):
    """With a large disk."""
    assert_equal(submission.early(), 1)


@exercise("lab.early")
@given(number=st.integers(0, 9))
def test_skips_before_it_asks(submission, number):
    """On a machine that there is not."""
    pytest.skip("needs a quantum computer")


@exercise("lab.after_marked")
def test_after_marked(submission):
    """It is 1."""
    assert_equal(submission.after_marked(), 1)


@exercise("lab.after_that")
def test_after_that(submission):
    """It is 1."""
    assert_equal(submission.after_that(), 1)


@exercise("lab.asked")
def test_asks_the_submission(submission):
    """A machine that can."""
    if not submission.asked():
        pytest.skip("this machine cannot")


@exercise("lab.late")
def test_always_skips_too_late(submission):
    """Skips when it has asked."""
    submission.late()
    pytest.skip("too late")


@exercise("lab.text")
@needs()
def test_text(submission):
    """The same text comes back, whatever it says."""
    assert_equal(submission.text("grader.testkit.devices"), "grader.testkit.devices")


@exercise("lab.after_asked")
def test_after_asked(submission):
    """It is 1."""
    assert_equal(submission.after_asked(), 1)
