"""The data-only format that crosses the border between judge and student process.

A value becomes a tree of MessagePack scalars and tagged arrays. Only exact built-in types, tensors, dtypes and
devices are values, and classes that torch and the standard library derive from dict, list and tuple, which cross as
the plain type; everything else is a *handle*. Must never pickle, evaluate or call anything that comes with a
value, and must never trust a length, a shape or a tag that it reads.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec
import torch

from grader.border.bounds import MAX_DEPTH, MAX_INTEGER_BITS, MAX_KEYS, MAX_NODES, Budget, WireError, has_more_nodes
from grader.border.frames import MAX_PAYLOAD
from grader.border.placing import Placing
from grader.border.tensors import decode_tensor, encode_tensor

T = TypeVar("T")
Tree: TypeAlias = Any
"""None, bool, int, float, str, bytes, or a list whose first item is a tag."""

_ALL_DTYPES: Final[dict[str, torch.dtype]] = {
    str(value).removeprefix("torch."): value for value in [*vars(torch).values()] if isinstance(value, torch.dtype)
}

Other: TypeAlias = Callable[[Any], Any]
"""For `encode`: gives the tree of an object that is not a value. For `decode`: the object of a tag unknown here."""


def encode(value: object, other: Other, budget: Budget | None = None, depth: int = 0) -> Tree:
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
    encoder = _ENCODERS.get(kind)
    if encoder is None and (same := plain(value)) is not value:
        value, encoder = same, _ENCODERS[type(same)]
    if depth > MAX_DEPTH and kind is not int:
        raise WireError(f"nested more than {MAX_DEPTH} levels deep")
    return other(value) if encoder is None else encoder(value, other, budget or Budget(), depth)


class Reading:
    """The state while a tree is decoded.

    Args:
        other: gives the object for a tag that this module does not know (handles, references).
        budget: counts the contents of the decoded values; one for all values of a message.
        memory: for the tensors, if not memory of their own.
    """

    __slots__ = ("budget", "memory", "other")

    def __init__(self, other: Other, budget: Budget | None = None, memory: Placing | None = None) -> None:
        self.other = other
        self.budget = budget or Budget()
        self.memory = memory


def plain(value: object) -> object:
    """A dict, list or tuple that is an instance of a subclass: as the plain type, which is all the data that it has.

    ``OrderedDict``, ``torch.Size``, ``torch.return_types.max``, any named tuple. The value itself if it is more than
    data: a dict or list with attributes or public methods of a submission's own. Runs no method of the object's class.
    """
    kind = type(value)
    if kind in _ENCODERS or not issubclass(kind, (dict, list, tuple)):
        return value
    module = getattr(kind, "__module__", None)
    is_library = type(module) is str and module.partition(".")[0] in _LIBRARIES
    if not is_library and not issubclass(kind, tuple) and _is_more_than_data(value, kind):
        return value
    if isinstance(value, dict):
        return dict(dict.items(value))
    if isinstance(value, list):
        return list.__getitem__(value, _ALL)
    return tuple.__getitem__(cast("tuple[object, ...]", value), _ALL)


def _is_more_than_data(value: object, kind: type) -> bool:
    """Whether a dict or list has attributes of its own, or its class adds methods to the type that it comes from."""
    if getattr(value, "__dict__", None):
        return True
    own = kind.__mro__[: next(n for n, one in enumerate(kind.__mro__) if one in (dict, list))]
    return any(not name.startswith("_") for one in own for name in vars(one))


def decode(tree: Tree, other: Other, budget: Budget | None = None) -> object:
    """The value of a tree; the inverse of `encode`.

    Args:
        other: gives the object for a tag that this module does not know (handles, references).
        budget: of which the value takes its part; one of its own when left out.

    Raises:
        WireError: if the tree is malformed, or goes over the budget.
    """
    return read(tree, Reading(other, budget))


def read(tree: Tree, reading: Reading, depth: int = 0) -> object:
    """Like `decode`, for several trees of one message.

    Raises:
        WireError: as in `decode`.
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
    return reading.other(tree) if decoder is None else decoder(tree, reading, depth)


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
            raise WireError(f"more than {MAX_NODES} parts")
        return _decoder(kind).decode(data)
    except WireError:
        raise
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError, ArithmeticError) as error:
        raise WireError("not a message") from error


def convert(tree: Tree, kind: type[T]) -> T:
    """The struct that some data is.

    Raises:
        WireError: if the data does not fit the struct.
    """
    try:
        return msgspec.convert(tree, kind)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError, ArithmeticError) as error:
        raise WireError("not the data that was asked for") from error


def _refuse(code: int, data: memoryview) -> object:
    raise WireError("a type that the format does not have")


