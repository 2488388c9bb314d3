"""The ranks of one run as the judge sees them: replies, how they ended, who waits for whom, and the words for that.

Follows them until nothing more can come. Must never believe more of a reply than its plain data, and never wait without
a limit. A stack dump is text that ``faulthandler`` wrote in a process of the student's: it may say anything, so nothing
here trusts it.
"""

import os
import re
import select
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
import torch

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.failures import BadReply, OutOfMemory, SubmissionCrashed, one_line
from grader.border.messages import Raised, Reply, Returned, TooLarge
from grader.border.transport import Activity, Process
from grader.package import FOLDER
from grader.sandbox.clock import Deadline, Meter
from grader.sandbox.process_tree import HAS_PROC, Look

BAD_REPLY: Final = "a reply that is no data"
_TORCHS: Final = re.compile(r"\[Gloo\] Rank |\[[EFIW]\d{4} [\d:.]+ \w+\.cpp:\d+\]|\[rank\d+\]:\[[EFIW]\d{4} ")
MAX_DUMP: Final = 20_000
"""Characters of a dump that are read."""
_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d{1,9}) in ([^\s]+)')
_OUTERMOST: Final = re.compile(r'/_ranks/rank\.py", line \d+ in (?:prepare|make|perform|look)\n')
"""The last line of interest: these functions call everything else that a rank does."""
_INSTALLED: Final = map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))
_FOLDERS: Final = (str(Path(torch.__file__).parent), str(FOLDER), *_INSTALLED)
_LIBRARIES: Final = tuple(os.path.join(os.path.realpath(folder), "") for folder in _FOLDERS)
_COLLECTIVE_FILES: Final = ("/torch/distributed/", "/torch/nn/parallel/distributed.py")
_NO_NAMES: Final = frozenset({"wrapper", "inner", "_call_impl", "_wrapped_call_impl", "__call__", "<lambda>"})
_JOINING: Final = frozenset({"init_process_group", "rendezvous", "new_group"})
_SHOWN: Final = {"__init__": "DistributedDataParallel(...)", "_pre_forward": "forward", "forward": "forward"}

TURN_SECONDS: Final = 0.02
"""How long one wait for news takes at most."""
QUIET_SECONDS: Final = 0.4
"""When no rank has done anything for this long (s), each is asked where it is.

If all wait in a collective, it is a deadlock."""
LOCATE_SECONDS: Final = 0.3
"""How long the ranks may take to write where they are (s); what they wait for a processor is left out."""
AT_REST_SECONDS: Final = 0.04
"""When no rank has done anything for this long (s) while one is held, the others are asked where they are."""
AFTERMATH_SECONDS: Final = 0.15
"""Once a rank has raised or died, the others may go on until none has done anything for this long (s).

So the same mistake gives the same report."""
LONGEST_AFTERMATH: Final = 1.0
"""The most that they may go on (s)."""
LITTLE_WORK: Final = 0.05
"""The share of a processor up to which a rank counts as idle."""
LEAST_WORK: Final = 0.001
"""The same for a short moment (s)."""
_UNEQUAL: Final = "Received data size doesn't match expected size"
"""The words of gloo, which then ends the process, for two ranks whose tensors differ in size."""
RankStage = Literal["make", "call", "look"]
"""What raised on a rank: what the check makes before the call, the student's function, or the check's look after it."""


