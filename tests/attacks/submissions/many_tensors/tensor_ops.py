"""Returns 8,000 tensors in nested lists: slow to print."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    return [[[torch.ones(1)] * 20 for _ in range(20)] for _ in range(20)]
