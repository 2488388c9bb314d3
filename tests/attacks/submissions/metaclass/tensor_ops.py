"""A class that lies about its name with something that is no name."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


class Meta(type):
    __name__ = property(lambda cls: 42)
    __module__ = property(lambda cls: 42)


class Odd(metaclass=Meta):
    pass


def gram(x):
    return Odd()
