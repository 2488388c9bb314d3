"""Hypothesis strategies for tensors: they draw structure, and fill it by a seeded generator. Runs in the judge.

Drawing a matrix float by float takes ten times as long as the check that uses it. So a tensor is a shape, a memory
layout, a kind of content and a seed; it shrinks to few elements in a plain layout, and then to small integers.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.errors import did_you_mean

Size: TypeAlias = "int | tuple[int, int]"
Shape: TypeAlias = "str | Sequence[Size] | st.SearchStrategy[tuple[int, ...]]"

KINDS: Final = ("small_ints", "counting", "normal", "constant", "zeros", "large")
"""Kinds of content, simplest first. ``large`` is up to ±3e4; the others are moderate."""
_DEFAULT_KINDS: Final = ("small_ints", "counting", "normal", "constant")
_LAYOUTS: Final = ("contiguous", "transposed", "sliced")
_MAX_SEED: Final = 1 << 16
_USUAL_SIZE: Final = (1, 4)
"""The range of a dim that has a name and no range of its own."""
_variation: ContextVar[int] = ContextVar("variation", default=0)


@contextlib.contextmanager
def varied_by(seed: int) -> Iterator[None]:
    """While it lasts, the same draws of Hypothesis give other contents than with another seed; the judge enters it.

    Without it, inputs of two seeds would overlap: Hypothesis often draws the same few numbers, such as 0.
    """
    token = _variation.set(seed)
    try:
        yield
    finally:
        _variation.reset(token)


def seeds() -> st.SearchStrategy[int]:
    """Seeds, from 0 up to 2**31 - 1, for models, data and shuffles that a check makes.

    Those of one ``--seed`` are others than those of another one, unlike whole numbers that Hypothesis draws.
    """
    return st.integers(0, _MAX_SEED).map(_varied)


def _varied(drawn: int) -> int:
    variation = _variation.get()
    if not variation:
        return drawn
    digest = hashlib.blake2b(f"{variation}/{drawn}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1


def shapes(shape: Shape, **sizes: Size) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes whose dims are fixed (an int) or drawn from a range ``(low, high)``, both ends included.

    Args:
        shape: one entry per dim; or names and sizes in one string, ``"b t 8"``: a name is the same size wherever it
            stands among the arguments of a check; or a strategy of shapes.
        sizes: the size or range of a name, ``t=(2, 6)``, the same wherever the name stands; 1 to 4 when left out.

    Raises:
        ValueError: for anything else: a negative size, a range of which the low end is above the high one. While a
            check draws: for a name with two ranges.
    """
    if not isinstance(shape, str):
        if sizes:
            raise ValueError(f"sizes are for names in a string such as 'b t d', not for the shape {shape!r}")
        return shape if isinstance(shape, st.SearchStrategy) else st.tuples(*map(_size, shape))
    names = shape.split()
    for name in sizes:
        if name not in names:
            raise ValueError(f"there is no dim `{name}` in the shape {shape!r}{did_you_mean(name, names)}")
    return st.tuples(*(_named(name, sizes.get(name, _USUAL_SIZE)) for name in names))


def _size(size: Any, what: str = "a dim") -> st.SearchStrategy[int]:
    """The sizes that an int, or a range ``(low, high)``, stands for."""
    low, high = size if isinstance(size, tuple) and len(size) == 2 else (size, size)
    if type(low) is not int or type(high) is not int or not 0 <= low <= high:
        raise ValueError(f"{what} must be a size or a range (low, high) of sizes, not {size!r}")
    return st.just(low) if low == high else st.integers(low, high)


def _named(name: str, size: Size) -> st.SearchStrategy[int]:
    """The size of a dim with a name, the same in all arguments of an example; or the number that the name is."""
    if name.isdecimal():
        return st.just(int(name))
    if not name.isidentifier():
        raise ValueError(f"a dim must be a name or a size, not {name!r}")
    shared = st.shared(_size(size).map(lambda drawn: (size, drawn)), key=f"the dim {name}")

    def own(found: tuple[object, int]) -> int:
        if found[0] != size:
            raise ValueError(f"the dim `{name}` is {size} in one argument and {found[0]} in another")
        return found[1]

    return shared.map(own)


