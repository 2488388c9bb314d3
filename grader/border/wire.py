"""The data-only format that crosses the border between judge and student process.

A value becomes a tree of MessagePack scalars and tagged arrays. Only exact built-in types, tensors, dtypes, devices,
paths, and NumPy's arrays and scalars are values, and classes that torch and the standard library derive from dict, list
and tuple, which cross as the plain type; everything else is a *handle*. Must never pickle, evaluate or call anything
that comes with a value, and must never trust a length, a shape or a tag that it reads.
"""

import contextlib
import ctypes
import functools
import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import torch

from grader.border import arrays, bounds, labels, tensor_facts
from grader.border.arena import Placing
from grader.border.bounds import Budget, WireError, has_map, has_more_nodes
from grader.border.frames import MAX_PAYLOAD

T = TypeVar("T")
Tree: TypeAlias = Any
"""None, bool, int, float, str, bytes, or a list whose first item is a tag."""
Other: TypeAlias = Callable[[Any], Any]
"""For `encode`: gives the tree of an object that is not a value. For `decode`: the object of a tag unknown here."""

DTYPES: Final[dict[str, torch.dtype]] = {
    name: getattr(torch, name)
    for name in (
        "float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64",
        "bool", "complex64", "complex128", "uint16", "uint32", "uint64",
    )
}  # fmt: skip
"""The dtypes of tensors that cross as values."""
_DTYPE_NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
_ALL_DTYPES: Final[dict[str, object]] = {
    str(value).removeprefix("torch."): value for value in [*vars(torch).values()] if isinstance(value, torch.dtype)
} | {f"numpy.{name}": dtype for name, dtype in arrays.DTYPES.items()}
_SELF_ENCODED: Final = frozenset({type(None), bool, float})
_SHORT: Final = 16
"""Characters of a text that counts as an item, not by its size."""
_SCALARS: Final = _SELF_ENCODED | {int, str, bytes}
_PATH: Final = type(Path())
_MOST_PATH: Final = 4096
"""Characters of a path."""
_KEYS: Final = _SCALARS | {complex, torch.dtype, torch.device, _PATH, *arrays.SCALARS, *arrays.DTYPE_KINDS}
_MOST_EQUAL_HASHES: Final = 1 << 22
"""Comparisons that making a dict may take because keys have the same hash: the squares of how many share one."""
_CONTENT: Final[dict[type, Callable[[Any], Any]]] = {dict: dict.items, list: list.__iter__, tuple: tuple.__iter__}
"""What is in a container, by methods that a subclass cannot replace."""
_BASES: Final = tuple(_CONTENT)
_TAGS: Final[dict[type, str]] = {dict: "d", list: "l", tuple: "t"}
_CONTAINERS: Final = frozenset(_TAGS.values())
_SCALAR_TAGS: Final = frozenset("icyvsp")
_LIBRARIES: Final = sys.stdlib_module_names | {"torch"}
_NOT_DATA: Final = (msgspec.MsgspecError, RecursionError, ValueError, TypeError, ArithmeticError)


def no_other(tree: Tree) -> object:
    """Knows no further tags."""
    raise WireError("an unknown tag")


def encode(value: Any, other: Other, budget: Budget | None = None, depth: int = 0) -> Tree:
    """The tree of a value.

    Args:
        value: only exact types count as values.
        other: gives the tree for anything that is not a value (a handle, a reference).

    Raises:
        WireError: if the value is nested too deeply or too large.
    """
    kind = type(value)
    if kind in _SELF_ENCODED:
        return value
    if kind is int:
        if -(1 << 63) <= value < 1 << 63:
            return value
        if value.bit_length() > bounds.MAX_INTEGER_BITS:
            raise WireError(f"an integer of more than {bounds.MAX_INTEGER_BITS} bits")
        return ["i", hex(value)]
    if depth > bounds.MAX_DEPTH:
        raise WireError(f"nested more than {bounds.MAX_DEPTH} levels deep")
    budget = budget or Budget()
    if kind is str or kind is bytes:
        budget.take(0, len(value))
        return value if kind is bytes or value.isascii() else _encodable(value)
    tag = _TAGS.get(kind)
    if tag is None:
        if kind in _ENCODERS:
            return _ENCODERS[kind](value, budget) or other(value)
        value = plain(value)
        tag = _TAGS.get(type(value))
        if tag is None:
            return other(value)
    if tag == "d":
        if len(value) > bounds.MAX_KEYS:
            raise WireError(f"a dict of more than {bounds.MAX_KEYS} entries")
        if not all(map(is_key, value)):
            return other(value)
        value = list(itertools.chain.from_iterable(value.items()))
    budget.take(len(value) + 1)
    depth += 1
    return [
        tag,
        *[
            part
            if (kind := type(part)) in _SELF_ENCODED or (kind is str and len(part) < _SHORT and part.isascii())
            else encode(part, other, budget, depth)
            for part in value
        ],
    ]


