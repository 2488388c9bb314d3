"""Runs a function of the submission on several ranks: real processes that talk gloo, as under torchrun.

    from grader.testkit import ranks, recipes

    world = ranks.run(submission.average_gradients, ranks.call(recipes.model, "mlp", ranks.RANK), world_size=2)
    world.results      # what each rank returned, in order of rank

Two sides: `run` and `torchrun` are called in the judge, by checks; what is below the line, and what it starts, runs in
the student process. A rank that raises, dies or hangs is named in the verdict.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from grader.testkit._ranks import answers as _answers
from grader.testkit._ranks import job as _job
from grader.testkit._ranks import launch as _launch
from grader.testkit._ranks import rank as _rank
from grader.testkit._ranks import states as _states
from grader.testkit._ranks import world as _world
from grader.text import with_article

if TYPE_CHECKING:
    from grader.border.proxies import RemoteFunction

SECONDS: Final = 4.0
"""How long the ranks of one run may take, all together; shorter than what a check may take."""
LAUNCH_SECONDS: Final = 25.0
"""How long a script may take under torchrun, whose workers import torch first."""
MAX_RANKS: Final = 8
"""The largest `world_size` of `run`."""

TORCHRUN: Final[Mapping[str, str | None]] = {
    "RANK": "{rank}", "LOCAL_RANK": "{rank}", "WORLD_SIZE": "", "LOCAL_WORLD_SIZE": "", "GROUP_RANK": "0",
    "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1",
    "RES_OPTIONS": "timeout:1 attempts:1",
}  # fmt: skip
"""The environment that ranks get: ``{rank}`` is filled in, so are the sizes, and a free ``MASTER_PORT`` comes along.

``RES_OPTIONS``: torch looks up the name of every address that connects; a name server that is away costs a second.
"""
ALONE: Final[Mapping[str, str | None]] = {
    name: None
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
}
"""For `run`: an environment in which nobody has set what torchrun sets."""


class Slot:
    """An argument that only a rank can fill in; see the constants of this module."""

    def __init__(self, spec: tuple[Any, ...], shown: str) -> None:
        self.spec = spec
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


RANK: Final = Slot(("slot", "rank"), "rank")
"""The number of the rank."""
WORLD_SIZE: Final = Slot(("slot", "world_size"), "world_size")
"""How many ranks there are."""
RESULT: Final = Slot(("slot", "result"), "result")
"""In `run`'s ``look``: what the submission's function returned on the rank."""


def _spec(value: object) -> tuple[Any, ...]:
    return value.spec if isinstance(value, Slot) else ("value", value)


def argument(place: int | str) -> Slot:
    """In `run`'s ``look``: the argument that the function was given, by position or name."""
    return Slot(("argument", place), f"argument {place}")


def each(*values: object) -> Slot:
    """One value (or slot) per rank."""
    return Slot(("each", [_spec(value) for value in values]), f"each({', '.join(map(repr, values))})")


def call(function: Callable[..., Any], *args: object, **kwargs: object) -> Slot:
    """What a function of the testkit's recipes and probes gives, called on each rank.

    Args:
        args: values or slots.
    """
    named = {name: _spec(value) for name, value in kwargs.items()}
    return Slot(("call", function, [_spec(value) for value in args], named), f"<{function.__name__}>")


class World(msgspec.Struct, frozen=True):
    """What came back from the ranks.

    Attributes:
        looks: per rank, what ``look`` gave.
        prints: per rank, what it wrote to its standard output (only with ``prints=True``).
        lines: per rank, how many lines of that are not blank (only with ``lines=True``).
    """

    returned: list[Any]
    kinds: list[str | None]
    looks: list[Any]
    prints: list[str]
    lines: list[int]

    @property
    def results(self) -> list[Any]:
        """What each rank returned.

        Raises:
            AssertionError: if that is not a plain value.
        """
        for rank, kind in enumerate(self.kinds):
            if kind is not None:
                raise AssertionError(f"rank {rank} returned {with_article(kind)}, where a plain value was expected")
        return self.returned


