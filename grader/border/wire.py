"""The data-only format that crosses the border between judge and student process.

A value becomes a tree of MessagePack scalars and tagged arrays. Only exact built-in types, tensors, dtypes and
devices are values; everything else is a *handle*. Must never pickle, evaluate or call anything that a value brings
along, and must never trust a length, a shape or a tag that it reads.
"""

from __future__ import annotations

import ctypes
import functools
import math
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import torch

from grader.border import labels
from grader.border.frames import MAX_PAYLOAD
from grader.border.nodes import has_more_nodes

T = TypeVar("T")
Tree: TypeAlias = Any
"""None, bool, int, float, str, bytes, or a list whose first item is a tag."""

MAX_ITEMS: Final = 200_000
MAX_DEPTH: Final = 32
MAX_INTEGER_BITS: Final = 4096
MAX_KEYS: Final = 4096
"""Entries of one dict: keys that all have one hash take the square of their number to insert."""
MAX_NODES: Final = 500_000
"""MessagePack objects in one message: an empty list is one byte on the way and 64 in memory."""

_DTYPES: Final[dict[str, torch.dtype]] = {
    name: getattr(torch, name)
    for name in (
        "float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64",
        "bool", "complex64", "complex128", "uint16", "uint32", "uint64",
    )
}  # fmt: skip
_DTYPE_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}
_DIFFERENTIABLE: Final = frozenset(d for d in _DTYPES.values() if d.is_floating_point or d.is_complex)
_ALL_DTYPES: Final[dict[str, torch.dtype]] = {
    str(value).removeprefix("torch."): value for value in vars(torch).values() if isinstance(value, torch.dtype)
}

_DEVICES: Final = ("cpu", "cuda")
_CUDA: Final = re.compile(r"cuda(:\d{1,3})?")


class WireError(Exception):
    """A message or value that the format does not allow: malformed, too deep, or too large."""


class Budget:
    """Counts what one value may still hold, so that no nesting or repetition gets past the limits."""

    __slots__ = ("bytes", "items")

    def __init__(self) -> None:
        self.items = MAX_ITEMS
        self.bytes = MAX_PAYLOAD

    def take(self, items: int, size: int = 0) -> None:
        self.items -= items
        self.bytes -= size
        if self.items < 0 or self.bytes < 0:
            raise WireError(f"larger than {MAX_ITEMS} items or {MAX_PAYLOAD >> 20} MiB")


Other: TypeAlias = Callable[[Any], Any]
"""Gives the tree for an object that is no value; or the object for a tag that this module does not know."""


def encode(value: object, other: Other, budget: Budget | None = None, depth: int = 0) -> Tree:
    """The tree of a value.

    Args:
        value: what to encode; only exact types count as values.
        other: gives the tree for anything that is not a value (a handle, a reference).

    Raises:
        WireError: if the value is nested too deeply or too large.
    """
    kind = type(value)
    if kind in _SELF_ENCODED:
        return value
    encoder = _ENCODERS.get(kind)
    if depth > MAX_DEPTH and kind is not int:
        raise WireError(f"nested more than {MAX_DEPTH} levels deep")
    return other(value) if encoder is None else encoder(value, other, budget or Budget(), depth)


def decode(tree: Tree, other: Other, depth: int = 0) -> object:
    """The value of a tree; the inverse of `encode`.

    Args:
        other: gives the object for a tag that this module does not know (handles, references).

    Raises:
        WireError: if the tree is malformed.
    """
    if type(tree) is not list:
        if type(tree) not in _SCALARS:
            raise WireError("a type that the format does not have")
        return tree
    if not tree or type(tree[0]) is not str:
        raise WireError("an array without a tag")
    if depth > MAX_DEPTH + 2:
        raise WireError(f"nested more than {MAX_DEPTH} levels deep")
    decoder = _DECODERS.get(tree[0])
    return other(tree) if decoder is None else decoder(tree, other, depth)


def pack(tree: Tree) -> bytes:
    """The bytes of a tree."""
    data = _packer.encode(tree)
    if len(data) > MAX_PAYLOAD:
        raise WireError(f"larger than {MAX_PAYLOAD >> 20} MiB")
    if has_more_nodes(data, MAX_NODES):
        raise WireError(f"more than {MAX_NODES} parts")
    return data


