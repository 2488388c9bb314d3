"""The judge's side of an arena: whether submitted code changed the tensors that a check passed to it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import torch

from grader.border import wire
from grader.border.arena import ALIGNMENT, ARENA_BYTES, Arena, Marks, Sent, Slots, tensors_of
from grader.border.bounds import Budget, WireError
from grader.border.messages import Reply, Request, Returned
from grader.border.proxies import Call
from grader.border.tensors import decode_tensor


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
        if type(start) is int and 0 <= start <= last and start % ALIGNMENT == 0:
            self._slots.next, self._is_refused = start, False
        else:
            self._slots.next, self._is_refused = 0, True
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
            if self._is_refused:
                self._change = ChangedArgument(f"changed the place of {sent.name} in memory", call)
                return
            if not sent.is_kept(self._arena) and (words := _change(sent, self._arena)):
                self._change = ChangedArgument(words, call)
                return

    def first_change(self) -> ChangedArgument | None:
        """The first change since the example began, whether noted after its call or come later."""
        passed, self._passed = self._passed, []
        self.look_at(passed)
        return self._change


def _change(sent: Sent, arena: Arena) -> str:
    """The change, in words; empty if the values are still equal: 0.0 and -0.0, one NaN and another."""
    size = len(sent.data)
    now = arena.read(sent.offset, size + 1)
    said = f"changed {sent.name} in place"
    if len(now) != size + 1:
        return said
    if now[-1] != Marks.SAME:
        return f"{said}: {Marks.WORDS.get(now[-1], 'more than its values')}"
    head = sent.tree[:4]
    try:
        before = decode_tensor([*head, sent.data, False, 0, None], Budget())
        after = decode_tensor([*head, now[:-1], False, 0, None], Budget())
    except WireError:  # a bool that is neither 0 nor 1
        return said
    differs = _differs(before, after)
    if not bool(differs.any()):
        return ""
    place = tuple(int(index) for index in differs.nonzero()[0])
    element = f"element {list(place)}" if place else "its value"
    old, new = _number(before[place]), _number(after[place])
    if old == new:  # they differ in later digits
        old, new = repr(before[place].item()), repr(after[place].item())
    return f"{said}: {element} was {old} and is {new}"


def _differs(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """A mask of the elements in which two tensors of one dtype differ."""
    if before.dtype in _SIGNED:
        before, after = before.view(_SIGNED[before.dtype]), after.view(_SIGNED[after.dtype])
    return (before != after) & ~((before != before) & (after != after))


_SIGNED: Final = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""torch cannot compare all of the unsigned dtypes; their bits tell."""


def _number(element: torch.Tensor) -> str:
    value = element.item()
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
