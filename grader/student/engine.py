"""Which processes run submitted code here: forked ones in a sandbox, or spawned ones. Imports nothing slow.

What the system offers is found by trying it. macOS counts as a system that cannot fork: there, libraries that torch
uses end a process that was forked.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from grader.errors import UserError
from grader.sandbox import process_tree

if TYPE_CHECKING:
    from grader.sandbox.limits import Limits
    from grader.student.interfaces import Host

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
    lacking = _lacking()
    asked = os.environ.get(VARIABLE)
    if asked == "portable":
        return Choice("portable", f"{VARIABLE} asks for it")
    if asked == "forked" and lacking:
        raise UserError(f"{VARIABLE}=forked does not work here: {lacking}", fix=f"leave {VARIABLE} out")
    if asked not in (None, "", "forked"):
        raise UserError(f"{VARIABLE}={asked}: no such engine", fix="use forked or portable")
    return Choice("portable", lacking) if lacking else Choice("forked", "this system offers all that it needs")


def start() -> Callable[[Limits], Host]:
    """Starts what will run submitted code; it goes on beside the caller, which must hold no checks and no answers yet.

    Returns:
        What makes a host of it, once the limits are known.

    Raises:
        UserError: see `choose`.
    """
    if choose().engine == "portable":
        from grader.student.spawning import Spares

        spares = Spares()
        from grader.student.portable import PortableHost

        return lambda limits: PortableHost(spares, limits)
    import torch

    torch.set_num_threads(1)
    from grader.student.client import HostClient
    from grader.student.host import start_host

    control, process = start_host()
    return lambda limits: HostClient(control, process, limits)


def _lacking() -> str:
    """The first thing that forked processes need and this system has not; empty if it has all."""
    if sys.platform == "darwin":
        return "on macOS, a process that has loaded torch cannot be forked safely"
    for module, names in ((os, ("fork", "pidfd_open", "waitpid")), (signal, ("SIGUSR1",)), (socket, ("send_fds",))):
        for name in names:
            if not hasattr(module, name):
                return f"this system has no {module.__name__}.{name}"
    for module_name in ("fcntl", "resource"):
        if not _can_import(module_name):
            return f"this system has no module {module_name}"
    return "" if process_tree.HAS_PROC else "this system has no /proc"


def _can_import(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
