"""A world: the processes of some ranks, as the judge drives them. All are asked at once, each for its own part.

It runs in the judge and decides nothing: it says what came back. Must never send a rank what is another's.
"""

import contextlib
import itertools
import os
import random
import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, cast

import msgspec

from grader.border import failures, wire
from grader.border.bounds import WireError
from grader.border.channel import Channel, packed_values
from grader.border.failures import one_line
from grader.border.messages import FORGET, Missing, Raised, Reply, Request, Returned, RunFailed, SentLine, TooLarge
from grader.border.transport import Starter
from grader.testkit._ranks import rank
from grader.testkit._ranks.members import BAD_REPLY, Member, RankWatch, died, own_lines, stuck
from grader.testkit._ranks.stair import stair_of
from grader.text import with_article

HEAD_START_SECONDS: Final = 0.015
"""By this long rank 0 begins before the others where the function itself sets up the group: whoever finds nobody
listening at rank 0's port tries again only after half a second."""
MAX_PRINTS: Final = 16 << 10
"""Characters of what each rank printed that are kept."""
_TORCHS_ERRORS: Final = ("RuntimeError", "DistBackendError", "DistNetworkError", "DistStoreError")
_LOST: Final = re.compile("onnection closed by peer|onnection reset|onnection was")
"""The words of torch for another rank that has gone."""
_FORGET: Final = wire.pack(FORGET)
EPHEMERAL_PORTS: Final = 32768
"""From here on the system picks ports by itself: gloo listens on some for good."""
_PORTS: Final = range(24_576, EPHEMERAL_PORTS)
_turns: Final = itertools.count(random.SystemRandom().randrange(len(_PORTS)))  # other judges begin elsewhere


class Part(msgspec.Struct, frozen=True):
    """One rank's own part of a run: its environment, and its arguments as `rank.Spec`."""

    env: Mapping[str, str | None]
    args: list[Any]
    kwargs: Mapping[str, Any]
    before: Any
    look: Any


class Job(msgspec.Struct, frozen=True):
    """The task of the ranks of one run.

    Attributes:
        look_outside: a call of plain values, made beside the submission while the ranks are still there.
        held: the rank that is held at the gate until the others have returned or wait.
    """

    function: Any
    parts: Sequence[Part]
    group: bool
    seconds: float
    look_outside: rank.Spec | None
    read_only: Sequence[int]
    may_exit: bool
    held: int | None
    prints: bool
    lines: bool
    names_places: bool


class World(msgspec.Struct, frozen=True):
    """The results of the ranks, if all have returned.

    Attributes:
        returned: per rank, the value that its function returned; None if that is not a plain value.
        kinds: per rank, None if that value is plain, else its kind in words.
        looks: per rank, the result of ``look``.
        outside: the result of ``look_outside``.
        early: the ranks whose function returned while another one was held.
        prints: per rank, its standard output (only with ``prints=True``).
        lines: per rank, how many lines of that are not blank (only with ``lines=True``).
        numbers: per rank, the numbers with four decimals in that (only with ``lines=True``).
        shown: all prints, as the student is shown them; no part of the check's record.
    """

    returned: list[Any]
    kinds: list[str | None]
    looks: list[Any]
    outside: Any
    early: list[int]
    prints: list[str]
    lines: list[int]
    numbers: list[list[float]]
    shown: str

    @property
    def results(self) -> list[Any]:
        """The value that each rank returned.

        Raises:
            AssertionError: if that is not a plain value.
        """
        for number, kind in enumerate(self.kinds):
            if kind is not None:
                raise AssertionError(f"rank {number} returned {with_article(kind)}, where a plain value was expected")
        return self.returned


class RunFailure(Exception):
    """Not every rank has returned.

    Attributes:
        noted: what the check's record gets in place of values.
        error: the exception for the check.
    """

    def __init__(self, noted: Missing | RunFailed, error: BaseException) -> None:
        super().__init__(error)
        self.noted = noted
        self.error = error


