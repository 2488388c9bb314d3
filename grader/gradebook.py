"""The gradebook: one SQLite file with every result, when it was made and with what.

Only ever adds: no result is overwritten, and a file that is no gradebook (or a newer one) is refused, never replaced.
Written the moment a result is known, so that a killed run loses nothing that was graded.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from grader.errors import UserError
from grader.results import SCHEMA, SubmissionResult, from_json, to_json

VERSION = 1
_BUSY_SECONDS = 30.0
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


class Row(msgspec.Struct, frozen=True):
    """A result as the gradebook holds it; ``reused`` if an earlier run made it."""

    result: SubmissionResult
    digest: str
    seconds: float
    reused: bool = False


def selection_key(exercises: Sequence[str], settings: Mapping[str, object]) -> str:
    """Text that is equal when the same exercises are graded with the same settings (limits and the like)."""
    return _json({"exercises": list(exercises), **settings})


class Gradebook:
    """An open gradebook; use it in a ``with`` statement."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._db = connection

    @classmethod
    def open(cls, path: Path) -> Gradebook:
        """Opens the gradebook, or makes it.

        Raises:
            UserError: it cannot be opened, is damaged, or is of another version.
        """
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            with _told(path):
                _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; harmless when closed already."""
        self._db.close()

    def start_run(
        self,
        course_name: str,
        course_hash: str,
        seed: int,
        selection: str,
        versions: Mapping[str, str],
        sandbox: Sequence[str] = (),
    ) -> int:
        """Notes that a run begins, and returns its number."""
        with self._writing():
            self._db.execute("INSERT OR IGNORE INTO courses (hash, name) VALUES (?, ?)", (course_hash, course_name))
            (course,) = self._db.execute("SELECT id FROM courses WHERE hash = ?", (course_hash,)).fetchone()
            row = self._db.execute(
                "INSERT INTO runs (started, course, seed, selection, versions, sandbox) VALUES (?, ?, ?, ?, ?, ?)",
                (_now(), course, seed, selection, _json(dict(versions)), _json(list(sandbox))),
            )
            return int(row.lastrowid or 0)

    def record(self, run: int, result: SubmissionResult, digest: str, seconds: float) -> None:
        """Keeps a result; on disk when this returns."""
        with self._writing():
            self._db.execute(
                "INSERT OR IGNORE INTO submissions (name, digest, first_seen) VALUES (?, ?, ?)",
                (result.submission, digest, _now()),
            )
            (submission,) = self._db.execute(
                "SELECT id FROM submissions WHERE name = ? AND digest = ?", (result.submission, digest)
            ).fetchone()
            self._db.execute(
                "INSERT INTO results (run, submission, graded, seconds, score, max, final, result)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run, submission, _now(), seconds, result.score, result.max),
                    *("error" not in result.verdicts, to_json(result).decode()),
                ),
            )

    def lookup(
        self, name: str, digest: str, course_hash: str, seed: int, selection: str, *, reuse_in: int | None = None
    ) -> SubmissionResult | None:
        """The newest result of this very work under this course, seed and selection, if there is one.

        A result with an ``error`` verdict does not count: the grader failed, so it is worth another try.
        `reuse_in` makes it a result of that run as well.
        """
        with self._writing():
            row = self._db.execute(
                "SELECT results.id, result FROM results JOIN submissions ON submissions.id = results.submission"
                " JOIN runs ON runs.id = results.run JOIN courses ON courses.id = runs.course"
                " WHERE submissions.name = ? AND digest = ? AND hash = ? AND seed = ? AND selection = ? AND final"
                " ORDER BY results.id DESC LIMIT 1",
                (name, digest, course_hash, seed, selection),
            ).fetchone()
            found = None if row is None else _decoded(row[1])
            if found is not None and reuse_in is not None:
                self._db.execute("INSERT OR IGNORE INTO reused (run, result) VALUES (?, ?)", (reuse_in, row[0]))
        return found

    def results(self, run: int | None = None) -> Iterator[Row]:
        """The results of a run (None: the last one), reused ones too, in order of the submissions' names."""
        with _told(self.path):
            rows = self._db.execute(
                "WITH wanted (run) AS (SELECT coalesce(?, (SELECT max(id) FROM runs)))"
                " SELECT result, digest, seconds, results.run <> wanted.run"
                " FROM wanted, results JOIN submissions ON submissions.id = results.submission"
                " WHERE results.run = wanted.run"
                " OR results.id IN (SELECT result FROM reused WHERE reused.run = wanted.run)"
                " ORDER BY submissions.name, results.id",
                (run,),
            )
            for text, digest, seconds, reused in rows:
                result = _decoded(text)
                if result is not None:
                    yield Row(result, digest, seconds, bool(reused))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with _told(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == 0 and tables:
        raise UserError(f"{path} is a database, but not a gradebook", fix="name another folder with --out DIR")
    if version not in (0, VERSION):
        raise UserError(
            f"{path} is a gradebook of version {version}; this grader reads version {VERSION}",
            fix="use the grader that made it, or name another folder with --out DIR",
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:  # Asked again under the lock: another grader may have made it meanwhile.
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _decoded(text: str) -> SubmissionResult | None:
    """A stored result; None if it is of another schema, and so has to be made again."""
    try:
        result = from_json(text)
    except msgspec.ValidationError:
        return None
    return result if result.schema == SCHEMA else None


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turns what can go wrong with the file into one line with the way out."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        locked = "locked" in str(problem)
        fix = "another grader is at work on it: wait" if locked else "look at the folder, its rights and the disk"
        raise UserError(f"gradebook {path}: {problem}", fix=f"{fix}, or name another folder (--out DIR)") from problem
    except sqlite3.DatabaseError as problem:
        raise UserError(
            f"gradebook {path} is damaged: {problem}",
            fix="it is left as it is: restore a copy, move it away and grade again, or name another folder (--out DIR)",
        ) from problem
    except OSError as problem:
        raise UserError(f"gradebook {path}: {problem.strerror}", fix="name another folder with --out DIR") from problem


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
