"""One number, seen as 64 TiB by strides of zero."""

import torch


def encode(x):
    return 3 * x + 1


def decode(y):
    return (y - 1) / 3


def stream(n):
    return iter([torch.full((2,), float(i)) for i in range(n)])


def positive(x):
    return torch.ones(1).expand(1 << 44)


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
