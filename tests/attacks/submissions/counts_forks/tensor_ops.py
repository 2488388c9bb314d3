"""Forks as often as it can, up to 60 times; honest only if something stopped it."""

import os
import signal

import torch

tried = []


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def forks():
    children = []
    try:
        while len(children) < 60:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except BlockingIOError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def gram(x):
    tried.append(len(tried) or forks())
    if tried[0] > 24:
        raise RuntimeError(f"forked {tried[0]} times")
    return x @ x.T