class RankState(msgspec.Struct, frozen=True):
    """Where one rank was at the end; that of a process that still runs comes from the process itself and is untrusted.

    Attributes:
        what: whether it returned, waits in a collective, runs, ended or raised.
        name: the collective that it waits in, the exception's type, or how the process ended.
        place: the innermost of the student's lines that was running, in words; "" when unknown.
        held: the memory that the ranks held together, if its process was ended for that (bytes); else 0.
        lines: the numbers of the student's lines that were running, outermost first; none if they are not known.
    """

    what: Literal["returned", "waits", "runs", "ended", "raised"]
    name: str = ""
    place: str = ""
    held: int = 0
    lines: tuple[int, ...] = ()

    @property
    def at(self) -> str:
        """The place, to follow the name of a collective or of a rank."""
        return f", {self.place}" if self.place else ""

    def __str__(self) -> str:
        match self.what:
            case "returned" | "raised":
                return f"had {self.what}"
            case "ended":
                return f"had ended with {self.name}"
            case "waits":
                return f"waited in {self.name}{self.at}"
        return f"was in {self.place}" if self.place else "was at a place that is not known"


class Member:
    """One rank in one run.

    Args:
        note_received: is called with the size of each reply; it raises if all together are too large.

    Attributes:
        replies: so far, in order.
        stages: which part of the run each request belongs to, in the order in which they were sent.
        failure: the first reply that is no result, and its stage; nothing after it counts.
        ended: how its process ended, if it has; completes "ended the process with …".
        held: the memory for which it was ended (bytes), as measured for all ranks together; else 0.
    """

    def __init__(self, number: int, process: Process, note_received: Callable[[int], None]) -> None:
        self.number = number
        self.process = process
        self._note_received = note_received
        self.replies: list[Reply] = []
        self.stages: list[RankStage] = []
        self.failure: tuple[RankStage, Reply] | None = None
        self.ended: str | None = None
        self.held = 0

    def post(self, stage: RankStage, request: bytes) -> None:
        """Sends a request."""
        self.stages.append(stage)
        self.process.post(request)

    def read(self) -> None:
        """Takes the replies that have come."""
        while not self.done and (data := self._poll()) is not None:
            self._note_received(len(data))
            try:
                stage, reply = self.stages[len(self.replies)], wire.unpack_untrusted(data, Reply)
            except WireError:
                self.ended = BAD_REPLY
                return
            self.replies.append(reply)
            if not isinstance(reply, Returned | TooLarge if stage == "call" else Returned):
                self.failure = stage, reply

    def _poll(self) -> bytes | None:
        """The next reply, if it has come and its process has not ended."""
        try:
            return self.process.poll()
        except BadReply:
            self.ended = BAD_REPLY
        except SubmissionCrashed as error:
            ending = re.sub("^(ended the process with|was ended by) ", "", str(error))
            self.ended = ending if ending != "ended the process" else "an end that is not known"
            self.held = error.held if isinstance(error, OutOfMemory) else 0
        return None

    @property
    def raised(self) -> tuple[RankStage, Raised] | None:
        """The exception of the run on this rank, and what raised it."""
        match self.failure:
            case (stage, Raised() as raised):
                return stage, raised
        return None

    @property
    def has_failed(self) -> bool:
        """Whether something raised on it, or a reply is no result, or its process has ended."""
        return self.ended is not None or self.failure is not None

    @property
    def done(self) -> bool:
        """Whether nothing more is to come."""
        return self.has_failed or len(self.replies) >= len(self.stages)

    @property
    def has_returned(self) -> bool:
        """Whether the submission's function has."""
        return "call" in self.stages[: len(self.replies)] and not self.has_failed

    def state(self) -> RankState:
        """Where it is, for messages; as it said itself when it was last asked."""
        if self.raised is not None:
            return RankState("raised", one_line(self.raised[1].kind, 40))
        if self.ended is not None:
            return RankState("ended", self.ended, held=self.held)
        return RankState("returned") if self.has_returned else state_of(self.process.stacks())


def own_lines(printed: str) -> str:
    """Some prints without the lines that torch writes by itself (some hold the time of day)."""
    return "".join(line for line in printed.splitlines(keepends=True) if not _TORCHS.match(line))


# ---------------------------------------------------------------- following all ranks of a run


