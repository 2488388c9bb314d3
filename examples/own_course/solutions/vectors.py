"""Vectors: length, direction, angle.

A matrix is a stack of vectors here, one per row. Nothing needs a loop.
"""

import torch
from torch import Tensor


def normalize(x: Tensor) -> Tensor:
    """Every row scaled to length 1; a row of zeros stays as it is.

    Args:
        x: shape (n, d), floating point.

    Returns:
        Shape (n, d). `x` itself is not changed.

    Example:
        >>> normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 0.0000]])

    Read: PyTorch docs, `torch.linalg.vector_norm`.
    """
    # solution: two lines are enough
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x / torch.where(length == 0, 1.0, length)
    # end


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of the angle between row i of `a` and row i of `b`; 0 where either row is all zeros.

    Args:
        a: shape (n, d), floating point.
        b: shape (n, d), floating point.

    Returns:
        Shape (n,).

    Example:
        >>> cosine(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([0.6000])

    Read: PyTorch docs, `torch.nn.functional.cosine_similarity`.
    """
    # solution:
    return (normalize(a) * normalize(b)).sum(dim=1)
    # end
