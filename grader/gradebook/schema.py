"""The gradebook's tables; opening and checking the file.

Never changes or replaces a file that is damaged, or that is not a gradebook.

The tables and columns whose meaning is not plain:

- `assignment` is empty for a course that declares none.
- `exercises` of a run are all that its assignment has, also if the run graded a part of them.
- `found` has the name and person of each submission that a run began with; those without a result are not graded yet.
- `works` holds submitted files once, however often they come; `arrivals` has their student and time in each run.
- `class_lists` has the students of the newest class list of each assignment.
- `kept` has the ``seed`` and, by assignment, the options about ``late`` work for later runs; the ``plan`` of a course;
  and the number of the newest ``backup``: a gradebook with a lower one than its backup has lost changes.
- `person` is the LMS's id of a student, or empty; it outlives the name that a submission had in a run.
- `given` has all that people gave: `kind` is the class of the record, such as ``Override``, and `record` is its JSON.
- `work` is the hash of the one file that a person looked at, so a mark stays fresh while other files change.
"""

import contextlib
import os
import shlex
import sqlite3
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from grader.errors import UserError
from grader.gradebook.backups import backups, newest_number, require_whole_pages

VERSION = 3
"""Raise it with every change of `TABLES`: else an older gradebook would count as damaged."""
NAME = "gradebook.sqlite"
# How errors begin that SQLite calls operational, and that only a damaged file causes.
_DAMAGE = ("no such ", "Could not decode ")
BUSY_SECONDS = 30.0
TABLES: Final = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")


class DamagedGradebook(UserError):
    """The file cannot be read as a database, or lacks changes that a backup has. Remedy: ``grader restore``."""


def connect(path: Path, *, for_reading: bool = False) -> sqlite3.Connection:
    """An open connection to a gradebook of this version, made if there is none. All of its pages are looked at.

    Args:
        for_reading: the file, or its folder, cannot be written to.

    Raises:
        UserError: it cannot be opened, is damaged, is another program's, or of another version.
    """
    # Before anything else: a grader that makes a backup raises the number in the gradebook first.
    newest = newest_number(path)
    with file_errors(path), contextlib.ExitStack() as opened:
        if for_reading:
            connection = _open_unchanged(path)
        elif newest and not path.exists():
            raise sqlite3.DatabaseError("the file is gone")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        opened.callback(connection.close)
        connection.row_factory = sqlite3.Row
        if is_made := _is_gradebook(connection, path):
            _require_whole(connection, newest)
        elif newest or for_reading:
            raise sqlite3.DatabaseError("it is empty")
        if for_reading:
            connection.execute("PRAGMA query_only = ON")
        else:
            _prepare(connection, path, is_made)
        opened.pop_all()
    return connection


def is_read_only(path: Path) -> bool:
    """Whether the gradebook, or its folder, cannot be written to."""
    write = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    try:
        marked = not path.stat().st_mode & write or not path.parent.stat().st_mode & write
    except OSError:
        return False
    return marked or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK)


def _open_unchanged(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, also none of the files that SQLite needs beside a database."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    journal = Path(f"{path}-wal")
    if not (journal.is_file() and journal.stat().st_size):
        address += "&immutable=1"  # Without it SQLite would want to make files beside it.
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turns errors of the file and the database into a `UserError` with a remedy."""
    try:
        yield
    except (sqlite3.DatabaseError, msgspec.DecodeError, zlib.error) as problem:
        if isinstance(problem, sqlite3.OperationalError) and not str(problem).startswith(_DAMAGE):
            locked = "locked" in str(problem)
            fix = "another grader is writing to it: wait" if locked else "look at the folder, permissions and the disk"
            raise UserError(f"gradebook {path}: {problem}", fix=f"{fix}, or name another folder (--out DIR)") from None
        reason = " ".join(str(problem).split())
        raise DamagedGradebook(f"gradebook {path} is damaged: {reason}", fix=_remedy(path)) from problem
    except OSError as problem:
        raise UserError(f"gradebook {path}: {problem.strerror}", fix="name another folder with --out DIR") from problem


def _remedy(path: Path) -> str:
    newest = next(iter(backups(path)), None)
    if newest is None:
        return "there is no backup beside it: move it away and grade again, or name another folder (--out DIR)"
    place = path.parent if path.name == NAME else path
    return f"take the newest backup, {newest.name}: grader restore --out {shlex.quote(str(place))}"


def _prepare(connection: sqlite3.Connection, path: Path, is_made: bool) -> None:
    # SQLite refuses to switch to WAL while another grader does, and does not wait as it does for other locks.
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > until:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if not is_made:
        connection.execute("BEGIN IMMEDIATE")
        if not _is_gradebook(connection, path):  # Another grader may have made them before this one had the lock.
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")


def _require_whole(connection: sqlite3.Connection, newest: int) -> None:
    """Raises an error if a page is damaged, or if changes are missing that the newest backup has.

    They are if the journal was deleted, or if an old copy was put in the gradebook's place.
    """
    require_whole_pages(connection)
    (number,) = connection.execute("SELECT value FROM kept WHERE name = 'backup'").fetchone()
    if number < newest:
        raise sqlite3.DatabaseError(f"changes are missing that backup {newest} has")


def _is_gradebook(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether it is a gradebook of this version; False for a new, empty file.

    Raises:
        UserError: it is anything else.
    """
    # In one query: in between, another grader could make the tables.
    query = "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    version, tables = connection.execute(query).fetchone()
    if version == 0 and tables:
        raise UserError(f"{path} is a database, but not a gradebook", fix="name another folder with --out DIR")
    if version not in (0, VERSION):
        fix = "use the grader that made it, or name another folder with --out DIR"
        raise UserError(f"{path} is a gradebook of version {version}; this grader reads version {VERSION}", fix=fix)
    return bool(version)
