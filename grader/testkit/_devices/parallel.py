"""Scatter, gather and broadcast for `nn.DataParallel`, written as plain moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import comm

from grader.testkit._devices.state import Machine


def parallel(machine: Machine) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Replacements for the functions of `torch.nn.parallel.comm`."""

    def index(device: Any) -> int:
        return machine.current if device is None else torch.cuda._utils._get_device_index(device, optional=True)

    def scatter(
        tensor: Tensor,
        devices: Any = None,
        chunk_sizes: Any = None,
        dim: int = 0,
        streams: Any = None,
        *,
        out: Any = None,
    ) -> tuple[Tensor, ...]:
        parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else torch.split(tensor, list(chunk_sizes), dim)
        return tuple(part.to(machine.cuda(index(device))) for part, device in zip(parts, devices, strict=False))

    def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Any = None) -> Tensor:
        home = "cpu" if destination in ("cpu", torch.device("cpu")) else machine.cuda(index(destination))
        return torch.cat([tensor.to(home) for tensor in tensors], dim)

    def broadcast_coalesced(tensors: Sequence[Tensor], devices: Any, buffer_size: int = 0) -> list[list[Tensor]]:
        return [[tensor.to(machine.cuda(index(device))) for tensor in tensors] for device in devices]

    def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> tuple[Tensor, ...]:
        return tuple(tensor.to(machine.cuda(index(device))) for device in devices)

    def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
        home = machine.cuda(index(destination))
        return reduce(torch.add, [tensor.to(home) for tensor in inputs])

    def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> tuple[Tensor, ...]:
        return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))

    functions = (scatter, gather, broadcast_coalesced, broadcast, reduce_add, reduce_add_coalesced)
    return [(comm, function.__name__, function) for function in functions]
