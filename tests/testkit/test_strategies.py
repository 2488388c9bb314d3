"""Strategies for tensors: deterministic, of every layout and kind, and small once shrunk."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import pytest
import torch
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import labels, shapes, tensors
from grader.testkit.strategies import KINDS, make_tensor

T = TypeVar("T")


def smallest(strategy: st.SearchStrategy[T], fails: Callable[[T], bool]) -> T:
    own = settings(database=None, max_examples=500, phases=[Phase.generate, Phase.shrink])  # nothing is explained
    return find(strategy, fails, settings=own)


@given(x=tensors(((1, 3), 2, (0, 4)), dtype=(torch.int64, torch.bfloat16)))
def test_shape_and_dtype_are_as_asked_for(x: Tensor) -> None:
    assert (x.dim(), x.shape[1]) == (3, 2)
    assert 1 <= x.shape[0] <= 3
    assert x.shape[2] <= 4
    assert x.dtype in (torch.int64, torch.bfloat16)


@given(x=tensors(st.sampled_from([(), (3,), (2, 2)])))
def test_a_strategy_of_shapes_is_taken_as_it_is(x: Tensor) -> None:
    assert tuple(x.shape) in {(), (3,), (2, 2)}


@given(
    kind=st.sampled_from(KINDS), layout=st.sampled_from(["contiguous", "transposed", "sliced"]), seed=st.integers(0, 99)
)
def test_the_same_structure_gives_the_same_bits(kind: str, layout: str, seed: int) -> None:
    state = torch.get_rng_state()
    one, other = (make_tensor((3, 4), dtype=torch.float32, kind=kind, layout=layout, seed=seed) for _ in range(2))
    assert one.equal(other)
    assert one.stride() == other.stride()
    assert torch.get_rng_state().equal(state)


def test_layouts_hold_the_same_numbers() -> None:
    made = [make_tensor((3, 4), dtype=torch.float32, kind="normal", layout=name, seed=1) for name in
            ("contiguous", "transposed", "sliced")]  # fmt: skip
    assert [x.is_contiguous() for x in made] == [True, False, False]
    assert made[0].equal(made[1])
    assert made[0].equal(made[2])


@given(x=tensors(((2, 4), (2, 4)), contiguous=True))
def test_contiguous_means_a_plain_layout(x: Tensor) -> None:
    assert x.is_contiguous()


@given(x=tensors(((2, 4), (2, 4)), contiguous=False))
def test_not_contiguous_means_another_layout(x: Tensor) -> None:
    assert not x.is_contiguous()


@pytest.mark.parametrize("wanted", [True, False])
def test_both_layouts_are_drawn_unless_said_otherwise(wanted: bool) -> None:
    smallest(tensors(((2, 4), (2, 4))), lambda x: x.is_contiguous() == wanted)


def content(kind: str) -> Tensor:
    return make_tensor((200,), dtype=torch.float32, kind=kind, layout="contiguous", seed=5)


def test_each_kind_is_what_its_name_says() -> None:
    assert set(content("small_ints").tolist()) == {-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0}
    assert content("counting").diff().unique().tolist() == [1.0]
    assert len(content("constant").unique()) == 1
    assert not content("zeros").any()
    assert content("large").abs().max() > 29_000
    assert content("normal").abs().max() < 10
    assert len(content("normal").unique()) > 190


def test_an_unknown_kind_is_refused_when_the_strategy_is_made() -> None:
    with pytest.raises(ValueError, match="unknown kind of content"):
        tensors((2,), kind="tiny")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tensors((2,), kind="counting_"), "unknown kind of content 'counting_'; did you mean `counting`?"),
        (lambda: tensors((2,), kind=("normal", "nromal")), "'nromal'; did you mean `normal`?"),
        (lambda: tensors((2,), kind=()), "at least one entry"),
        (lambda: tensors((2,), dtype="float32"), "must be a torch.dtype or several, not 'f'"),
        (lambda: tensors((2,), dtype=()), "at least one entry"),
        (lambda: tensors((2,), contiguous="no"), "must be True, False or None, not 'no'"),
        (lambda: tensors((-1,)), "not -1"),
        (lambda: tensors(((3, 1),)), "not (3, 1)"),
        (lambda: shapes((2, (1, 2, 3))), "not (1, 2, 3)"),
        (lambda: shapes((2.0,)), "not 2.0"),
        (lambda: shapes("b -1"), "not '-1'"),
        (lambda: shapes("b t", b=(3, 1)), "not (3, 1)"),
        (lambda: tensors("batch t", bacth=3), "no dim `bacth` in the shape 'batch t'; did you mean `batch`?"),
        (lambda: tensors((2, 3), t=3), "sizes are for names"),
        (lambda: labels(-1, 3), "not -1"),
        (lambda: labels((0, 4), 0), "classes must be a whole number above 0, not 0"),
    ],
)
def test_wrong_arguments_are_refused_when_the_strategy_is_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_a_failure_shrinks_to_few_whole_numbers_in_a_plain_layout() -> None:
    found = smallest(tensors(((0, 8), (0, 8))), lambda x: x.numel() > 0)
    assert tuple(found.shape) == (1, 1)
    assert found.is_contiguous()
    assert found.item() == round(found.item())


def test_the_number_of_rows_shrinks_to_what_is_needed() -> None:
    found = smallest(tensors(((1, 9), (1, 9)), kind="normal"), lambda x: x.shape[0] >= 3)
    assert tuple(found.shape) == (3, 1)


@given(y=labels((0, 9), classes=4))
def test_labels_are_class_indices(y: Tensor) -> None:
    assert y.dtype == torch.int64
    assert y.dim() == 1
    assert all(0 <= label < 4 for label in y.tolist())


@given(shape=shapes((2, (0, 3))))
def test_shapes_are_tuples_within_their_ranges(shape: tuple[int, ...]) -> None:
    assert shape[0] == 2
    assert 0 <= shape[1] <= 3


@given(q=tensors("b t 5"), k=tensors("b s 5", s=(5, 7)), ids=labels("b t", 4), shape=shapes("s t b", s=(5, 7)))
def test_a_dim_with_a_name_is_one_size_in_all_arguments(
    q: Tensor, k: Tensor, ids: Tensor, shape: tuple[int, ...]
) -> None:
    assert q.shape[:2] == ids.shape
    assert (q.shape[2], k.shape[2]) == (5, 5)
    assert shape == (k.shape[1], q.shape[1], q.shape[0])
    assert 1 <= q.shape[0] <= 4
    assert 5 <= k.shape[1] <= 7
    assert ids.numel() == 0 or int(ids.max()) < 4


def test_dims_with_different_names_differ() -> None:
    found = smallest(st.tuples(tensors("b t"), tensors("t b")), lambda pair: pair[0].shape != pair[1].shape)
    assert {tuple(x.shape) for x in found} == {(1, 2), (2, 1)}


def test_a_name_with_two_ranges_is_refused() -> None:
    @given(q=tensors("b t", t=(2, 6)), k=tensors("b t"))
    @settings(database=None)
    def check(q: Tensor, k: Tensor) -> None:
        pass

    with pytest.raises(ValueError, match=re.escape("the dim `t` is (1, 4) in one argument and (2, 6) in another")):
        check()
