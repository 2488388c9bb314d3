"""Whether a check's requests may be sent ahead of the replies to earlier ones.

Submitted code can read all that its process has received. So a request must not be sent early if it could hold the
answer to an earlier call of the same example, as the second request of ``decode(encode(x))`` does.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from grader.border import wire
from grader.border.arena import Sent
from grader.border.arguments import passed_by
from grader.border.messages import RUN_OF_RANKS, Digest, Exchange, Request

_TAGS = frozenset({"l", "t", "d", "i", "c", "y", "v", "ok"})

MOST_RIGHT_RECORDS: Final = 32
"""Digests of right records that a check remembers: right answers differ from each other in their last bits only."""


class PlanState(enum.Enum):
    """Whether a check's requests can be sent ahead, as far as that is known."""

    UNKNOWN = "no submission has passed the check yet"
    NONE = "not possible: the calls depend on the answers, or would give one away"
    REQUESTS = "every submission is asked the same"


class RequestPlan:
    """The requests of one check that may be sent ahead, learned from the first submission that passes it.

    Attributes:
        requests: in order; empty unless the state is ``REQUESTS``.
        passed: the tensors that these requests pass to submitted code.
    """

    def __init__(self) -> None:
        self.state = PlanState.UNKNOWN
        self.requests: list[bytes] = []
        self.passed: list[Sent] = []
        self._right: set[bytes] = set()

    def learn(self, examples: Sequence[Sequence[Exchange]]) -> None:
        """Learns from a run that passed: the requests from the first one, the replies from each that sent the same.

        Args:
            examples: the exchanges of each example.
        """
        exchanges = [exchange for example in examples for exchange in example]
        requests = [exchange.request for exchange in exchanges]
        if self.state is PlanState.UNKNOWN:
            if requests and not any(map(gives_away, examples)) and not any(map(is_run_of_ranks, exchanges)):
                self.state, self.requests, self.passed = PlanState.REQUESTS, requests, passed_by(requests)
            else:
                self.state = PlanState.NONE
        if self.state is PlanState.REQUESTS and requests == self.requests and len(self._right) < MOST_RIGHT_RECORDS:
            self._right.add(_digest(exchange.reply for exchange in exchanges))

    def give_up(self) -> None:
        """The calls depend on the answers: from now on nothing is sent ahead."""
        self.state, self.requests, self.passed = PlanState.NONE, [], []

    def is_right(self, replies: Sequence[bytes]) -> bool:
        """Whether the replies to all requests are bit for bit those of a run that passed.

        A check decides by its inputs and the replies alone, so it need not be run again on the same ones.
        """
        return bool(replies) and _digest(replies) in self._right


def _digest(replies: Iterable[bytes | Digest]) -> bytes:
    total = hashlib.sha256()
    for reply in replies:
        total.update(reply.sha256 if isinstance(reply, Digest) else hashlib.sha256(reply).digest())
    return total.digest()


def gives_away(example: Sequence[Exchange]) -> bool:
    """Whether a request holds new numbers or texts after an earlier call has returned a value.

    Values that requests held before that call give nothing away, nor does a call that only made an object.
    """
    known: set[object] = set()
    asked_for_value = False
    for exchange in example:
        new_values = set(_values(wire.unpack(exchange.request)[1:])) - known
        if asked_for_value and new_values:
            return True
        known |= new_values
        asked_for_value = asked_for_value or _returns_value(exchange.reply)
    return False


def is_run_of_ranks(exchange: Exchange) -> bool:
    """Whether it stands for several exchanges, with the processes of ranks, and cannot be sent."""
    request: Request = wire.unpack(exchange.request, Request)
    return request.operation == RUN_OF_RANKS


def _returns_value(reply: bytes | Digest) -> bool:
    return isinstance(reply, Digest) or any(True for _ in _values(wire.unpack(reply)))


def _values(tree: Any) -> Iterator[object]:
    """The numbers, texts and tensors' data of a message, without the names of functions and types."""
    if isinstance(tree, (float, bytes, str)) or type(tree) is int:
        yield tree
    elif isinstance(tree, list) and tree and tree[0] == "T" and len(tree) == 8:
        yield bytes(tree[4])
    elif isinstance(tree, list) and not (tree and tree[0] in ("h", "f", "r")):
        for item in tree[1:] if tree and isinstance(tree[0], str) and tree[0] in _TAGS else tree:
            yield from _values(item)
