"""The records that the gradebook gives back, and how late work came: plain, frozen data.

Never holds a connection, never decides a verdict. Lateness never changes the score; reports show both.
"""

import datetime
import math
import sqlite3
import zoneinfo
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from grader.course.due import NOT_DUE, LatePolicy, moment
from grader.errors import UserError, did_you_mean
from grader.gradebook.by_hand import Comment, Given, Mark, Override
from grader.intake.names import forms_of, id_key
from grader.intake.roster import Student
from grader.intake.submission import CLAIMS, FILE_TIME, Arrival
from grader.results import ExerciseResult, SubmissionResult, Unread, total_points
from grader.text import counted, listed

T = TypeVar("T")
_DAY = 86_400.0


class Whose(msgspec.Struct, frozen=True):
    """A student: the name that the submission has in a run, and the LMS's id, if it is known.

    Attributes:
        names: the other names that the student had, in earlier runs or in the class list.
        unsure: those names that another student had as well.
        ids: the other ids that the class list has.
    """

    name: str
    person: str
    names: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def is_called(self, name: str) -> bool:
        """Whether the student ever had that name, also with the family name and a comma before it, or that id."""
        names = {form for one in (self.name, *self.names) for form in forms_of(one)}
        ids = map(id_key, filter(None, (self.person, *self.ids)))
        return not names.isdisjoint(forms_of(name)) or id_key(name) in ids


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """A student of the class list without a result.

    Attributes:
        is_waiting: whether a run found work of the student, or of the group, and has not graded it.
        excused: why the assignment does not count for the student; empty if it does.
    """

    student: Student
    is_waiting: bool = False
    excused: str = ""

    @property
    def handed_in_nothing(self) -> bool:
        """Whether nothing is there, though something should be."""
        return not (self.is_waiting or self.excused)


class Late(msgspec.Struct, frozen=True, omit_defaults=True):
    """How late a submission came.

    Attributes:
        days: days since it was due, rounded up; None if the LMS marks it late, but does not say when it came.
        penalty: the fraction of the points that it loses, 0 to 1.
        by: the source, as in `Arrival.by`, or ``LMS mark``.
        closed: whether it came after the date from which nothing counts.
        free: how many of the days are late days of the student, which cost nothing.
        exercises: full names of those that it is about, if others came at another time; empty: all of them.
    """

    days: int | None
    penalty: float
    by: str
    closed: bool = False
    free: int = 0
    exercises: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = f"{listed(self.exercises, 3)}: " if self.exercises else ""
        if self.days is None:
            return f"{of}late by the LMS's mark, which does not say how late: no penalty taken (a roster can say)"
        claim = ", which its owner can set" if self.by in CLAIMS else ""
        closed = ", after the last date" if self.closed else ""
        free = f", {counted(self.free, 'late day')} taken" if self.free else ""
        days = f"{counted(self.days, 'day')} late by its {self.by}"
        return f"{of}{days}{claim}{closed}{free}: {100 * self.penalty:g} % off"


class Older(msgspec.Struct, frozen=True):
    """The results of some exercises that an earlier run made and that still count.

    Attributes:
        digest: that of the work which it graded.
        exercises: their full names.
        arrival: how that work came.
        late: how late it came; None if it came in time.
        policy: that of the run: when it was due, and the cost of late work.
    """

    run: int
    digest: str
    exercises: tuple[str, ...] = ()
    arrival: Arrival = Arrival()
    late: Late | None = None
    policy: LatePolicy = NOT_DUE

    def under(self, policy: LatePolicy, due: str) -> "Older":
        """The same, with how late it came; `due` is until when this student may hand in, if that is not as for all."""
        return replace(self, late=lateness(self.arrival, policy, moment(due) if due else None), policy=policy)

    def with_late_days(self, left: int) -> "Older":
        """The same, after the student has spent late days on it, as far as they reach."""
        late = self.late
        if late is None or not late.days or late.closed or not late.penalty or left <= 0:
            return self
        free = min(left, late.days)
        return replace(self, late=replace(late, free=free, penalty=_penalty(late.days - free, self.policy)))


