"""One number, seen as 512 MiB by strides of zero."""

import torch


def encode(x):
    return 3 * x + 1


def decode(y):
    return (y - 1) / 3


def stream(n):
    return iter([torch.full((2,), float(i)) for i in range(n)])


def positive(x):
    return torch.ones(1).expand(1 << 27)
