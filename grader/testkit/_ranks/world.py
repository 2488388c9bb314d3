"""The parent of the ranks: forks them, has them watched, gathers what they report, and ends them all.

It runs in the student process, above the ranks, and decides nothing: it reports. It must never leave a process behind.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.messages import Raised, SentLine
from grader.testkit._ranks import rank as rank_process
from grader.testkit._ranks.handle import Rank, own_lines
from grader.testkit._ranks.job import Job, RankDescriptors
from grader.testkit._ranks.states import RaisedOnRank, RankRaised, RankReturned, State, Trouble
from grader.testkit._ranks.watch import Watch, place_of

PIPES: Final = ("report", "prints", "errors", "dumps")


class Outcome(NamedTuple):
    """What a rank returned.

    Attributes:
        kind: None; or, where the value is no plain one, what it is.
        looks: what the check's look gave.
        prints: what the rank wrote to its standard output.
    """

    value: object
    kind: str | None
    looks: object
    prints: str


def run(job: Job) -> list[Outcome] | Trouble:
    """Runs a job on its ranks; every process is dead when this returns.

    Returns:
        An outcome for each rank; a `Trouble` when not every rank has returned.
    """
    rank_process.preload()
    with one_at_a_time(), tempfile.TemporaryDirectory(prefix="ranks-", ignore_cleanup_errors=True) as scratch:
        env = {"MASTER_PORT": str(free_port()), **job.env}
        job = msgspec.structs.replace(job, env=env, scratch=scratch)
        ranks: list[Rank] = []
        shared = Shared(Pipe(), Pipe(), Pipe(), Pipe())
        try:
            for number in range(job.size):
                ranks.append(_fork(number, job, shared))
            for end in (shared.hold.reader, shared.ready.writer, shared.gate.reader):
                end.close()
            Watch(ranks, job, shared.ready.reader, shared.gate.writer).follow()
            return _outcome(ranks, job)
        finally:
            for one in ranks:
                one.end()
            for pipe in shared:
                pipe.close()
            _print(ranks)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """No two worlds of one user at a time where they share a network: submissions choose fixed ports."""
    import fcntl

    path = os.path.join(tempfile.gettempdir(), f"torchkata-ranks-{os.getuid()}.lock")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, fd)
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return int(any_socket.getsockname()[1])


class Pipe:
    """A pipe whose ends close once."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        self.reader, self.writer = os.fdopen(reader, "rb", buffering=0), os.fdopen(writer, "wb", buffering=0)

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


class Shared(NamedTuple):
    """The pipes that all ranks share; see the fields of `RankDescriptors`."""

    bell: Pipe
    hold: Pipe
    ready: Pipe
    gate: Pipe


def _fork(number: int, job: Job, shared: Shared) -> Rank:
    pipes = {name: os.pipe() for name in PIPES}
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn where a thread of the caller's runs
        process = os.fork()
    if not process:
        own = {name: writer for name, (_, writer) in pipes.items()}
        bell = {"bell_in": shared.bell.reader.fileno(), "bell_out": shared.bell.writer.fileno()}
        start = {"ready": shared.ready.writer.fileno(), "gate": shared.gate.reader.fileno()}
        rank_process.live(number, job, RankDescriptors(**own, **bell, **start, hold=shared.hold.reader.fileno()))
    with contextlib.suppress(OSError):
        os.setpgid(process, process)
    for reader, writer in pipes.values():
        os.close(writer)
        os.set_blocking(reader, False)
    return Rank(number, process, {name: reader for name, (reader, _) in pipes.items()})


def _outcome(ranks: list[Rank], job: Job) -> list[Outcome] | Trouble:
    """What every rank returned; why there is nothing, if one did not."""
    outcomes = [
        Outcome(_value(rank.report.value), rank.report.kind, _value(rank.report.looks), rank.text())
        for rank in ranks
        if isinstance(rank.report, RankReturned)
    ]
    if len(outcomes) == len(ranks):
        return outcomes
    return Trouble(tuple(_state(rank, job) for rank in ranks), job.seconds, _cause(ranks))


def _state(rank: Rank, job: Job) -> State:
    match rank.report:
        case RankReturned():
            return State("returned")
        case RankRaised(_, raised):
            return State("raised", raised.kind[:40])
    return State("ended", rank.ended) if rank.ended is not None else place_of(rank, job)


def _cause(ranks: list[Rank]) -> RaisedOnRank | None:
    """The exception that a student should read: none that merely says that another rank has gone."""
    raised = [_bounded(rank.number, rank.report) for rank in ranks if isinstance(rank.report, RankRaised)]
    first = [one for one in raised if not _is_aftermath(one)]
    if not first and any(rank.ended for rank in ranks):
        return None
    return next(iter(first or raised), None)


def _bounded(rank: int, report: RankRaised) -> RaisedOnRank:
    raised = report.raised
    own = tuple(SentLine(f.file[:40], f.line, f.function[:40], f.text[:60]) for f in raised.frames[-5:])
    return RaisedOnRank(rank, report.stage, Raised(raised.kind[:60], raised.is_built_in, raised.message[:300], own))


def _is_aftermath(one: RaisedOnRank) -> bool:
    lost = ("onnection closed by peer", "onnection reset", "onnection was")
    torchs = one.raised.kind in ("RuntimeError", "DistBackendError", "DistNetworkError", "DistStoreError")
    return torchs and any(text in one.raised.message for text in lost)


def _value(tree: wire.Tree) -> object:
    return wire.decode(tree, _unknown)


def _unknown(tree: list[wire.Tree]) -> object:
    raise WireError("not a value")


def _print(ranks: list[Rank]) -> None:
    """Prints on, rank by rank, what they printed."""
    for rank in ranks:
        for printed in (rank.printed, rank.errors):
            for line in own_lines(printed).splitlines():
                print(f"rank {rank.number}: {line}")
