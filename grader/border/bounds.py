"""How large a value or a message may be that crosses the border, and the error of what is larger or malformed."""

from __future__ import annotations

from typing import Final

from grader.border.frames import MAX_PAYLOAD

MAX_ITEMS: Final = 200_000
MAX_ELEMENTS: Final = 4 << 20
"""Numbers in all tensors of one message, each counted as often as it is seen: an expanded tensor has few in memory."""
MAX_DEPTH: Final = 32
MAX_INTEGER_BITS: Final = 4096
MAX_KEYS: Final = 4096
"""Entries of one dict: inserting keys that all have the same hash takes time in the square of their number."""
MAX_NODES: Final = 500_000
"""MessagePack objects in one message: an empty list is one byte in the message and 64 in memory."""


class WireError(Exception):
    """A message or value that the format does not allow: malformed, too deep, or too large."""


class Budget:
    """Counts what the values of a message may still hold, so that no nesting or repetition gets past the limits.

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
