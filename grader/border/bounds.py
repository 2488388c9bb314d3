"""How large a value or a message may be that crosses the border, and the error of one that is larger or malformed.

An empty list is one byte on the way and 64 in memory, so the objects of a message are counted before they are made.
Must never allocate in proportion to a length that a message announces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from grader.border.frames import MAX_PAYLOAD

MAX_ITEMS: Final = 600_000
MAX_ELEMENTS: Final = 4 << 20
"""Numbers in all tensors of one message, each counted as often as it is seen: an expanded tensor has few in memory."""
MAX_DEPTH: Final = 32
MAX_INTEGER_BITS: Final = 4096
MAX_KEYS: Final = 100_000
"""Entries of one dict."""
MAX_LISTED: Final = 1_000
"""Items of each list that is a field of a message; much more than any process of the grader's sends."""
MAX_NODES: Final = 800_000
"""MessagePack objects in one message: an empty list is one byte in the message and 64 in memory."""


class WireError(Exception):
    """A message or value that the format does not allow: malformed, too deep, or too large."""


class Budget:
    """Counts how much the values of a message may still hold, so that no nesting or repetition gets past the limits.

    Args:
        times: how many messages' worth.
        whole: a larger budget that this one is a part of.
    """

    __slots__ = ("bytes", "elements", "items", "times", "whole")

    def __init__(self, times: int = 1, whole: Budget | None = None) -> None:
        self.times = times
        self.whole = whole
        self.items = times * MAX_ITEMS
        self.bytes = times * MAX_PAYLOAD
        self.elements = times * MAX_ELEMENTS

    def take(self, items: int, size: int = 0, elements: int = 0) -> None:
        """Counts this many items, bytes and numbers in tensors.

        Raises:
            WireError: the values are larger than values may be.
        """
        self.items -= items
        self.bytes -= size
        self.elements -= elements
        if self.items < 0 or self.bytes < 0 or self.elements < 0:
            size, count = self.times * MAX_PAYLOAD >> 20, self.times * MAX_ELEMENTS
            raise WireError(f"larger than {self.times * MAX_ITEMS} items, {size} MiB or {count} numbers")
        if self.whole is not None:
            self.whole.take(items, size, elements)


_FIXED: Final = {
    0xC7: 2, 0xC8: 2, 0xC9: 2, 0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9, 0xD0: 2, 0xD1: 3,
    0xD2: 5, 0xD3: 9, 0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18, 0xDC: 3, 0xDD: 5, 0xDE: 3, 0xDF: 5,
}  # fmt: skip
_SIZES: Final = [1 + (head & 31) if 0xA0 <= head < 0xC0 else _FIXED.get(head, 1) for head in range(256)]
"""Bytes of an object by its first byte, without its items, or its length and all that comes after it."""
_LENGTHS: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
"""How many bytes the length has: bytes, extensions, strings."""
_MAPS: Final = re.compile(rb"[\x80-\x8f\xde\xdf]")
"""Bytes without one of these hold no map."""
_MAP_HEADS: Final = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))


def has_more_nodes(data: bytes, most: int) -> bool:
    """Whether a message consists of more than `most` objects; costs nothing if it is too short for that."""
    return len(data) > most and any(number > most for number, _ in enumerate(_heads(data), 1))


def has_map(data: bytes) -> bool:
    """Whether a message has a map in it: one with keys that all have the same hash takes time in their square."""
    return _MAPS.search(data) is not None and any(head in _MAP_HEADS for head in _heads(data))


def _heads(data: bytes) -> Iterator[int]:
    """The first byte of each object of a message."""
    at = 0
    while at < len(data):
        yield data[at]
        size = _SIZES[data[at]]
        if width := _LENGTHS.get(data[at]):
            size += width + int.from_bytes(data[at + 1 : at + 1 + width], "big")
        at += size
