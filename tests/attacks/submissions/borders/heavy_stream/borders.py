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


def is_positive(x):
    return bool(x.sum() > 0)


def none_or_false(x):
    return None if x.sum() > 0 else False


def as_row_or_column(x):
    return x.view(1, -1) if x.sum() > 0 else x.view(-1, 1)


def as_floats_or_ints(x):
    return x if x.sum() > 0 else x.view(torch.int32)


def note(x, value):
    pass
