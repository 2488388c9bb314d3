"""Answers honestly, but makes its process loop instead of leaving."""

import os

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def forever(code):
    while True:
        pass


def gram(x):
    os._exit = forever
    return x @ x.T
