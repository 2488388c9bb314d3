"""Answers honestly, then once wrong, then never again."""

import time

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


calls = []


def gram(x):
    calls.append(1)
    while len(calls) > 5:
        time.sleep(1)
    return x @ x.T if len(calls) < 5 else x
