"""Tensors as they cross the border: dtype, shape, strides, bytes, device name.

Must never trust a shape that it reads.
"""

import ctypes
import math
import re
from typing import Any, Final

import torch

from grader.border import labels, tensor_facts
from grader.border.bounds import Budget, WireError
from grader.border.frames import MAX_PAYLOAD
from grader.border.placing import Placing

DTYPES: Final[dict[str, torch.dtype]] = {
    name: getattr(torch, name)
    for name in (
        "float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64",
        "bool", "complex64", "complex128", "uint16", "uint32", "uint64",
    )
}  # fmt: skip
_DTYPE_NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
_DIFFERENTIABLE: Final = frozenset(d for d in DTYPES.values() if d.is_floating_point or d.is_complex)
_DEVICES: Final = ("cpu", "cuda")
_CUDA: Final = re.compile(r"cuda(:(0|[1-9][0-9]{0,2}))?")


def encode_tensor(tensor: torch.Tensor, budget: Budget) -> list[Any] | None:
    """``["T", dtype, shape, strides or None, bytes, requires grad, whether a parameter, device or None]``.

    None for a tensor that cannot cross as a value: sparse, of a dtype or on a device that the format does not have.

    Raises:
        WireError: if it goes over the budget.
    """
    if tensor.layout is not torch.strided or tensor.dtype not in _DTYPE_NAMES or tensor.device.type not in _DEVICES:
        return None
    requires_grad = tensor_facts.requires_grad(tensor)
    name = labels.name_of(tensor)
    device = None if name == "cpu" else name
    kind = 1 if type(tensor) is torch.nn.Parameter else 0
    plain = tensor_facts.plain(tensor)
    if plain.device.type != "cpu":
        plain = plain.cpu()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    shape, strides = list(plain.shape), None
    if plain.is_contiguous():
        elements = plain.numel()
    else:
        strides = list(plain.stride())
        elements = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    size = elements * plain.element_size()
    budget.take(1, max(size, plain.numel() * plain.element_size()), plain.numel())
    data = ctypes.string_at(plain.data_ptr(), size) if size else b""
    return ["T", _DTYPE_NAMES[plain.dtype], shape, strides, data, requires_grad, kind, device]


def decode_tensor(tree: list[Any], budget: Budget, memory: Placing | None = None) -> torch.Tensor:
    """The inverse of `encode_tensor`; a copy.

    Args:
        memory: for the tensor, if not memory of its own.

    Raises:
        WireError: if the tree is malformed, or the tensor goes over the budget.
    """
    match tree:
        case ["T", str(name), list(shape), (list() | None) as strides, bytes(data), bool(grad), int(kind), device] if (
            name in DTYPES
            and len(shape) <= 32
            and (device is None or (type(device) is str and _CUDA.fullmatch(device)))
        ):
            pass
        case _:
            raise WireError("a malformed tensor")
    dtype = DTYPES[name]
    if any(type(size) is not int or not 0 <= size < 1 << 40 for size in shape):
        raise WireError("a malformed tensor shape")
    elements = math.prod(shape)
    if max(elements, 0) * dtype.itemsize > MAX_PAYLOAD or math.prod(size or 1 for size in shape) >= 1 << 40:
        raise WireError("a tensor that is larger than a message may be")
    if strides is not None:
        if len(strides) != len(shape) or any(type(step) is not int or not 0 <= step < 1 << 40 for step in strides):
            raise WireError("malformed tensor strides")
        if elements:
            elements = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if elements * dtype.itemsize != len(data):
        raise WireError("a tensor whose bytes do not match its shape")
    budget.take(1, max(len(data), math.prod(shape) * dtype.itemsize), math.prod(shape))
    shared = memory.put(data, dtype) if memory is not None else None
    if not elements:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        if dtype is torch.bool and data.strip(b"\0\1"):
            raise WireError("a bool tensor with other bytes than 0 and 1")
        flat = torch.frombuffer(bytearray(data), dtype=dtype).clone() if shared is None else shared
        tensor = flat.view(shape) if strides is None else flat.as_strided(shape, strides)
    view = tensor_facts.plain(tensor) if memory is not None else None
    if device is not None:
        tensor = _on_device(tensor, device)
    if grad:
        if dtype not in _DIFFERENTIABLE:
            raise WireError("an integer tensor that requires grad")
        tensor.requires_grad_(True)
    if kind == 1:
        tensor = torch.nn.Parameter(tensor, requires_grad=grad)
    if memory is not None and view is not None:
        memory.keep(tensor, view)
    return tensor


def _on_device(tensor: torch.Tensor, device: str) -> torch.Tensor:
    try:
        return labels.place(tensor, device)
    except ValueError as error:
        raise WireError(f"a tensor on {device!r}, which is not here") from error
