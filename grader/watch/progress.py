"""How far a student is while `grader watch` runs, and which exercise comes next; kept in the folder, if it can be."""

from collections.abc import Sequence
from pathlib import Path

from grader.course import Course, Exercise
from grader.course.home import Home, LastCheck
from grader.reports.states import state_of
from grader.reports.where import next_of
from grader.results import ExerciseResult


class Progress:
    """The marks of a student.

    Args:
        scope: the exercises that are watched, in order of learning.
        folder: where the student's files are.

    Attributes:
        marks: how each exercise went when it was last checked, by full name.
    """

    def __init__(self, course: Course, scope: Sequence[Exercise], folder: Path) -> None:
        self._course = course
        self._scope = scope
        self._home = Home.find(folder)
        self.marks: dict[str, LastCheck] = self._home.marks() if self._home else {}

    def note(self, results: Sequence[ExerciseResult]) -> None:
        """Keeps how some exercises went."""
        found = {one.name: LastCheck(state_of(one), one.score, one.max) for one in results}
        self.marks |= found
        if self._home is not None:
            self._home.note(found)

    def is_done(self, exercise: Exercise) -> bool:
        """Whether there is nothing left to do for an exercise."""
        mark = self.marks.get(exercise.full_name)
        return mark is not None and mark.state in ("passed", "left_out")

    def first(self) -> Exercise | None:
        """What to begin with: what `grader next` says, where that is watched; None when all is done."""
        found = next_of(self._course, self.marks)
        return found if found in self._scope else self.next_open(None)

    def next_open(self, after: Exercise | None) -> Exercise | None:
        """The first exercise after one that is not done, and whose needs are; else the first that is not done."""
        at = self._scope.index(after) + 1 if after in self._scope else 0
        in_order = [*self._scope[at:], *self._scope[:at]]
        left = [one for one in in_order if not self.is_done(one) and one != after]
        passed = {name for name, mark in self.marks.items() if mark.state == "passed"}
        ready = [one for one in left if set(one.needs) <= passed]
        again = [after] if after is not None and after in self._scope and not self.is_done(after) else []
        return next(iter([*ready, *left, *again]), None)
