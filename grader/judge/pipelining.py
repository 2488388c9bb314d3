"""Whether a check's requests may be sent ahead of the replies to earlier ones.

Submitted code can read all that its process has received. So a request must not be there early when it could hold what
an earlier call of the same example was asked for, as in ``decode(encode(x))``: it would be the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from grader.border import wire
from grader.border.messages import Exchange

_TAGS = frozenset({"l", "t", "d", "z", "i", "c", "y", "v", "ok"})


def gives_away(example: Sequence[Exchange]) -> bool:
    """Whether a request brings numbers or text after a call that was asked for a value.

    What had been there before that call gives nothing away, nor does a call that only made an object.
    """
    known: set[object] = set()
    asked_for_value = False
    for exchange in example:
        brought = set(_values(wire.unpack(exchange.request)[1:])) - known
        if asked_for_value and brought:
            return True
        known |= brought
        asked_for_value = asked_for_value or any(True for _ in _values(wire.unpack(exchange.reply)))
    return False


def _values(tree: Any) -> Iterator[object]:
    """The numbers, texts and tensors' data of a message, without the names of functions and types."""
    if isinstance(tree, (float, bytes, str)) or type(tree) is int:
        yield tree
    elif isinstance(tree, list) and tree and tree[0] == "T" and len(tree) == 8:
        yield bytes(tree[4])
    elif isinstance(tree, list) and not (tree and tree[0] in ("h", "f", "r")):
        for item in tree[1:] if tree and isinstance(tree[0], str) and tree[0] in _TAGS else tree:
            yield from _values(item)