def unpack(data: bytes, kind: Any = Any) -> Any:
    """The tree of some bytes.

    Args:
        kind: the structs of `messages` that may come, one or a union; the struct is returned then.

    Raises:
        WireError: if they are not one message of that kind, or one of more than `MAX_NODES` parts.
    """
    try:
        if has_more_nodes(data, MAX_NODES):
            raise WireError(f"a message of more than {MAX_NODES} parts")
        return _decoder(kind).decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise WireError("not a message") from error


def convert(tree: Tree, kind: type[T]) -> T:
    """The struct that some data is.

    Raises:
        WireError: if it is none.
    """
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:
        raise WireError("not the data that was asked for") from error


def _refuse(code: int, data: memoryview) -> object:
    raise WireError("a type that the format does not have")


_packer = msgspec.msgpack.Encoder()
_decoder = functools.cache(functools.partial(msgspec.msgpack.Decoder, ext_hook=_refuse))
_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})


def _encode_int(value: int, other: Other, budget: Budget, depth: int) -> Tree:
    if -(1 << 63) <= value < 1 << 63:
        return value
    if value.bit_length() > MAX_INTEGER_BITS:
        raise WireError(f"an integer of more than {MAX_INTEGER_BITS} bits")
    return ["i", hex(value)]


def _encode_str(value: str, other: Other, budget: Budget, depth: int) -> Tree:
    budget.take(1, len(value))
    return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _encode_bytes(value: bytes, other: Other, budget: Budget, depth: int) -> Tree:
    budget.take(1, len(value))
    return value


def _encode_sequence(value: list[Any] | tuple[Any, ...], other: Other, budget: Budget, depth: int) -> Tree:
    budget.take(len(value) + 1)
    return [_SEQUENCE_TAGS[type(value)], *[encode(item, other, budget, depth + 1) for item in value]]


def _encode_dict(value: dict[Any, Any], other: Other, budget: Budget, depth: int) -> Tree:
    if len(value) > MAX_KEYS:
        raise WireError(f"a dict of more than {MAX_KEYS} entries")
    budget.take(2 * len(value) + 1)
    tree: list[Tree] = ["d"]
    for key, item in value.items():
        tree.append(encode(key, other, budget, depth + 1))
        tree.append(encode(item, other, budget, depth + 1))
    return tree


def _encode_complex(value: complex, other: Other, budget: Budget, depth: int) -> Tree:
    return ["c", value.real, value.imag]


def _encode_dtype(value: torch.dtype, other: Other, budget: Budget, depth: int) -> Tree:
    return ["y", str(value).removeprefix("torch.")]


def _encode_device(value: torch.device, other: Other, budget: Budget, depth: int) -> Tree:
    return ["v", str(value)]


def _encode_tensor(tensor: torch.Tensor, other: Other, budget: Budget, depth: int) -> Tree:
    """``["T", dtype, shape, strides or None, bytes, requires grad, whether a parameter, device or None]``."""
    if tensor.layout is not torch.strided or tensor.dtype not in _DTYPE_NAMES or tensor.device.type not in _DEVICES:
        return other(tensor)
    requires_grad = tensor.requires_grad
    name = labels.name_of(tensor)
    device = None if name == "cpu" else name
    kind = 1 if type(tensor) is torch.nn.Parameter else 0
    plain = tensor.detach()
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
    budget.take(1, max(size, plain.numel() * plain.element_size()))
    data = ctypes.string_at(plain.data_ptr(), size) if size else b""
    return ["T", _DTYPE_NAMES[plain.dtype], shape, strides, data, requires_grad, kind, device]


_SELF_ENCODED: Final = frozenset({type(None), bool, float})
_SEQUENCE_TAGS: Final[dict[type, str]] = {list: "l", tuple: "t", torch.Size: "z"}
_ENCODERS: Final[dict[type, Callable[[Any, Other, Budget, int], Tree]]] = {
    int: _encode_int,
    str: _encode_str,
    bytes: _encode_bytes,
    torch.Tensor: _encode_tensor,
    torch.nn.Parameter: _encode_tensor,
    list: _encode_sequence,
    tuple: _encode_sequence,
    torch.Size: _encode_sequence,
    dict: _encode_dict,
    complex: _encode_complex,
    torch.dtype: _encode_dtype,
    torch.device: _encode_device,
}
"""By exact type: a subclass is no value, whatever it says of itself."""


