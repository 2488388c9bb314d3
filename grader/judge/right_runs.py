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

MOST_STEPS: Final = 32
"""After so many requests, nothing more is learned of an example: right answers differ in their last bits only."""


class RightRuns:
    """The runs of one example that passed: by the replies up to then, the next request; None if the example passed."""

    def __init__(self) -> None:
        self._next: dict[bytes, tuple[bytes, Request, bool] | None] = {}

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Adds a run that passed; one with ranks, which stands for several exchanges, cannot be asked again."""
        if len(self._next) > MOST_STEPS or not exchanges:
            return
        replies = b""
        for exchange in exchanges:
            if replies not in self._next:
                request = wire.unpack(exchange.request, Request)
                if request.operation == RUN_OF_RANKS:
                    return
                self._next[replies] = exchange.request, request, exchange.outside
            step = self._next[replies]
            if step is None or step[0] != exchange.request:
                return  # the check does not decide by its inputs and the replies alone
            replies = _with(replies, exchange.reply)
        self._next.setdefault(replies, None)

    def are_repeated(self, channel: Channel) -> bool:
        """Sends the same requests again while the replies are known; whether they are those of a run that passed.

        If they are not, the channel has kept them, for the body of the check to take.
        """
        replies = b""
        while step := self._next.get(replies):
            replies = _with(replies, channel.ask_again(*step))
        if replies not in self._next:
            return False
        channel.forget_asked_again()
        return True


def _with(replies: bytes, reply: bytes | Digest) -> bytes:
    """A digest of the replies up to one more."""
    digest = reply.sha256 if isinstance(reply, Digest) else hashlib.sha256(reply).digest()
    return hashlib.sha256(replies + digest).digest()