def _encodable(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def plain(value: object) -> object:
    """A dict, list or tuple that is an instance of a subclass: as the plain type, which is all the data that it has.

    ``OrderedDict``, ``torch.Size``, ``torch.return_types.max``, any named tuple. The value itself if it is more than
    data: a dict or list with attributes or public methods of a submission's own. Runs no method of the object's class.
    """
    kind = type(value)
    if not issubclass(kind, _BASES) or kind in _CONTENT:
        return value
    base = next(one for one in _BASES if issubclass(kind, one))
    module = getattr(kind, "__module__", None)
    is_library = type(module) is str and module.partition(".")[0] in _LIBRARIES
    if base is not tuple and not is_library:
        own = itertools.takewhile(lambda one: one is not base, kind.__mro__)
        if getattr(value, "__dict__", None) or any(not name.startswith("_") for one in own for name in vars(one)):
            return value
    return base(_CONTENT[base](value))


def is_key(value: object) -> bool:
    """Whether a value can be a key on the other side: it is hashed and compared there."""
    kind = type(value)
    return all(map(is_key, value)) if kind is tuple else kind in _KEYS  # type: ignore[call-overload]


def _encode_tensor(tensor: torch.Tensor, budget: Budget) -> list[Any] | None:
    """``["T", dtype, shape, strides or None, bytes, requires grad, whether a parameter, device or None]``.

    None for a tensor that cannot cross as a value: sparse, of a dtype or on a device that the format does not have.

    Raises:
        WireError: if it goes over the budget.
    """
    is_known = tensor.dtype in _DTYPE_NAMES and tensor.device.type in ("cpu", "cuda")
    if tensor.layout is not torch.strided or not is_known:
        return None
    requires_grad = tensor_facts.requires_grad(tensor)
    name = labels.name_of(tensor)
    plain_tensor = tensor_facts.plain(tensor)
    if plain_tensor.device.type != "cpu":
        plain_tensor = plain_tensor.cpu()
    if plain_tensor.is_conj() or plain_tensor.is_neg():
        plain_tensor = plain_tensor.resolve_conj().resolve_neg()
    shape, numbers, bytes_each = list(plain_tensor.shape), plain_tensor.numel(), plain_tensor.element_size()
    strides = None if plain_tensor.is_contiguous() else list(plain_tensor.stride())
    size = _elements(shape, strides) * bytes_each
    budget.take(1, max(size, numbers * bytes_each), numbers)
    data = ctypes.string_at(plain_tensor.data_ptr(), size) if size else b""
    if strides is not None and size != numbers * bytes_each:
        data = _without_gaps(data, shape, strides, bytes_each)
    kind, device = 1 if type(tensor) is torch.nn.Parameter else 0, None if name == "cpu" else name
    return ["T", _DTYPE_NAMES[plain_tensor.dtype], shape, strides, data, requires_grad, kind, device]


def _without_gaps(data: bytes, shape: list[int], strides: list[int], bytes_each: int) -> bytes:
    """The memory of a view, where what lies between its elements is 0: it may be what a check expects."""
    rows = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, bytes_each)
    used = torch.zeros(len(rows), dtype=torch.bool)
    used[torch.arange(len(rows)).as_strided(shape, strides).reshape(-1)] = True
    rows[~used] = 0
    return bytes(rows.numpy())


def _encode_array(array: Any, budget: Budget) -> list[Any] | None:
    """``["n", dtype, shape, strides or None, bytes]``; None for an array that is not of plain numbers."""
    tensor = arrays.to_tensor(array)
    tree = None if tensor is None else _encode_tensor(tensor, budget)
    return None if tree is None else ["n", *tree[1:5]]


def _encode_path(path: Path, budget: Budget) -> list[Any] | None:
    text = str(path)
    return ["p", _encodable(text)] if _is_path(text) else None


