"""An iterator without an end."""

import itertools
import time

import torch


def encode(x):
    return 3 * x + 1


def decode(y):
    return (y - 1) / 3


def positive(x):
    return x.abs()


def item(number):
    time.sleep(0.001)
    return torch.zeros(2)


def stream(n):
    return map(item, itertools.count())


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