def tensors(
    shape: Shape,
    dtype: torch.dtype | Sequence[torch.dtype] = torch.float32,
    kind: str | Sequence[str] | None = None,
    contiguous: bool | None = None,
    **sizes: Size,
) -> st.SearchStrategy[Tensor]:
    """Tensors of a shape; deterministic, so that an example can be replayed.

    Args:
        shape: one entry per dim, an int or a range ``(low, high)``; names and sizes in one string, ``"b t 8"``, where
            one name is one size in all arguments of a check; or a strategy of shapes. See `shapes`.
        dtype: one dtype, or several to draw from.
        kind: one of `KINDS`, or several to draw from; moderate numbers when left out.
        contiguous: True for a plain layout only, False for none, None for both.
        sizes: sizes or ranges of names in the shape, ``t=(2, 6)``.

    Raises:
        ValueError: for an unknown kind, an empty choice, a wrong size or range, or a ``contiguous`` of another type.
    """
    kinds = _DEFAULT_KINDS if kind is None else (kind,) if isinstance(kind, str) else tuple(kind)
    for one in kinds:
        if one not in KINDS:
            known = f"known are {', '.join(KINDS)}"
            raise ValueError(f"unknown kind of content {one!r}{did_you_mean(str(one), KINDS)}; {known}")
    dtypes: tuple[object, ...] = (dtype,) if isinstance(dtype, torch.dtype) else tuple(dtype)
    for given in dtypes:
        if not isinstance(given, torch.dtype):
            raise ValueError(f"dtype must be a torch.dtype or several, not {given!r}")
    if not kinds or not dtypes:
        raise ValueError("kind and dtype need at least one entry to draw from")
    if contiguous not in (True, False, None):
        raise ValueError(f"contiguous must be True, False or None, not {contiguous!r}")
    layouts = _LAYOUTS[:1] if contiguous else _LAYOUTS[1:] if contiguous is False else _LAYOUTS
    return st.builds(
        make_tensor,
        shapes(shape, **sizes),
        dtype=st.sampled_from(dtypes),
        kind=st.sampled_from(kinds),
        layout=st.sampled_from(layouts),
        seed=seeds(),
    )


def labels(count: Size | Shape, classes: int, **sizes: Size) -> st.SearchStrategy[Tensor]:
    """int64 tensors of class indices in ``[0, classes)``.

    Args:
        count: how many, or a range ``(low, high)``, both ends included; or the shape, by names such as ``"b t"``.
        sizes: sizes or ranges of the names.

    Raises:
        ValueError: for a wrong size or range, or fewer than one class.
    """
    if type(classes) is not int or classes < 1:
        raise ValueError(f"classes must be a whole number above 0, not {classes!r}")
    shape = count if isinstance(count, str | st.SearchStrategy) else st.tuples(_size(count, "count"))
    return st.builds(_make_labels, shapes(shape, **sizes), st.just(classes), seeds())


def make_tensor(shape: Sequence[int], *, dtype: torch.dtype, kind: str, layout: str, seed: int) -> Tensor:
    """The tensor of one drawn structure; the same arguments give the same bits."""
    plain = _content(math.prod(shape), kind, seed).to(dtype).reshape(tuple(shape))
    if layout == "transposed" and len(shape) >= 2:
        return plain.mT.contiguous().mT
    if layout == "sliced" and len(shape) >= 1:
        wide = torch.zeros((*shape[:-1], 2 * shape[-1]), dtype=dtype)
        wide[..., ::2] = plain
        return wide[..., ::2]
    return plain


def _content(count: int, kind: str, seed: int) -> Tensor:
    if kind == "zeros":
        return torch.zeros(count)
    if kind == "counting":
        return torch.arange(count, dtype=torch.float32) + seed % 3
    generator = torch.Generator().manual_seed(seed)
    if kind == "constant":
        return torch.full((count,), float(seed % 7 - 3))
    if kind == "normal":
        return torch.randn(count, generator=generator)
    if kind == "large":
        return torch.randint(-3, 4, (count,), generator=generator) * 1e4 + torch.randn(count, generator=generator)
    return torch.randint(-3, 4, (count,), generator=generator).float()


def _make_labels(shape: tuple[int, ...], classes: int, seed: int) -> Tensor:
    return torch.randint(0, classes, shape, generator=torch.Generator().manual_seed(seed))
