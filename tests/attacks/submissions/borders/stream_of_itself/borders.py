"""An iterator whose items are iterators whose items are iterators."""

import torch


def encode(x):
    return 3 * x + 1


def decode(y):
    return (y - 1) / 3


def positive(x):
    return x.abs()


class Itself:
    def __iter__(self):
        return self

    def __next__(self):
        return self

    def __len__(self):
        return 1 << 62


def stream(n):
    return Itself()
