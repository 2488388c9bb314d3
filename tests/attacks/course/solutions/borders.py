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
    # solution:
    return 3 * x + 1
    # end


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
    # solution:
    return iter([torch.full((2,), float(i)) for i in range(n)])
    # end


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
    # solution:
    return x.abs()
    # end
