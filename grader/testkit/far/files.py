"""Files that a test and a submission both have, and how to see which of them has changed one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MOST_READ: Final = 1 << 16
_MOST: Final = 1000


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
