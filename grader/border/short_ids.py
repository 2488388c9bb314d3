"""The `id` that submitted code gets: when an object is gone, the next new one has its number.

Python promises no more than that numbers of objects that live at the same time differ. A cache by ``id`` that outlives
its objects gives old results by chance, and passes by chance; with these numbers it gives them every time.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from typing import Any


class ShortIds:
    """A stand-in for `id`; the real one for objects that cannot be referred to weakly, such as numbers and lists."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._free: list[int] = []
        self._new = itertools.count(1)

    def __call__(self, obj: object, /) -> int:
        address = id(obj)
        if address not in self._numbers:
            try:
                ref = weakref.ref(obj, lambda _: self._release(address))
            except TypeError:
                return address
            self._numbers[address] = ref, heapq.heappop(self._free) if self._free else next(self._new)
        return self._numbers[address][1]

    def _release(self, address: int) -> None:
        heapq.heappush(self._free, self._numbers.pop(address)[1])
