"""Five functions of matrices."""

import torch
from torch import Tensor


def row_sums(x: Tensor) -> Tensor:
    """The sum of each row: shape (n, d) to (n,)."""
    # solution:
    return x.sum(dim=1)
    # end


def scaled(x: Tensor, factors: Tensor) -> Tensor:
    """Column j times factor j: shapes (n, d) and (d,) to (n, d)."""
    # solution:
    return x * factors
    # end


def centred(x: Tensor) -> Tensor:
    """Every column without its mean: shape (n, d), n at least 1."""
    # solution:
    return x - x.mean(dim=0)
    # end


def products(x: Tensor) -> Tensor:
    """The dot products of all columns with each other: shape (n, d) to (d, d)."""
    # solution:
    return x.T @ x
    # end


def largest(x: Tensor) -> Tensor:
    """The column of the first largest entry of each row: shape (n, d) to (n,), integers."""
    # solution:
    return torch.argmax(x, dim=1)
    # end
