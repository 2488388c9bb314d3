"""Runs a function of the submission on several ranks: real processes that talk gloo, as under torchrun.

    from grader.testkit import ranks, recipes

    world = ranks.run(submission.average_gradients, ranks.call(recipes.model, "mlp", ranks.RANK), world_size=2)
    world.results      # the value that each rank returned, in order of rank

Two sides: `run` and `torchrun` are called in the judge, by checks, and drive the ranks from there: each is a student
process of its own. `is_rank`, `here` and `hold` are called on a rank. A rank that raises, dies or hangs is named in the
verdict.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from grader.border import wire
from grader.border.channel import Channel, channel_of, packed_values
from grader.border.failures import NoAnswer, SubmissionTimeout
from grader.border.messages import RUN_OF_RANKS, Exchange, Request, Returned
from grader.border.proxies import Call, RemoteFunction, call_of
from grader.border.situations import words_of
from grader.machine import LOOPBACK
from grader.sandbox.process_tree import why_not_forked
from grader.testkit._ranks import launch as _launch
from grader.testkit._ranks import rank as _rank
from grader.testkit._ranks import world as _world
from grader.testkit._ranks.world import World

SECONDS: Final = 4.0
"""How long the ranks of one run may take, all together; shorter than the time of a check."""
LAUNCH_SECONDS: Final = 100.0 if why_not_forked() else 25.0
"""How long a script may take under torchrun (s); where nothing can be forked, its workers import torch first."""
MAX_RANKS: Final = 8
"""The largest `world_size` of `run`."""

TORCHRUN: Final[Mapping[str, str | None]] = {
    "RANK": "{rank}", "LOCAL_RANK": "{rank}", "WORLD_SIZE": "", "LOCAL_WORLD_SIZE": "", "GROUP_RANK": "0",
    "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": LOOPBACK, "OMP_NUM_THREADS": "1",
    "RES_OPTIONS": "timeout:1 attempts:1",
}  # fmt: skip
"""The environment that ranks get: ``{rank}`` is filled in, so are the sizes, and a free ``MASTER_PORT`` comes along.

``RES_OPTIONS``: torch looks up the name of every address that connects; a name server that is away costs a second.
"""
ALONE: Final[Mapping[str, str | None]] = {
    name: None
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
}
"""For `run`: an environment without the variables that torchrun sets."""
_ELSE_FORBIDDEN: Final = {
    "net-namespace": ("seccomp", "network namespace"),
    "mount-namespace": ("landlock", "mount namespace"),
}
"""The layer of the sandbox that forbids sockets, or semaphores (torchrun needs one), if that one is missing."""


class Slot(msgspec.Struct, frozen=True):
    """An argument that only a rank can fill in; see the constants of this module.

    Attributes:
        shown: how messages show it: in ``<>``, because a call that cannot be pasted must not look like code.
    """

    spec: tuple[Any, ...]
    shown: str

    def __repr__(self) -> str:
        return self.shown


RANK: Final = Slot(("rank",), "<rank>")
"""The number of the rank."""
WORLD_SIZE: Final = Slot(("world_size",), "<world_size>")
"""How many ranks there are."""
MASTER_PORT: Final = Slot(("port",), "MASTER_PORT")
"""In `run`'s ``look_outside``: the free port that the ranks were given."""
RESULT: Final = Slot(("result",), "result")
"""In `run`'s ``look``: the value that the submission's function returned on the rank."""


def argument(place: int | str) -> Slot:
    """In `run`'s ``look``: the argument that the function was given, by position or name."""
    return Slot(("argument", place), f"argument {place}")


def in_folder(name: str) -> Slot:
    """In `run`'s ``look_outside``: the path of a file in the ranks' current folder."""
    return Slot(("in_folder", name), name)


def each(*values: object) -> Slot:
    """One value (or slot) per rank; no rank gets another's."""
    return Slot(("each", values), f"<by rank: {', '.join(map(repr, values))}>")


def call(function: Callable[..., Any], *args: object, **kwargs: object) -> Slot:
    """The result of a function of the testkit's recipes and probes, called on each rank.

    Args:
        args: values or slots.
    """
    return Slot(("call", function, args, kwargs), f"<{function.__name__}>")


def _in_words(world_size: int, slots: Sequence[object]) -> dict[str, object]:
    """The situation of a run of ranks, with those of the recipes that are called there."""
    words: dict[str, object] = {"on a single rank": world_size == 1, f"on {world_size} ranks": world_size > 1}
    for slot in slots:
        if isinstance(slot, Slot) and slot.spec[0] == "each":
            words |= _in_words(world_size, slot.spec[1])
        elif isinstance(slot, Slot) and slot.spec[0] == "call":
            _, function, args, kwargs = slot.spec
            if not any(isinstance(value, Slot) for value in (*args, *kwargs.values())):
                made = words_of(function, args, kwargs) or {}
                words |= {phrase: True for phrase, is_true in made.items() if is_true}
    return words