def is_untimed(arrival: Arrival, policy: LatePolicy) -> bool:
    """Whether nothing that counts says when the work came, though there is a date when it was due."""
    return policy.due is not None and not arrival.late and not _counts(arrival, policy)


def is_claim(arrival: Arrival, policy: LatePolicy) -> bool:
    """Whether only a time that the student can set says that the work came in time."""
    is_own = policy.due is not None and arrival.by in CLAIMS and _counts(arrival, policy)
    return is_own and lateness(arrival, policy) is None


def lateness(arrival: Arrival, policy: LatePolicy, extension: datetime.datetime | None = None) -> Late | None:
    """How late it came; None when it came in time or its time is not known.

    Args:
        extension: until when this student may hand in; None if that is no later than for others.
    """
    if policy.due is None or not _counts(arrival, policy):
        return Late(None, 0.0, "LMS mark") if arrival.late and not extension else None
    due = max(policy.due, extension) if extension else policy.due
    until = max(policy.until, due) if policy.until else None
    try:
        came = moment(arrival.submitted)
    except ValueError:
        return None
    after = (came - due).total_seconds()
    closed = until is not None and came > until
    if after <= 60 * policy.grace_minutes and not closed:
        return None
    # By the clock on the wall: a day that has an hour more or less when the clocks change is one day, too.
    zone = _zone_of(policy.due, policy.zone)
    came, due = (time.astimezone(zone).replace(tzinfo=None) for time in (came, due))
    days = max(1, math.ceil((came - due).total_seconds() / _DAY))
    return Late(days, 1.0 if closed else _penalty(days, policy), arrival.by, closed)


def _zone_of(due: datetime.datetime, name: str) -> datetime.tzinfo | None:
    """The time zone whose clock counts the days: the named one, unless the due date was said with another offset."""
    try:
        zone = zoneinfo.ZoneInfo(name) if name else None
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        return due.tzinfo
    return zone if due.utcoffset() == due.astimezone(zone).utcoffset() else due.tzinfo


def _penalty(days: int, policy: LatePolicy) -> float:
    """The fraction of the points that so many days late cost."""
    return min(1.0, policy.cap, round(days * policy.per_day, 9))


def _counts(arrival: Arrival, policy: LatePolicy) -> bool:
    return bool(arrival.submitted) and (arrival.by != FILE_TIME or policy.by_file_time)