def _decode_list(tree: list[Tree], other: Other, depth: int) -> list[object]:
    depth += 1
    return [item if type(item) in _SCALARS else decode(item, other, depth) for item in tree[1:]]


def _decode_tuple(tree: list[Tree], other: Other, depth: int) -> tuple[object, ...]:
    return tuple(_decode_list(tree, other, depth))


def _decode_size(tree: list[Tree], other: Other, depth: int) -> torch.Size:
    if not all(type(size) is int and 0 <= size < 1 << 62 for size in tree[1:]):
        raise WireError("a malformed shape")
    return torch.Size(tree[1:])


def _decode_dict(tree: list[Tree], other: Other, depth: int) -> dict[object, object]:
    if len(tree) > 2 * MAX_KEYS + 1:
        raise WireError(f"a dict of more than {MAX_KEYS} entries")
    items = _decode_list(tree, other, depth)
    try:
        return dict(zip(items[::2], items[1::2], strict=True))
    except (TypeError, ValueError) as error:
        raise WireError("a malformed dict") from error


def _decode_int(tree: list[Tree], other: Other, depth: int) -> int:
    match tree:
        case [_, str(digits)] if len(digits) < 1100:
            try:
                return int(digits, 16)
            except ValueError as error:
                raise WireError("a malformed integer") from error
    raise WireError("a malformed integer")


def _decode_complex(tree: list[Tree], other: Other, depth: int) -> complex:
    match tree:
        case [_, float(real), float(imaginary)]:
            return complex(real, imaginary)
    raise WireError("a malformed complex number")


def _decode_dtype(tree: list[Tree], other: Other, depth: int) -> torch.dtype:
    match tree:
        case [_, str(name)] if name in _ALL_DTYPES:
            return _ALL_DTYPES[name]
    raise WireError("an unknown dtype")


def _decode_device(tree: list[Tree], other: Other, depth: int) -> torch.device:
    match tree:
        case [_, str(name)] if len(name) < 32:
            try:
                return torch.device(name)
            except RuntimeError as error:
                raise WireError("an unknown device") from error
    raise WireError("an unknown device")


def _decode_tensor(tree: list[Tree], other: Other, depth: int) -> torch.Tensor:
    match tree:
        case ["T", str(name), list(shape), (list() | None) as strides, bytes(data), bool(grad), int(kind), device] if (
            name in _DTYPES
            and len(shape) <= 32
            and (device is None or (type(device) is str and _CUDA.fullmatch(device)))
        ):
            pass
        case _:
            raise WireError("a malformed tensor")
    dtype = _DTYPES[name]
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
    if not elements:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        if dtype is torch.bool and data.strip(b"\0\1"):
            raise WireError("a bool tensor with other bytes than 0 and 1")
        flat = torch.frombuffer(bytearray(data), dtype=dtype).clone()
        tensor = flat.view(shape) if strides is None else flat.as_strided(shape, strides)
    if device is not None:
        tensor = _on_device(tensor, device)
    if grad:
        if dtype not in _DIFFERENTIABLE:
            raise WireError("an integer tensor that requires grad")
        tensor.requires_grad_(True)
    return torch.nn.Parameter(tensor, requires_grad=grad) if kind == 1 else tensor


def _on_device(tensor: torch.Tensor, device: str) -> torch.Tensor:
    try:
        return labels.place(tensor, device)
    except ValueError as error:
        raise WireError(f"a tensor on {device!r}, which is not here") from error


_DECODERS: Final[dict[str, Callable[[list[Tree], Other, int], object]]] = {
    "T": _decode_tensor,
    "l": _decode_list,
    "t": _decode_tuple,
    "z": _decode_size,
    "d": _decode_dict,
    "i": _decode_int,
    "c": _decode_complex,
    "y": _decode_dtype,
    "v": _decode_device,
}
"""By tag; a tag that is not here is for `other`."""
