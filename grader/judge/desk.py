"""What a check needs of the place where it meets a submission: a sandboxed process, or a module in this process."""

from __future__ import annotations

from typing import Any, Protocol

from grader.border.proxies import Call, Channel, SourceLine
from grader.judge.check import Check


class Desk(Protocol):
    """Where a check meets a submission: gives channels to it, and knows what was printed.

    Attributes:
        explains: whether anybody reads the messages; if not, no smaller example is looked for.
        only_records: whether only the trace is wanted, as a fresh process gives it.
        sends_ahead: whether requests can be sent ahead of replies here, so that it is worth learning which.
    """

    explains: bool
    only_records: bool
    sends_ahead: bool

    def channel(self) -> Channel:
        """The channel of the exercise at hand, with a new record and a new deadline."""

    def fresh(self) -> Channel:
        """Like `channel`, over a process in which nothing has been called yet."""

    def prime(self, requests: list[bytes]) -> bool:
        """Sends requests ahead unless it is too early for that; whether it did."""

    def discard(self) -> None:
        """Ends the process: the next channel gets a fresh one."""

    def prints(self) -> str:
        """What the submission printed since last asked."""

    def stopped_at(self) -> tuple[SourceLine, ...]:
        """The student's lines, innermost first, where a process was that did not answer in time."""

    def last_call(self) -> Call | None:
        """The last call that was made, for messages."""

    def reference_also_fails(self, check: Check, fixtures: dict[str, Any]) -> bool:
        """Whether the reference solution does not pass this check either: then the check itself is wrong."""
