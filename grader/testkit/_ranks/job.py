"""What a rank has to do, and the descriptors that it keeps."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

DUMP_SIGNAL: Final = signal.SIGUSR1
Spec = tuple[Any, ...]
"""An argument as it crosses the border: ``("value", x)``, ``("call", f, args, kwargs)``, ``("each", specs)``,
``("slot", name)`` or ``("argument", place)``."""


class Job(msgspec.Struct, frozen=True):
    """What every rank does: make the arguments, call the function, look at what it left."""

    function: Callable[..., object]
    args: list[Spec]
    kwargs: dict[str, Spec]
    before: Spec | None
    look: Spec | None
    size: int
    group: bool
    env: Mapping[str, str | None]
    seconds: float
    read_only: tuple[int, ...]
    may_exit: bool
    folder: str
    scratch: str = ""


class RankDescriptors(msgspec.Struct, frozen=True):
    """The descriptors that a rank keeps.

    Attributes:
        ready: to write a byte when the rank has joined its group; closed before its function runs.
        gate: its end of file lets the function start; closed before that, too.
        report: to send a `RankReturned` or `RankRaised`.
        prints: standard output.
        errors: standard error.
        dumps: to write stack dumps.
        hold: its end of file means that the parent has ended.
        bell_in: can be read once any rank has finished.
        bell_out: to write a byte when this rank has finished.
    """

    ready: int
    gate: int
    report: int
    prints: int
    errors: int
    dumps: int
    hold: int
    bell_in: int
    bell_out: int
