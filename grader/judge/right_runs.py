"""The requests and replies of submissions that passed an example: whoever answers the same passes it, too.

A check's body decides by its inputs and the replies alone. So a request is sent again only when the reply to the one
before is known, as the body would send it. If every reply is that of a run that passed, the body need not run.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from grader.border import wire
from grader.border.channel import Channel
from grader.border.messages import RUN_OF_RANKS, Digest, Exchange, Request

MOST_RUNS: Final = 32
"""Runs of one example that are remembered: right answers differ from each other in their last bits only."""


class _Step:
    """A request, and what follows each reply to it: another step, or None if the example has passed."""

    def __init__(self, exchange: Exchange) -> None:
        self.payload = exchange.request
        self.request: Request = wire.unpack(exchange.request, Request)
        self.outside = exchange.outside
        self.after: dict[bytes, _Step | None] = {}


class RightRuns:
    """The runs of one example that passed."""

    def __init__(self) -> None:
        self._first: _Step | None = None
        self._count = 0

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Adds a run that passed; one with ranks, which stands for several exchanges, cannot be asked again."""
        if self._count >= MOST_RUNS or not exchanges:
            return
        if self._first is None:
            steps = [_Step(exchange) for exchange in exchanges]
            if any(step.request.operation == RUN_OF_RANKS for step in steps):
                self._count = MOST_RUNS
                return
            self._first = steps[0]
        step: _Step | None = self._first
        for number, exchange in enumerate(exchanges):
            if step is None or step.payload != exchange.request:
                return  # the check does not decide by its inputs and the replies alone
            following = exchanges[number + 1] if number + 1 < len(exchanges) else None
            digest = _digest(exchange.reply)
            if digest not in step.after:
                step.after[digest] = None if following is None else _Step(following)
                self._count += 1
            step = step.after[digest]

    def are_repeated(self, channel: Channel) -> bool:
        """Sends the same requests again while the replies are known; whether they are those of a run that passed.

        If they are not, the channel has kept them, for the body of the check to take.
        """
        step = self._first
        if step is None:
            return False
        while step is not None:
            reply = channel.ask_again(step.payload, step.request, step.outside)
            digest = _digest(reply)
            if digest not in step.after:
                return False
            step = step.after[digest]
        channel.forget_asked_again()
        return True


def _digest(reply: bytes | Digest) -> bytes:
    return reply.sha256 if isinstance(reply, Digest) else hashlib.sha256(reply).digest()
