"""Tries to become root, to mount, to make namespaces, to load modules."""

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
    done = ["mount"] * (c.mount(b"x", b"/tmp", b"tmpfs", 0, None) >= 0)
    done += ["unshare"] * (c.unshare(0x10000000) >= 0)
    done += ["chroot"] * (c.chroot(b".") >= 0)
    for change in (
        lambda: os.setuid(0),
        lambda: os.setgid(0),
        lambda: os.nice(-5),
        lambda: os.mknod("disk", 0o60600, 0x800),
    ):
        try:
            change()
            done.append("changed")
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
