"""Announces 16 MiB and sends half of it."""

import os
import socket
import stat
import struct
import time

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def call_socket():
    """The socket on which the judge's calls arrive: the only one that this process has."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2:
            try:
                is_socket = stat.S_ISSOCK(os.fstat(number).st_mode)
            except OSError:  # the folder's own
                continue
            if is_socket:
                return socket.socket(fileno=os.dup(number))


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
    call_socket().sendall(struct.pack("<I", 16 << 20) + bytes(8 << 20))
    while True:
        time.sleep(1)