class RunningWorld:
    """The processes of some ranks, with a folder of their own."""

    def __init__(self, channel: Channel, size: int) -> None:
        self._channel = channel
        self._folder = str(outside(channel, rank.make_folder))
        self._runs = itertools.count()
        self.processes = cast("Starter", channel.transport).processes(size)
        self.is_joined = False

    def run(self, job: Job) -> World:
        """Runs a job. The world may be used again if all ranks have returned.

        Raises:
            RunFailure: not all have.
        """
        folder = os.path.join(self._folder, str(next(self._runs)))
        members = [Member(number, one, self._channel.note_received) for number, one in enumerate(self.processes)]
        watch = RankWatch(members, job.seconds)
        group = None if self.is_joined or not job.group else os.path.join(folder, ".group")
        for number, (member, part) in enumerate(zip(members, job.parts, strict=True)):
            member.post("make", _FORGET)
            place = (number, len(members), dict(part.env), folder, group, 10 * job.seconds)
            member.post("make", self._call(rank.prepare, *place))
            member.post("make", self._call(rank.make, part.before, part.args, part.kwargs))
        watch.follow()
        early: list[int] = []
        if all(member.done and not member.has_failed for member in members):
            self.is_joined = job.group
            if job.held is not None:
                outside(self._channel, rank.close_gate, folder)
            for number, member in enumerate(members):
                how = (job.may_exit, number in job.read_only, number == job.held)
                member.post("call", self._call(rank.perform, job.function, *how))
                if number == 0 and not job.group and len(members) > 1:
                    time.sleep(HEAD_START_SECONDS)
            if job.held is not None:
                watch.follow_until_others_wait(members[job.held])
                early = [member.number for member in members if member.has_returned]
                if not outside(self._channel, rank.open_gate, folder):
                    early = []
            watch.follow()
            if all(member.has_returned for member in members):
                # Only now, because a look may hold what a rank was to return; ranks can tell each other all they read.
                for member, part in zip(members, job.parts, strict=True):
                    member.post("look", self._call(rank.look, part.look))
                watch.follow()
        world = self._results(members, job, early)
        if job.look_outside is None:
            return world
        _, function, specs, _ = job.look_outside
        args = [os.path.join(folder, value) if kind == "in_folder" else value for kind, value in specs]
        return msgspec.structs.replace(world, outside=outside(self._channel, function, *args))

    def _call(self, function: Callable[..., Any], *args: object) -> bytes:
        return wire.pack(request_of(self._channel, function, *args))

    def _results(self, members: Sequence[Member], job: Job, early: list[int]) -> World:
        for member in members:
            if member.failure is not None and isinstance(member.failure[1], Missing):
                name = one_line(member.failure[1].name)
                error = failures.MissingName(name)
                error.kind, error.message = "missing", name
                raise RunFailure(Missing(name), error)
        printed = [member.process.prints() for member in members]
        results = []
        for member, (text, _) in zip(members, printed, strict=True):
            if "look" not in member.stages or not member.has_returned or not member.done:
                continue
            *_, call, look = member.replies
            try:
                (value, kind), (looks, unseen) = _plain(self._channel, call), _plain(self._channel, look)
            except WireError:
                member.ended = BAD_REPLY
                continue
            if unseen is not None:
                raised = Raised("TypeError", True, f"a look gave a {unseen}, which is no plain value", ())
                member.failure = "look", raised
                continue
            if type(looks) is not list or len(looks) != 2:
                member.ended = BAD_REPLY
                continue
            self.is_joined = self.is_joined and looks[1] is True
            results.append((value, kind, looks[0], own_lines(text)[:MAX_PRINTS]))
        if len(results) < len(members):
            raise _failure(members, job, [errors for _, errors in printed])
        returned, kinds, seen, texts = map(list, zip(*results, strict=True))
        prints, looked_at = ([text if is_wanted else "" for text in texts] for is_wanted in (job.prints, job.lines))
        lines, numbers = [*map(written_lines, looked_at)], [*map(numbers_in, looked_at)]
        return World(returned, kinds, seen, None, early, prints, lines, numbers, shown(printed))

    def end(self) -> None:
        """Ends the processes, and removes their folder."""
        for process in self.processes:
            process.end()
        for process in self.processes:  # it may hold a port that the next run wants
            process.wait()
        with contextlib.suppress(Exception, failures.NoAnswer):
            outside(self._channel, rank.remove_folder, self._folder)


def run(channel: Channel, job: Job) -> World:
    """Runs a job on a world of its own or, if the ranks are in a group from the start, on the last one of its size.

    Raises:
        RunFailure: not all ranks have returned.
    """
    kept = channel.transport.kept
    name = f"world of {len(job.parts)} ranks"
    with contextlib.nullcontext() if job.group else exclusive(channel):
        world = kept.pop(name, None) if job.group else None
        if not isinstance(world, RunningWorld):
            world = RunningWorld(channel, len(job.parts))
        is_kept = False
        try:
            results = world.run(job)
            # What `before` has changed, and what a rank cannot do any more, stays so.
            is_kept = world.is_joined and not job.read_only and all(part.before is None for part in job.parts)
            return results
        finally:
            if is_kept:
                kept[name] = world
            else:
                world.end()


def exclusive(channel: Channel) -> AbstractContextManager[None]:
    """No two worlds that open ports of their own choice at a time, where the network is not the submission's alone."""
    own_network: Callable[[], AbstractContextManager[None]]
    own_network = getattr(channel.transport, "own_network", contextlib.nullcontext)
    return own_network()


