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
