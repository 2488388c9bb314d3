"""The gradebook's tables and their versions; opening, migrating and checking the file.

Never overwrites a file: an old one is copied before it is migrated, a damaged one is renamed, not changed.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from grader.errors import UserError
from grader.locks import lock

VERSION = 6
BUSY_SECONDS = 30.0
VERSION_1 = """
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
# The submitted files (once, however often they come), their arrival in each run, overrides, and views for SQL.
VERSION_2_CHANGES = """
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
# For results of schema 2, which have causes. Results of schema 1 stay as they are and are converted when they are read.
# The new version number stops older graders, which cannot read schema 2 and would grade everything again.
VERSION_3_CHANGES = """
DROP VIEW verdicts;
CREATE VIEW verdicts AS SELECT results.id AS result, run, name AS submission,
    json_extract(exercise.value, '$.name') AS exercise, json_extract(checked.value, '$.name') AS check_name,
    json_extract(checked.value, '$.verdict') AS verdict, json_extract(checked.value, '$.message') AS message,
    json_extract(checked.value, '$.cause.kind') AS cause
    FROM results JOIN submissions ON submissions.id = results.submission, json_each(result, '$.exercises') AS exercise,
    json_each(exercise.value, '$.checks') AS checked;
"""

# One row at most. A gradebook from before keeps the seed of its last run, so that its marks stay what they are.
VERSION_4_CHANGES = """
CREATE TABLE seeds (one INTEGER PRIMARY KEY CHECK (one = 1), seed INTEGER NOT NULL);
INSERT INTO seeds SELECT 1, seed FROM runs WHERE NOT trial ORDER BY id DESC LIMIT 1;
"""

# What late work costs besides a due date, what of it the command line gave (kept for later runs), and extensions.
# An override belongs to the person, whatever the name that the submission had in a run; those from before to a name.
VERSION_5_CHANGES = """
ALTER TABLE runs ADD COLUMN grace_minutes REAL NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN late_cap REAL NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN late_until TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN by_file_time INTEGER NOT NULL DEFAULT 0;
ALTER TABLE overrides ADD COLUMN person TEXT NOT NULL DEFAULT '';
CREATE TABLE late_given (one INTEGER PRIMARY KEY CHECK (one = 1), given TEXT NOT NULL);
INSERT INTO late_given SELECT 1, json_object('due', due, 'per_day', late_penalty)
    FROM runs WHERE NOT trial AND due <> '' ORDER BY id DESC LIMIT 1;
CREATE TABLE extensions (
    id INTEGER PRIMARY KEY, course TEXT NOT NULL, person TEXT NOT NULL, student TEXT NOT NULL, due TEXT NOT NULL,
    why TEXT NOT NULL, who TEXT NOT NULL, made TEXT NOT NULL
);
"""

# Marks by a rubric and comments. `work` is the hash of the file that a person looked at: whether it has changed is then
# known of that file alone. A mark that is not done is what somebody has begun: it counts nothing.
VERSION_6_CHANGES = """
CREATE TABLE marks (
    id INTEGER PRIMARY KEY, course TEXT NOT NULL, person TEXT NOT NULL, student TEXT NOT NULL, exercise TEXT NOT NULL,
    items TEXT NOT NULL, points REAL, max REAL NOT NULL, done INTEGER NOT NULL, who TEXT NOT NULL, made TEXT NOT NULL,
    digest TEXT NOT NULL, file TEXT NOT NULL, work TEXT NOT NULL
);
CREATE INDEX marks_of_student ON marks (student);
CREATE INDEX marks_of_person ON marks (person);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY, course TEXT NOT NULL, person TEXT NOT NULL, student TEXT NOT NULL, exercise TEXT NOT NULL,
    text TEXT NOT NULL, who TEXT NOT NULL, made TEXT NOT NULL, digest TEXT NOT NULL, file TEXT NOT NULL,
    work TEXT NOT NULL
);
CREATE INDEX comments_of_student ON comments (student);
CREATE INDEX comments_of_person ON comments (person);
"""


class DamagedGradebook(UserError):
    """The file cannot be read as a database. Remedy: restore a copy; `grader grade` renames it and starts a new one."""


def connect(path: Path, *, check_pages: bool = False) -> sqlite3.Connection:
    """An open connection to a gradebook of this version, made or migrated if need be.

    Args:
        check_pages: whether to look for damage in every page, not only in those that are read.

    Raises:
        UserError: it cannot be opened, is damaged, is another program's, or of a later version.
    """
    with file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        with file_errors(path):
            _prepare(connection, path)
            if check_pages:
                (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if answer != "ok":
                    raise sqlite3.DatabaseError(answer)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_for_reading(path: Path) -> sqlite3.Connection:
    """An open connection to a gradebook that cannot be written to; one of an older version is migrated in memory.

    Raises:
        UserError: as in `connect`.
    """
    with file_errors(path):
        connection = _open_unchanged(path)
        try:
            _require_gradebook(connection, path)
            if _version(connection) != VERSION:
                copy = sqlite3.connect(":memory:", isolation_level=None)
                connection.backup(copy)
                connection.close()
                connection = copy
                _migrate(connection)
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
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


def set_aside(path: Path) -> Path | None:
    """Moves a damaged gradebook and its journals to a new name; None if it is no longer damaged.

    Raises:
        UserError: it cannot be moved.
    """
    with file_errors(path), _locked(path.parent):
        with contextlib.suppress(DamagedGradebook):
            connect(path, check_pages=True).close()
            return None  # Another grader has replaced it meanwhile.
        stamp = f"{datetime.datetime.now():%Y%m%d-%H%M%S}"
        target, number = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}"), 1
        while not is_free(target):
            number += 1
            target = path.with_name(f"{path.stem}.damaged-{stamp}-{number}{path.suffix}")
        for journal in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{path}{journal}", f"{target}{journal}")
        return target


def is_free(path: Path) -> bool:
    """Whether nothing has that name."""
    return not os.path.lexists(path)


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turns errors of the file and the database into a `UserError` that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        locked = "locked" in str(problem)
        fix = "another grader is writing to it: wait" if locked else "look at the folder, its permissions and the disk"
        raise UserError(f"gradebook {path}: {problem}", fix=f"{fix}, or name another folder (--out DIR)") from problem
    except sqlite3.DatabaseError as problem:
        raise DamagedGradebook(
            f"gradebook {path} is damaged: {problem}",
            fix="it is left as it is: restore a copy, move it away and grade again, or name another folder (--out DIR)",
        ) from problem
    except OSError as problem:
        raise UserError(f"gradebook {path}: {problem.strerror}", fix="name another folder with --out DIR") from problem


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _require_gradebook(connection, path)
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
    if _version(connection) == VERSION:
        return
    before = _version(connection)
    if before:
        _copy(connection, path, before)
    _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # Read again under the lock: another grader may have migrated it meanwhile.
        for statement in [
            *(VERSION_1.split(";\n") if version == 0 else ()),
            *(VERSION_2_CHANGES.split(";\n") if version < 2 else ()),
            *(VERSION_3_CHANGES.split(";\n") if version < 3 else ()),
            *(VERSION_4_CHANGES.split(";\n") if version < 4 else ()),
            *(VERSION_5_CHANGES.split(";\n") if version < 5 else ()),
            *(VERSION_6_CHANGES.split(";\n") if version < 6 else ()),
        ]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _require_gradebook(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # One transaction for both: in between, another grader could make the tables.
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
    if is_free(target):
        with contextlib.closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, so that two graders do not move files at the same time."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)
