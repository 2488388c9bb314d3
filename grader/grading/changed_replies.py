"""Runs each check again with changed replies of the solution: a check that passes all the same does not look at them.

The replies are those that the solution gave when it passed; the check's body runs on them in the judge, so this needs
no process and takes milliseconds. A check that starts ranks, or whose replies are longer than a record keeps, is left
out: `grader verify --mutants` tells of those.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from grader.border import arrays, wire
from grader.border.channel import Channel
from grader.border.failures import SubmissionCrashed
from grader.border.messages import FORGET, RUN_OF_RANKS, Digest, Exchange, Reply, Request, Returned
from grader.border.wire import Tree
from grader.judge.check import Check, Desk, RunOn
from grader.judge.run import CollectedChecks

ReplyChange = Callable[[Any], Any]


_OTHER_DTYPE: Final = {torch.float32: torch.float64, torch.float64: torch.float32, torch.int64: torch.int32}


def _other_shape(value: Any) -> Any:
    return value.unsqueeze(0) if isinstance(value, torch.Tensor) else value


def _other_dtype(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(_OTHER_DTYPE.get(value.dtype, torch.float32))
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _none(value: Any) -> Any:
    return None if isinstance(value, torch.Tensor | bool | int | float) else value


def _filled(number: int, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.full_like(value, number)
    return type(value)(number) if isinstance(value, bool | int | float) else value


CHANGES: Final[dict[str, ReplyChange]] = {
    "another shape": _other_shape,
    "another dtype": _other_dtype,
    "None": _none,
    "all zeros": functools.partial(_filled, 0),
    "all ones": functools.partial(_filled, 1),
}
"""What can stand in the place of each tensor and number in a reply, by its name."""


ChangedRuns = dict[str, bool]
"""Whether a check passes, by the change of the replies; without changes that change nothing in them."""


def try_changes(checks: CollectedChecks, check: Check, record: Sequence[Exchange], kit: str) -> ChangedRuns | None:
    """Runs a check once for each kind of change; None if it cannot be run without a process.

    Args:
        record: what crossed the border when the solution passed it.
        kit: the name of the course's kit, or empty.
    """
    requests = [wire.unpack(one.request, Request) for one in record]
    variables = frozenset(one.args[0][1] for one in requests if one.operation == "value")
    if any(one.operation == RUN_OF_RANKS for one in requests) or any(isinstance(one.reply, Digest) for one in record):
        return None
    passes: ChangedRuns = {}
    for name, change in CHANGES.items():
        replay = _Replay(record, change)
        result, _ = checks.run(check, _ReplayDesk(replay, kit, variables))
        if replay.has_changed:
            passes[name] = result.verdict == "passed"
        elif result.verdict != "passed":
            return None  # it needs more than the replies
    return passes


class _Handle:
    """An object that stays in the student process: no value, so that it is sent as it came."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree


class _Replay:
    """A `Transport` that gives changed replies to the requests of a record, in their order.

    Attributes:
        has_changed: whether a reply that it gave is another one than that of the record.
    """

    def __init__(self, record: Sequence[Exchange], change: ReplyChange) -> None:
        self.kept: dict[str, object] = {}
        self.has_changed = False
        self._coming = iter(record)
        self._change = change

    def call(self, request: bytes) -> bytes:
        if request == _FORGET:
            return _OK
        exchange = next(self._coming, None)
        if exchange is None or exchange.request != request:
            raise SubmissionCrashed("was asked something else: the check has noticed the change")
        reply = self._changed(exchange)
        self.has_changed = self.has_changed or reply != exchange.reply
        return reply

    def call_outside(self, request: bytes) -> bytes:
        return self.call(request)

    def _changed(self, exchange: Exchange) -> bytes:
        """A reply with every tensor and number in it changed; handles, texts and exceptions stay as they are."""
        assert isinstance(exchange.reply, bytes)
        request, reply = wire.unpack(exchange.request, Request), wire.unpack(exchange.reply, Reply)
        if not isinstance(reply, Returned) or request.operation not in _CHANGED:
            return exchange.reply
        # Booleans and counts in reports of probes, functions of the testkit or the kit, are mostly facts that no check
        # needs to look at.
        is_report = any(one[:1] == ["r"] for one in request.args[:1] if one)
        kept = (_Handle, bool, int) if is_report else (_Handle,)
        value = _in_all(wire.decode(reply.value, _Handle), self._change, kept)
        return wire.pack(Returned(wire.encode(value, lambda handle: handle.tree)))


_FORGET: Final = wire.pack(FORGET)
_OK: Final = wire.pack(Returned(0))
_CHANGED: Final = ("call", "value", "getattr", "getitem", "next")
"""Operations whose replies are changed: those that give values of the submission."""


def _in_all(value: Any, change: ReplyChange, kept: tuple[type, ...]) -> Any:
    match value:
        case list() | tuple():
            return type(value)(_in_all(one, change, kept) for one in value)
        case dict():
            return {key: _in_all(one, change, kept) for key, one in value.items()}
    if arrays.is_array(value):
        changed = change(arrays.to_tensor(value))
        return None if changed is None else changed.numpy()
    value = arrays.as_number(value)
    return value if isinstance(value, kept) else change(value)


class _ReplayDesk(Desk):
    """A desk whose submission gives these replies."""

    explains_failures = False
    is_final = False

    def __init__(self, replay: _Replay, kit: str, variables: frozenset[str]) -> None:
        self._channel = Channel(replay, kit, variables=variables)

    def channel(self) -> Channel:
        self._channel.restart()
        return self._channel

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        return False
