"""``autocast("cuda")`` for labelled tensors: torch's CPU autocast does the casting, by CUDA's rules.

Must never change a call outside autocast, or on the CPU.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from grader.testkit._devices import tables


class Autocast:
    """The number format of one call."""

    def __init__(self, dtype: torch.dtype | None, name: str) -> None:
        self._dtype = dtype
        self._wide = dtype is not None and name in tables.IN_FLOAT32

    @classmethod
    def of(cls, name: str, home: torch.device) -> Autocast | None:
        """The changes that a call on a device needs; None if it runs as it is.

        Raises:
            RuntimeError: for the loss that torch refuses under autocast.
        """
        if torch.is_autocast_enabled(home.type):
            if name == "binary_cross_entropy":
                raise RuntimeError(
                    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast."
                )
            return cls(torch.get_autocast_dtype(home.type), name)
        return cls(None, name) if torch.is_autocast_enabled("cpu") else None

    def inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, in float32 where CUDA computes so."""
        if not self._wide:
            return args, kwargs
        return tuple(map(_widen, args)), {key: _widen(value) for key, value in kwargs.items()}

    def __enter__(self) -> None:
        self._before = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        on = self._dtype is not None and not self._wide
        torch.set_autocast_enabled("cpu", on)
        if on:
            assert self._dtype is not None
            torch.set_autocast_dtype("cpu", self._dtype)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        enabled, dtype = self._before
        torch.set_autocast_enabled("cpu", enabled)
        torch.set_autocast_dtype("cpu", dtype)


def _widen(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    if type(value) in (list, tuple):
        return type(value)(map(_widen, value))
    return value
