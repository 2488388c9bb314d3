"""Five functions of matrices."""

import torch
from torch import Tensor


def row_sums(x: Tensor) -> Tensor:
    """The sum of each row: shape (n, d) to (n,)."""
    raise NotImplementedError("write `row_sums` here")


def scaled(x: Tensor, factors: Tensor) -> Tensor:
    """Column j times factor j: shapes (n, d) and (d,) to (n, d)."""
    raise NotImplementedError("write `scaled` here")


def centred(x: Tensor) -> Tensor:
    """Every column without its mean: shape (n, d), n at least 1."""
    raise NotImplementedError("write `centred` here")


def products(x: Tensor) -> Tensor:
    """The dot products of all columns with each other: shape (n, d) to (d, d)."""
    raise NotImplementedError("write `products` here")


def largest(x: Tensor) -> Tensor:
    """The column of the first largest entry of each row: shape (n, d) to (n,), integers."""
    raise NotImplementedError("write `largest` here")
