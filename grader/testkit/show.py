"""Shows values in one bounded line, as code that can be pasted where that is possible.

Never calls a method that submitted code could have defined: it is given decoded data only.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from grader.isolation.labels import label_of

MAX_LINE: Final = 400


def show(value: object, limit: int = MAX_LINE) -> str:
    """One line for a value.

    Args:
        limit: characters at most; the middle of a longer line is left out.
    """
    line = _show(value)
    return line if len(line) <= limit else f"{line[: limit * 2 // 3]} … {line[-limit // 4 :]}"


def show_call(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """A call as a line: ``gram(tensor([[1., 2.]]))``."""
    parts = [show(arg) for arg in args] + [f"{key}={show(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def _show(value: object) -> str:
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_show, value[:50])) + (", …" if len(value) > 50 else "") + "]"
    if type(value) is torch.Size:
        return f"torch.Size({list(value)})"
    if isinstance(value, tuple):
        inner = ", ".join(map(_show, value[:50]))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_show(key)}: {_show(item)}" for key, item in list(value.items())[:50]) + "}"
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, float):
        text = f"{value:.6g}"
        return text if set(text) & set(".en") else f"{text}.0"
    return repr(value)


def _tensor(value: Tensor) -> str:
    label = label_of(value)
    grad = (f", device='{label}'" if label else "") + (", requires_grad=True" if value.requires_grad else "")
    plain = value.detach()
    if not plain.numel():
        dtype = "" if plain.dtype is torch.float32 else f", dtype={plain.dtype}"
        return f"torch.zeros({tuple(plain.shape)}{dtype}{grad})"
    if plain.dim() >= 2 and not plain.is_contiguous() and plain.mT.is_contiguous():
        return f"{_tensor(plain.mT)}.mT"
    return " ".join(repr(plain).split()).replace("[ ", "[").removesuffix(")") + f"{grad})"
