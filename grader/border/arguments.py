"""The judge's side of an arena: whether submitted code changed the tensors that a check passed to it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import torch

from grader.border import arena as arenas
from grader.border import wire
from grader.border.arena import ALIGNMENT, ARENA_BYTES, Arena, Sent, Slots, tensors_of
from grader.border.bounds import WireError
from grader.border.messages import Reply, Request, Returned
from grader.border.proxies import Call

_WORDS: Final = {
    arenas.SHAPE: "its shape, strides or dtype",
    arenas.REQUIRES_GRAD: "its `requires_grad`",
    arenas.UNREADABLE: "it can no longer be read",
}
"""A change that the memory of a tensor cannot show, by its mark."""
_SIGNED: Final = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""torch cannot compare all of the unsigned dtypes; their bits tell."""


class ChangedArgument(NamedTuple):
    """An argument that was changed: in words, and the call that was given it."""

    words: str
    call: Call | None


class WatchedArguments:
    """The tensors that the calls of one check pass to submitted code."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._slots = Slots()
        self._is_refused = False
        self._may_change = False
        self._passed: list[tuple[Sent, Call | None]] = []
        self._change: ChangedArgument | None = None

    def restart(self, reply: bytes) -> None:
        """Begins a new check; `reply` is the student process's to `FORGET`, with the place of its first tensor.

        A tensor lies behind those that the submission may have kept, so not beyond the last one that was sent; and
        there must be room. Any other start is refused: the arguments count as changed.
        """
        start: object = None
        with suppress(WireError):
            match wire.unpack(reply, Reply):
                case Returned(start):
                    pass
        last = min(self._slots.next, ARENA_BYTES // 2)
        self._is_refused = type(start) is not int or not 0 <= start <= last or start % ALIGNMENT != 0
        self._slots.next = start if type(start) is int and not self._is_refused else 0
        self.begin_example(self._may_change)

    def begin_example(self, may_change: bool) -> None:
        """From now on changes count for a new example."""
        self._may_change = may_change
        self._passed.clear()
        self._change = None

    def pass_on(self, call: Request, shown: Call | None) -> list[tuple[Sent, Call | None]]:
        """The tensors of a request that is about to be sent."""
        return [(sent, shown) for sent in tensors_of(call, self._slots)]

    def look_at(self, passed: Sequence[tuple[Sent, Call | None]]) -> None:
        """Notes the first change of these tensors, now that the reply to their request has come."""
        if self._may_change or self._change is not None:
            return
        self._passed += passed
        for sent, call in passed:
            words = f"changed the place of {sent.name} in memory" if self._is_refused else _change(sent, self._arena)
            if words:
                self._change = ChangedArgument(words, call)
                return

    def first_change(self) -> ChangedArgument | None:
        """The first change since the example began, whether noted after its call or come later."""
        passed, self._passed = self._passed, []
        self.look_at(passed)
        return self._change


def _change(sent: Sent, arena: Arena) -> str:
    """The change, in words; empty if the values are still equal: 0.0 and -0.0, one NaN and another.

    Tensors that are not in the arena count as equal.
    """
    data: bytes = sent.tree[4]
    if sent.offset is None:
        return ""
    now = arena.read(sent.offset, len(data) + 1)
    said = f"changed {sent.name} in place"
    if len(now) != len(data) + 1:
        return said
    if now[-1] != arenas.SAME:
        return f"{said}: {_WORDS.get(now[-1], 'more than its values')}"
    if now.startswith(data):
        return ""
    head = sent.tree[:4]
    try:
        before, after = (wire.decode([*head, part, False, 0, None], _no_other) for part in (data, now[:-1]))
    except WireError:  # a bool that is neither 0 nor 1
        return said
    assert isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)
    differs = _differs(before, after)
    if not bool(differs.any()):
        return ""
    place = tuple(int(index) for index in differs.nonzero()[0])
    element = f"element {list(place)}" if place else "its value"
    old, new = before[place].item(), after[place].item()
    shown = [f"{value:.6g}" if isinstance(value, float) else repr(value) for value in (old, new)]
    if shown[0] == shown[1]:  # they differ in later digits
        shown = [repr(old), repr(new)]
    return f"{said}: {element} was {shown[0]} and is {shown[1]}"


def _no_other(tree: object) -> object:
    raise WireError("not a tensor")


def _differs(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """A mask of the elements in which two tensors of one dtype differ."""
    if before.dtype in _SIGNED:
        before, after = before.view(_SIGNED[before.dtype]), after.view(_SIGNED[after.dtype])
    return (before != after) & ~((before != before) & (after != after))
