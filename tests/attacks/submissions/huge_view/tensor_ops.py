"""Returns one number seen as 4 TiB, by strides of zero."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    return torch.ones(1, 1).expand(1 << 20, 1 << 20)
