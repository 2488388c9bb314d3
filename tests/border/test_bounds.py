"""What keeps messages bounded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.border import bounds, wire
from grader.border.bounds import WireError, has_more_nodes
from grader.testkit.show import show

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=3), inner, max_size=20),
)


def nodes(tree: Any) -> int:
    if isinstance(tree, list):
        return 1 + sum(map(nodes, tree))
    if isinstance(tree, dict):
        return 1 + sum(1 + nodes(value) for value in tree.values())
    return 1


@given(tree=TREES)
def test_nodes_are_counted_as_msgpack_has_them(tree: Any) -> None:
    data, count = msgspec.msgpack.encode(tree), nodes(tree)
    assert not has_more_nodes(data, count)
    assert has_more_nodes(data, count - 1)


@given(data=st.binary(max_size=500), most=st.integers(0, 100))
def test_counting_garbage_comes_to_an_end(data: bytes, most: int) -> None:
    has_more_nodes(data, most)


def test_large_messages_in_both_directions() -> None:
    wire.unpack(wire.pack(["ok", bytes(8 << 20)]))
    with pytest.raises(WireError):
        wire.pack([None] * (bounds.MAX_NODES + 1))
    with pytest.raises(WireError):
        wire.unpack(msgspec.msgpack.encode([[]] * (bounds.MAX_NODES + 1)))


@pytest.mark.parametrize("value", [msgspec.msgpack.Ext(5, b"x"), {"a": 1}])
def test_types_that_the_format_does_not_have(value: Any) -> None:
    with pytest.raises(WireError):
        wire.decode(wire.unpack(msgspec.msgpack.encode(["l", value])), lambda tree: None)


def test_a_view_counts_as_what_it_shows() -> None:
    with pytest.raises(WireError):
        wire.encode(torch.ones(1).expand(1 << 23), lambda value: None)
    tree = ["T", "float32", [1 << 23], [0], bytes(4), False, 0, None]
    with pytest.raises(WireError):
        wire.decode(tree, lambda tree: None)


def test_showing_stops_where_the_line_ends() -> None:
    class Counted(list):  # type: ignore[type-arg]
        looked = 0

        def __getitem__(self, key: Any) -> Any:
            Counted.looked += 1
            return super().__getitem__(key)

    deep: Any = [torch.ones(3)] * 40
    for _ in range(4):
        deep = Counted([deep] * 40)
    assert len(show(deep)) < 600
    assert Counted.looked < 50
