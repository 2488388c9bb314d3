"""Returns a list that is nested 100,000 deep, and one that holds itself."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return deep
