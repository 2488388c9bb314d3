"""A thread ends the process while it is imported."""

import os
import threading

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def gram(x):
    return x @ x.T


thread = threading.Thread(target=os._exit, args=(0,))
thread.start()
thread.join()
