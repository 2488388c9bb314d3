"""`Gradebook`: writes results and reads them.

Only ever adds: no result is overwritten, and a file that is not a gradebook (or a newer one) is refused, not replaced.
Each result is written as soon as it is known, so that a killed run loses nothing that was graded.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from grader.course.assignments import Plan
from grader.course.due import NOT_DUE, LatePolicy
from grader.course.marks import Resubmissions
from grader.errors import UserError
from grader.gradebook.backups import backups, write_backup
from grader.gradebook.by_hand import Given, LookedAt
from grader.gradebook.queries import Queries
from grader.gradebook.reading import RUNS
from grader.gradebook.records import Whose
from grader.gradebook.schema import NAME, connect, file_errors, is_read_only
from grader.intake.roster import Student
from grader.intake.submission import Arrival, Submission
from grader.results import SubmissionResult, to_json

MAX_SEED: Final = 2**31 - 1


def selection_key(exercises: Sequence[str], settings: Mapping[str, object]) -> str:
    """A text that is equal for two runs if they grade the same exercises with the same settings, such as limits."""
    return _json({"exercises": list(exercises), **settings})


def gradebook_in(place: Path) -> Path:
    """The file of a gradebook: `place` itself, or its usual name in that folder."""
    return place / NAME if place.is_dir() or not place.exists() else place


class Gift(NamedTuple):
    """Something that a person gives, with the work that they looked at.

    Attributes:
        people: the student, then the others of the group.
        after: the number of the newest record of this subject that the person knows of; None means whatever is there.
    """

    given: Given
    looked_at: LookedAt
    people: tuple[Whose, ...] = ()
    after: int | None = None


class GivenMeanwhile(UserError):
    """Somebody has given something for the same subject since the last look at it. Remedy: look again, and decide.

    Attributes:
        given: what counts now.
    """

    def __init__(self, given: tuple[Given, ...]) -> None:
        who = " and ".join(dict.fromkeys(one.who for one in given)) or "somebody"
        super().__init__(f"{who} changed this meanwhile, so nothing is changed", fix="run the same command again")
        self.given = given


class Gradebook(Queries):
    """An open gradebook; use it in a ``with`` statement.

    It is backed up when a run begins and when a person gives something for the first time since it was opened; what is
    given after that is on disk at once, and in the backup when the gradebook is closed. All of that makes one backup.
    """

    _backup: Path | None = None
    _has_more = False  # than the backup

    @classmethod
    def open(cls, path: Path) -> Gradebook:
        """Opens the gradebook, or makes it.

        Raises:
            UserError: it cannot be opened, is damaged, is another program's, or of another version.
        """
        return cls(connect(path), path)

    @classmethod
    def open_existing(cls, place: Path) -> Gradebook:
        """The gradebook in a folder of grades, or the file itself; one that cannot be written to is only read.

        Raises:
            UserError: there is none, or as in `open`.
        """
        path = gradebook_in(place)
        if not path.is_file() and not backups(path):
            raise UserError(f"no gradebook at {path}", fix="grade first (grader grade), or name its folder: --out DIR")
        return cls(connect(path, for_reading=is_read_only(path)), path)

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file, with all that was given in the backup; may be called twice.

        Raises:
            UserError: the backup cannot be written; the gradebook itself has everything.
        """
        try:
            if self._has_more:
                self._has_more = False
                with self._writing():
                    number = self._next_number()
                self._write_backup(number)
        finally:
            self._db.close()

    def keep_seed(self, seed: int | None = None) -> int:
        """The seed of the next run, kept for all later ones: the given one, else the kept one, else a secret new one.

        It is drawn once for a gradebook. It is never 0, which `grader check` uses and students can know.
        """
        with self._writing():
            if seed is not None:
                self._db.execute("INSERT OR REPLACE INTO kept VALUES ('seed', ?)", (seed,))
                return seed
            self._db.execute("INSERT OR IGNORE INTO kept VALUES ('seed', ?)", (1 + secrets.randbelow(MAX_SEED),))
            return int(self._value("SELECT value FROM kept WHERE name = 'seed'"))

    def start_run(
        self,
        course_name: str,
        course_hash: str,
        seed: int,
        selection: str,
        versions: Mapping[str, str],
        *,
        expected: int = 0,
        late: LatePolicy = NOT_DUE,
        trial: bool = False,
        exercises: Sequence[str] = (),
        students: Sequence[Student] | None = None,
        resubmissions: Resubmissions = "latest",
        found: Sequence[tuple[str, str]] = (),
        plan: Plan | None = None,
    ) -> int:
        """Records that a run of the assignment at hand begins, makes a backup, and returns the run's number.

        Args:
            selection: as `selection_key` gives it.
            versions: of the packages that results depend on.
            expected: how many submissions there are.
            late: when they were due.
            trial: the run is only there to be compared; it is never the last one.
            exercises: full names of all that the assignment has, whatever the run grades; empty: those of its results.
            students: the class list, which replaces that of the assignment's earlier runs; None: there is none, or
                this is a trial.
            resubmissions: which work of several counts.
            found: name and person of each submission that it begins with.
            plan: how the course is handed in now; kept, for commands that have no course.
        """
        run = {
            "started": _now(),
            "seed": seed,
            "selection": selection,
            "versions": _json(dict(versions)),
            "expected": expected,
            "process": os.getpid(),
            "host": platform.node(),
            "late": msgspec.json.encode(late).decode(),
            "trial": trial,
            "exercises": _json(list(exercises)),
            "resubmissions": resubmissions,
            "assignment": self.assignment,
            "found": _json([list(one) for one in found]),
        }
        with self._backed_up():
            if plan is not None and not trial:
                kept = {"name": f"plan {course_name}", "value": msgspec.json.encode(plan).decode()}
                self._insert("kept", kept, "OR REPLACE")
                self._adopt(course_name, plan)
            self._insert("courses", {"hash": course_hash, "name": course_name}, "OR IGNORE")
            if students is not None:
                self._roster_of = None
                row = {"course": course_name, "assignment": self.assignment}
                listed = msgspec.json.encode(list(students)).decode()
                self._insert("class_lists", {**row, "students": listed}, "OR REPLACE")
            course = self._value("SELECT id FROM courses WHERE hash = ?", course_hash)
            return self._insert("runs", {**run, "course": course})

    def _adopt(self, course: str, plan: Plan) -> None:
        """Gives runs that were made before the course declared assignments to the one that has all they graded."""
        if not plan.is_term:
            return
        query = f"SELECT runs.id, started, exercises FROM {RUNS} WHERE name = ? AND assignment = '' ORDER BY runs.id"
        begun: list[tuple[str, str]] = []
        for run, started, exercises in self._all(query, course):
            graded = self.exercises_of(run) or msgspec.json.decode(exercises)
            for one in plan.of(graded)[:1]:
                every = _json(list(one.exercises))
                self._db.execute("UPDATE runs SET assignment = ?, exercises = ? WHERE id = ?", (one.name, every, run))
                begun.append((started, one.name))
        for name in dict.fromkeys(name for _, name in begun):
            self._db.execute(
                "INSERT OR IGNORE INTO class_lists SELECT course, ?, students FROM class_lists"
                " WHERE course = ? AND assignment = ''",
                (name, course),
            )
        for number, record in self._all("SELECT id, record FROM given WHERE course = ? AND assignment = ''", course):
            about = msgspec.json.decode(record)
            before = [name for started, name in begun if started <= about.get("made", "")]
            names = [one.name for one in plan.of([about["exercise"]])] if "exercise" in about else before[-1:]
            for name in names:
                self._db.execute("UPDATE given SET assignment = ? WHERE id = ?", (name, number))

    def finish_run(self, run: int) -> None:
        """Records that a run has finished."""
        with self._writing():
            self._db.execute("UPDATE runs SET finished = ? WHERE id = ?", (_now(), run))

    def record_arrival(self, run: int, submission: Submission, digest: str) -> None:
        """Keeps the submitted files and notes, and the arrival: their student and time.

        A power failure may take it, as long as nothing that is durable was written after it.
        """
        files = zlib.compress(msgspec.msgpack.encode(submission.files))
        work = {"digest": digest, "files": files, "notes": _json(list(submission.note_lines))}
        with self._writing(durable=False):
            self._insert("works", work, "OR IGNORE")
            number = self._submission(submission.name, digest)
            arrival = msgspec.json.encode(self._with_known_time(submission.arrival, number)).decode()
            self._insert("arrivals", {"run": run, "submission": number, "arrival": arrival}, "OR IGNORE")

    def _with_known_time(self, arrival: Arrival, submission: int) -> Arrival:
        """With the time that an earlier run of the assignment had for the same work, if that proves more.

        A class list of that day had it, and a later run may be without that list.
        """
        query = "SELECT arrival FROM arrivals WHERE run IN (SELECT id FROM runs WHERE NOT trial AND assignment = ?)"
        found = self._all(f"{query} AND submission = ? ORDER BY run DESC", self.assignment, submission)
        known = max([arrival, *(self._decoded(text, Arrival) for (text,) in found)], key=lambda one: one.proves)
        return replace(arrival, submitted=known.submitted, by=known.by)

    def record(self, run: int, result: SubmissionResult, digest: str, seconds: float) -> None:
        """Keeps a result, with its wall time in seconds; it is on disk when this returns."""
        row = {
            "run": run,
            "graded": _now(),
            "seconds": seconds,
            "score": result.score,
            "max": result.max,
            "final": "error" not in result.verdicts,
            "result": to_json(result).decode(),
        }
        with self._writing():
            self._insert("results", {**row, "submission": self._submission(result.submission, digest)})

    def lookup(
        self, name: str, digest: str, course_hash: str, seed: int, selection: str, *, reuse_in: int | None = None
    ) -> SubmissionResult | None:
        """The newest result of exactly these files under this course, seed and selection; None if there is none.

        A result with an ``error`` verdict does not count: the grader failed, so it is worth another try.
        `reuse_in` makes it a result of that run as well, as durably as `record_arrival`.
        """
        query = (
            "SELECT results.id, result FROM results JOIN submissions ON submissions.id = results.submission"
            " JOIN runs ON runs.id = results.run JOIN courses ON courses.id = runs.course"
            " WHERE submissions.name = ? AND digest = ? AND hash = ? AND seed = ? AND selection = ?"
            " AND final ORDER BY results.id DESC LIMIT 1"
        )
        for number, text in self._all(query, name, digest, course_hash, seed, selection):
            found = self._decoded(text, SubmissionResult)
            if reuse_in is not None:
                with self._writing(durable=False):
                    self._insert("reused", {"run": reuse_in, "result": number}, "OR IGNORE")
            return found
        return None

    def give(self, course: str, given: Given, looked_at: LookedAt) -> None:
        """Keeps something that a person gave, with the work that they looked at; it is on disk when this returns."""
        self.give_all(course, [Gift(given, looked_at)])

    def give_all(self, course: str, gifts: Sequence[Gift]) -> int:
        """Keeps all of it, or nothing; it is on disk when this returns. Returns the number of the last record.

        Raises:
            GivenMeanwhile: somebody has given something for the same subject in between.
        """
        number = 0
        with self._backed_up():
            for gift in gifts:
                if gift.after is not None:
                    standing = self.standing(course, gift.people, gift.given)
                    if standing.number > gift.after:
                        raise GivenMeanwhile(standing.given)
            for gift in gifts:
                given = gift.given
                record = msgspec.json.encode(replace(given, made=given.made or _now())).decode()
                row = {"kind": type(given).__name__, "course": course, "student": given.student, "record": record}
                row["assignment"] = self.assignment
                number = self._insert("given", row | msgspec.structs.asdict(gift.looked_at))
        return number

    def keep_late(self, given: Mapping[str, Any]) -> None:
        """Keeps a command line's options about late work for later runs of the assignment."""
        with self._writing():
            self._insert("kept", {"name": self._late_key, "value": _json(dict(given))}, "OR REPLACE")

    def _submission(self, name: str, digest: str) -> int:
        self._insert("submissions", {"name": name, "digest": digest, "first_seen": _now()}, "OR IGNORE")
        return int(self._value("SELECT id FROM submissions WHERE name = ? AND digest = ?", name, digest))

    def _insert(self, table: str, row: Mapping[str, object], otherwise: str = "") -> int:
        """Adds a row, and returns its number; `otherwise` is what to do if it is there, such as ``OR IGNORE``."""
        values = ", ".join(f":{name}" for name in row)
        added = self._db.execute(f"INSERT {otherwise} INTO {table} ({', '.join(row)}) VALUES ({values})", row)
        return int(added.lastrowid or 0)

    @contextlib.contextmanager
    def _backed_up(self) -> Iterator[None]:
        """A transaction, which a backup holds when this ends or, if there is one already, when the file is closed."""
        number = 0
        with self._writing():
            yield
            if self._backup is None:
                number = self._next_number()
        if number:
            self._write_backup(number)
        else:
            self._has_more = True

    def _next_number(self) -> int:
        self._db.execute("UPDATE kept SET value = value + 1 WHERE name = 'backup'")
        return int(self._value("SELECT value FROM kept WHERE name = 'backup'"))

    def _write_backup(self, number: int) -> None:
        with file_errors(self.path):
            self._backup = write_backup(self._db, self.path, number, self._backup)

    @contextlib.contextmanager
    def _writing(self, durable: bool = True) -> Iterator[None]:
        """A transaction. If `durable`, it is on disk when this ends, and with it those before, else only later."""
        with file_errors(self.path):
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
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
