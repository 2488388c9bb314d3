"""Busy daemon threads that outlive the call."""

import hashlib
import threading

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def forever():
    while True:
        hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)  # without the interpreter's lock: the call itself goes on


def gram(x):
    if threading.active_count() < 3:
        threading.Thread(target=forever, daemon=True).start()
    return x @ x.T
