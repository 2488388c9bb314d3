"""Assignments and the term, as ``course.toml`` declares them: what is handed in together, by when, for how much."""

import datetime
from collections.abc import Collection
from typing import Final

import msgspec

from grader.course.due import NOT_DUE, LatePolicy
from grader.course.marks import Resubmissions
from grader.errors import UnknownName, did_you_mean

_LAST: Final = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """Exercises that are handed in together.

    Attributes:
        name: empty: the whole course, which declares no assignments.
        exercises: full names, in course order.
        late: when it is due, and the cost of late work.
        resubmissions: which work of several counts.
        weight: how much it counts in the term; None: 1 if another one has a weight, else by its points.
    """

    name: str = ""
    title: str = ""
    exercises: tuple[str, ...] = ()
    late: LatePolicy = NOT_DUE
    resubmissions: Resubmissions = "latest"
    weight: float | None = None


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """The rule that makes one mark of all assignments.

    Attributes:
        drop_lowest: how many of a student's assignments do not count: those with the smallest share of their points.
        late_days: days late that cost a student nothing, spent in the order of due dates.
        letters: the least percentage of each letter grade, the highest first.
    """

    drop_lowest: int = 0
    late_days: int = 0
    letters: tuple[tuple[str, float], ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How a course is handed in.

    Attributes:
        course: its name.
        assignments: in their order in ``course.toml``; one without a name if it declares none.
    """

    course: str = ""
    assignments: tuple[Assignment, ...] = (Assignment(),)
    term: Term = Term()

    @property
    def is_term(self) -> bool:
        """Whether the course declares assignments."""
        return any(one.name for one in self.assignments)

    @property
    def by_due_date(self) -> tuple[Assignment, ...]:
        """The assignments in the order in which they are due; those without a date come last."""
        return tuple(sorted(self.assignments, key=lambda one: one.late.due or _LAST))

    def of(self, exercises: Collection[str]) -> list[Assignment]:
        """The assignments that have all of these exercises."""
        return [one for one in self.assignments if set(exercises) <= set(one.exercises)]

    def named(self, name: str) -> Assignment:
        """The assignment of that name.

        Raises:
            UnknownName: there is none.
        """
        found = next((one for one in self.assignments if one.name == name), None)
        if found is None:
            known = [one.name for one in self.assignments if one.name]
            if not known:
                raise UnknownName(
                    f"no assignment `{name}`: this course declares none", fix="add [[assignments]] to its course.toml"
                )
            raise UnknownName(
                f"no assignment `{name}`{did_you_mean(name, known)}", fix=f"there are: {', '.join(known)}"
            )
        return found
