"""A wrong answer for each of the five functions."""

import torch
from torch import Tensor

from grader.testkit import misconception


@misconception("row_sums", tell="You summed each column.")
def column_sums(x: Tensor) -> Tensor:
    return x.sum(dim=0)


@misconception("scaled", tell="You added the factors.")
def added(x: Tensor, factors: Tensor) -> Tensor:
    return x + factors


@misconception("centred", tell="You took one mean of the whole matrix.")
def one_mean(x: Tensor) -> Tensor:
    return x - x.mean()


@misconception("products", tell="These are the products of rows.")
def products_of_rows(x: Tensor) -> Tensor:
    return x @ x.T


@misconception("largest", tell="You looked along the rows.")
def largest_of_columns(x: Tensor) -> Tensor:
    return torch.argmax(x, dim=0)
