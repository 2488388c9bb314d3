"""Functions whose answers go back over the border."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


def encode(x: Tensor) -> Tensor:
    """Three times x, and one more.

    Args:
        x: floats of any shape.

    Returns:
        The shape of x.

    Example:
        >>> encode(torch.tensor([2.0]))
        tensor([7.])

    Read: nothing.
    """
    raise NotImplementedError("write `encode` here")


def decode(y: Tensor) -> Tensor:
    """What `encode` was given. Comes with the exercise."""
    return (y - 1) / 3


def stream(n: int) -> Iterator[Tensor]:
    """An iterator of n tensors of two numbers each: zeros, ones, twos, ...

    Args:
        n: how many.

    Returns:
        An iterator.

    Example:
        >>> next(stream(1))
        tensor([0., 0.])

    Read: nothing.
    """
    raise NotImplementedError("write `stream` here")


def positive(x: Tensor) -> Tensor:
    """The numbers of x without their signs.

    Args:
        x: floats of any shape.

    Returns:
        The shape of x.

    Example:
        >>> positive(torch.tensor([-2.0]))
        tensor([2.])

    Read: nothing.
    """
    raise NotImplementedError("write `positive` here")


def is_positive(x: Tensor) -> bool:
    """Whether the sum of x is positive. The three functions below are its company.

    Args:
        x: floats of any shape.

    Returns:
        A boolean.

    Example:
        >>> is_positive(torch.tensor([2.0]))
        True

    Read: nothing.
    """
    raise NotImplementedError("write `is_positive` here")


def none_or_false(x: Tensor) -> bool | None:
    """None if the sum of x is positive, else False."""
    raise NotImplementedError("write `none_or_false` here")


def as_row_or_column(x: Tensor) -> Tensor:
    """x as a row if its sum is positive, else as a column."""
    raise NotImplementedError("write `as_row_or_column` here")


def as_floats_or_ints(x: Tensor) -> Tensor:
    """x if its sum is positive, else its bits as int32."""
    raise NotImplementedError("write `as_floats_or_ints` here")


def note(x: Tensor, value: bool | None) -> None:
    """Takes what a check says. Comes with the exercise."""
