"""Locks on open files, by whichever way the system offers.

Not filelock's: those of a path make the file, and a sandbox's folder without one must never look unused; that of an
open file is new, asks again and again instead of waiting, and importing it takes 60 ms of each host's start.
"""

import sys
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    try:
        import fcntl
    except ImportError:
        fcntl = None  # type: ignore[assignment]

OFFERED: Final = sys.platform == "win32" or fcntl is not None
"""Whether the system has locks."""


def lock(descriptor: int, *, wait: bool = True) -> bool:
    """Takes the lock of an open file, which closing the file gives back; whether this process has it now.

    Args:
        wait: whether to wait while another process has it.
    """
    while OFFERED:
        try:
            if sys.platform == "win32":
                msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return True
        except OSError:
            if not (wait and sys.platform == "win32"):  # there, waiting gives up after ten seconds
                break
    return False