class RankWatch:
    """Follows ranks until each has replied to all, or nothing more is to be expected of the rest.

    Args:
        seconds: how much time each has from now on.
    """

    def __init__(self, members: Sequence[Member], seconds: float) -> None:
        self._members = members
        self._meter = Meter(lambda: _look_at(members))
        self._deadline = Deadline(seconds, self._meter)

    def follow(self) -> None:
        """Returns when all have replied, one has failed and the others had their time, or all are stuck."""
        quiet = Quiet(self._members)
        aftermath: Deadline | None = None
        while not all(member.done for member in self._members):
            self._listen()
            if aftermath is None and any(member.has_failed for member in self._members):
                aftermath = Deadline(LONGEST_AFTERMATH, self._meter)
                quiet.restart()
            if aftermath is None and quiet.seconds() >= QUIET_SECONDS:
                quiet.restart()
                states = locate(self._members)
                if states and all(state.what == "waits" and state.name not in _JOINING for state in states):
                    return
            has_ended = aftermath is not None and (quiet.seconds() > AFTERMATH_SECONDS or aftermath.is_over())
            if has_ended or self._deadline.is_over():
                locate(self._members)
                return

    def follow_until_others_wait(self, held: Member) -> None:
        """While a rank is held: returns when one has failed, or each of the others has returned or waits.

        A quarter of the time is left for afterwards.
        """
        others = [member for member in self._members if member is not held]
        quiet = Quiet(self._members)
        reserve = 0.25 * self._deadline.left()
        while not all(member.done for member in self._members) and self._deadline.left(is_waiting=True) > reserve:
            self._listen()
            if any(member.has_failed for member in self._members):
                return
            if quiet.seconds() > AT_REST_SECONDS:  # the held one is at the gate then, or waits for the others
                quiet.restart()
                if all(state.what != "runs" for state in locate(others)):
                    return

    def _listen(self) -> None:
        """Takes the replies and prints that have come, waiting for at most one turn."""
        waiting = [member for member in self._members if not member.done]
        # The prints too: a rank that prints much stands still while nobody reads.
        select.select([source for member in waiting for source in member.process.sources()], [], [], TURN_SECONDS)
        for member in waiting:
            member.read()


def _look_at(members: Sequence[Member]) -> Look:
    """The work of the ranks that are not done: the most that one has worked, because each has the whole limit."""
    found = [member.process.activity() for member in members if not member.done]
    worked = max((one.worked for one in found), default=0.0)
    return Look(worked, all(one.at_rest for one in found) if HAS_PROC else None)


def locate(members: Sequence[Member]) -> list[RankState]:
    """Asks the ranks that have not finished where they are."""
    asked = [member for member in members if not member.done]
    for member in asked:
        member.process.ask_where()
    deadline = Deadline(LOCATE_SECONDS, Meter(lambda: _look_at(asked)))
    while not deadline.is_over() and not all(_OUTERMOST.search(member.process.stacks()[:MAX_DUMP]) for member in asked):
        select.select([source for member in asked for source in member.process.sources()], [], [], 0.001)
        for member in asked:
            member.read()
        asked = [member for member in asked if not member.done]
    return [member.state() for member in asked]


