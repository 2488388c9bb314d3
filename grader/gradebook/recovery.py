"""Reads from a damaged gradebook what cannot be made again: what people have given, and the class's seed.

Works on a copy, and never changes the damaged file. Takes only rows that are whole and of the right types.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

Rows = list[dict[str, Any]]
_TEXT, _NUMBER = (str,), (int, float)
_COLUMNS: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    "overrides": {
        **dict.fromkeys(("course", "student", "exercise"), _TEXT),
        "points": (int, float, type(None)),
        "max": _NUMBER,
        **dict.fromkeys(("why", "who", "made", "digest", "person"), _TEXT),
    },
    "extensions": dict.fromkeys(("course", "person", "student", "due", "why", "who", "made"), _TEXT),
    "marks": {
        **dict.fromkeys(("course", "person", "student", "exercise", "items"), _TEXT),
        "points": (int, float, type(None)),
        "max": _NUMBER,
        "done": (int,),
        **dict.fromkeys(("who", "made", "digest", "file", "work"), _TEXT),
    },
    "comments": dict.fromkeys(
        ("course", "person", "student", "exercise", "text", "who", "made", "digest", "file", "work"), _TEXT
    ),
    "seeds": {"one": (int,), "seed": (int,)},
    "late_given": {"one": (int,), "given": _TEXT},
}
"""What is recovered of each table, in the order in which it was written."""
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
_BEYOND: Final = 10_000
"""How many rows after the last that was found are asked for: its page may lie between two that are damaged."""
_HEADER_PAGES = 28
"""Where the header of a database has its number of pages."""


def recover(path: Path, make_empty: Callable[[Path], object]) -> dict[str, Rows]:
    """The rows of each table that can still be read in a damaged gradebook.

    Args:
        make_empty: makes an empty gradebook at a path. Its first page stands in for one that is destroyed: the tables
            of a gradebook of the same version begin at the same places.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.sqlite")
        try:
            _copy(path, copy)
            found = _read(copy)
            if not any(found.values()):
                empty = Path(folder, "empty.sqlite")
                make_empty(empty)
                _copy(path, copy)
                _give_first_page(empty, copy)
                found = _read(copy)
        except OSError:
            return {table: [] for table in _COLUMNS}
    return found


def _copy(path: Path, copy: Path) -> None:
    shutil.copyfile(path, copy)
    Path(f"{copy}-shm").unlink(missing_ok=True)
    Path(f"{copy}-wal").unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")


def _give_first_page(empty: Path, copy: Path) -> None:
    page = empty.read_bytes()
    size = struct.unpack_from(">H", page, 16)[0]
    size = 65_536 if size == 1 else size
    pages = copy.stat().st_size // size
    first = bytearray(page[:size])
    struct.pack_into(">I", first, _HEADER_PAGES, pages)
    with copy.open("r+b") as stream:
        stream.write(first)


def _read(copy: Path) -> dict[str, Rows]:
    found: dict[str, Rows] = {table: [] for table in _COLUMNS}
    with contextlib.closing(sqlite3.connect(copy)) as db:
        db.row_factory = sqlite3.Row
        for table, columns in _COLUMNS.items():
            for row in _rows(db, table):
                values = dict(row)
                if all(isinstance(values.get(name), kinds) for name, kinds in columns.items()):
                    found[table].append({name: values[name] for name in columns})
    return found


def _rows(db: sqlite3.Connection, table: str) -> list[sqlite3.Row]:
    """The rows of a table that can be read, in the order in which they were written.

    A scan ends at the first page that is damaged: it goes from both ends, and then each missing row is asked for.
    """
    # Not ORDER BY another column: a sort would read all rows first, and give none where one page is damaged.
    every = f"SELECT rowid AS place, * FROM {table} NOT INDEXED"
    found: dict[int, sqlite3.Row] = {}
    try:
        db.execute(f"{every} LIMIT 0")
    except sqlite3.Error:
        return []  # There is no such table, or the file is no database.
    for order in ("", " ORDER BY rowid DESC"):
        try:
            for row in db.execute(every + order):
                found[row["place"]] = row
        except _UNREADABLE:
            continue
        return [found[place] for place in sorted(found)]
    for place in range(1, max(found, default=0) + _BEYOND):
        if place not in found:
            with contextlib.suppress(*_UNREADABLE):
                found.update((place, row) for row in db.execute(f"{every} WHERE rowid = ?", (place,)))
    return [found[place] for place in sorted(found)]