def run(
    function: RemoteFunction,
    *args: object,
    world_size: int = 2,
    group: bool = True,
    env: Mapping[str, str | None] | None = None,
    before: Slot | None = None,
    look: Slot | None = None,
    seconds: float = SECONDS,
    read_only: Sequence[int] = (),
    may_exit: bool = False,
    prints: bool = False,
    lines: bool = False,
    options: Mapping[str, object] | None = None,
) -> World:
    """Runs a function of the submission on each of some ranks.

    Args:
        args: its arguments: values, or slots (`RANK`, `WORLD_SIZE`, `each`, `call`).
        group: whether the process group is set up first; else the function finds none.
        env: environment variables to set, or with None to remove, over those of `TORCHRUN`.
        before: a `call` made on each rank before anything else, but after the group is set up.
        look: a `call` made on each rank when the function has returned.
        seconds: after this time all ranks are ended.
        read_only: ranks that cannot write to any file.
        may_exit: whether ``sys.exit(0)`` counts as returning.
        prints, lines: whether to bring back what each rank printed. Prints are the student's own: a check that asks
            for their text cannot name a misconception in a submission that prints something else.
        options: keyword arguments of the function.

    Raises:
        SubmissionRaised: a rank raised; of the same built-in type, as for a plain call.
        SubmissionTimeout: the ranks did not end: the text says who waits for whom.
        SubmissionCrashed: a rank's process ended.
        AssertionError: what ``look`` looks at is not there.
    """
    from grader.border.proxies import call_of, channel_of

    if not 1 <= world_size <= MAX_RANKS:
        raise ValueError(f"world_size must be from 1 to {MAX_RANKS}, not {world_size}")
    channel = channel_of(function)
    _answers.require_network(channel)
    _answers.give_time(channel, seconds + 2.0)
    sizes = {"WORLD_SIZE": str(world_size), "LOCAL_WORLD_SIZE": str(world_size)}
    options = dict(options or {})
    order = {
        "args": [_spec(value) for value in args],
        "kwargs": {name: _spec(value) for name, value in options.items()},
        "before": None if before is None else before.spec,
        "look": None if look is None else look.spec,
        "size": world_size,
        "group": group,
        "env": {**TORCHRUN, **sizes, **(env or {})},
        "seconds": float(seconds),
        "read_only": tuple(read_only),
        "may_exit": may_exit,
        "prints": prints,
        "lines": lines,
    }
    shown = call_of(function, args, options)
    answer = _answers.request(channel, shown, world, function, order)
    shown.answered = False
    match answer:
        case list() if len(answer) == world_size and all(type(one) is list and len(one) == 5 for one in answer):
            returned, kinds, looks, printed, counts = (list(column) for column in zip(*answer, strict=True))
            strings = all(type(part) is str for part in (*printed, *filter(None, kinds)))
            if strings and all(type(count) is int for count in counts):
                return World(returned, kinds, looks, printed, counts)
    raise _answers.crash(channel, "sent results of ranks that are not data")


class Launch(msgspec.Struct, frozen=True):
    """How a script ended under torchrun: its exit code, and how many lines each worker printed."""

    exit_code: int
    lines: list[int]


def torchrun(function: RemoteFunction, script: str, workers: int = 2, seconds: float = LAUNCH_SECONDS) -> Launch:
    """Runs the submission's file as ``torchrun --standalone --nproc-per-node=WORKERS SCRIPT``.

    Args:
        function: the function that the script calls when it runs as a script.
        script: the file's name.

    Raises:
        SubmissionTimeout: when it does not end.
    """
    from grader.border.failures import SubmissionTimeout
    from grader.border.proxies import Call, channel_of

    channel = channel_of(function)
    _answers.require_network(channel)
    _answers.give_time(channel, seconds + 5.0)
    shown = Call(f"torchrun --nproc-per-node={workers} {script}", (), {})
    answer = _answers.request(channel, shown, launched, function, script, workers, float(seconds))
    match answer:
        case {"exit": None, "lines": [*_]}:
            hung = SubmissionTimeout(f"{script} did not end within {seconds:g} s under torchrun")
            hung.examples = (tuple(channel.record),)
            raise hung
        case {"exit": int(code), "lines": [*lines]} if all(type(count) is int for count in lines):
            return Launch(code, lines)
    raise _answers.crash(channel, "sent a result of torchrun that is not data")


def is_rank() -> bool:
    """Whether this process is a rank."""
    return _rank.is_rank()


def here() -> _rank.Here:
    """On a rank: its ``rank``, the ``size`` of the world, and the DDP modules ``wrapped`` there.

    Raises:
        RuntimeError: in a process that is not a rank.
    """
    return _rank.here()


def wait_for_others(seconds: float) -> bool:
    """On a rank: blocks until another rank has finished, or ``seconds`` have passed; whether one has."""
    return _rank.wait_for_others(seconds)


# ---------------------------------------------------------------- in the student process


def world(function: Callable[..., Any], order: dict[str, Any]) -> list[list[Any]] | _states.Trouble:
    """Runs in the student process: ``[value, kind, looks, prints, lines]`` of each rank. Use `run`."""
    prints, lines = order.pop("prints"), order.pop("lines")
    outcomes = _world.run(_job.Job(function=function, folder=_folder_of(function), **order))
    if isinstance(outcomes, _states.Trouble):
        return outcomes
    return [
        [one.value, one.kind, one.looks, one.prints if prints else "", _written_lines(one.prints) if lines else 0]
        for one in outcomes
    ]


def _written_lines(text: str) -> int:
    """How many lines are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def launched(function: Callable[..., Any], script: str, workers: int, seconds: float) -> dict[str, Any]:
    """Runs in the student process: torchrun on the submitted file. Use `torchrun`."""
    with _world.one_at_a_time():
        return _launch.launch(function, _folder_of(function), script, workers, seconds)


def _folder_of(function: Callable[..., Any]) -> str:
    """The folder of the student's files."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return str(Path(code.co_filename).parent) if code is not None else os.getcwd()


__all__ = [
    "ALONE", "MAX_RANKS", "RANK", "RESULT", "SECONDS", "TORCHRUN", "WORLD_SIZE", "Launch", "Slot", "World",
    "argument", "call", "each", "here", "is_rank", "run", "torchrun", "wait_for_others",
]  # fmt: skip
