"""Connects to the world, to the host's loopback, to Unix sockets; asks for names."""

import socket

import torch

try:
    from places import PATHS, PORTS
except ImportError:
    PATHS, PORTS = (), ()


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


def reached(family, kind, address):
    try:
        with socket.socket(family, kind) as way:
            way.settimeout(0.2)
            way.connect(address)
            way.send(b"hello")
            return True
    except OSError:
        return False


def seek():
    ports = (22, 53, 80, 443, 8080, *PORTS)
    found = [("127.0.0.1", port) for port in ports if reached(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))]
    for address in (("8.8.8.8", 53), ("1.1.1.1", 443), ("169.254.169.254", 80), ("10.0.0.1", 80)):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            found += [address] * reached(socket.AF_INET, kind, address)
    for path in ("/var/run/docker.sock", "/run/dbus/system_bus_socket", "\0torchkata-attack", *PATHS):
        found += [path] * reached(socket.AF_UNIX, socket.SOCK_STREAM, path)
    for family in (socket.AF_PACKET, socket.AF_VSOCK):
        try:
            found.append(socket.socket(family, socket.SOCK_RAW).family)
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