def run(
    function: RemoteFunction,
    *args: object,
    world_size: int = 2,
    group: bool = True,
    env: Mapping[str, str | None] | None = None,
    before: Slot | None = None,
    look: Slot | None = None,
    look_outside: Slot | None = None,
    seconds: float = SECONDS,
    held: int | None = None,
    read_only: Sequence[int] = (),
    may_exit: bool = False,
    prints: bool = False,
    lines: bool = False,
    names_places: bool = True,
    options: Mapping[str, object] | None = None,
) -> World:
    """Runs a function of the submission on each of some ranks.

    Args:
        args: its arguments: values, or slots (`RANK`, `WORLD_SIZE`, `each`, `call`).
        group: whether the process group is set up first; else the function finds none.
        env: environment variables to set, or with None to remove, over those of `TORCHRUN`; ``{rank}`` and ``{port}``,
            the free port that the ranks are given, are filled in.
        before: a `call` made on each rank before anything else, but after the group is set up.
        look: a `call` made on each rank when the function has returned.
        look_outside: a `call` made when all have returned, beside the submission, while the ranks are still there.
        seconds: after this time all ranks are ended.
        held: a rank that is held when an object of the kit calls `hold`, until the others have returned or wait.
        read_only: ranks that cannot write to any file.
        may_exit: whether ``sys.exit(0)`` counts as returning.
        prints: whether to bring back the prints of each rank. Prints are the student's own: a check that asks for
            their text cannot name a misconception in a submission that prints something else.
        lines: whether to bring back how many lines each rank printed, and which numbers with four decimals.
        names_places: whether the text about ranks that do not end names the lines at which they are.
        options: keyword arguments of the function.

    Raises:
        SubmissionRaised: a rank raised; of the same built-in type, as for a plain call.
        SubmissionTimeout: the ranks did not end: the text says who waits for whom.
        SubmissionCrashed: a rank's process ended.
        AssertionError: the object that ``look`` looks at is not there.
    """
    if not 1 <= world_size <= MAX_RANKS:
        raise ValueError(f"world_size must be from 1 to {MAX_RANKS}, not {world_size}")
    channel = channel_of(function)
    channel.cases.add("ranks.run", _in_words(world_size, [*args, *(options or {}).values()]))
    _require_layer(channel, "net-namespace")
    if read_only and not _rank.CAN_FORBID_WRITING:
        _skip("needs a system with a limit on the size of files")
    _give_time(channel, world_size * seconds + 2.0)  # each has all of it, and the check pays for the work of all
    sizes = {"WORLD_SIZE": str(world_size), "LOCAL_WORLD_SIZE": str(world_size)}
    settings = {"MASTER_PORT": "{port}", **TORCHRUN, **sizes, **(env or {})}
    known = {"world_size": world_size, "port": _world.free_port()}
    parts = []
    for rank in range(world_size):
        own = {**known, "rank": rank}
        part = _world.Part(
            env={name: value and _filled(value, own) for name, value in settings.items()},
            args=[_spec(value, own) for value in args],
            kwargs={name: _spec(value, own) for name, value in (options or {}).items()},
            before=None if before is None else _spec(before, own),
            look=None if look is None else _spec(look, own),
        )
        parts.append(part)
    job = _world.Job(
        function=function,
        parts=parts,
        group=group,
        seconds=float(seconds),
        look_outside=None if look_outside is None else _spec(look_outside, known),
        read_only=tuple(read_only),
        may_exit=may_exit,
        held=held,
        prints=prints,
        lines=lines,
        names_places=names_places,
    )
    made_there = [[part.args, part.kwargs, part.before, part.look] for part in parts]
    request = _packed(channel, function, made_there, settings, group, sorted(read_only), held, may_exit)
    channel.last = call_of(function, args, dict(options or {}))
    try:
        world = _world.run(channel, job)
    except _world.RunFailure as failure:
        channel.record.append(Exchange(request, wire.pack(failure.noted)))
        raise _with_record(channel, failure.error) from None
    finally:
        _give_time(channel, 2.0)  # ranks may have waited long for a processor
    *values, printed = msgspec.structs.astuple(world)
    _note(channel, request, values, printed)
    return world


def _filled(value: str, known: Mapping[str, int]) -> str:
    return value.replace("{rank}", str(known["rank"])).replace("{port}", str(known["port"]))


