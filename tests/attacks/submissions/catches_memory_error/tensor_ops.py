"""Eats memory, catches the error, and eats on."""

import time

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
        try:
            kept.append(bytearray(8 << 20))
        except MemoryError:
            time.sleep(0.01)
