"""The folder in which the ranks of a world work, and a gate that holds a rank.

Its functions run beside the submission, in the process that never imports it; but `hold` on a rank.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import Final

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

_GATE: Final = ".gate"
_HELD: Final = ".held"
_LOOK_SECONDS: Final = 0.005
"""How often a rank that is held looks at the gate, where the system has no locks to wait for (s)."""
_closed: dict[str, int] = {}
"""The gates that this process keeps closed by a lock: folder and descriptor."""


def make_folder() -> str:
    """A new, empty folder beside the submission's files."""
    return tempfile.mkdtemp(prefix="ranks-")


def remove_folder(folder: str) -> None:
    """Removes what `make_folder` has made, with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def close_gate(folder: str) -> None:
    """From now on a rank that calls `hold` in this folder is held there."""
    os.makedirs(folder, exist_ok=True)
    gate = os.open(os.path.join(folder, _GATE), os.O_RDWR | os.O_CREAT, 0o600)
    if fcntl is None:
        os.close(gate)
        return
    fcntl.flock(gate, fcntl.LOCK_EX)
    _closed[folder] = gate


def open_gate(folder: str) -> bool:
    """Lets the rank go on; whether one has been held."""
    was_held = os.path.exists(os.path.join(folder, _HELD))
    if fcntl is None:
        os.unlink(os.path.join(folder, _GATE))
        return was_held
    gate = _closed.pop(folder)
    fcntl.flock(gate, fcntl.LOCK_UN)
    os.close(gate)
    return was_held


def hold(folder: str) -> None:
    """On a rank: returns when the gate in its folder is open."""
    os.close(os.open(os.path.join(folder, _HELD), os.O_WRONLY | os.O_CREAT, 0o600))
    if fcntl is None:
        while os.path.exists(os.path.join(folder, _GATE)):
            time.sleep(_LOOK_SECONDS)
        return
    gate = os.open(os.path.join(folder, _GATE), os.O_RDONLY)
    try:
        fcntl.flock(gate, fcntl.LOCK_SH)
    finally:
        os.close(gate)
