"""The wire format against malformed, damaged and invented messages: only `WireError` may come out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_values import VALUES, refuse, unknown

from grader.border import bounds, wire
from grader.border.bounds import WireError

TENSOR = ["T", "float32", [2], None, b"\0" * 8, False, 0, None]


ARRAY = ["n", "float32", [2], None, b"\0" * 8]


def array_with(**changes: Any) -> list[Any]:
    return [
        changes.get(name, part) for name, part in zip(["tag", "dtype", "shape", "strides", "data"], ARRAY, strict=True)
    ]


def tensor_with(**changes: Any) -> list[Any]:
    names = ["tag", "dtype", "shape", "strides", "data", "grad", "kind", "device"]
    return [changes.get(name, part) for name, part in zip(names, TENSOR, strict=True)]


@pytest.mark.parametrize(
    "tree",
    [
        [],
        [1, 2],
        [None],
        {"a": 1},
        ["l", {"a": 1}],
        ["nonsense"],
        ["i", "12; import os"],
        ["i", "f" * 2000],
        ["i", 5],
        ["c", 1, 2],
        ["y", "float33"],
        ["v", "toaster:1"],
        ["v", "c" * 100],
        ["z", 1],
        ["d", 1],
        ["d", ["l"], 1],
        ["T"],
        tensor_with(dtype="object"),
        tensor_with(shape=[3]),
        tensor_with(shape=[-2]),
        tensor_with(shape=[True, 2]),
        tensor_with(shape=[2.0]),
        tensor_with(shape=[1 << 39, 1 << 39]),
        tensor_with(shape=[0, 1 << 39, 1 << 39, 1 << 39], data=b""),
        tensor_with(shape=[1] * 65),
        tensor_with(strides=[1, 1]),
        tensor_with(strides=[-1]),
        tensor_with(strides=[1 << 41]),
        tensor_with(strides=[2]),
        tensor_with(data="text"),
        tensor_with(grad=1),
        tensor_with(grad=True, dtype="int32"),
        tensor_with(dtype="bool", data=b"\2\0"),
        tensor_with(device="cuda:9999"),
        tensor_with(device="nonsense"),
        tensor_with(device=5),
        tensor_with(kind="x"),
        ["n"],
        [*ARRAY, True, 0, None],
        array_with(dtype="object"),
        array_with(dtype="O"),
        array_with(dtype="bfloat16"),
        array_with(dtype="<U8"),
        array_with(dtype=["a", "b"]),
        array_with(shape=[3]),
        array_with(shape=[-2]),
        array_with(shape=[True, 2]),
        array_with(shape=[1 << 39, 1 << 39]),
        array_with(shape=[0, 1 << 39, 1 << 39, 1 << 39], data=b""),
        array_with(shape=[1] * 65),
        array_with(shape=2),
        array_with(shape=[1 << 36], strides=[0], data=b"\0" * 4),
        array_with(strides=[-1]),
        array_with(strides=[2]),
        array_with(data=b"\0" * 7),
        array_with(data="text"),
        array_with(dtype="bool", data=b"\2\0"),
        ["s", "float64", b"\0" * 7],
        ["s", "float64", b"\0" * 16],
        ["s", "float64", 1.0],
        ["s", "object", b"\0" * 8],
        ["s", "bool", b"\2"],
        ["s", 5, b"\0" * 8],
        ["s"],
        ["p", "a\0b"],
        ["p", "a" * 5000],
        ["p", b"a"],
        ["p", 5],
        ["p", "a", "b"],
        ["d", *[part for number in range(1, 5000) for part in (["i", hex(number * ((1 << 61) - 1))], 0)]],
    ],
    ids=lambda tree: repr(tree)[:40],
)
def test_malformed_trees_are_refused(tree: Any) -> None:
    with pytest.raises(WireError):
        wire.decode(wire.unpack(wire.pack(tree)), unknown)


def test_too_deep_a_tree_is_refused() -> None:
    tree: list[Any] = ["l"]
    for _ in range(bounds.MAX_DEPTH + 5):
        tree = ["l", tree]
    with pytest.raises(WireError):
        wire.decode(tree, unknown)
    with pytest.raises(WireError):
        wire.unpack(b"\x91" * 100_000)


def read(data: bytes) -> None:
    """What the judge does with bytes from over there; anything but WireError passes through."""
    try:
        wire.decode(wire.unpack(data), unknown)
    except WireError:
        return


@given(data=st.binary(max_size=200))
def test_random_bytes_give_a_value_or_a_wire_error(data: bytes) -> None:
    read(data)


@settings(max_examples=300)
@given(value=VALUES, position=st.integers(0, 1 << 30), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_message_gives_a_value_or_a_wire_error(value: Any, position: int, byte: int, cut: bool) -> None:
    data = bytearray(wire.pack(wire.encode(value, refuse)))
    position %= len(data)
    if cut:
        del data[position:]
    else:
        data[position] = byte
    read(bytes(data))


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.text(max_size=5),
              st.binary(max_size=9), st.sampled_from(["n", "s", "p"]),
              st.sampled_from(["T", "l", "t", "d", "z", "i", "c", "y", "v", "float32", "bool"])),
    lambda inner: st.one_of(st.lists(inner, max_size=9), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300)
@given(tree=JUNK, parts=st.lists(JUNK, min_size=7, max_size=7), tag=st.sampled_from("TltdziCcyvnsp"))
def test_well_formed_nonsense_gives_a_value_or_a_wire_error(tree: Any, parts: list[Any], tag: str) -> None:
    read(msgspec.msgpack.encode(tree))
    read(msgspec.msgpack.encode([tag, *parts]))


def test_extensions_and_timestamps_of_msgpack_are_refused() -> None:
    read(msgspec.msgpack.encode(msgspec.msgpack.Ext(1, b"x")))
    with pytest.raises(WireError):
        wire.decode(wire.unpack(b"\xd6\xff\x00\x00\x00\x00"), unknown)
