"""One rank of a run as the judge sees it: its requests, its replies, and how it ended.

Must never believe more of a reply than its plain data, and never wait.
"""

from __future__ import annotations

import re
from typing import Final

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.failures import BadReply, SubmissionCrashed, one_line
from grader.border.messages import Missing, Raised, Reply, Returned, TooLarge
from grader.border.transport import Process
from grader.testkit._ranks.states import RaisedOnRank, RankStage, State
from grader.testkit._ranks.where import state_of

BAD_REPLY: Final = "a reply that is no data"
_TORCHS: Final = re.compile(r"\[Gloo\] Rank |\[[EFIW]\d{4} [\d:.]+ \w+\.cpp:\d+\]|\[rank\d+\]:\[[EFIW]\d{4} ")


class Member:
    """One rank in one run.

    Attributes:
        replies: so far, in order.
        stages: which part of the run each request belongs to, in the order in which they were sent.
        ended: how its process ended, if it has; completes "ended the process with …".
    """

    def __init__(self, number: int, process: Process) -> None:
        self.number = number
        self.process = process
        self.replies: list[Reply] = []
        self.stages: list[RankStage] = []
        self.received = 0
        self.ended: str | None = None

    def post(self, stage: RankStage, request: bytes) -> None:
        """Sends a request."""
        self.stages.append(stage)
        self.process.post(request)

    def read(self) -> None:
        """Takes the replies that have come."""
        try:
            while not self.done and (reply := self.process.poll()) is not None:
                self.received += len(reply)
                self.replies.append(wire.unpack(reply, Reply))
        except (WireError, BadReply):
            self.ended = BAD_REPLY
        except SubmissionCrashed as error:
            self.ended = _ending(str(error))

    @property
    def raised(self) -> RaisedOnRank | None:
        """The first exception of the run on this rank."""
        for stage, reply in zip(self.stages, self.replies, strict=False):
            if isinstance(reply, Raised):
                return RaisedOnRank(self.number, stage, reply)
        return None

    @property
    def missing_name(self) -> str | None:
        """The name that the submission does not define, if it was asked for one."""
        return next((one_line(reply.name) for reply in self.replies if isinstance(reply, Missing)), None)

    @property
    def has_failed(self) -> bool:
        """Whether something raised on it, or a reply is no result, or its process has ended."""
        return self.ended is not None or any(
            not isinstance(reply, Returned | TooLarge if stage == "call" else Returned)
            for stage, reply in zip(self.stages, self.replies, strict=False)
        )

    @property
    def done(self) -> bool:
        """Whether nothing more is to come: all replies are there, one is an exception, or the process has ended."""
        return self.ended is not None or len(self.replies) >= len(self.stages) or self.raised is not None

    @property
    def has_returned(self) -> bool:
        """Whether the submission's function has."""
        return "call" in self.stages[: len(self.replies)] and not self.has_failed

    def state(self) -> State:
        """Where it is, for messages; as it said itself when it was last asked."""
        if (raised := self.raised) is not None:
            return State("raised", one_line(raised.raised.kind, 40))
        if self.ended is not None:
            return State("ended", self.ended)
        return State("returned") if self.has_returned else state_of(self.process.stacks())


def own_lines(printed: str) -> str:
    """Some prints without the lines that torch writes by itself (some hold the time of day)."""
    return "".join(line for line in printed.splitlines(keepends=True) if not _TORCHS.match(line))


def _ending(text: str) -> str:
    for beginning in ("ended the process with ", "was ended by "):
        text = text.removeprefix(beginning)
    return text if text != "ended the process" else "an end that is not known"