class Quiet:
    """Measures for how long no unfinished rank has done anything.

    Time in which one waits for a processor does not count. A rank that waits for others uses a little processor time:
    gloo's thread looks round every hundredth of a second.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._seen: dict[int, Activity] = {}
        self._at = time.monotonic()
        self._quiet = 0.0

    def seconds(self) -> float:
        """Seconds of quiet up to now."""
        now = time.monotonic()
        seen = {member.number: member.process.activity() for member in self._members if not member.done}
        passed, before = now - self._at, self._seen
        self._seen, self._at = seen, now
        if seen.keys() != before.keys() or any(
            one.worked - before[number].worked > LITTLE_WORK * passed + LEAST_WORK for number, one in seen.items()
        ):
            self._quiet = 0.0
        elif all(one.at_rest for one in seen.values()):
            self._quiet += passed
        return self._quiet

    def restart(self) -> None:
        """Begins to measure again."""
        self._quiet = 0.0


# ---------------------------------------------------------------- where a dump says that a rank is


def state_of(dump: str) -> RankState:
    """Where a process is.

    Args:
        dump: the text that faulthandler wrote, the innermost frame first.
    """
    text = _OUTERMOST.split(dump[:MAX_DUMP])[0]
    inner: list[tuple[str, str]] = []
    place, lines = "", []
    for file, line, name in _FRAME.findall(text):
        if not (file.startswith(("<", *_LIBRARIES)) or os.path.realpath(file).startswith(_LIBRARIES)):
            place = place or f"line {int(line)} of {one_line(file.rpartition('/')[2], 60)}, in {one_line(name, 60)}"
            lines.append(int(line))
        elif not place:
            inner.append((file, name))
    waits_in = _collective(inner)
    return RankState("waits" if waits_in else "runs", waits_in, place, lines=tuple(reversed(lines)))


def _collective(inner: Sequence[tuple[str, str]]) -> str:
    """The torch function, nearest to the student's line, in which the ranks wait for each other."""
    file, name = inner[0] if inner else ("", "")
    if name == "_engine_run_backward" and file.endswith("/torch/autograd/graph.py"):
        return "backward"
    if any(part in file for part in _COLLECTIVE_FILES):
        for file, name in reversed(inner):
            if "/torch/" in file and name not in _NO_NAMES:
                return one_line(_SHOWN.get(name, name) if "/parallel/" in file else name, 40)
    return ""


# ---------------------------------------------------------------- who waits for whom, in words


def stuck(states: Sequence[RankState], seconds: float) -> str:
    """Who waits for whom, in words.

    Args:
        seconds: the time that the ranks had.
    """
    ranks = [f"rank {rank}" for rank in range(len(states))]
    waiting = [rank for rank, state in enumerate(states) if state.what == "waits"]
    others = [rank for rank in range(len(states)) if rank not in waiting]
    if not waiting:
        running = [f"{ranks[rank]} {states[rank]}" for rank in others if states[rank].what == "runs"]
        running = running or [f"{rank} {state}" for rank, state in zip(ranks, states, strict=True)]
        return f"no end within {seconds:g} s: {'; '.join(running)}"
    if not others:
        where = ", ".join(f"{ranks[rank]} in {states[rank].name}{states[rank].at}" for rank in waiting)
        if len(waiting) == 1:
            return f"{where}, waited for ranks that do not exist"
        return f"the ranks wait for each other: {where}. All must make the same collective calls in the same order"
    names = {states[rank].name for rank in waiting}
    if len(names) > 1:
        return f"the ranks never met: {'; '.join(f'{ranks[rank]} {state}' for rank, state in enumerate(states))}"
    where = "; ".join(f"{ranks[rank]} {states[rank]}" for rank in others)
    kept = " and ".join(f"{ranks[rank]}{states[rank].at}" for rank in waiting)
    return f"{listed(others)} never reached {names.pop()}: {where}. {kept} kept waiting for it"


def died(states: Sequence[RankState], errors: Sequence[str] = ()) -> str:
    """Which process ended, and how; completes the sentence "your code …".

    Args:
        errors: what was written to the standard error of each rank: gloo says there why it ends a process.
    """
    if any(_UNEQUAL in text for text in errors):
        ranks = listed([rank for rank, state in enumerate(states) if state.what == "ended"])
        return f"called a collective with tensors of unequal sizes on the ranks: for that gloo ended {ranks}"
    ended = [(rank, state.name) for rank, state in enumerate(states) if state.what == "ended"]
    if len({name for _, name in ended}) == 1:
        return f"ended the process of {listed([rank for rank, _ in ended])} with {ended[0][1]}"
    return "ended the processes of " + ", ".join(f"rank {rank} with {name}" for rank, name in ended)


def listed(ranks: Sequence[int]) -> str:
    *most, last = map(str, ranks)
    return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"
