"""Dicts with one key twice, or with keys that cannot be compared."""

import os
import socket
import stat
import struct

import torch

tried = []


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def call_socket():
    """The socket on which the judge's calls arrive: the only one that this process has."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and stat.S_ISSOCK(os.fstat(int(name)).st_mode):
            return socket.socket(fileno=os.dup(int(name)))


def packed(item):
    """MessagePack by hand: what a submission can do without any library."""
    if item is None:
        return b"\xc0"
    if isinstance(item, bool):
        return b"\xc3" if item else b"\xc2"
    if isinstance(item, int):
        return b"\xd3" + struct.pack(">q", item)
    if isinstance(item, str):
        return b"\xdb" + struct.pack(">I", len(item.encode())) + item.encode()
    if isinstance(item, bytes):
        return b"\xc6" + struct.pack(">I", len(item)) + item
    return b"\xdd" + struct.pack(">I", len(item)) + b"".join(map(packed, item))


def framed(payload):
    return struct.pack("<I", len(payload)) + payload


def gram(x):
    tensor = ["T", "float32", [2], None, bytes(8), False, 0, None]
    lies = (["d", 1, 1, True, 2], ["d", tensor, 1], ["d", ["t", tensor], 1], ["d", ["h", 0, "x"], 1], ["d", ["l"], 1])
    tried.append(1)
    call_socket().sendall(framed(packed(["ok", lies[len(tried) % len(lies)]])))
    return x
