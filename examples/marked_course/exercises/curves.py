"""Curves: noise, and what is below it."""

from torch import Tensor


def moving_average(x: Tensor, width: int) -> Tensor:
    """The mean of every `width` neighbours.

    Args:
        x: shape (n,), floating point.
        width: from 1 to n.

    Returns:
        Shape (n - width + 1,): entry i is the mean of entries i to i + width - 1 of `x`.

    Example:
        >>> moving_average(torch.tensor([1.0, 3.0, 5.0]), 2)
        tensor([2., 4.])

    Read: PyTorch docs, `torch.Tensor.unfold`.
    """
    raise NotImplementedError("write `moving_average` here")
