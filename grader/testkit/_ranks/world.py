"""The parent of the ranks: forks them, listens to them, finds out where they hang, and ends them all.

It runs in the student process, above the ranks, and decides nothing: it reports. It must never wait without a limit,
and never leave a process behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from grader.border import wire
from grader.testkit._ranks import rank as rank_process
from grader.testkit._ranks.activity import Aftermath, Quiet
from grader.testkit._ranks.handle import Rank, own_lines
from grader.testkit._ranks.job import DUMP_SIGNAL, Ends, Job
from grader.testkit._ranks.states import Frame, Raised, State, Trouble
from grader.testkit._ranks.where import is_joining, state_of

TURN_SECONDS: Final = 0.02
QUIET_SECONDS: Final = 0.4
"""Ranks of which none did anything for so long are looked at: if all wait in a collective, they wait for ever."""
PIPES: Final = ("report", "prints", "errors", "dumps")

Told = list[Any]
"""One rank's report: ``[value, kind, looks, prints]``."""


class TroubleRaised(Exception):
    """Carries a `Trouble` to the judge, as JSON in its message."""


def run(job: Job) -> list[Told]:
    """Runs a job on its ranks; every process is dead when this returns.

    Raises:
        TroubleRaised: when there is not a result of every rank.
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
            _follow(ranks, job, shared)
            return _told(ranks, job)
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
    """The pipes that all ranks share; `Ends` says what for."""

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
        rank_process.live(number, job, Ends(**own, **bell, **start, hold=shared.hold.reader.fileno()))
    with contextlib.suppress(OSError):
        os.setpgid(process, process)
    for reader, writer in pipes.values():
        os.close(writer)
        os.set_blocking(reader, False)
    return Rank(number, process, {name: reader for name, (reader, _) in pipes.items()})


def _follow(ranks: list[Rank], job: Job, shared: Shared) -> None:
    """Listens until all have reported, one has failed, or nothing more can come."""
    until = time.monotonic() + job.seconds
    quiet = Quiet(ranks)
    aftermath: Aftermath | None = None
    ready, not_ready = shared.ready.reader.fileno(), len(ranks)
    while not all(rank.done for rank in ranks):
        fds = {fd: (rank, which) for rank in ranks for which, fd in rank.fds.items()}
        listened = list(fds) if shared.gate.writer.closed else [*fds, ready]
        for fd in select.select(listened, [], [], TURN_SECONDS)[0]:
            if fd == ready:
                not_ready -= len(os.read(ready, not_ready)) or not_ready  # at its end nobody waits
            else:
                one, which = fds[fd]
                one.read(which)
        for rank in ranks:
            if rank.report is None:
                rank.look_if_alive()
        failed = any(rank.ended or (rank.report or [""])[0] == "raised" for rank in ranks)
        if failed or not not_ready:
            shared.gate.writer.close()
        now = time.monotonic()
        if failed:
            aftermath = aftermath or Aftermath(ranks, now)
        elif quiet.since(now) >= QUIET_SECONDS:
            states = _locate(ranks, job)
            if all(state.what == "waits" and not is_joining(state) for state in states):
                return
            quiet.restart(now)
        if now >= until or (aftermath is not None and aftermath.is_over(now)):
            _locate(ranks, job)
            return


def _locate(ranks: list[Rank], job: Job) -> list[State]:
    """Asks those that have not finished where they are."""
    asked = [rank for rank in ranks if not rank.done]
    for rank in asked:
        rank.dump.clear()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(rank.process, DUMP_SIGNAL)
    until = time.monotonic() + 0.3
    while time.monotonic() < until and any(b" in live\n" not in rank.dump for rank in asked):
        fds = {rank.fds["dumps"]: rank for rank in asked if "dumps" in rank.fds}
        for fd in select.select(list(fds), [], [], TURN_SECONDS)[0]:
            fds[fd].read("dumps")
    return [state_of(rank.dump.decode("utf-8", "replace"), job.folder) for rank in asked]


def _told(ranks: list[Rank], job: Job) -> list[Told]:
    """The reports, if every rank has returned.

    Raises:
        TroubleRaised: if not.
    """
    if all(rank.report is not None and rank.report[0] == "returned" for rank in ranks):
        return [
            [_value(rank.report[1]), rank.report[2], _value(rank.report[3]), rank.text()]
            for rank in ranks
            if rank.report is not None
        ]
    trouble = Trouble(tuple(_state(rank, job) for rank in ranks), job.seconds, _cause(ranks))
    name = trouble.compared()
    raise type(name, (TroubleRaised,), {})(msgspec.json.encode(trouble).decode())


def _state(rank: Rank, job: Job) -> State:
    if rank.report is not None:
        return State("returned") if rank.report[0] == "returned" else State("raised", str(rank.report[2])[:40])
    if rank.ended is not None:
        return State("ended", rank.ended)
    return state_of(rank.dump.decode("utf-8", "replace"), job.folder)


def _cause(ranks: list[Rank]) -> Raised | None:
    """The exception that a student should read: none that merely says that another rank has gone."""
    raised: list[Raised] = []
    for rank in ranks:
        match rank.report:
            case ["raised", ("make" | "call" | "look") as stage, str(kind), bool(built_in), str(message), list(frames)]:
                own: list[Frame] = [(f[0][:40], f[1], f[2][:40], f[3][:60]) for f in frames[-5:]]
                raised.append(Raised(rank.number, kind[:60], built_in, message[:300], tuple(own), stage))
    first = [one for one in raised if not _is_aftermath(one)]
    if not first and any(rank.ended for rank in ranks):
        return None
    return next(iter(first or raised), None)


def _is_aftermath(one: Raised) -> bool:
    lost = ("onnection closed by peer", "onnection reset", "onnection was")
    torchs = one.kind in ("RuntimeError", "DistBackendError", "DistNetworkError", "DistStoreError")
    return torchs and any(text in one.message for text in lost)


def _value(tree: wire.Tree) -> object:
    return wire.decode(tree, _unknown)


def _unknown(tree: list[wire.Tree]) -> object:
    raise wire.WireError("not a value")


def _print(ranks: list[Rank]) -> None:
    """Prints on, rank by rank, what they printed."""
    for rank in ranks:
        for printed in (rank.printed, rank.errors):
            for line in own_lines(printed).splitlines():
                print(f"rank {rank.number}: {line}")
