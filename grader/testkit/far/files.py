"""Files that a test and a submission both have, and how to see which of them has changed one."""

import contextlib
import os
import time
from collections.abc import Iterator
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Final

_MOST_READ: Final = 1 << 16
_MOST: Final = 1000
_MOST_BESIDE: Final = 200
_MOST_BYTES: Final = 16 << 20
"""Bytes of the files in the current folder that one check sends across."""
_TICK: Final = 50_000_000
"""Nanoseconds after which a folder has another time of change; a file system's clock ticks every few milliseconds."""


def stamps(place: Path) -> Iterator[tuple[str, object]]:
    """The files and folders at a path, each by its name in there, with a stamp that is another one if it was changed.

    A folder ends with a slash. Of small files the content counts: clocks of file systems are coarse.
    """
    below = [place, *sorted(place.rglob("*"))] if place.is_dir() else [place] if place.is_file() else []
    for file in below[:_MOST]:
        name = "" if file == place else str(file.relative_to(place))
        if file.is_dir():
            yield f"{name or '.'}/", "folder"
        elif file.is_file():
            known = file.stat()
            yield name, hash(file.read_bytes()) if known.st_size <= _MOST_READ else (known.st_mtime_ns, known.st_size)


def change_file(file: Path, inside: str, content: bytes | None) -> None:
    """Writes a file or makes a folder, whose name ends with a slash; without content, removes it."""
    if content is None:
        if not file.is_dir():
            file.unlink(missing_ok=True)
        elif not any(file.iterdir()):
            file.rmdir()
    elif inside.endswith("/"):
        file.mkdir(parents=True, exist_ok=True)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


class Beside:
    """The current folder of one check: both sides see the files that the test or the submission makes in it.

    Those that were there before are none of its business, and neither is code, which an import would run.
    """

    def __init__(self) -> None:
        self._place, self._known = os.getcwd(), frozenset(os.listdir())
        self._before: dict[str, object] = {}
        self._left = _MOST_BYTES
        self._unchanged: tuple[int, int] | None = None

    def changes(self) -> list[tuple[str, bytes | None]]:
        """The files and folders that were made or changed since, and None for each that is gone."""
        now = os.stat(".")
        if not self._before and self._unchanged == (now.st_ino, now.st_mtime_ns):
            return []
        if os.getcwd() != self._place:
            return []
        is_settled = time.time_ns() - now.st_mtime_ns > _TICK  # else a file that comes next may not change that time
        self._unchanged = (now.st_ino, now.st_mtime_ns) if is_settled else None
        before, self._before = self._before, self._now()
        found: list[tuple[str, bytes | None]] = []
        for inside, stamp in self._before.items():
            if before.get(inside) != stamp and self._left > 0:
                content = b"" if inside.endswith("/") else Path(self._place, inside).read_bytes()[: self._left]
                self._left -= len(content)
                found.append((inside, content))
        return [*found, *((inside, None) for inside in sorted(before.keys() - self._before.keys(), reverse=True))]

    def put(self, inside: str, content: bytes | None) -> None:
        """Makes a change of the other side here."""
        self._left -= len(content or b"")
        if os.getcwd() == self._place and self._may_have(inside) and self._left > 0:
            with contextlib.suppress(OSError):
                change_file(Path(self._place, inside), inside, content)
            self._before = self._now()

    def _now(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for name in sorted({*os.listdir(self._place)} - self._known)[:_MOST_BESIDE]:
            for inside, stamp in stamps(Path(self._place, name)):
                whole = os.path.join(name, inside.removeprefix("./")) if inside else name
                if self._may_have(whole):
                    found[whole] = stamp
        return found

    def _may_have(self, inside: str) -> bool:
        path = Path(inside)
        is_below = not path.is_absolute() and ".." not in path.parts and path.parts[:1]
        is_new = is_below and path.parts[0] not in self._known and path.parts[0][0] not in "._"
        return bool(is_new) and path.suffix not in all_suffixes()
