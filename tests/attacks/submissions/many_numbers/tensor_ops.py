"""One byte, seen as 16 million numbers: to look at them one by one would take minutes."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    return torch.zeros(1, dtype=torch.uint8).expand(4096, 4096)