def _spec(value: object, known: Mapping[str, int]) -> _rank.Spec:
    """An argument as it is sent to a rank; `known` are the values of the slots that the judge fills in."""
    if not isinstance(value, Slot):
        return ("value", value)
    match value.spec:
        case ("rank" | "world_size" | "port" as name,):
            return ("value", known[name])
        case ("each", tuple(values)):
            return _spec(values[known["rank"]], known)
        case ("call", function, tuple(args), dict(kwargs)):
            named = {name: _spec(one, known) for name, one in kwargs.items()}
            return ("call", function, [_spec(one, known) for one in args], named)
    return value.spec


class Launch(msgspec.Struct, frozen=True):
    """How a script ended under torchrun.

    Attributes:
        lines: for each worker, how many lines it printed that are not blank.
        numbers: for each worker, the numbers with four decimals in them.
    """

    exit_code: int
    lines: list[int]
    numbers: list[list[float]]


def torchrun(
    function: RemoteFunction,
    script: str,
    workers: int = 2,
    seconds: float = LAUNCH_SECONDS,
    env: Mapping[str, str] | None = None,
) -> Launch:
    """Runs the submission's file as ``torchrun --standalone --nproc-per-node=WORKERS SCRIPT``.

    Args:
        function: the function that the script calls when it runs as a script.
        script: the file's name.
        env: environment variables to set.

    Raises:
        SubmissionTimeout: when it does not end.
    """
    channel = channel_of(function)
    _require_layer(channel, "net-namespace")
    _require_layer(channel, "mount-namespace")
    _give_time(channel, seconds + 5.0)
    call = Call(f"torchrun --nproc-per-node={workers} {script}", (), {})
    in_place_of = str(channel.request("call", (_launch.in_place_of_script, function), {}, call))
    call.answered = False
    variables = dict(env or {})
    outcome = _launch.launch(channel, script, workers, float(seconds), variables, in_place_of)
    prints = [out for out, _ in outcome.printed]
    lines, numbers = [*map(_world.written_lines, prints)], [*map(_world.numbers_in, prints)]
    request = _packed(channel, function, script, workers, variables)
    _note(channel, request, [outcome.exit_code, lines, numbers], _world.shown(outcome.printed))
    if outcome.exit_code is None:
        hung = SubmissionTimeout(f"{script} did not end within {seconds:g} s under torchrun")
        raise _with_record(channel, hung)
    return Launch(outcome.exit_code, lines, numbers)


# ---------------------------------------------------------------- a run as an exchange of the check's record


def _packed(channel: Channel, *values: object) -> bytes:
    """The request that the record of the check gets for a whole run; it is never sent."""
    return wire.pack(Request(RUN_OF_RANKS, packed_values(channel, *values), []))


def _note(channel: Channel, request: bytes, values: list[object], printed: str) -> None:
    """Adds a run that has come to its end to the record: plain values, of which misconceptions are known."""
    channel.record.append(Exchange(request, wire.pack(Returned(wire.encode(values, lambda value: None)))))
    add_prints = getattr(channel.transport, "add_prints", None)
    if add_prints is not None and printed:
        add_prints(printed)


def _with_record(channel: Channel, failure: BaseException) -> BaseException:
    """The failure to raise. A `NoAnswer` gets the record so far, and all processes are ended."""
    if isinstance(failure, NoAnswer):
        failure.examples = (tuple(channel.record),)
        getattr(channel.transport, "kill", lambda: None)()
    return failure


def _give_time(channel: Channel, seconds: float) -> None:
    """Lets the running check take this long from now, where it has a deadline."""
    allow = getattr(channel.transport, "allow", None)
    if allow is not None:
        allow(seconds)


def _require_layer(channel: Channel, layer: str) -> None:
    """Skips the check where the sandbox, without one layer, forbids by another what a run needs."""
    forbidding, noun = _ELSE_FORBIDDEN[layer]
    layers = getattr(channel.transport, "layers", None) or ()
    if forbidding in layers and layer not in layers:
        _skip(f"needs a {noun} in the sandbox (see `grader doctor`)")


def _skip(reason: str) -> None:
    import pytest  # here, in the judge, alone

    pytest.skip(reason)


# ---------------------------------------------------------------- on a rank


def is_rank() -> bool:
    """Whether this process is a rank."""
    return bool(_rank.this)


def here() -> _rank.Here:
    """On a rank: its ``rank``, the ``size`` of the world, and the DDP modules ``wrapped`` there.

    Raises:
        RuntimeError: in a process that is not a rank.
    """
    if not _rank.this:
        raise RuntimeError("this can be used on a rank only")
    return _rank.this[0]


def hold() -> None:
    """On the rank that `run` holds: returns when the others have returned or wait; on others at once."""
    _rank.hold()


__all__ = [
    "ALONE", "MASTER_PORT", "MAX_RANKS", "RANK", "RESULT", "SECONDS", "TORCHRUN", "WORLD_SIZE", "Launch", "Slot",
    "World", "argument", "call", "each", "here", "hold", "in_folder", "is_rank", "run", "torchrun",
]  # fmt: skip
