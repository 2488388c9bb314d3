"""Writing results down and reading them back.

Only ever adds: no result is overwritten, and a file that is no gradebook (or a newer one) is refused, never replaced.
Written the moment a result is known, so that a killed run loses nothing that was graded.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from grader.course.due import NOT_DUE, LatePolicy
from grader.gradebook import reading
from grader.gradebook.records import Override, Row, Run
from grader.gradebook.schema import DamagedGradebook, connect, connect_whole, set_aside, told
from grader.intake.submission import Submission
from grader.results import SubmissionResult, to_json


def selection_key(exercises: Sequence[str], settings: Mapping[str, object]) -> str:
    """Text that is equal when the same exercises are graded with the same settings (limits and the like)."""
    return _json({"exercises": list(exercises), **settings})


class Gradebook:
    """An open gradebook; use it in a ``with`` statement.

    Attributes:
        set_aside: where a damaged gradebook of the same name was moved when this one was opened.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, set_aside: Path | None = None) -> None:
        self.path = path
        self.set_aside = set_aside
        self._db = connection

    @classmethod
    def open(cls, path: Path, *, keep_damaged_aside: bool = False) -> Gradebook:
        """Opens the gradebook, or makes it; `keep_damaged_aside` moves a damaged one to another name, and begins anew.

        Raises:
            UserError: it cannot be opened, is damaged, is another program's, or of a later version.
        """
        if not keep_damaged_aside:
            return cls(connect(path), path)
        try:
            return cls(connect_whole(path), path)
        except DamagedGradebook:
            aside = set_aside(path)
            return cls(connect_whole(path), path, aside)

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
        *,
        expected: int = 0,
        late: LatePolicy = NOT_DUE,
        trial: bool = False,
    ) -> int:
        """Notes that a run begins, and returns its number.

        Args:
            expected: how many submissions there are.
            late: when they were due.
            trial: the run is only there to be compared; it is never the last one.
        """
        due = "" if late.due is None else late.due.isoformat()
        with self._writing():
            self._db.execute("INSERT OR IGNORE INTO courses (hash, name) VALUES (?, ?)", (course_hash, course_name))
            (course,) = self._db.execute("SELECT id FROM courses WHERE hash = ?", (course_hash,)).fetchone()
            row = self._db.execute(
                "INSERT INTO runs (started, course, seed, selection, versions, sandbox, expected, process, host, due,"
                " late_penalty, trial) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(_now(), course, seed, selection, _json(dict(versions)), _json(list(sandbox)), expected),
                    *(os.getpid(), platform.node(), due, late.per_day, trial),
                ),
            )
            return int(row.lastrowid or 0)

    def finish_run(self, run: int) -> None:
        """Notes that a run has come to its end."""
        with self._writing():
            self._db.execute("UPDATE runs SET finished = ? WHERE id = ?", (_now(), run))

    def arrive(self, run: int, submission: Submission, digest: str) -> None:
        """Keeps the work itself, and whose it is and when it came."""
        files = zlib.compress(msgspec.msgpack.encode(submission.files))
        with self._writing():
            self._db.execute(
                "INSERT OR IGNORE INTO works (digest, files, notes) VALUES (?, ?, ?)",
                (digest, files, _json(list(submission.notes))),
            )
            self._db.execute(
                "INSERT OR IGNORE INTO arrivals (run, submission, arrival) VALUES (?, ?, ?)",
                (run, self._submission(submission.name, digest), msgspec.json.encode(submission.arrival).decode()),
            )

    def files(self, digest: str) -> dict[str, bytes]:
        """The files of the work, by path; empty when an older grader did not keep them."""
        with told(self.path):
            row = self._db.execute("SELECT files FROM works WHERE digest = ?", (digest,)).fetchone()
        return {} if row is None else msgspec.msgpack.decode(zlib.decompress(row[0]), type=dict[str, bytes])

    def record(self, run: int, result: SubmissionResult, digest: str, seconds: float) -> None:
        """Keeps a result; on disk when this returns."""
        with self._writing():
            self._db.execute(
                "INSERT INTO results (run, submission, graded, seconds, score, max, final, result)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run, self._submission(result.submission, digest), _now(), seconds, result.score, result.max),
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
            found = None if row is None else reading.decoded(row[1])
            if found is not None and reuse_in is not None:
                self._db.execute("INSERT OR IGNORE INTO reused (run, result) VALUES (?, ?)", (reuse_in, row[0]))
        return found

    def results(self, run: int | None = None) -> Iterator[Row]:
        """The results of a run (None: the last that is no trial), reused ones too, in order of names."""
        with told(self.path):
            yield from reading.rows(self._db, run)

    def runs(self) -> Iterator[Run]:
        """Every run and how far it came, the first one first."""
        with told(self.path):
            yield from reading.runs(self._db)

    def override(self, course: str, given: Override, digest: str) -> None:
        """Keeps points that a person gave; `digest` is of the work that they looked at."""
        with self._writing():
            self._db.execute(
                "INSERT INTO overrides (course, student, exercise, points, max, why, who, made, digest)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(course, given.student, given.exercise, given.points, given.max),
                    *(given.why, given.who, given.made or _now(), digest),
                ),
            )

    def _submission(self, name: str, digest: str) -> int:
        key = (name, digest)
        self._db.execute(
            "INSERT OR IGNORE INTO submissions (name, digest, first_seen) VALUES (?, ?, ?)", (*key, _now())
        )
        return int(self._db.execute("SELECT id FROM submissions WHERE name = ? AND digest = ?", key).fetchone()[0])

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with told(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
