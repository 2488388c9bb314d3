"""Backups of a gradebook, in its folder. The last three are kept, and `grader restore` takes one.

A backup is checked before it gets its name, so a damaged gradebook never replaces a good backup.
"""

import contextlib
import datetime
import os
import re
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Final

import msgspec

from grader.errors import UserError

KEPT: Final = 3
"""How many backups are kept."""
_PARTIAL: Final = ".partial"
# Length and begin of the bytes that every process locks in a database which it has open: see SQLite's file format.
_LOCK_BYTES: Final = (510, (1 << 30) + 2)


class Restored(msgspec.Struct, frozen=True):
    """The files after `restore`.

    Attributes:
        backup: the backup that was taken, which is still there.
        made: when it was made.
        aside: the gradebook that was there before; None if there was none.
    """

    backup: Path
    made: datetime.datetime
    aside: Path | None


def backups(path: Path) -> list[Path]:
    """The backups of a gradebook, the newest one first."""
    found = {number_of(path, one): one for one in path.parent.glob("*.backup-*")}
    return [found[number] for number in sorted(found, reverse=True) if number]


def number_of(path: Path, backup: Path) -> int:
    """The number of a gradebook's backup; 0 if the file is none."""
    name = re.fullmatch(rf"{re.escape(path.stem)}\.backup-(\d+){re.escape(path.suffix)}", backup.name)
    return int(name[1]) if name else 0


def newest_number(path: Path) -> int:
    """The number of the newest backup; 0 if there is none."""
    return next((number_of(path, one) for one in backups(path)), 0)


def write_backup(db: sqlite3.Connection, path: Path, number: int, replaces: Path | None = None) -> Path:
    """Writes a backup, and deletes the one that it replaces, and all but the newest ones.

    Raises:
        sqlite3.Error: the gradebook is damaged, or the backup cannot be written.
        OSError: the backup cannot be written.
    """
    target = path.with_name(f"{path.stem}.backup-{number}{path.suffix}")
    _copy(db, path, target)
    if replaces is not None:
        replaces.unlink(missing_ok=True)
    kept = backups(path)[:KEPT]
    oldest = number_of(path, kept[-1]) if len(kept) == KEPT else 0
    for one in path.parent.glob("*.backup-*"):  # also those that a killed grader had begun
        if 0 < number_of(path, one.with_name(one.name.removesuffix(_PARTIAL))) < oldest:
            with contextlib.suppress(PermissionError):  # on Windows another grader may still be writing it
                one.unlink(missing_ok=True)
    return target


def restore(path: Path, number: int | None = None) -> Restored:
    """Puts a backup in the place of the gradebook, which is kept under another name.

    Args:
        number: of the backup; None takes the newest one that is not damaged.

    Raises:
        UserError: there is no such backup, it is damaged, another grader has the gradebook open, or a file cannot be
            written or moved.
    """
    there = backups(path)
    wanted = [one for one in there if number in (None, number_of(path, one))]
    if not wanted:
        which = "backup" if number is None else f"backup {number}"
        known = ", ".join(str(number_of(path, one)) for one in there)
        raise UserError(f"there is no {which} of {path}", fix=f"there are: {known}" if known else None)
    problems = []
    try:
        _require_unused(path)
        for backup in wanted:
            partial = path.with_name(f"{path.stem}.restored{path.suffix}")
            made = datetime.datetime.fromtimestamp(backup.stat().st_mtime)
            try:
                with contextlib.closing(sqlite3.connect(f"{backup.absolute().as_uri()}?mode=ro", uri=True)) as db:
                    _copy(db, backup, partial, number_of(path, there[0]))
            except sqlite3.Error as problem:
                problems.append(" ".join(f"{backup.name}: {problem}".split()))
                continue
            aside = _set_aside(path)
            os.replace(partial, path)
            return Restored(backup, made, aside)
    except OSError as problem:
        raise UserError(f"{problem.filename or path}: {problem.strerror}") from problem
    raise UserError(f"no backup of {path} can be taken: {'; '.join(problems)}")


def _copy(db: sqlite3.Connection, path: Path, target: Path, number: int | None = None) -> None:
    """Copies a database and checks every page of the copy before it gets its name.

    Args:
        path: that of the database; the copy gets its permissions, because it holds marks and a secret seed.
        number: of the newest backup, if the copy should hold it.
    """
    partial = target.with_name(f"{target.name}{_PARTIAL}")
    partial.unlink(missing_ok=True)
    try:
        partial.touch(0o600)
        with contextlib.closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            db.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # so that the one file is all of it
            require_whole_pages(copy)
            if number is not None:
                copy.execute("UPDATE kept SET value = max(value, ?) WHERE name = 'backup'", (number,))
        with contextlib.suppress(FileNotFoundError):  # another grader has made three newer ones meanwhile
            shutil.copymode(path, partial)
            os.replace(partial, target)
    finally:
        for rest in ("", "-journal", "-wal", "-shm"):
            Path(f"{partial}{rest}").unlink(missing_ok=True)


def require_whole_pages(db: sqlite3.Connection) -> None:
    """Looks at every page; for a class of 300 it takes about 20 ms.

    Raises:
        sqlite3.DatabaseError: one is damaged.
    """
    (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)


def _require_unused(path: Path) -> None:
    """Raises a `UserError` if another process has the gradebook open: it would delete the journal of the new one."""
    if sys.platform == "win32" or not path.exists():
        return  # there, a file that is open cannot be renamed
    import fcntl

    with path.open("r+b") as stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, *_LOCK_BYTES)
        except BlockingIOError:
            raise UserError(f"another grader has {path} open", fix="end it, then restore") from None


def _set_aside(path: Path) -> Path | None:
    """Renames a gradebook and its journals, and returns the new name; None if there was none."""
    if not path.exists():
        return None
    stamp = f"{datetime.datetime.now():%Y%m%d-%H%M%S}"
    target, number = path.with_name(f"{path.stem}.aside-{stamp}{path.suffix}"), 1
    while os.path.lexists(target):
        number += 1
        target = path.with_name(f"{path.stem}.aside-{stamp}-{number}{path.suffix}")
    for journal in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{journal}", f"{target}{journal}")
    return target
