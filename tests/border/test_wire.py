"""The wire format: every value comes back as it was, and nothing that is read can do more than be refused."""

from __future__ import annotations

import collections
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from wire_values import VALUES, handle, refuse, same, tensors, there_and_back, unknown

from grader.border import bounds, frames, wire
from grader.border.bounds import WireError
from grader.testkit import assert_equal


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


def test_numpys_dtypes_are_themselves_in_the_byte_order_of_the_machine() -> None:
    for dtype in (np.dtype("float32"), np.dtype(bool)):
        back = there_and_back(dtype)
        assert back is dtype
    assert there_and_back({np.dtype("int8"): 1}) == {np.dtype("int8"): 1}
    assert all(wire.encode(np.dtype(other), handle)[0] == "h" for other in (">f4", "U3", "O"))  # type: ignore[index]
    with pytest.raises(WireError):
        wire.decode(["y", "numpy.object"], unknown)


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


def test_a_view_comes_without_what_lies_between_its_elements() -> None:
    table = torch.arange(1.0, 13.0).view(4, 3)
    for view in (table[:, 0], table[::2, 1:], table.T[1], table[:, :1].expand(4, 2), np.asarray(table)[:, 0]):
        there = there_and_back(view)
        held = torch.as_tensor(there)
        whole = held.as_strided((held.untyped_storage().nbytes() // 4,), (1,), 0)
        assert torch.as_tensor(view).equal(held) and torch.as_tensor(view).stride() == held.stride()
        assert set(whole.tolist()) <= {0.0, *held.flatten().tolist()}


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


class Lying(np.ndarray):
    def __eq__(self, other: object) -> Any:
        return True


class LyingNumber(np.float64):
    def __eq__(self, other: object) -> Any:
        return True


class Folder(type(Path())): ...  # type: ignore[misc]


class WithMethod(list[Any]):
    def rows(self) -> int:
        return len(self)


class Named(NamedTuple):
    first: int
    second: int

    @property
    def both(self) -> int:
        return self.first + self.second


def with_attribute(value: Any) -> Any:
    value.at_first = 1
    return value


@pytest.mark.parametrize(
    "value",
    [
        Number(1),
        Real(1.0),
        Text("x"),
        with_attribute(Row([1])),
        WithMethod([1]),
        torch.ones(1).as_subclass(Special),
        {1},
        frozenset({1}),
        bytearray(b"x"),
        torch.ones(2).to_sparse(),
        torch.ones(2, device="meta"),
        np.ones(1).view(Lying),
        np.ma.masked_array([1.0]),
        LyingNumber(1.0),
        np.array([{}]),
        np.array(["x"]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")]),
        np.datetime64("2020-01-01"),
        np.longdouble(1),
        Folder("x"),
        Path("a\0b"),
        nn.Linear(1, 1),
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_exact_types_are_values(value: object) -> None:
    assert wire.encode(value, handle) == ["h", 0, type(value).__name__]
    assert wire.encode([value], handle) == ["l", ["h", 0, type(value).__name__]]


@pytest.mark.parametrize(
    ("value", "plain"), [(Row([1]), [1]), (Pair((1, 2)), (1, 2)), (Named(1, 2), (1, 2)), (Table(a=1), {"a": 1})]
)
def test_subclasses_that_are_only_data_are_the_plain_value(value: object, plain: object) -> None:
    """A student may give the rows of a table names; nothing but the data crosses."""
    found = wire.decode(wire.encode([value], handle), handle)
    assert found == [plain] and type(found[0]) is type(plain)  # type: ignore[index]


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
        nested(bounds.MAX_DEPTH + 1),
        circular(),
        [0] * (bounds.MAX_ITEMS + 1),
        1 << 5000,
        torch.zeros(frames.MAX_PAYLOAD + 1, dtype=torch.uint8),
        np.zeros(frames.MAX_PAYLOAD + 1, dtype=np.uint8),
        np.broadcast_to(np.float64(1), (1 << 40,)),
        dict.fromkeys(range(bounds.MAX_KEYS + 1)),
    ],
    ids=["deep", "circular", "long", "huge_number", "large_tensor", "large_array", "expanded_array", "large_dict"],
)
def test_what_is_too_deep_or_too_large_is_not_encoded(value: object) -> None:
    with pytest.raises(WireError):
        wire.encode(value, refuse)


def test_a_small_memory_that_poses_as_a_huge_tensor_is_refused_both_ways() -> None:
    with pytest.raises(WireError):
        wire.encode(torch.zeros(1).expand(1 << 36), refuse)
    with pytest.raises(WireError):
        wire.decode(["T", "float32", [1 << 36], [0], b"\0" * 4, False, 0, None], unknown)


@pytest.mark.parametrize("dtype", [">f4", "<f4", ">i8", ">c16"])
def test_an_array_of_another_byte_order_is_the_same_numbers(dtype: str) -> None:
    value = np.array([1, -2, 3]).astype(dtype)
    back = there_and_back(value)
    assert back.dtype.isnative and back.dtype == value.dtype.newbyteorder("=") and (back == value).all()


def test_arrays_arrive_as_copies_that_can_be_written() -> None:
    value = np.arange(3.0)
    value.flags.writeable = False
    back = there_and_back(value)
    back[0] = 7
    assert value[0] == 0


def test_a_vocabulary_of_100_000_entries_crosses() -> None:
    words = {f"word {number}": number for number in range(100_000)}
    assert there_and_back(words) == words
    merges = [(b"a", b"b")] * 100_000
    assert there_and_back(merges) == merges
    assert there_and_back({number: b"x" for number in range(100_000)})[99_999] == b"x"


def test_repetition_does_not_get_past_the_limit() -> None:
    block: list[Any] = [0] * 1000
    for _ in range(3):
        block = [block] * 10
    with pytest.raises(WireError):
        wire.encode([block] * 10, refuse)


def test_the_deepest_value_that_is_encoded_is_decoded() -> None:
    deepest = nested(bounds.MAX_DEPTH - 1)
    assert there_and_back(deepest) == deepest


OF_THE_LIBRARIES = [
    (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (collections.defaultdict(list, a=[1]), {"a": [1]}),
    (collections.Counter("aab"), {"a": 2, "b": 1}),
    (torch.Size([2, 3]), (2, 3)),
    (torch.ones(2, 3).shape, (2, 3)),
    (torch.tensor([3, 5]).max(dim=0), (torch.tensor(5), torch.tensor(1))),
    (nn.Linear(1, 1).load_state_dict(nn.Linear(1, 1).state_dict()), ([], [])),
    (time.gmtime(0), tuple(time.gmtime(0))),
]


@pytest.mark.parametrize(("value", "expected"), OF_THE_LIBRARIES, ids=lambda value: type(value).__name__)
def test_what_torch_and_the_standard_library_derive_crosses_as_the_plain_type(value: object, expected: object) -> None:
    assert same(there_and_back(value), expected)
    assert same(there_and_back([value, {"a": value}]), [expected, {"a": expected}])
    assert_equal(expected, value)


def test_a_state_dict_crosses_with_its_tensors() -> None:
    model = nn.Linear(2, 1)
    found = there_and_back(model.state_dict())
    assert type(found) is dict
    assert_equal(found, {"weight": model.weight.detach(), "bias": model.bias.detach()})


def test_a_class_that_pretends_to_be_of_a_library_is_read_without_its_own_methods() -> None:
    class Liar(dict):  # type: ignore[type-arg]
        __module__ = "collections"

        def items(self) -> Any:
            return [("a", 1)]

        __iter__ = __getitem__ = keys = __eq__ = items  # type: ignore[assignment]
        __hash__ = None  # type: ignore[assignment]

    assert there_and_back(Liar(a=2)) == {"a": 2}
