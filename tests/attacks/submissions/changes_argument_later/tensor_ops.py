"""Returns its argument and changes it from a thread afterwards."""

import threading

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    result = torch.zeros(len(x), len(x), dtype=x.dtype)
    threading.Thread(target=lambda: result.copy_(x @ x.T), daemon=True).start()
    return [result]
