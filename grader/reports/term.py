"""How a student stands in each assignment, and the mark of the term. Every output takes a student's state from here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Final, Literal

from grader.course import Course
from grader.course.assignments import Assignment, Plan
from grader.course.marks import MarkPolicy
from grader.errors import UserError
from grader.gradebook import Absent, Gradebook, Row
from grader.intake.names import name_key
from grader.intake.roster import Student
from grader.reports.entries import Entry
from grader.reports.feedback import to_look_at, unread
from grader.text import counted, listed, named, one_line

State = Literal["marked", "needs a look", "unread", "not handed in", "not graded yet", "excused"]
_NONE: Final = Fraction(0)
_NAMED: Final = 10
_NO_LIST: Final = "no class list says who should have"


@dataclass(frozen=True)
class Standing:
    """One student in one assignment.

    Attributes:
        state: the student's state.
        why: in words, if there is more to say.
        entry: the work that counts; None if there is none.
    """

    assignment: Assignment
    state: State
    why: str = ""
    entry: Entry | None = None

    @property
    def has_mark(self) -> bool:
        """Whether there is a mark that counts."""
        row = None if self.entry is None or self.state == "excused" else self.entry.row
        return row is not None and row.max > 0 and not (row.unread or row.unmarked or row.missing)

    @property
    def can_be_zero(self) -> bool:
        """Whether a class list has the student, who has handed in nothing."""
        return self.state == "not handed in" and self.why != _NO_LIST

    @property
    def share(self) -> Fraction | None:
        """The exact fraction of the points that was earned, less the penalty for lateness; None without a mark."""
        if self.entry is None or not self.has_mark:
            return None
        return _exact(self.entry.final) / _exact(self.entry.row.max)

    def __str__(self) -> str:
        return f"{self.state} ({self.why})" if self.why else self.state


def state_of(row: Row | Absent) -> tuple[State, str]:
    """The state of a student in an assignment, and why, in words."""
    if row.excused:
        return "excused", row.excused
    if isinstance(row, Absent):
        return ("not graded yet", "a run was interrupted before it") if row.is_waiting else ("not handed in", "")
    if row.unread:
        return ("needs a look" if row.differing else "unread"), "; ".join(unread(row))
    if row.missing:
        return "not graded yet", listed([*row.missing], 3)
    if row.unmarked:
        return "not graded yet", f"not marked: {listed([one.name for one in row.unmarked], 3)}"
    if row.max <= 0:
        return "needs a look", "nothing could be assessed"
    looks = to_look_at(row)
    return ("needs a look", looks[0]) if looks else ("marked", "")


@dataclass(frozen=True)
class Total:
    """The mark of the term.

    Attributes:
        share: the exact fraction that was earned of what has a mark; None if nothing has.
        lacking: the assignments that count, and have no mark.
        dropped: those that do not count because they went worst.
        is_whole: whether all assignments of the student are known.
    """

    share: Fraction | None
    lacking: tuple[Standing, ...] = ()
    dropped: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def percent(self) -> float | None:
        """The percentage of the term; None while an assignment has no mark."""
        return None if self.share is None or self.lacking or not self.is_whole else float(100 * self.share)

    def letter(self, letters: Sequence[tuple[str, float]]) -> str:
        """The letter grade of the term; empty while an assignment has no mark."""
        if self.percent is None or self.share is None:
            return ""
        return MarkPolicy(letters=tuple(letters)).letter(float(100 * self.share))


@dataclass
class TermStudent:
    """One student over the term.

    Attributes:
        has_left: whether the newest class list has the student no more.
        standings: by the assignment's name; one whose class list does not have the student has none.
        doubt: who may be the same person under another id, and the remedy, in words; empty if nobody may.
    """

    name: str
    ids: tuple[str, ...] = ()
    group: str = ""
    has_left: bool = False
    standings: dict[str, Standing] = field(default_factory=dict)
    doubt: str = ""

    def total(self, plan: Plan, worth: Mapping[str, float], missing_as_zero: bool = False) -> Total:
        """The mark of the term.

        Args:
            worth: the most points of each assignment.
            missing_as_zero: whether one that was not handed in counts 0; else the term has no mark.
        """
        counting = [one for one in self.standings.values() if one.state != "excused"]
        shares = {one.assignment.name: _NONE if one.state == "not handed in" else one.share for one in counting}
        in_order = sorted((share, name) for name, share in shares.items() if share is not None)
        dropped = {name for _, name in in_order[: max(0, min(plan.term.drop_lowest, len(counting) - 1))]}
        left = [one for one in counting if one.assignment.name not in dropped]
        by_weight = any(one.weight is not None for one in plan.assignments)
        earned, of, lacking = Fraction(0), Fraction(0), []
        for one in left:
            share = shares[one.assignment.name]
            if share is None or (one.state == "not handed in" and not (missing_as_zero and one.can_be_zero)):
                lacking.append(one)
                continue
            given = 1.0 if one.assignment.weight is None else one.assignment.weight
            weight = _exact(given if by_weight else worth[one.assignment.name])
            earned, of = earned + weight * share, of + weight
        return Total(earned / of if of else None, tuple(lacking), tuple(sorted(dropped)), not self.doubt)


def require_earned_zeros(book: Gradebook, assignments: Sequence[str]) -> None:
    """Refuses zeros for those who handed in nothing while somebody's work may lie there without a mark.

    Raises:
        UserError: a run has not ended, or somebody of no class list has handed in.
    """
    for name in assignments:
        with book.within(name):
            of = f" of {name}" if name else ""
            if waiting := book.ungraded():
                what = f"{counted(len(waiting), 'submission')} not graded yet: {named(waiting, _NAMED)}"
                fix = "run the same `grader grade` again: it goes on where it was interrupted"
                raise UserError(f"no zeros{of}: {what}", fix=fix)
            if not book.is_finished():
                raise UserError(f"no zeros{of}: its run has not ended", fix="see: grader status")
            if strangers := book.strangers():
                what = f"{counted(len(strangers), 'submission')} of nobody in the class list"
                fix = "add them to the class list, or rename their files, and grade again with --roster"
                raise UserError(f"no zeros{of}: {what}: {named(strangers, _NAMED)}", fix=fix)


def worth_of(course: Course) -> dict[str, float]:
    """The most points of each assignment, without a bonus."""
    points = {exercise.full_name: exercise.points for exercise in course.all_exercises}
    return {one.name: sum(points[name] for name in one.exercises if name in points) for one in course.plan.assignments}


def standings(book: Gradebook, course: Course, assignment: Assignment) -> Iterator[tuple[Student | Row, Standing]]:
    """Everybody in one assignment: those with work first, then the others of its class list."""
    with book.within(assignment.name):
        for row in book.each_result():
            yield row, Standing(assignment, *state_of(row), Entry(row, book.files, course.marks))
        for one in book.absent():
            yield one.student, Standing(assignment, *state_of(one))


def term_of(book: Gradebook, course: Course) -> list[TermStudent]:
    """Everybody in every assignment that has runs, in order of names."""
    book.use_plan(course.plan)
    people = book.everybody()
    found: dict[str, TermStudent] = {}
    begun = set(book.assignments())
    newest: set[str] = set()
    without_list: list[Assignment] = []
    for assignment in (one for one in course.plan.assignments if one.name in begun):
        with book.within(assignment.name):
            listed_now = book.class_list(course.name)
        without_list += [] if listed_now else [assignment]
        newest = {people.key(one.name, one.ids[0]) for one in listed_now} or newest
        by_key = {people.key(one.name, one.ids[0]): one for one in listed_now}
        for whose, standing in standings(book, course, assignment):
            if isinstance(whose, Row):
                key = people.key(whose.result.submission, whose.arrival.student)
                name, group = whose.result.submission, whose.group
                ids = tuple(filter(None, [whose.arrival.student]))
            else:
                key, name, ids, group = people.key(whose.name, whose.ids[0]), whose.name, whose.ids, whose.group
            line = by_key.get(key)
            student = found.setdefault(key, TermStudent(name))
            student.name = line.name if line else name
            student.ids = line.ids if line else student.ids or ids
            student.group = group
            student.standings[assignment.name] = standing
    _doubt_halves(found.values())
    for key, student in found.items():
        for assignment in without_list:  # else who skipped it would have a whole mark of the term
            student.standings.setdefault(assignment.name, Standing(assignment, "not handed in", _NO_LIST))
        student.has_left = bool(newest) and key not in newest
    return sorted(found.values(), key=lambda one: (one.name, one.ids))


def _doubt_halves(students: Iterable[TermStudent]) -> None:
    """Doubts two of one name who are never in one assignment: they may be one student with two ids."""
    of_name: dict[tuple[str, ...], list[TermStudent]] = {}
    for one in students:
        of_name.setdefault(name_key(one.name), []).append(one)
    for one, other in (pair for key, alike in of_name.items() if key for pair in permutations(alike, 2)):
        if one.standings.keys().isdisjoint(other.standings):
            who = one_line(f"{other.name} ({next(iter(other.ids), 'no id')})")
            one.doubt = f"perhaps also {who}: grade again with a class list that has both ids, of one student or of two"


def _exact(points: float) -> Fraction:
    """Points as people write them: six digits after the point are exact."""
    return Fraction(round(points * 1_000_000), 1_000_000)
