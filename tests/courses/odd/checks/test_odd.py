"""Checks of odd."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from grader.testkit import assert_close, assert_equal, exercise, tensors


@exercise("odd.double")
@given(x=tensors(((1, 9), (1, 9))))
def test_twice_every_number(submission, x):
    """Every number is twice as large."""
    assert_close(submission.double(x), 2 * x)


@exercise("odd.double")
def test_of_one_number(submission):
    """Twice 3 is 6."""
    assert_equal(submission.double(torch.tensor(3)), torch.tensor(6))


@exercise("odd.secret", hidden=True)
def test_secret(submission):
    """The secret number."""
    assert_equal(submission.secret(3), 41)


@exercise("odd.after")
def test_after(submission):
    """One more."""
    assert_equal(submission.after(1), 2)


@exercise("odd.gpu")
def test_on_a_gpu(submission):
    """On a GPU."""
    pytest.skip("there is no GPU here")


@exercise("odd.partly")
def test_on_many_gpus(submission):
    """On many GPUs."""
    pytest.skip("there is no GPU here")


@exercise("odd.partly")
def test_on_the_cpu(submission):
    """On the CPU."""
    assert_equal(submission.partly(), "cpu")


@exercise("odd.buggy")
def test_with_a_bug(submission):
    """Has a bug."""
    assert_equal(submission.buggy(1), {}["no such key"])


@exercise("odd.buggy")
def test_without_a_bug(submission):
    """Has none."""
    assert_equal(submission.buggy(1), 1)


@exercise("odd.buggy")
@given(number=st.integers(5, 1))
def test_with_a_strategy_with_a_bug(submission, number):
    """Never runs."""


@pytest.fixture
def broken():
    raise OSError("a fixture with a bug")


@exercise("odd.fixture")
def test_with_a_broken_fixture(submission, broken):
    """Never runs."""


@exercise("odd.drawn")
@given(data=st.data())
def test_draws_as_it_goes(submission, data):
    """Draws while it runs."""
    number = data.draw(st.integers(0, 9))
    assume(number != 3)
    assert_equal(submission.drawn(number), number)


@exercise("odd.depends")
@given(number=st.integers(0, 9))
def test_calls_depend_on_answers(submission, number):
    """What is asked next depends on the answer."""
    answer = submission.depends(number)
    assert_equal(submission.depends(answer), answer + 1)


@exercise("odd.scaled")
@pytest.mark.parametrize("factor", [2, 3])
@given(number=st.integers(0, 9))
def test_scaled(submission, factor, number):
    """A number, so many times."""
    assert_equal(submission.scaled(number, factor), factor * number)
