"""Returns one buffer again and again, and fills it only afterwards."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


buffer = torch.zeros(3, 3)


def gram(x):
    global buffer
    stale = buffer
    buffer = x @ x.T
    return stale
