"""Removes the shared memory that a submission's user has left, as files or of System V.

With a mount and an IPC namespace nothing can be left. Must only run for a user id that nobody else uses.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path
from typing import Final

_SHARED_MEMORY: Final = Path("/dev/shm")
_SYSTEM_V: Final = Path("/proc/sysvipc")
_REMOVE: Final = 0
"""IPC_RMID."""
_KINDS: Final = {"shm": ("shmid", "shmctl"), "sem": ("semid", "semctl"), "msg": ("msqid", "msgctl")}
"""For each file of /proc/sysvipc: the column with an object's number, and the function that removes it."""


def remove(uid: int) -> None:
    """Removes the shared memory, semaphores and message queues that belong to a user.

    Raises:
        ValueError: it is this process's own user, or root.
    """
    if uid in (0, os.geteuid()):
        raise ValueError(f"user {uid} may have things of its own")
    with contextlib.suppress(OSError):
        for entry in os.scandir(_SHARED_MEMORY):
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    os.unlink(entry.path)
    for name, (column, function) in _KINDS.items():
        for number in _numbers(_SYSTEM_V / name, column, uid):
            _remove_object(function, number)


def _numbers(file: Path, column: str, uid: int) -> list[int]:
    """The numbers of a user's objects in a table of the kernel; none where there is no such table."""
    try:
        head, *rows = file.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
    names = head.split()
    if column not in names or "uid" not in names:
        return []
    at, owner = names.index(column), names.index("uid")
    return [int(cells[at]) for cells in map(str.split, rows) if cells[owner] == str(uid)]


def _remove_object(function: str, number: int) -> None:
    call = getattr(ctypes.CDLL(None), function)
    arguments = (number, 0, _REMOVE) if function == "semctl" else (number, _REMOVE)
    call(*map(ctypes.c_int, arguments), None)
