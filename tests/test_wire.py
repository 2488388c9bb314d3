"""The wire format: every value comes back as it was, and nothing that is read can do more than be refused."""

from __future__ import annotations

import math
import socket
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.isolation import wire
from grader.isolation.wire import Inbox, WireError

DTYPES = tuple(wire._DTYPES.values())
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]


def refuse(value: object) -> Any:
    raise AssertionError(f"not a value: {value!r}")


def handle(value: object) -> list[Any]:
    return ["h", 0, type(value).__name__]


def unknown(tree: list[Any]) -> object:
    raise WireError("an unknown tag")


def there_and_back(value: object) -> Any:
    return wire.decode(wire.unpack(wire.pack(wire.encode(value, refuse))), unknown)


def same(one: Any, other: Any) -> bool:
    """Equality down to types, bits and strides."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        facts = [(t.dtype, t.shape, t.requires_grad, t.is_leaf) for t in (one, other)]
        layout = one.is_contiguous() or one.stride() == other.stride()
        return facts[0] == facts[1] and layout and one.detach().equal(other.detach())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


SIZES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any dtype, shape and layout: plain, transposed, sliced, expanded; with or without a gradient switch."""
    shape, dtype = draw(SIZES), draw(st.sampled_from(DTYPES))
    plain = torch.arange(math.prod(shape)).remainder(draw(st.integers(1, 5))).to(dtype).reshape(shape)
    layout = draw(st.sampled_from(["plain", "transposed", "sliced", "expanded"]))
    if layout == "transposed" and plain.dim() >= 2:
        plain = plain.mT
    elif layout == "sliced" and plain.dim():
        plain = torch.stack([plain, plain], dim=-1)[..., 0]
    elif layout == "expanded":
        plain = plain.expand(3, *shape)
    if dtype in FLOATS and draw(st.booleans()):
        plain = plain.detach().requires_grad_(True)
    return plain


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(allow_nan=False),
    st.text(),
    st.binary(max_size=20),
    st.sampled_from(DTYPES),
    st.sampled_from([torch.device("cpu"), torch.device("cuda:1"), torch.device("meta")]),
    SIZES.map(torch.Size),
)
VALUES = st.recursive(
    st.one_of(SCALARS, tensors()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=5), st.integers(), st.none()), inner, max_size=4),
    ),
    max_leaves=12,
)


@given(value=VALUES)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    assert same(value, there_and_back(value))


@given(value=tensors())
def test_tensors_arrive_as_copies(value: Tensor) -> None:
    before = value.detach().clone()
    back = there_and_back(value)
    if back.numel():
        assert back.data_ptr() != value.data_ptr()
    assert back.detach().equal(before)


def test_parameters_stay_parameters() -> None:
    back = there_and_back(nn.Parameter(torch.ones(2), requires_grad=False))
    assert type(back) is nn.Parameter
    assert not back.requires_grad


def test_a_tensor_with_a_graph_arrives_as_a_leaf_that_requires_grad() -> None:
    back = there_and_back(torch.ones(2, requires_grad=True) * 2)
    assert back.requires_grad
    assert back.is_leaf
    assert back.detach().equal(torch.full((2,), 2.0))


def test_conjugated_and_negated_views_are_resolved() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert there_and_back(z.conj()).equal(torch.tensor([1 - 2j, 3 + 1j]))
    assert there_and_back(z.conj().imag).equal(torch.tensor([-2.0, 1.0]))


def test_nan_keeps_its_bits() -> None:
    assert math.isnan(there_and_back(math.nan))
    assert (
        there_and_back(torch.tensor([math.nan, -0.0]))
        .view(torch.int32)
        .equal(torch.tensor([math.nan, -0.0]).view(torch.int32))
    )


class Number(int): ...


class Real(float): ...


class Text(str): ...


class Row(list[int]): ...


class Pair(tuple[int, int]): ...


class Table(dict[str, int]): ...


class Special(torch.Tensor): ...


