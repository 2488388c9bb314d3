"""The changes of a file while a submission saves it, in order, as the kernel saw them.

A save is atomic when its file only ever appears: at each moment before, a crash leaves the old content. The watch runs
beside the student process, through ``submission.outside``, and the kernel notes the steps: nothing that runs in the
submission can add or take one away. If the system has no inotify, nothing is seen. Must never hold an expected
answer, or import anything but torch and the standard library.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Final

from kit import files

_EVENT: Final = struct.Struct("iIII")
_OVERFLOW, _IS_FOLDER = 0x4000, 0x40000000
_MODIFIED, _MOVED_FROM, _MOVED_TO, _CREATED, _DELETED = 0x2, 0x40, 0x80, 0x100, 0x200
_DELETED_SELF, _MOVED_SELF = 0x400, 0x800
_ALL: Final = _MODIFIED | _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED | _DELETED_SELF | _MOVED_SELF
_WORDS: Final = {
    _MODIFIED: "written",
    _MOVED_FROM: "gone",
    _DELETED: "gone",
    _CREATED: "appeared",
    _MOVED_TO: "appeared",
}

_LIBRARY: Final[Any] = ctypes.CDLL(None) if os.name == "posix" else None
CAN_WATCH: Final = hasattr(_LIBRARY, "inotify_init1")
"""Whether this system reports changes of files."""
_watches: Final[dict[str, int]] = {}


def watch(place: str) -> None:
    """From now on, changes at a place are noted."""
    seen(place, "")
    if not CAN_WATCH:
        return
    descriptor = _LIBRARY.inotify_init1(os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    if descriptor < 0:
        return
    _LIBRARY.inotify_add_watch(descriptor, os.fsencode(os.path.dirname(files.path(place, "any"))), _ALL)
    _watches[place] = descriptor


def seen(place: str, name: str) -> list[str]:
    """The changes of a file since `watch`; ends the watch.

    Returns:
        The steps: "appeared", "gone", "came from another folder"; "written", once in a row; "lost" when the place
        itself was replaced, or so much happened that the kernel lost count. Empty if nothing can be watched.
    """
    descriptor = _watches.pop(place, None)
    if descriptor is None:
        return []
    found: list[str] = []
    origins: set[int] = set()
    folders = False
    try:
        for mask, cookie, changed in _events(descriptor):
            if mask & (_OVERFLOW | _DELETED_SELF | _MOVED_SELF):
                found.append("lost")
            elif mask & _IS_FOLDER:
                folders = True
            elif changed == name:
                strange = mask & _MOVED_TO and cookie not in origins and not folders
                found.append("came from another folder" if strange else _WORDS.get(mask, "lost"))
            elif mask & _MOVED_FROM:
                origins.add(cookie)
    finally:
        os.close(descriptor)
    once = ("written", "lost")
    return [step for index, step in enumerate(found) if index == 0 or step not in once or found[index - 1] != step]


def _events(descriptor: int) -> list[tuple[int, int, str]]:
    """(kind, cookie of a move, name of the file) of everything that the kernel has noted."""
    events: list[tuple[int, int, str]] = []
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return events
        start = 0
        while start < len(data):
            _, mask, cookie, length = _EVENT.unpack_from(data, start)
            start += _EVENT.size
            events.append((mask, cookie, os.fsdecode(data[start : start + length].rstrip(b"\0"))))
            start += length