class Row(msgspec.Struct, frozen=True):
    """A result as the gradebook holds it, with the facts that reports show beside it.

    Attributes:
        result: the automatic result; nothing below changes it.
        digest: SHA-256 of the files and notes; `Gradebook.files` gives the files.
        seconds: wall time of grading.
        reused: whether an earlier run made it.
        graded: ISO time.
        notes: why intake and the import left something out.
        arrival: its student, and when it came.
        late: how late the newest work came under its run's policy; None if it came in time.
        overrides: points that a person gave and that count now; at most one for each exercise.
        marks: marks by a rubric that count now, unless an override of the same exercise does.
        comments: at most one for each exercise and each line of its file.
        begun: exercises that somebody has begun to mark.
        run: the number of the run that it counts in.
        due: ISO time until when this student may hand in, if that is not everybody's date; else empty.
        untimed: whether there is a due date, and nothing that counts says when the work came.
        claimed: whether only times of its own files say that the work came in time.
        older: the earlier results that count for exercises which that run did not grade, the newest first.
        missing: full names of the course's exercises that neither a run nor a person has graded.
        before: the points of the other work that the student had handed in before, if these are more.
        group: the student's group, whose latest work this is.
        differing: that the group's members handed in differing work, so that a person has to look; else empty.
        excused: why the assignment does not count for the student; empty if it does.
        policy: when the work was due, and the cost of late work.
        people: the student, then the others of the group, each with all their names.
    """

    result: SubmissionResult
    digest: str
    seconds: float
    reused: bool = False
    graded: str = ""
    notes: tuple[str, ...] = ()
    arrival: Arrival = Arrival()
    late: Late | None = None
    overrides: tuple[Override, ...] = ()
    run: int = 0
    due: str = ""
    untimed: bool = False
    claimed: bool = False
    marks: tuple[Mark, ...] = ()
    comments: tuple[Comment, ...] = ()
    begun: tuple[str, ...] = ()
    older: tuple[Older, ...] = ()
    missing: tuple[str, ...] = ()
    before: float | None = None
    group: str = ""
    differing: str = ""
    excused: str = ""
    policy: LatePolicy = NOT_DUE
    people: tuple[Whose, ...] = ()

    def with_late_days(self, left: int) -> "Row":
        """The same, after the student has spent late days on it, as far as they reach."""
        if self.excused:
            return self
        newest, *older = (one.with_late_days(left) for one in self.parts)
        return replace(self, late=newest.late, older=tuple(older))

    @property
    def lates(self) -> tuple[Late, ...]:
        """How late the works came that its exercises were graded with, with these exercises if not all came so."""
        parts: dict[Late | None, tuple[str, ...]] = {}
        for one in self.parts:
            if one.exercises or not self.older:
                parts[one.late] = (*parts.get(one.late, ()), *one.exercises)
        is_one = len(parts) == 1
        return tuple(replace(late, exercises=() if is_one else names) for late, names in parts.items() if late)

    @property
    def late_words(self) -> str:
        """The same in words; empty if all came in time."""
        return "; ".join(map(str, self.lates))

    @property
    def free_days(self) -> int:
        """The late days that were spent on it."""
        return max((late.free for late in self.lates), default=0)

    @property
    def penalty(self) -> float:
        """The fraction of the points that lateness costs."""
        if any(late.exercises for late in self.lates):
            return 1.0 - self.final / self.score if self.score else 0.0
        return max((late.penalty for late in self.lates), default=0.0)

    def less_penalty(self, points: Mapping[str, float]) -> dict[str, float]:
        """The points of exercises, each less the penalty for lateness of the work that it was graded with."""
        of_older = {name: one.late for one in self.older for name in one.exercises}
        lates = {name: of_older.get(name, self.late) for name in points}
        return {name: points[name] * (1.0 - late.penalty) if late else points[name] for name, late in lates.items()}

    @property
    def runs(self) -> tuple[int, ...]:
        """The numbers of the runs that its results are from, the newest first."""
        return (self.run, *(one.run for one in self.older))

    def is_called(self, name: str) -> bool:
        """Whether the student ever had that name or id."""
        return name in (self.result.submission, self.label) or any(one.is_called(name) for one in self.people[:1])

    @property
    def label(self) -> str:
        """The student's name, and the LMS's id if it is known."""
        name, person = self.result.submission, self.arrival.student
        return f"{name} ({person})" if person and not name.endswith(f"({person})") else name

    def digest_of(self, exercise: str) -> str:
        """The digest of the work that an exercise was graded with."""
        return next((one.digest for one in self.older if exercise in one.exercises), self.digest)

    @property
    def parts(self) -> tuple[Older, ...]:
        """The works that its exercises were graded with, the newest first, each with its run and these exercises."""
        older = {name for one in self.older for name in one.exercises}
        newest = tuple(one.name for one in self.result.exercises if one.name not in older)
        return (Older(self.run, self.digest, newest, self.arrival, self.late, self.policy), *self.older)

    @property
    def given(self) -> dict[str, tuple[float, float]]:
        """Points and maximum of the exercises that a person gave points for: by a mark, or by an override above it."""
        by_rubric = {mark.exercise: (mark.points or 0.0, mark.max) for mark in self.marks}
        return by_rubric | {override.exercise: (override.points or 0.0, override.max) for override in self.overrides}

    @property
    def unmarked(self) -> tuple[ExerciseResult, ...]:
        """The exercises that a person marks, and has not marked yet."""
        given = self.given
        return tuple(one for one in self.result.to_mark if one.name not in given)

    @property
    def unread(self) -> tuple[Unread, ...]:
        """The topics without a mark yet: they could not be read, or a group's work differs.

        Those for which a person has given all the points are not among them.
        """
        given = {override.exercise for override in self.overrides}
        missing = {one.name.partition(".")[0] for one in self.result.checked if one.name not in given}
        if self.differing:
            return tuple(Unread(topic, self.differing) for topic in sorted(missing))
        return tuple(one for one in self.result.unread if one.topic in missing)

    @property
    def score(self) -> float:
        """Points with those that a person gave, before lateness."""
        return total_points(self.points.values()) if self.given else self.result.score

    @property
    def points(self) -> dict[str, float]:
        """The points of each exercise, with those that a person gave."""
        automatic = {exercise.name: exercise.score for exercise in self.result.exercises}
        return automatic | {name: points for name, (points, _) in self.given.items()}

    @property
    def max(self) -> float:
        """Points that could be earned: those of exercises that were assessed, by the grader or by a person."""
        worth = {name: most for name, (_, most) in self.given.items()}
        automatic = {exercise.name: exercise.max for exercise in self.result.exercises}
        return total_points((automatic | worth).values()) if worth else self.result.max

    @property
    def final(self) -> float:
        """Points with overrides, less the penalty for lateness."""
        if any(late.exercises for late in self.lates):
            return total_points(self.less_penalty(self.points).values())
        return total_points([self.score * (1.0 - self.penalty)])


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the grader and how far it has come.

    Attributes:
        expected: submissions it found.
        done: graded or reused; ``failed`` of them have an ``error`` verdict: the grader's own fault.
        newly_graded: how many this run graded itself.
        first: ISO time of the first result that it made itself; empty if there is none yet.
        last: that of the last one.
        finished: ISO time; empty: still running, or interrupted.
        process: its process number on ``host``.
        trial: made to be compared only.
    """

    id: int
    course: str
    course_hash: str
    seed: int
    started: str
    finished: str
    first: str
    last: str
    expected: int
    done: int
    newly_graded: int
    failed: int
    process: int = 0
    host: str = ""
    trial: bool = False
    assignment: str = ""

    @property
    def left(self) -> int:
        """Submissions that it has not come to yet."""
        return max(0, self.expected - self.done)


class HistoryEvent(msgspec.Struct, frozen=True):
    """One entry of a student's history: a result, or something that a person gave.

    Attributes:
        made: ISO time.
        run: that of the result.
        number: that of the result; equal for a run that took an earlier one over.
        submitted: ISO time when the work of the result came, if it is known.
        trial: whether the run was made to be compared only.
    """

    made: str
    given: Given | None = None
    result: SubmissionResult | None = None
    run: int = 0
    number: int = 0
    submitted: str = ""
    trial: bool = False


def row_of(rows: list[Row], name: str) -> Row:
    """The row of a student, by the LMS's id or by any name that they ever had.

    Raises:
        UserError: there is none, or several.
    """
    found = [row for row in rows if row.is_called(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise several_called(name, [row.label for row in found])
    known = [row.result.submission for row in rows]
    raise UserError(f"no submission of `{name}` in the gradebook" + did_you_mean(name, known), fix="see: grader status")


def several_called(name: str, labels: Sequence[str]) -> UserError:
    """The error for a name that several students have, or had."""
    return UserError(f"`{name}` could be {' or '.join(labels)}", fix="name one by the id")


def from_row(kind: type[T], row: sqlite3.Row) -> T:
    """The record of a row, whose other columns are left out.

    Raises:
        msgspec.ValidationError: a column has another type, so the file is damaged.
    """
    return msgspec.convert(dict(row), kind, strict=False)
