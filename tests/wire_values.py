"""Strategies and helpers for tests of the wire format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.border import arrays, wire
from grader.border.bounds import WireError

DTYPES = tuple(wire.DTYPES.values())
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
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
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


@st.composite
def ndarrays(draw: st.DrawFn) -> Any:
    """Any dtype, shape and layout, and scalars."""
    shape, dtype = draw(SIZES), arrays.DTYPES[draw(st.sampled_from(list(arrays.DTYPES)))]
    made = (np.arange(math.prod(shape)) % draw(st.integers(1, 5))).astype(dtype).reshape(shape)
    return {
        "plain": made,
        "transposed": made.T,
        "reversed": made[::-1] if made.ndim else made,
        "sliced": np.stack([made, made], axis=-1)[..., 0],
        "expanded": np.broadcast_to(made, (3, *shape)),
        "scalar": dtype.type(1.5),
    }[draw(st.sampled_from(["plain", "transposed", "reversed", "sliced", "expanded", "scalar"]))]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(allow_nan=False),
    st.text(),
    st.binary(max_size=20),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9).map(Path),
    st.sampled_from(DTYPES),
    st.sampled_from([torch.device("cpu"), torch.device("cuda:1"), torch.device("meta")]),
)
VALUES = st.recursive(
    st.one_of(SCALARS, tensors(), ndarrays()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=5), st.integers(), st.none()), inner, max_size=4),
    ),
    max_leaves=12,
)
