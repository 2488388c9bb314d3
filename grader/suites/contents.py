"""What a test and a submission both may change: objects and variables of the test, arguments that the submission has
kept, and lists of its that the test has read."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Iterator
from typing import Any, Final

from grader.suites.sources import Variable
from grader.testkit.far.contents import content_at, copied, forget_old, has_changed

_ALONE: Final = 2
"""References to a value that only a dict has, while they are counted."""
_FEW: Final = 16
"""Numbers that wait until they are forgotten together: one read after the other would send one each time."""


class Contents:
    """Those of one check, by their numbers, with what both sides last had.

    Args:
        kept: the objects of the test that are kept alive, by their numbers.
    """

    def __init__(self, kept: dict[int, Any]) -> None:
        self._kept = kept
        self._last: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._new_numbers = itertools.count(1)

    def number_of(self, value: object) -> int | None:
        """The number of a list or tensor that both sides have; None for another."""
        number = self._numbers.get(id(value))
        if number is not None and number not in self._last:  # it was forgotten, and may be another over there
            self._last[number] = None
        return number

    def new_number(self) -> int:
        """A number for an argument."""
        return next(self._new_numbers)

    def share(self, number: int, value: Any) -> None:
        """Notes that from now on both sides keep a list or tensor the same."""
        self._kept[number], self._numbers[id(value)] = value, number
        self.have(number)

    def release(self, number: int) -> None:
        """Forgets a list or tensor."""
        if number in self._numbers.values():
            del self._numbers[id(self._kept.pop(number))]
            self._last.pop(number, None)

    def have(self, number: int) -> None:
        """Notes that both sides have the same now."""
        self._last.pop(number, None)  # it is the last one now
        self._last[number] = copied(self._content(number))

    def has(self, number: int) -> bool:
        """Whether both sides keep it the same."""
        return number in self._last

    def forget_old(self) -> None:
        """Forgets all but the last objects."""
        forget_old(self._last, [one for one in self._last if not isinstance(self._kept[one], Variable)])

    def forgotten(self) -> list[int]:
        """The numbers of lists and tensors that the test has no more, which are forgotten, several at once."""
        gone = [one for one in self._numbers.values() if sys.getrefcount(self._kept[one]) == _ALONE]
        if len(gone) < _FEW:
            return []
        for number in gone:
            self.release(number)
        return gone

    def changed(self) -> Iterator[tuple[int, Any]]:
        """Those that the test has changed since, with their contents."""
        for number, before in [*self._last.items()]:
            if has_changed(content := self._content(number), before):
                self._last[number] = copied(content)
                # A copy of a list is none that both sides have, so that its items cross.
                yield number, copy.copy(content) if content is self._kept[number] else content

    def _content(self, number: int) -> Any:
        value = self._kept[number]
        return value.get() if isinstance(value, Variable) else content_at(value, "")
