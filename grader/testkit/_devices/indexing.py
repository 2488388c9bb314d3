"""Rules for ``x[index]``: indices may be on the CPU, and a slice takes a value from anywhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.testkit._devices.mode import Args, Kwargs, device_mismatch
from grader.testkit._devices.state import CPU, Machine, label_result


def _indices(index: Any) -> list[Tensor]:
    items = index if isinstance(index, (tuple, list)) else (index,)
    return [item for item in items if isinstance(item, Tensor)]


def _check_indices(machine: Machine, tensor: Tensor, index: Any) -> torch.device | None:
    here = machine.device_of(tensor)
    for item in _indices(index):
        there = machine.device_of(item)
        if there is not None and there != here:
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({here or CPU})"
            )
        if item.dtype in (torch.bool, torch.uint8) or (item.dim() == 0 and there is not None):
            machine.record_sync("index", there)
    return here


def get_item(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``x[index]`` and the like: indices may be on the CPU."""
    here = _check_indices(machine, args[0], args[1])
    result = func(*args, **kwargs)
    return result if here is None else label_result(result, here)


def set_item(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``x[index] = value``: plain slices take a value from anywhere, tensor indices only from the same device."""
    here = _check_indices(machine, args[0], args[1])
    value = args[2] if len(args) > 2 else kwargs.get("values")
    if isinstance(value, Tensor) and (there := machine.device_of(value)) != here:
        advanced = bool(_indices(args[1])) or isinstance(args[1], list)
        if advanced and value.dim():
            raise device_mismatch(here, there)
        machine.record_transfer(value, there, here, False, "setitem")
    return func(*args, **kwargs)
