"""One rank: what a freshly forked process does, from its environment to its report. It runs submitted code.

Must never end by itself: torch can deadlock when it takes process groups apart, so everything is kept and the
parent kills the process once its report is there.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import resource
import select
import signal
import time
from datetime import timedelta
from types import ModuleType
from typing import Any, Final, NoReturn

import msgspec
import torch

from grader.border import frames, wire
from grader.border.bounds import WireError
from grader.border.output import flush_output, use_output
from grader.border.service import Service
from grader.sandbox import kernel
from grader.testkit._ranks.deadlocks import keep_what_deadlocks
from grader.testkit._ranks.job import DUMP_SIGNAL, Job, RankDescriptors, Spec
from grader.testkit._ranks.states import RankRaised, RankReturned, RankStage


class Here(msgspec.Struct):
    """The rank that this process is; see `here`.

    Attributes:
        bell: readable once any rank has finished.
        wrapped: the DDP modules that were made here.
    """

    rank: int
    size: int
    bell: int
    wrapped: list[Any]


HEAD_START: Final = 0.015
"""Seconds by which rank 0 begins before the others where the function itself sets up the group: whoever finds nobody
listening at rank 0's port tries again only after half a second."""

_here: list[Here] = []


def is_rank() -> bool:
    """Whether this process is a rank."""
    return bool(_here)


def here() -> Here:
    """The rank that this process is.

    Raises:
        RuntimeError: in a process that is not a rank.
    """
    if not _here:
        raise RuntimeError("this can be used on a rank only")
    return _here[0]


def wait_for_others(seconds: float) -> bool:
    """Blocks until another rank has finished its function and what follows it, for at most ``seconds``."""
    return bool(select.select([here().bell], [], [], seconds)[0])


def preload() -> None:
    """Imports what ranks need on first use, before the fork: every rank would pay more than a second for it."""
    import torch._dynamo
    import torch.distributed.distributed_c10d
    import torch.nn.parallel
    import torch.optim  # noqa: F401


def live(rank: int, job: Job, descriptors: RankDescriptors) -> NoReturn:
    """The whole life of a rank."""
    try:
        _settle(rank, job, descriptors)
        report = _work(rank, job, descriptors)
        flush_output()
        with open(descriptors.report, "wb", closefd=False) as pipe:
            frames.write(pipe, wire.pack(report))
        with contextlib.suppress(OSError):
            os.write(descriptors.bell_out, b"!")
        while os.read(descriptors.hold, 1):
            pass
    finally:
        os._exit(70)


def _settle(rank: int, job: Job, descriptors: RankDescriptors) -> None:
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    kernel.die_with_parent()
    use_output(descriptors.prints, descriptors.errors)
    own = {
        descriptors.ready,
        descriptors.gate,
        descriptors.report,
        descriptors.dumps,
        descriptors.hold,
        descriptors.bell_in,
        descriptors.bell_out,
    }
    kernel.close_all_but({0, 1, 2} | own)
    faulthandler.register(DUMP_SIGNAL, file=descriptors.dumps, all_threads=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [DUMP_SIGNAL])
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name, value in job.env.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value.replace("{rank}", str(rank))
    os.chdir(job.scratch)
    torch.set_num_threads(1)
    torch.default_generator.manual_seed(0)
    random.seed(0)
    _here.append(Here(rank, job.size, descriptors.bell_in, keep_what_deadlocks()))


def _work(rank: int, job: Job, descriptors: RankDescriptors) -> RankReturned | RankRaised:
    stage: RankStage = "make"
    scene: dict[Any, Any] = {"rank": rank, "world_size": job.size}
    try:
        if job.group:
            _join(rank, job)
            _wait_for_start(descriptors)
        elif rank:
            time.sleep(HEAD_START)
        os.close(descriptors.ready)
        os.close(descriptors.gate)
        if job.before is not None:
            _made(job.before, scene)
        args = [_made(spec, scene) for spec in job.args]
        kwargs = {name: _made(spec, scene) for name, spec in job.kwargs.items()}
        scene |= {("argument", place): value for place, value in [*enumerate(args), *kwargs.items()]}
        if rank in job.read_only:
            _forbid_writing()
        stage = "call"
        result = _call(job, args, kwargs)
        stage = "look"
        scene["result"] = result
        value, kind = _plain(result)
        looks, unseen = _plain(None if job.look is None else _made(job.look, scene))
        if unseen is not None:
            raise TypeError(f"a look gave a {unseen}, which is no plain value")
        return RankReturned(value, kind, looks)
    except BaseException as error:
        files = frozenset(str(path) for path in _files(job.folder))
        return RankRaised(stage, Service(ModuleType("ranks"), files).describe(error))


def _wait_for_start(descriptors: RankDescriptors) -> None:
    """Waits for the others: a rank whose function dies at once must not meet one that has yet to join the group."""
    os.write(descriptors.ready, b"!")
    os.read(descriptors.gate, 1)


def _call(job: Job, args: list[Any], kwargs: dict[str, Any]) -> object:
    try:
        return job.function(*args, **kwargs)
    except SystemExit as end:
        if job.may_exit and end.code in (None, 0):
            return None
        raise


def _forbid_writing() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def _join(rank: int, job: Job) -> None:
    import torch.distributed as dist

    # A store in a file: one on a port asks the name service for the name of everybody who connects, which may be slow.
    store = torch._C._distributed_c10d.FileStore(os.path.join(job.scratch, ".group"), job.size)
    wait = timedelta(seconds=10 * job.seconds)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=job.size, timeout=wait)


def _made(spec: Spec, scene: dict[Any, Any]) -> Any:
    match spec:
        case ("value", value):
            return value
        case ("call", function, list(args), dict(kwargs)):
            named = {name: _made(part, scene) for name, part in kwargs.items()}
            return function(*[_made(part, scene) for part in args], **named)
        case ("each", list(parts)):
            return _made(parts[scene["rank"]], scene)
        case ("slot", str(name)):
            return scene[name]
        case ("argument", place):
            return scene["argument", place]
    raise ValueError("not an argument for a rank")


def _plain(value: object) -> tuple[wire.Tree, str | None]:
    """The tree of a plain value, or what it is that cannot cross the border."""
    odd: list[str] = []

    def other(part: object) -> wire.Tree:
        odd.append(type(part).__name__[:60])
        return None

    try:
        tree = wire.encode(value, other)
    except WireError as error:
        return None, f"{type(value).__name__[:60]} that is too big ({error})"
    if not odd:
        return tree, None
    kind = type(value).__name__[:60]
    return None, kind if kind == odd[0] else f"{kind} with a {odd[0]} in it"


def _files(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".py")]
    except OSError:
        return []
