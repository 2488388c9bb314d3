"""Checks of vectors: rows of length 1, and angles between rows."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.testkit import (
    Points,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    exercise,
    observe,
    picture,
    tensors,
)


@exercise("vectors.normalize")
def test_three_four_five(submission: Submission) -> None:
    """The row (3, 4) becomes (0.6, 0.8), whatever the other rows are."""
    x = torch.tensor([[3.0, 4.0], [30.0, -40.0], [0.0, 2.0]])
    assert_close(submission.normalize(x), torch.tensor([[0.6, 0.8], [0.6, -0.8], [0.0, 1.0]]))


@exercise("vectors.normalize")
@given(x=tensors(shape=((1, 6), (1, 5)), kind="small_ints"))
def test_rows_point_the_same_way_with_length_one(submission: Submission, x: torch.Tensor) -> None:
    """Every row keeps its direction and gets length 1; rows of zeros stay zeros."""
    length = x.square().sum(dim=1, keepdim=True).sqrt()
    assert_close(submission.normalize(x), torch.where(length == 0, x, x / length))


@exercise("vectors.normalize")
def test_zero_row_stays_zero(submission: Submission) -> None:
    """A row of zeros comes back as zeros, not as NaN."""
    assert_close(submission.normalize(torch.zeros(2, 3)), torch.zeros(2, 3))


@exercise("vectors.normalize")
def test_input_is_not_changed(submission: Submission) -> None:
    """The tensor that you were given is not changed."""
    seen = observe(submission.normalize, torch.tensor([[3.0, 4.0]]))
    assert_equal(seen.changed, ())


@picture("vectors.normalize", title="Forty vectors, before and after")
def on_the_unit_circle(submission: Submission) -> Points:
    turns = torch.arange(40) * 0.37
    before = (1 + turns[:, None] / 15) * torch.stack([turns.cos(), turns.sin()], dim=1)
    x, y = torch.cat([before, submission.normalize(before)]).T
    return Points(x=x.tolist(), y=y.tolist(), classes=[0] * 40 + [1] * 40, names=["before", "after"])


@st.composite
def two_matrices(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Two matrices of one shape."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 5)))
    return draw(tensors(shape=shape, kind="small_ints")), draw(tensors(shape=shape, kind="small_ints"))


@exercise("vectors.cosine")
@given(matrices=two_matrices())
def test_cosine_of_every_pair_of_rows(submission: Submission, matrices: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Entry i is the cosine of the angle between the two rows i, and 0 where one of them is zero."""
    a, b = matrices
    lengths = a.square().sum(dim=1).sqrt() * b.square().sum(dim=1).sqrt()
    expected = torch.where(lengths == 0, 0.0, (a * b).sum(dim=1) / lengths)
    assert_close(submission.cosine(a, b), expected)


@exercise("vectors.cosine", hidden=True)
def test_length_does_not_matter(submission: Submission) -> None:
    """Making a vector longer does not change the angle."""
    a, b = torch.tensor([[2.0, 1.0]]), torch.tensor([[1.0, 3.0]])
    once = submission.cosine(a, b)
    assert_that(tuple(once.shape) == (1,), "one number per pair of rows: the shape is (n,)")
    assert_close(submission.cosine(7 * a, b), once)