def outside(channel: Channel, function: Callable[..., Any], *args: object) -> Any:
    """The value of a function in the process beside the submission; not part of the check's record."""
    reply = channel.transport.call_outside(wire.pack(request_of(channel, function, *args)))
    try:
        return value_outside(channel, reply)
    except WireError as error:
        raise RuntimeError(f"{function.__name__} did not work beside the submission: {error}") from None


def value_outside(channel: Channel, reply: bytes) -> Any:
    """The value of a reply of the process beside the submission.

    Raises:
        WireError: there is none, or it is larger than a check may receive.
    """
    channel.note_received(len(reply))
    message = wire.unpack_untrusted(reply, Reply)
    if not isinstance(message, Returned):
        raise WireError(str(message)[:1000])
    return channel.decode(message.value)


def request_of(channel: Channel, function: Callable[..., Any], *args: object) -> Request:
    """The request to call a function of the testkit or of the kit."""
    return Request("call", packed_values(channel, function, *args), [])


def free_port() -> int:
    """A port that nobody uses now, and that no earlier run of this process was given as long as there are others.

    None that the system picks by itself: the submission's network may be another, in which gloo listens on such ports.
    """
    for turn in itertools.islice(_turns, len(_PORTS)):
        port = _PORTS[turn % len(_PORTS)]
        with contextlib.suppress(OSError), socket.socket() as any_socket:
            any_socket.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no port from {_PORTS[0]} to {_PORTS[-1]} is free")


def shown(printed: Sequence[tuple[str, str]]) -> str:
    """The prints of ranks, rank by rank."""
    return "".join(
        f"rank {number}: {line}\n"
        for number, texts in enumerate(printed)
        for text in texts
        for line in own_lines(text[: 2 * MAX_PRINTS]).splitlines()
    )


def written_lines(text: str) -> int:
    """How many lines are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def numbers_in(text: str) -> list[float]:
    """The numbers with exactly four decimals, at most 100."""
    return [float(found) for found in re.findall(r"(?<![\d.])-?\d{1,9}\.\d{4}(?!\d|\.\d)", text)[:100]]


def _failure(members: Sequence[Member], job: Job, errors: Sequence[str]) -> RunFailure:
    """Names the exception that a student should read, if there is one, and else who has died or waits.

    Args:
        errors: per rank, what was written to its standard error.
    """
    states = [member.state() for member in members]
    # The part that two submissions with the same mistake share: no line numbers.
    noted = ", ".join(f"{state.what} {state.name}".strip() for state in states)
    if not job.names_places:
        states = [msgspec.structs.replace(state, place="", lines=()) for state in states]
    error: BaseException
    raising = [(member.number, *found) for member in members if (found := member.raised)]
    # But for those that merely say that another rank has gone.
    first = [one for one in raising if not (one[2].kind in _TORCHS_ERRORS and _LOST.search(one[2].message))]
    if first or (raising and not any(member.ended for member in members)):
        number, stage, raised = (first or raising)[0]
        kind, message = one_line(raised.kind, 60), raised.message[:300]
        noted = f"{stage} raised {kind}"
        everybody = all(state.what == "raised" and state.name == kind[:40] for state in states)
        where = "" if len(states) == 1 else " (on every rank)" if everybody else f" (on rank {number})"
        own = tuple(SentLine(f.file[:40], f.line, f.function[:40], f.text[:60]) for f in raised.frames[-5:])
        error = failures.exception_of(Raised(kind, raised.is_built_in, message + where, own))
        if stage == "look":
            error = AssertionError(f"what rank {number} left cannot be used: {kind}: {message}")
    elif held := max(state.held for state in states):  # the others were ended for it, too
        error = failures.OutOfMemory(held=held)
    elif any(state.what == "ended" for state in states):
        error = failures.SubmissionCrashed(died(states, errors))
    else:
        error = failures.SubmissionTimeout(stuck(states, job.seconds))
        error.stair = stair_of(states)
    return RunFailure(RunFailed(noted[:100]), error)


def _plain(channel: Channel, reply: Reply) -> tuple[Any, str | None]:
    """The value of a reply; or None, and what it is in place of a plain value.

    Raises:
        WireError: it is neither.
    """
    odd: list[str] = []

    def other(tree: list[Any]) -> object:
        match tree:
            case ["h", int(), str(kind)]:
                odd.append(one_line(kind, 60))
                return None
        raise WireError("an unknown tag")

    match reply:
        case Returned(tree):
            value = channel.decode(tree, other)
            if not odd:
                return value, None
            kind = type(value).__name__
            return None, odd[0] if tree and tree[0] == "h" else f"{kind} with a {odd[0]} in it"
        case TooLarge(reason):
            return None, f"value that is too big ({one_line(reason)})"
    raise WireError("neither a value nor an exception")
