"""Puts the tensors of a call into the memory that is shared with the judge: the student process's side of an arena.

The judge reads that memory itself. This side only does the rest: a tensor that is no longer in its place is
copied back, and a changed shape is marked. A tensor that cannot be read any more counts as changed.
"""

import gc
import weakref
from contextlib import suppress
from typing import Final, NamedTuple

import torch

from grader.border import tensor_facts
from grader.border.arena import ARENA_BYTES, Arena, Marks, Slots

_CROWDED: Final = ARENA_BYTES // 4
"""Beyond this place, garbage is collected before it is decided which tensors are still in use."""


class _Placed(NamedTuple):
    tensor: torch.Tensor
    view: torch.Tensor
    start: int
    mark: int
    form: tuple[object, ...]


class Placing:
    """The tensors of the calls of one service.

    Args:
        arena: the memory; must have been attached, or be local.
    """

    def __init__(self, arena: Arena) -> None:
        assert arena.memory is not None
        self._memory = arena.memory
        self._slots = Slots()
        self._last_mark: int | None = None
        self._placed: list[_Placed] = []
        self._alive: list[tuple[weakref.ref[memoryview], int]] = []

    def put(self, data: bytes, dtype: torch.dtype) -> torch.Tensor | None:
        """A flat tensor of these bytes; None for one that is in plain memory. Called once for each tensor."""
        offset = self._slots.take(len(data))
        end = offset + len(data)
        self._last_mark = None
        if not Slots.fits(offset, len(data)):
            return None
        self._last_mark = end
        self._memory[offset : end + 1] = data + bytes([Marks.SAME])
        if not data:
            return None
        piece = memoryview(self._memory)[offset:end]
        self._alive.append((weakref.ref(piece), self._slots.next))
        return torch.frombuffer(piece, dtype=dtype)

    def keep(self, tensor: torch.Tensor, view: torch.Tensor) -> None:
        """Remembers the tensor made of the bytes that were put last, and its place as a tensor of the same shape."""
        if self._last_mark is not None:
            self._placed.append(
                _Placed(tensor, view, tensor_facts.start(view), self._last_mark, tensor_facts.form(tensor))
            )

    def finish_call(self) -> None:
        """Makes the memory show how the call changed the tensors that were passed to it."""
        placed, self._placed = self._placed, []
        for one in placed:  # before a look runs code of a subclass, which may raise anything, or end the loop
            self._memory[one.mark] = Marks.UNREADABLE
        for one in placed:
            with suppress(Exception):
                self._memory[one.mark] = _looked_at(one)

    def restart(self) -> int:
        """The place of the next tensor, once nothing of the last check is needed any more.

        Memory is used again only if no tensor is left in it: submitted code may keep its arguments.
        """
        self._placed.clear()
        if self._end() > _CROWDED:
            gc.collect()
        self._slots.next = self._end()
        return self._slots.next

    def _end(self) -> int:
        self._alive = [(piece, end) for piece, end in self._alive if piece() is not None]
        return max((end for _, end in self._alive), default=0)


def _looked_at(one: _Placed) -> int:
    """The mark of a tensor; copies it back if it is no longer in its place."""
    requires_grad, *form = tensor_facts.form(one.tensor)
    if form != list(one.form[1:]):
        return Marks.SHAPE
    if requires_grad != one.form[0]:
        return Marks.REQUIRES_GRAD
    if tensor_facts.start(one.tensor) != one.start:
        tensor_facts.copy(one.view, tensor_facts.plain(one.tensor))
    return Marks.SAME
