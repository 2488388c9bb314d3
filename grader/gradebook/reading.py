"""`Reading`: what a gradebook says of itself: its course, assignments and runs, class lists, files. Never writes."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import replace as replace_student
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from grader.course.assignments import Plan
from grader.course.due import LatePolicy
from grader.errors import UserError, did_you_mean
from grader.gradebook import records
from grader.gradebook.schema import file_errors
from grader.intake.roster import Roster, Student
from grader.text import one_line

T = TypeVar("T")

RUNS: Final = "runs JOIN courses ON courses.id = runs.course"


class Reading:
    """An open gradebook. All of it is about the assignment at hand.

    Attributes:
        assignment: its name; empty: the course declares none.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self.assignment = ""
        self._db = connection
        self._plan: Plan | None = None
        self._roster_of: tuple[str, Roster] | None = None
        self._days_left: tuple[object, dict[str, dict[str, int]]] = None, {}

    @property
    def plan(self) -> Plan:
        """How the course of the last run is handed in: as `use_plan` says, else as it was at its last run."""
        course = self.course
        if self._plan is not None and self._plan.course == course:
            return self._plan
        kept = self._value("SELECT value FROM kept WHERE name = ?", f"plan {course}")
        return self._decoded(kept, Plan) if kept else Plan(course=course)

    def use_plan(self, plan: Plan) -> None:
        """From now on the course is handed in like this, if it is the one of the gradebook."""
        self._plan = plan

    def require_course(self, course: str) -> None:
        """Refuses to go on with another course than the one of the gradebook.

        Raises:
            UserError: its last run is of another one.
        """
        if self.course not in ("", course):
            what = f"{self.path} is of the course `{one_line(self.course)}`, not of `{course}`"
            raise UserError(what, fix="name its course: --course DIR")

    def assignments(self) -> list[str]:
        """The assignments of the last run's course that have runs, in the order of the course."""
        query = f"SELECT DISTINCT assignment FROM {RUNS} WHERE NOT trial AND name = ?"
        names = [name for (name,) in self._all(query, self.course)]
        order = [one.name for one in self.plan.assignments]
        return sorted(names, key=lambda name: order.index(name) if name in order else len(order))

    def choose(self, name: str | None) -> None:
        """Takes the assignment at hand: the named one, else the only one.

        Raises:
            UserError: there is no such assignment, or there are several and none is named.
        """
        graded = self.assignments()
        known = list(dict.fromkeys([*graded, *(one.name for one in self.plan.assignments)]))
        if name is None and len(graded) > 1:
            those = ", ".join(one or "(runs before assignments were declared)" for one in graded)
            raise UserError(f"{self.path} has several assignments: {those}", fix=f"name one: --assignment {graded[-1]}")
        if name is not None and name not in known:
            listed = [one for one in known if one]
            fix = f"there are: {', '.join(listed)}" if listed else "declare [[assignments]] in course.toml"
            raise UserError(f"no assignment `{one_line(name)}`{did_you_mean(name, listed)}", fix=fix)
        self.assignment = name if name is not None else next(iter(graded), "")

    def choose_of(self, exercise: str) -> None:
        """Takes the assignment at hand: the one that has an exercise, by its name or full name; else the only one.

        Raises:
            UserError: several have one of that name.
        """
        graded = self.assignments()
        meant = [
            one.name
            for one in self.plan.assignments
            if one.name in graded and any(exercise in (full, full.partition(".")[2]) for full in one.exercises)
        ]
        self.choose(meant[0] if len(meant) == 1 and meant[0] else None)

    @contextlib.contextmanager
    def within(self, assignment: str) -> Iterator[None]:
        """While it lasts, this is the assignment at hand."""
        before, self.assignment = self.assignment, assignment
        try:
            yield
        finally:
            self.assignment = before

    @property
    def course(self) -> str:
        """The name of the last run's course; empty before the first run."""
        return self._course_and_policy(self._value("SELECT max(id) FROM runs WHERE NOT trial"))[0]

    @property
    def seed(self) -> int | None:
        """The seed of the generated inputs that is kept for the next run; None before the first."""
        kept: int | None = self._value("SELECT value FROM kept WHERE name = 'seed'")
        return kept

    def late_given(self) -> dict[str, Any]:
        """The options about late work of earlier command lines; see `Gradebook.keep_late`."""
        kept = self._value("SELECT value FROM kept WHERE name = ?", self._late_key)
        return self._decoded(kept or "{}", dict[str, Any])

    def files(self, digest: str) -> dict[str, bytes]:
        """The files of the work, by path; empty if the gradebook has none of that digest."""
        packed = self._value("SELECT files FROM works WHERE digest = ?", digest)
        with file_errors(self.path):
            return {} if packed is None else msgspec.msgpack.decode(zlib.decompress(packed), type=dict[str, bytes])

    def kept_work(self, digest: str) -> tuple[dict[str, bytes], list[str]]:
        """The files of a work, and the notes on them."""
        notes = self._value("SELECT notes FROM works WHERE digest = ?", digest)
        return self.files(digest), self._decoded(notes or "[]", list[str])

    def class_list(self, course: str) -> list[Student]:
        """The newest class list of the assignment, without the times of that day; empty if there is none."""
        query = "SELECT students FROM class_lists WHERE course = ? AND assignment = ?"
        return self._students(query, course, self.assignment)

    def newest_class_list(self, course: str) -> list[Student]:
        """That of the assignment, else the people of the newest one of any other; empty if there is none.

        Raises:
            UserError: that has groups, which may be others in this assignment.
        """
        if own := self.class_list(course):
            return own
        query = "SELECT students FROM class_lists WHERE course = ? ORDER BY rowid DESC LIMIT 1"
        found = self._students(query, course)
        if any(one.group for one in found):
            what = f"{self.assignment} has no class list, and the newest one has groups, which may be others by now"
            raise UserError(what, fix="name the class list of this assignment: --roster CSV")
        return [replace_student(one, extension="", excused=False) for one in found]

    def _listed(self, course: str) -> list[Student]:
        """The lines of all class lists."""
        return self._students("SELECT students FROM class_lists WHERE course = ?", course)

    def _students(self, query: str, *values: object) -> list[Student]:
        lists = [self._decoded(text, list[Student]) for (text,) in self._all(query, *values)]
        return [replace_student(one, submitted="", by="") for students in lists for one in students]

    def is_finished(self) -> bool:
        """Whether the newest run of the assignment has ended."""
        return bool(self._value("SELECT finished FROM runs WHERE id = ?", self._last_run()))

    def policy(self, run: int) -> LatePolicy:
        """When the work of a run was due, and the cost of late work."""
        return self._course_and_policy(run)[1]

    def selection(self, run: int) -> str:
        """The exercises and settings of a run; see `selection_key`."""
        return str(self._value("SELECT selection FROM runs WHERE id = ?", run))

    def exercises_of(self, run: int) -> tuple[str, ...]:
        """The exercises that a run graded; empty: all of its course."""
        return tuple(self._decoded(self.selection(run), dict[str, Any]).get("exercises", ()))

    def needed_in(self, run: int) -> tuple[str, ...]:
        """Those that nobody asked for: other exercises of the run need them."""
        query = "SELECT json_extract(selection, '$.needed') FROM runs WHERE id = ? AND json_valid(selection)"
        return tuple(self._decoded(self._value(query, run) or "[]", list[str]))

    def runs(self) -> list[records.Run]:
        """Every run and how far it came, the first one first."""
        found = self._all(
            "WITH has (run, graded, final, newly_graded) AS (SELECT run, graded, final, 1 FROM results UNION ALL"
            " SELECT reused.run, '', final, 0 FROM reused JOIN results ON results.id = reused.result)"
            " SELECT runs.id AS id, name AS course, hash AS course_hash, seed, started, finished,"
            " coalesce(min(nullif(graded, '')), '') AS first, coalesce(max(graded), '') AS last, expected,"
            " count(has.run) AS done, coalesce(sum(newly_graded), 0) AS newly_graded,"
            " coalesce(sum(NOT final), 0) AS failed, process, host, trial, assignment"
            f" FROM {RUNS} LEFT JOIN has ON has.run = runs.id GROUP BY runs.id ORDER BY runs.id"
        )
        with file_errors(self.path):
            return [records.from_row(records.Run, row) for row in found]

    def _last_run(self) -> int | None:
        """The number of the assignment's last run that is not a trial; None before the first."""
        last: int | None = self._value("SELECT max(id) FROM runs WHERE NOT trial AND assignment = ?", self.assignment)
        return last

    @property
    def _late_key(self) -> str:
        """Under which the options about late work are kept."""
        return f"late {self.assignment}".strip()

    def _course_and_policy(self, run: int | None) -> tuple[str, LatePolicy]:
        """The name of a run's course, when its work was due, and the cost of late work."""
        rows = self._all(f"SELECT name, late FROM {RUNS} WHERE runs.id = ?", run)
        if not rows:
            return "", LatePolicy()
        return rows[0]["name"], self._decoded(rows[0]["late"], LatePolicy)

    def _value(self, query: str, *values: object) -> Any:
        """The one value that a query gives; None if there is no such row."""
        return next((row[0] for row in self._all(query, *values)), None)

    def _all(self, query: str, *values: object) -> list[sqlite3.Row]:
        """The rows that a query gives."""
        with file_errors(self.path):
            return self._db.execute(query, values).fetchall()

    def _decoded(self, text: str, kind: type[T]) -> T:
        """The value of a column that has JSON."""
        with file_errors(self.path):
            return msgspec.json.decode(text, type=kind)
