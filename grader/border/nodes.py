"""Counts the objects of a MessagePack message without making them.

An empty list is one byte on the way and 64 in memory: what a message would take must be known before it is unpacked.
Must never allocate in proportion to what the message announces.
"""

from __future__ import annotations

from typing import Final

_FIXED: Final = {
    0xC0: 1, 0xC2: 1, 0xC3: 1, 0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9, 0xD0: 2, 0xD1: 3,
    0xD2: 5, 0xD3: 9, 0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18, 0xDC: 3, 0xDD: 5, 0xDE: 3, 0xDF: 5,
}  # fmt: skip
_SIZES: Final = [
    1 + (head & 31) if 0xA0 <= head < 0xC0 else 1 if head < 0xA0 or head >= 0xE0 else _FIXED.get(head, 0)
    for head in range(256)
]
"""Bytes of an object by its first byte, without its items; 0 where a length follows."""
_LENGTHS: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
"""How many bytes the length has: bytes, extensions, strings."""


def has_more_nodes(data: bytes, most: int) -> bool:
    """Whether a message consists of more than `most` objects; costs nothing where it is too short for that."""
    if len(data) <= most:
        return False
    at = nodes = 0
    while at < len(data):
        nodes += 1
        if nodes > most:
            return True
        head = data[at]
        if size := _SIZES[head]:
            at += size
        else:
            width = _LENGTHS.get(head, 1)
            extension = 0xC7 <= head <= 0xC9
            at += 1 + width + int.from_bytes(data[at + 1 : at + 1 + width], "big") + extension
    return False