def _is_path(text: object) -> bool:
    return type(text) is str and len(text) <= _MOST_PATH and "\0" not in text


_ENCODERS: Final[dict[type, Callable[[Any, Budget], list[Any] | None]]] = {
    torch.Tensor: _encode_tensor,
    torch.nn.Parameter: _encode_tensor,
    complex: lambda value, _: ["c", value.real, value.imag],
    torch.dtype: lambda value, _: ["y", str(value).removeprefix("torch.")],
    torch.device: lambda value, _: ["v", str(value)],
    _PATH: _encode_path,
    **dict.fromkeys(arrays.SCALARS, lambda value, _: ["s", *arrays.scalar_bytes(value)]),
    **dict.fromkeys(arrays.DTYPE_KINDS, lambda value, _: arrays.dtype_name(value)),
    **({} if arrays.ARRAY is None else {arrays.ARRAY: _encode_array}),
}
"""By exact type. None is the tree of an object that cannot cross as a value after all."""


def _elements(shape: list[int], strides: list[int] | None) -> int:
    """How many elements a tensor has in memory: an expanded one fewer than it shows."""
    elements = math.prod(shape)
    if strides is None or not elements:
        return elements
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))


def decode(
    tree: Tree, other: Other = no_other, budget: Budget | None = None, memory: Placing | None = None, depth: int = 0
) -> object:
    """The value of a tree; the inverse of `encode`.

    Args:
        other: gives the object for a tag that this module does not know (handles, references).
        budget: of which the value takes its part; one of its own when left out.
        memory: for the tensors, if not memory of their own.

    Raises:
        WireError: if the tree is malformed, or goes over the budget.
    """
    if type(tree) in _SCALARS:
        return tree
    if type(tree) is not list or not tree or type(tree[0]) is not str:
        raise WireError("neither a scalar nor an array with a tag")
    if depth > bounds.MAX_DEPTH + 2:
        raise WireError(f"nested more than {bounds.MAX_DEPTH} levels deep")
    tag = tree[0]
    budget = budget or Budget()
    if tag == "T":
        return _decode_tensor(tree, budget, memory)
    if tag not in _CONTAINERS:
        if tag == "n" and len(tree) == 5 and type(tree[1]) is str and tree[1] in arrays.DTYPES:
            return _decode_tensor([*tree, False, 0, None], budget, memory).numpy()
        return _decode_scalar(tree) if tag in _SCALAR_TAGS else other(tree)
    if tag == "d" and len(tree) > 2 * bounds.MAX_KEYS + 1:
        raise WireError(f"a dict of more than {bounds.MAX_KEYS} entries")
    budget.take(len(tree))
    depth += 1
    items = [part if type(part) in _SCALARS else decode(part, other, budget, memory, depth) for part in tree[1:]]
    if tag == "d":
        if len(items) % 2 or not all(map(is_key, items[::2])):
            raise WireError("a malformed dict")
        if 2 * len(set(map(hash, items[::2]))) != len(items) and have_one_hash(items[::2]):
            raise WireError("a dict of keys with the same hash")
        found = dict(zip(items[::2], items[1::2], strict=True))
        if 2 * len(found) != len(items):
            raise WireError("a dict with a key twice")
        return found
    return tuple(items) if tag == "t" else items


def have_one_hash(keys: list[object]) -> bool:
    """Whether so many keys share a hash that making a dict of them takes long: a time that grows with their square."""
    return sum(count * count for count in Counter(map(hash, keys)).values()) > _MOST_EQUAL_HASHES


def _decode_scalar(tree: list[Tree]) -> object:
    match tree:
        case ["i", str(digits)] if len(digits) < 1100:
            with contextlib.suppress(ValueError):
                return int(digits, 16)
        case ["c", float(real), float(imaginary)]:
            return complex(real, imaginary)
        case ["y", str(name)] if name in _ALL_DTYPES:
            return _ALL_DTYPES[name]
        case ["v", str(name)] if len(name) < 32:
            with contextlib.suppress(Exception):  # torch raises any exception for a name that it does not know
                return torch.device(name)
        case ["s", str(name), bytes(data)]:
            if (number := arrays.scalar(name, data)) is not None:
                return number
        case ["p", str(name)] if _is_path(name):
            return Path(name)
    raise WireError("a malformed number or path, or an unknown dtype or device")


