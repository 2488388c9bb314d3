"""The gradebook's tables, their versions, and what is done about a file that is none.

Never overwrites a file: an old one is copied before it is migrated, a damaged one is moved aside whole.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from grader.errors import UserError

VERSION = 3
BUSY_SECONDS = 30.0
_TABLES = """
CREATE TABLE courses (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, first_seen TEXT NOT NULL, UNIQUE (name, digest)
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, course INTEGER NOT NULL REFERENCES courses, seed INTEGER NOT NULL,
    selection TEXT NOT NULL, versions TEXT NOT NULL, sandbox TEXT NOT NULL
);
CREATE TABLE results (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, submission INTEGER NOT NULL REFERENCES submissions,
    graded TEXT NOT NULL, seconds REAL NOT NULL, score REAL NOT NULL, max REAL NOT NULL, final INTEGER NOT NULL,
    result TEXT NOT NULL, UNIQUE (run, submission)
);
CREATE INDEX results_of_submission ON results (submission);
CREATE TABLE reused (
    run INTEGER NOT NULL REFERENCES runs, result INTEGER NOT NULL REFERENCES results, PRIMARY KEY (run, result)
);
"""
# The work itself (once, however often it comes), its arrival in each run, what people decided, and views for SQL.
_SECOND = """
ALTER TABLE runs ADD COLUMN finished TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN expected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN process INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN due TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN late_penalty REAL NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN trial INTEGER NOT NULL DEFAULT 0;
CREATE TABLE works (digest TEXT PRIMARY KEY, files BLOB NOT NULL, notes TEXT NOT NULL);
CREATE TABLE arrivals (
    run INTEGER NOT NULL REFERENCES runs, submission INTEGER NOT NULL REFERENCES submissions, arrival TEXT NOT NULL,
    PRIMARY KEY (run, submission)
);
CREATE TABLE overrides (
    id INTEGER PRIMARY KEY, course TEXT NOT NULL, student TEXT NOT NULL, exercise TEXT NOT NULL, points REAL,
    max REAL NOT NULL, why TEXT NOT NULL, who TEXT NOT NULL, made TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE INDEX overrides_of_student ON overrides (student);
CREATE VIEW scores AS SELECT results.id AS result, run, name AS submission, graded, seconds,
    json_extract(exercise.value, '$.name') AS exercise, json_extract(exercise.value, '$.score') AS score,
    json_extract(exercise.value, '$.max') AS max, json_extract(exercise.value, '$.misconception') AS misconception
    FROM results JOIN submissions ON submissions.id = results.submission, json_each(result, '$.exercises') AS exercise;
CREATE VIEW verdicts AS SELECT results.id AS result, run, name AS submission,
    json_extract(exercise.value, '$.name') AS exercise, json_extract(checked.value, '$.name') AS check_name,
    json_extract(checked.value, '$.verdict') AS verdict, json_extract(checked.value, '$.message') AS message
    FROM results JOIN submissions ON submissions.id = results.submission, json_each(result, '$.exercises') AS exercise,
    json_each(exercise.value, '$.checks') AS checked;
CREATE VIEW sandboxes AS SELECT run, json_extract(result, '$.sandbox') AS layers, count(*) AS results
    FROM results GROUP BY run, layers;
"""
# Results of schema 2, which say why a check did not pass. Those of schema 1 stay as they are and are converted when
# read; the version keeps older graders from taking results that they cannot read for work that was never graded.
_THIRD = """
DROP VIEW verdicts;
CREATE VIEW verdicts AS SELECT results.id AS result, run, name AS submission,
    json_extract(exercise.value, '$.name') AS exercise, json_extract(checked.value, '$.name') AS check_name,
    json_extract(checked.value, '$.verdict') AS verdict, json_extract(checked.value, '$.message') AS message,
    json_extract(checked.value, '$.cause.kind') AS cause
    FROM results JOIN submissions ON submissions.id = results.submission, json_each(result, '$.exercises') AS exercise,
    json_each(exercise.value, '$.checks') AS checked;
"""


class DamagedGradebook(UserError):
    """The file cannot be read as a database. Remedy: restore a copy; `grader grade` keeps it aside and begins anew."""


def connect(path: Path) -> sqlite3.Connection:
    """An open connection to a gradebook of this version, made or migrated if need be.

    Raises:
        UserError: it cannot be opened, is damaged, is another program's, or of a later version.
    """
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        with told(path):
            _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def set_aside(path: Path) -> Path | None:
    """Moves a damaged gradebook and its journals to a new name; None if, meanwhile, it is damaged no more.

    Raises:
        UserError: it cannot be moved.
    """
    with told(path), _alone_in(path.parent):
        with contextlib.suppress(DamagedGradebook):
            connect_whole(path).close()
            return None  # Another grader was faster.
        stamp = f"{datetime.datetime.now():%Y%m%d-%H%M%S}"
        names = itertools.chain([stamp], (f"{stamp}-{number}" for number in itertools.count(2)))
        target = next(t for t in (path.with_name(f"{path.stem}.damaged-{n}{path.suffix}") for n in names) if free(t))
        for journal in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{path}{journal}", f"{target}{journal}")
        return target


def connect_whole(path: Path) -> sqlite3.Connection:
    """As `connect`, after every page was looked at."""
    connection = connect(path)
    try:
        with told(path):
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if answer != "ok":
                raise sqlite3.DatabaseError(answer)
    except BaseException:
        connection.close()
        raise
    return connection


def free(path: Path) -> bool:
    """Whether nothing has that name."""
    return not os.path.lexists(path)


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns what can go wrong with the file into one line with the way out."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        locked = "locked" in str(problem)
        fix = "another grader is at work on it: wait" if locked else "look at the folder, its rights and the disk"
        raise UserError(f"gradebook {path}: {problem}", fix=f"{fix}, or name another folder (--out DIR)") from problem
    except sqlite3.DatabaseError as problem:
        raise DamagedGradebook(
            f"gradebook {path} is damaged: {problem}",
            fix="it is left as it is: restore a copy, move it away and grade again, or name another folder (--out DIR)",
        ) from problem
    except OSError as problem:
        raise UserError(f"gradebook {path}: {problem.strerror}", fix="name another folder with --out DIR") from problem


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _require_ours(connection, path)
    # Switching to WAL at the very moment another grader does is refused at once, without waiting.
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
    if _version(connection) == VERSION:
        return
    before = _version(connection)
    if before:
        _copy(connection, path, before)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # Asked again under the lock: another grader may have made it meanwhile.
        for statement in [
            *(_TABLES.split(";\n") if version == 0 else ()),
            *(_SECOND.split(";\n") if version < 2 else ()),
            *(_THIRD.split(";\n") if version < 3 else ()),
        ]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # One look: between two, another grader may make the tables.
    try:
        version = _version(connection)
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        connection.execute("COMMIT")
    if version == 0 and tables:
        raise UserError(f"{path} is a database, but not a gradebook", fix="name another folder with --out DIR")
    if not 0 <= version <= VERSION:
        raise UserError(
            f"{path} is a gradebook of version {version}; this grader reads versions up to {VERSION}",
            fix="use the grader that made it, or name another folder with --out DIR",
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _copy(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Keeps the gradebook as it was before it is migrated."""
    target = path.with_name(f"{path.stem}.version-{version}{path.suffix}")
    if free(target):
        with contextlib.closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, so that two graders do not move things at once."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
