"""An object that computes only when somebody looks."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


class Lazy:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return getattr(self.x @ self.x.T, name)

    def __array__(self, *args):
        return (self.x @ self.x.T).numpy()


def gram(x):
    return Lazy(x)
