"""One rank of a run as the judge sees it: its requests, its replies, how it ended, and where a stack dump says it is.

Must never believe more of a reply than its plain data, and never wait. A dump is text that ``faulthandler`` wrote in a
process of the student's: it may say anything, so nothing here trusts it.
"""

import os
import re
import sysconfig
from pathlib import Path
from typing import Final

import torch

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.failures import BadReply, OutOfMemory, SubmissionCrashed, one_line
from grader.border.messages import Missing, Raised, Reply, Returned, TooLarge
from grader.border.transport import Process
from grader.package import FOLDER
from grader.testkit._ranks.states import RaisedOnRank, RankStage, State

BAD_REPLY: Final = "a reply that is no data"
_TORCHS: Final = re.compile(r"\[Gloo\] Rank |\[[EFIW]\d{4} [\d:.]+ \w+\.cpp:\d+\]|\[rank\d+\]:\[[EFIW]\d{4} ")
MAX_DUMP: Final = 20_000
"""Characters of a dump that are read."""
_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d{1,9}) in ([^\s]+)')
_OUTERMOST: Final = re.compile(r'/_ranks/rank\.py", line \d+ in (?:prepare|make|perform|look)\n')
"""The last line of interest: these functions call everything else that a rank does."""
_LIBRARIES: Final = tuple(
    os.path.join(os.path.realpath(folder), "")
    for folder in (
        Path(torch.__file__).parent,
        FOLDER,
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    )
)
_COLLECTIVE_FILES: Final = ("/torch/distributed/", "/torch/nn/parallel/distributed.py")
_NO_NAMES: Final = frozenset({"wrapper", "inner", "_call_impl", "_wrapped_call_impl", "__call__", "<lambda>"})
_JOINING: Final = frozenset({"init_process_group", "rendezvous", "new_group"})
_SHOWN: Final = {"__init__": "DistributedDataParallel(...)", "_pre_forward": "forward", "forward": "forward"}


class Member:
    """One rank in one run.

    Attributes:
        replies: so far, in order.
        stages: which part of the run each request belongs to, in the order in which they were sent.
        ended: how its process ended, if it has; completes "ended the process with …".
        held: the memory for which it was ended (bytes), as measured for all ranks together; else 0.
    """

    def __init__(self, number: int, process: Process) -> None:
        self.number = number
        self.process = process
        self.replies: list[Reply] = []
        self.stages: list[RankStage] = []
        self.received = 0
        self.ended: str | None = None
        self.held = 0

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
            self.held = error.held if isinstance(error, OutOfMemory) else 0

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
            return State("ended", self.ended, held=self.held)
        return State("returned") if self.has_returned else state_of(self.process.stacks())


def own_lines(printed: str) -> str:
    """Some prints without the lines that torch writes by itself (some hold the time of day)."""
    return "".join(line for line in printed.splitlines(keepends=True) if not _TORCHS.match(line))


def _ending(text: str) -> str:
    for beginning in ("ended the process with ", "was ended by "):
        text = text.removeprefix(beginning)
    return text if text != "ended the process" else "an end that is not known"


def is_whole(dump: str) -> bool:
    """Whether all of a dump has come that `state_of` reads."""
    return _OUTERMOST.search(dump[:MAX_DUMP]) is not None


def state_of(dump: str) -> State:
    """Where a process is.

    Args:
        dump: the text that faulthandler wrote, the innermost frame first.
    """
    text = dump[:MAX_DUMP]
    end = _OUTERMOST.search(text)
    frames = [(file, int(line), name) for file, line, name in _FRAME.findall(text[: end.start()] if end else text)]
    own = next((index for index, (file, _, _) in enumerate(frames) if not _is_library(file)), None)
    inner = frames if own is None else frames[:own]
    at: tuple[str, int, str] = ("", 0, "")
    if own is not None:
        file, line, name = frames[own]
        at = one_line(file.rpartition("/")[2], 60), line, one_line(name, 60)
    waits_in = _collective(inner)
    return State("waits", waits_in, *at) if waits_in else State("runs", "", *at)


def is_joining(state: State) -> bool:
    """Whether it is still setting up the group: then the others may just be slow to come."""
    return state.name in _JOINING


def _is_library(file: str) -> bool:
    return file.startswith(("<", *_LIBRARIES)) or os.path.realpath(file).startswith(_LIBRARIES)


def _collective(inner: list[tuple[str, int, str]]) -> str:
    """The torch function, nearest to the student's line, in which the ranks wait for each other."""
    if not inner:
        return ""
    file, _, name = inner[0]
    if name == "_engine_run_backward" and file.endswith("/torch/autograd/graph.py"):
        return "backward"
    if not any(part in file for part in _COLLECTIVE_FILES):
        return ""
    for file, _, name in reversed(inner):
        if "/torch/" in file and name not in _NO_NAMES:
            shown = _SHOWN.get(name, name) if "/parallel/" in file else name
            return one_line(shown, 40)
    return ""
