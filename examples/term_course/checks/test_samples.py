"""Checks of samples."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testkit import Submission, assert_close, exercise

SAMPLES = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=8)


@exercise("samples.mean")
@given(values=SAMPLES)
def test_sum_by_count(submission: Submission, values: list[float]) -> None:
    """The mean is the sum of the numbers, divided by how many there are."""
    assert_close(submission.mean(values), sum(values) / len(values))


@exercise("samples.mean")
def test_not_the_number_in_the_middle(submission: Submission) -> None:
    """One large number moves the mean."""
    assert_close(submission.mean([1.0, 2.0, 30.0]), 11.0)


@exercise("samples.centered")
@given(values=SAMPLES)
def test_each_moves_by_the_mean(submission: Submission, values: list[float]) -> None:
    """Each number is as much smaller as the mean is."""
    middle = sum(values) / len(values)
    assert_close(submission.centered(values), [value - middle for value in values])


@exercise("samples.centered")
def test_order_stays(submission: Submission) -> None:
    """The numbers stay in their order."""
    assert_close(submission.centered([6.0, 1.0, 2.0]), [3.0, -2.0, -1.0])
