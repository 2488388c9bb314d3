"""An iterator without an end, of 8 MiB each."""

import itertools

import torch


def encode(x):
    return 3 * x + 1


def decode(y):
    return (y - 1) / 3


def positive(x):
    return x.abs()


def stream(n):
    return itertools.repeat(torch.zeros(1 << 21))