_packer = msgspec.msgpack.Encoder()
_decoder = functools.cache(functools.partial(msgspec.msgpack.Decoder, ext_hook=_refuse))
_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})
_KEYS: Final = _SCALARS | {complex, torch.dtype, torch.device}


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
    if not all(map(_is_key, value)):
        return other(value)
    tree: list[Tree] = ["d"]
    for key, item in value.items():
        tree.append(encode(key, other, budget, depth + 1))
        tree.append(encode(item, other, budget, depth + 1))
    return tree


def _is_key(value: object) -> bool:
    """Whether a value can be a key on the other side: it is hashed and compared there."""
    kind = type(value)
    return all(map(_is_key, value)) if kind is tuple else kind in _KEYS  # type: ignore[call-overload]


def _encode_complex(value: complex, other: Other, budget: Budget, depth: int) -> Tree:
    return ["c", value.real, value.imag]


def _encode_dtype(value: torch.dtype, other: Other, budget: Budget, depth: int) -> Tree:
    return ["y", str(value).removeprefix("torch.")]


def _encode_device(value: torch.device, other: Other, budget: Budget, depth: int) -> Tree:
    return ["v", str(value)]


def _encode_tensor(value: torch.Tensor, other: Other, budget: Budget, depth: int) -> Tree:
    tree = encode_tensor(value, budget)
    return other(value) if tree is None else tree


_SELF_ENCODED: Final = frozenset({type(None), bool, float})
_SEQUENCE_TAGS: Final[dict[type, str]] = {list: "l", tuple: "t"}
_ALL: Final = slice(None)
_LIBRARIES: Final = sys.stdlib_module_names | {"torch"}
_ENCODERS: Final[dict[type, Callable[[Any, Other, Budget, int], Tree]]] = {
    int: _encode_int,
    str: _encode_str,
    bytes: _encode_bytes,
    torch.Tensor: _encode_tensor,
    torch.nn.Parameter: _encode_tensor,
    list: _encode_sequence,
    tuple: _encode_sequence,
    dict: _encode_dict,
    complex: _encode_complex,
    torch.dtype: _encode_dtype,
    torch.device: _encode_device,
}
"""By exact type: a subclass is not a value, unless `plain` makes one of it."""


def _decode_list(tree: list[Tree], reading: Reading, depth: int) -> list[object]:
    depth += 1
    reading.budget.take(len(tree))
    return [item if type(item) in _SCALARS else read(item, reading, depth) for item in tree[1:]]


def _decode_tuple(tree: list[Tree], reading: Reading, depth: int) -> tuple[object, ...]:
    return tuple(_decode_list(tree, reading, depth))


def _decode_dict(tree: list[Tree], reading: Reading, depth: int) -> dict[object, object]:
    if len(tree) > 2 * MAX_KEYS + 1:
        raise WireError(f"a dict of more than {MAX_KEYS} entries")
    items = _decode_list(tree, reading, depth)
    if len(items) % 2 or not all(map(_is_key, items[::2])):
        raise WireError("a malformed dict")
    found = dict(zip(items[::2], items[1::2], strict=True))
    if 2 * len(found) != len(items):
        raise WireError("a dict with a key twice")
    return found


def _decode_int(tree: list[Tree], reading: Reading, depth: int) -> int:
    match tree:
        case [_, str(digits)] if len(digits) < 1100:
            try:
                return int(digits, 16)
            except ValueError as error:
                raise WireError("a malformed integer") from error
    raise WireError("a malformed integer")


def _decode_complex(tree: list[Tree], reading: Reading, depth: int) -> complex:
    match tree:
        case [_, float(real), float(imaginary)]:
            return complex(real, imaginary)
    raise WireError("a malformed complex number")


def _decode_dtype(tree: list[Tree], reading: Reading, depth: int) -> torch.dtype:
    match tree:
        case [_, str(name)] if name in _ALL_DTYPES:
            return _ALL_DTYPES[name]
    raise WireError("an unknown dtype")


def _decode_device(tree: list[Tree], reading: Reading, depth: int) -> torch.device:
    match tree:
        case [_, str(name)] if len(name) < 32:
            try:
                return torch.device(name)
            except Exception as error:  # torch raises any exception for a name that it does not know
                raise WireError("an unknown device") from error
    raise WireError("an unknown device")


def _decode_tensor(tree: list[Tree], reading: Reading, depth: int) -> torch.Tensor:
    return decode_tensor(tree, reading.budget, reading.memory)


_DECODERS: Final[dict[str, Callable[[list[Tree], Reading, int], object]]] = {
    "T": _decode_tensor,
    "l": _decode_list,
    "t": _decode_tuple,
    "d": _decode_dict,
    "i": _decode_int,
    "c": _decode_complex,
    "y": _decode_dtype,
    "v": _decode_device,
}
"""By tag; a tag that is not here is for `Reading.other`."""
