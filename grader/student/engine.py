"""Which processes run submitted code here: forked ones in a sandbox, or spawned ones. Imports nothing slow."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from grader.errors import UserError
from grader.sandbox.process_tree import why_not_forked

if TYPE_CHECKING:
    from grader.sandbox.limits import Limits
    from grader.student.student_process import Host

Engine = Literal["forked", "portable"]

VARIABLE: Final = "TORCHKATA_ENGINE"
"""An environment variable that chooses: for tests, and to compare the two."""


class Choice(NamedTuple):
    """An engine, and in a few words why it was chosen."""

    engine: Engine
    why: str


def choose() -> Choice:
    """The engine for this system.

    Raises:
        UserError: `VARIABLE` asks for an engine that there is not, or that does not work here.
    """
    lacking = why_not_forked()
    asked = os.environ.get(VARIABLE)
    if asked == "portable":
        return Choice("portable", f"{VARIABLE} asks for it")
    if asked == "forked" and lacking:
        raise UserError(f"{VARIABLE}=forked does not work here: {lacking}", fix=f"leave {VARIABLE} out")
    if asked not in (None, "", "forked"):
        raise UserError(f"{VARIABLE}={asked}: no such engine", fix="use forked or portable")
    return Choice("portable", lacking) if lacking else Choice("forked", "this system offers all that it needs")


def start() -> Callable[[Limits], Host]:
    """Starts the process that will run or fork submitted code; the caller goes on, and must hold no answers yet.

    Returns:
        A function that makes a host of it, once the limits are known.

    Raises:
        UserError: see `choose`.
    """
    if choose().engine == "portable":
        from grader.student.portable import PortableHost, SpawnedPython

        first = SpawnedPython()
        return lambda limits: PortableHost(first, limits)
    from grader.student.forked import HostClient
    from grader.student.host import start_host

    control, process = start_host()
    return lambda limits: HostClient(control, process, limits)