@pytest.mark.parametrize(
    "value",
    [
        Number(1),
        Real(1.0),
        Text("x"),
        Row([1]),
        Pair((1, 2)),
        Table(a=1),
        torch.ones(1).as_subclass(Special),
        {1},
        frozenset({1}),
        bytearray(b"x"),
        torch.ones(2).to_sparse(),
        torch.ones(2, device="meta"),
        nn.Linear(1, 1),
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_exact_types_are_values(value: object) -> None:
    assert wire.encode(value, handle) == ["h", 0, type(value).__name__]
    assert wire.encode([value], handle) == ["l", ["h", 0, type(value).__name__]]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circular() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        nested(wire.MAX_DEPTH + 1),
        circular(),
        [0] * (wire.MAX_ITEMS + 1),
        1 << 5000,
        torch.zeros(wire.MAX_FRAME + 1, dtype=torch.uint8),
    ],
    ids=["deep", "circular", "long", "huge_number", "large_tensor"],
)
def test_what_is_too_deep_or_too_large_is_not_encoded(value: object) -> None:
    with pytest.raises(WireError):
        wire.encode(value, refuse)


def test_a_small_memory_that_poses_as_a_huge_tensor_is_refused_both_ways() -> None:
    with pytest.raises(WireError):
        wire.encode(torch.zeros(1).expand(1 << 36), refuse)
    with pytest.raises(WireError):
        wire.decode(tensor_with(shape=[1 << 36], strides=[0], data=b"\0" * 4), unknown)


def test_repetition_does_not_get_past_the_limit() -> None:
    block: list[Any] = [0] * 1000
    for _ in range(3):
        block = [block] * 10
    with pytest.raises(WireError):
        wire.encode([block] * 10, refuse)


def test_the_deepest_value_that_is_encoded_is_decoded() -> None:
    deepest = nested(wire.MAX_DEPTH - 1)
    assert there_and_back(deepest) == deepest


TENSOR = ["T", "float32", [2], None, b"\0" * 8, False, 0, None]


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
        ["z", -1],
        ["z", True],
        ["z", 1.0],
        ["z", 1 << 63],
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
        tensor_with(device="cuda:99"),
        tensor_with(device="nonsense"),
        tensor_with(device=5),
        tensor_with(kind="x"),
    ],
    ids=lambda tree: repr(tree)[:40],
)
def test_malformed_trees_are_refused(tree: Any) -> None:
    with pytest.raises(WireError):
        wire.decode(wire.unpack(wire.pack(tree)), unknown)


def test_too_deep_a_tree_is_refused() -> None:
    tree: list[Any] = ["l"]
    for _ in range(wire.MAX_DEPTH + 5):
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
              st.binary(max_size=9), st.sampled_from(["T", "l", "t", "d", "z", "i", "c", "y", "v", "float32", "bool"])),
    lambda inner: st.one_of(st.lists(inner, max_size=9), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300)
@given(tree=JUNK, parts=st.lists(JUNK, min_size=7, max_size=7), tag=st.sampled_from("TltdziCcyv"))
def test_well_formed_nonsense_gives_a_value_or_a_wire_error(tree: Any, parts: list[Any], tag: str) -> None:
    read(msgspec.msgpack.encode(tree))
    read(msgspec.msgpack.encode([tag, *parts]))


def test_extensions_and_timestamps_of_msgpack_are_refused() -> None:
    read(msgspec.msgpack.encode(msgspec.msgpack.Ext(1, b"x")))
    with pytest.raises(WireError):
        wire.decode(wire.unpack(b"\xd6\xff\x00\x00\x00\x00"), unknown)


@given(payloads=st.lists(st.binary(max_size=50), max_size=5), sizes=st.lists(st.integers(1, 9), min_size=1))
def test_frames_come_out_whole_however_they_are_cut(payloads: list[bytes], sizes: list[int]) -> None:
    stream, inbox, found, index = b"".join(map(wire.frame, payloads)), Inbox(), [], 0
    while stream:
        size = sizes[index % len(sizes)]
        inbox.feed(stream[:size])
        stream, index = stream[size:], index + 1
        while (payload := inbox.next()) is not None:
            found.append(payload)
    assert found == payloads


def test_an_announced_length_over_the_limit_is_refused_before_it_is_waited_for() -> None:
    inbox = Inbox()
    inbox.feed((wire.MAX_FRAME + 1).to_bytes(4, "little"))
    with pytest.raises(WireError):
        inbox.next()


def test_frames_travel_over_a_socket() -> None:
    one, other = socket.socketpair()
    with one, other:
        wire.send_frame(one, b"a" * 1000)
        wire.send_frame(one, b"")
        one.shutdown(socket.SHUT_WR)
        assert wire.receive_frame(other) == b"a" * 1000
        assert wire.receive_frame(other) == b""
        assert wire.receive_frame(other) is None
