"""Loops for ever in the text of its exception."""

import time

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


class Endless(Exception):
    def __str__(self):
        while True:
            time.sleep(1)


def gram(x):
    raise Endless
