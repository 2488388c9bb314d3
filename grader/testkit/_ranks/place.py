"""The folder in which the ranks of a world work, and a gate that holds a rank.

Its functions run beside the submission, in the process that never imports it; but `hold` on a rank.
"""

import contextlib
import os
import shutil
import tempfile
import time
from typing import Final

_GATE: Final = ".gate"
_HELD: Final = ".held"
_LOOK_SECONDS: Final = 0.005
"""How often a rank that is held looks at the gate (s): not every system can wait for a file."""


def make_folder() -> str:
    """A new, empty folder beside the submission's files."""
    return tempfile.mkdtemp(prefix="ranks-")


def remove_folder(folder: str) -> None:
    """Removes a folder of `make_folder`, with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def close_gate(folder: str) -> None:
    """From now on a rank that calls `hold` in this folder is held there."""
    os.makedirs(folder, exist_ok=True)
    _make(os.path.join(folder, _GATE))


def open_gate(folder: str) -> bool:
    """Lets the rank go on; whether one has been held."""
    was_held = os.path.exists(os.path.join(folder, _HELD))
    with contextlib.suppress(OSError):  # a rank can have removed it
        os.unlink(os.path.join(folder, _GATE))
    return was_held


def hold(folder: str) -> None:
    """On a rank: returns when the gate in its folder is open."""
    _make(os.path.join(folder, _HELD))
    while os.path.exists(os.path.join(folder, _GATE)):
        time.sleep(_LOOK_SECONDS)


def _make(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