def _decode_tensor(tree: list[Any], budget: Budget, memory: Placing | None) -> torch.Tensor:
    """The inverse of `_encode_tensor`; a copy.

    Raises:
        WireError: if the tree is malformed, or the tensor goes over the budget.
    """
    match tree[1:]:
        case [str(name), list(shape), list() | None as steps, bytes(data), bool(grad), int(kind), str() | None as at]:
            dtype = DTYPES.get(name)
        case _:
            raise WireError("a malformed tensor")
    if dtype is None or len(shape) > 32 or (steps is not None and len(steps) != len(shape)):
        raise WireError("a malformed tensor")
    if any(type(size) is not int or not 0 <= size < 1 << 40 for size in (*shape, *(steps or ()))):
        raise WireError("a malformed tensor shape")
    numbers = math.prod(shape)
    if numbers * dtype.itemsize > MAX_PAYLOAD or math.prod(size or 1 for size in shape) >= 1 << 40:
        raise WireError("a tensor that is larger than a message may be")
    if _elements(shape, steps) * dtype.itemsize != len(data):
        raise WireError("a tensor whose bytes do not match its shape")
    if dtype is torch.bool and data.strip(b"\0\1"):
        raise WireError("a bool tensor with other bytes than 0 and 1")
    if grad and not (dtype.is_floating_point or dtype.is_complex):
        raise WireError("an integer tensor that requires grad")
    budget.take(1, max(len(data), numbers * dtype.itemsize), numbers)
    flat, place = memory.put(data, dtype) if memory is not None else (None, None)
    if not numbers:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        flat = torch.frombuffer(bytearray(data), dtype=dtype).clone() if flat is None else flat
        tensor = flat.view(shape) if steps is None else flat.as_strided(shape, steps)
    view = None
    if place is not None:
        view = place.view(shape) if steps is None else place.as_strided(shape, steps)
    elif memory is not None:
        view = tensor_facts.plain(tensor)
    if at is not None:
        try:
            tensor = labels.place(tensor, at)
        except ValueError as error:
            raise WireError(f"a tensor on {at!r}, which is not here") from error
    if grad:
        tensor.requires_grad_(True)
    if kind == 1:
        tensor = torch.nn.Parameter(tensor, requires_grad=grad)
    if memory is not None and view is not None:
        memory.keep(tensor, view)
    return tensor


def pack(tree: Tree) -> bytes:
    """The bytes of a tree."""
    data = _packer.encode(tree)
    if len(data) > MAX_PAYLOAD:
        raise WireError(f"larger than {MAX_PAYLOAD >> 20} MiB")
    if has_more_nodes(data, bounds.MAX_NODES):
        raise WireError(f"more than {bounds.MAX_NODES} parts")
    return data


def unpack(data: bytes, kind: Any = Any) -> Any:
    """The tree of some bytes.

    Args:
        kind: the structs of `messages` that may come, one or a union; the struct is returned then.

    Raises:
        WireError: if they are not one message of that kind, or one of more than `MAX_NODES` parts.
    """
    if has_more_nodes(data, bounds.MAX_NODES):
        raise WireError(f"more than {bounds.MAX_NODES} parts")
    try:
        return _decoder(kind).decode(data)
    except _NOT_DATA as error:
        raise WireError("not a message") from error


def unpack_untrusted(data: bytes, kind: Any) -> Any:
    """As `unpack`, for what submitted code may have written: nothing that it may send has a map in it.

    Raises:
        WireError: also if there is a map.
    """
    if has_more_nodes(data, bounds.MAX_NODES) or has_map(data):
        raise WireError("too many parts, or a map")
    return unpack(data, kind)


def convert(tree: Tree, kind: type[T]) -> T:
    """The struct that some data is.

    Raises:
        WireError: if the data does not fit the struct.
    """
    try:
        return _convert(tree, kind)
    except _NOT_DATA as error:
        raise WireError("not the data that was asked for") from error


def _refuse(code: int, data: memoryview) -> object:
    raise WireError("a type that the format does not have")


# As they were before any submitted code could replace them.
_convert: Final = msgspec.convert
_packer: Final = msgspec.msgpack.Encoder()
_decoder: Final = functools.cache(functools.partial(msgspec.msgpack.Decoder, ext_hook=_refuse))
