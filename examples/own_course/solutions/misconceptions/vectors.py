"""Classic wrong answers of vectors."""

import torch
from torch import Tensor

from grader.testkit import misconception


@misconception(
    "normalize",
    tell="You divided by the length of the whole matrix. Each row has its own length: reduce over dim 1 only.",
)
def one_global_length(x: Tensor) -> Tensor:
    length = torch.linalg.vector_norm(x)
    return x / torch.where(length == 0, 1.0, length)


@misconception("normalize", tell="A row of zeros has length 0, and 0 / 0 is NaN. Keep the divisor away from 0.")
def divides_by_zero(x: Tensor) -> Tensor:
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


@misconception("normalize", tell="You divided by the sum of absolute values. Length is the root of the sum of squares.")
def sum_of_absolute_values(x: Tensor) -> Tensor:
    total = x.abs().sum(dim=1, keepdim=True)
    return x / torch.where(total == 0, 1.0, total)


@misconception(
    "cosine",
    tell="You returned the plain dot product, which grows with the lengths. The cosine is that of the directions.",
)
def plain_dot_product(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=1)
