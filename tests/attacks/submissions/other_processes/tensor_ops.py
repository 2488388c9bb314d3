"""Reads memory, environment, arguments and files of other processes."""

import os
import pathlib

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def seek():
    found = []
    for process in {os.getppid(), *range(2, 3000)} - {os.getpid(), 0, 1}:
        for name in ("mem", "environ", "maps", "cmdline", "cwd", "root", "fd"):
            path = pathlib.Path(f"/proc/{process}/{name}")
            try:
                if name in ("cwd", "root"):
                    found.append(os.readlink(path))
                elif name == "fd":
                    found += os.listdir(path)
                else:
                    found.append(path.open("rb").read(1))
            except OSError:
                pass
    return found


def gram(x):
    if not sought:
        sought.append(seek())
    if sought[0]:
        raise RuntimeError(f"found {sought[0]!r}"[:300])
    return x @ x.T


sought = []
