"""Lines: how far points are from one.

A line has a slope and an intercept; points are two tensors of one length, x and y.
"""

from torch import Tensor


def heights(x: Tensor, slope: float, intercept: float) -> Tensor:
    """The heights of the line at each x.

    Args:
        x: shape (n,).

    Returns:
        Shape (n,).

    Example:
        >>> heights(torch.tensor([0.0, 1.0, 2.0]), 3.0, 1.0)
        tensor([1., 4., 7.])
    """
    raise NotImplementedError("write `heights` here")


def loss(x: Tensor, y: Tensor, slope: float, intercept: float) -> Tensor:
    """The mean of the squared differences between y and the heights of the line.

    Args:
        x: shape (n,).
        y: shape (n,).

    Returns:
        A tensor without dimensions.

    Example:
        >>> loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]), 3.0, 1.0)
        tensor(2.)
    """
    raise NotImplementedError("write `loss` here")
