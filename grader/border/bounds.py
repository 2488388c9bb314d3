"""How large a value or a message may be that crosses the border, and the error of what is larger or malformed."""

from __future__ import annotations

from typing import Final

from grader.border.frames import MAX_PAYLOAD

MAX_ITEMS: Final = 200_000
MAX_DEPTH: Final = 32
MAX_INTEGER_BITS: Final = 4096
MAX_KEYS: Final = 4096
"""Entries of one dict: inserting keys that all have the same hash takes time in the square of their number."""
MAX_NODES: Final = 500_000
"""MessagePack objects in one message: an empty list is one byte in the message and 64 in memory."""


class WireError(Exception):
    """A message or value that the format does not allow: malformed, too deep, or too large."""


class Budget:
    """Counts what one value may still hold, so that no nesting or repetition gets past the limits."""

    __slots__ = ("bytes", "items")

    def __init__(self) -> None:
        self.items = MAX_ITEMS
        self.bytes = MAX_PAYLOAD

    def take(self, items: int, size: int = 0) -> None:
        """Counts this many items and bytes.

        Raises:
            WireError: the value is larger than a value may be.
        """
        self.items -= items
        self.bytes -= size
        if self.items < 0 or self.bytes < 0:
            raise WireError(f"larger than {MAX_ITEMS} items or {MAX_PAYLOAD >> 20} MiB")
