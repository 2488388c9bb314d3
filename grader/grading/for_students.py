"""Results as students may see them now, without hidden checks: for commands that grade a student's own work."""

import msgspec

from grader.grading.graders import Graded
from grader.grading.worker_process import Watcher
from grader.judge.marks import Place
from grader.reports.entries import exercise_for_students, for_students
from grader.results import ExerciseResult


def graded_for_students(graded: Graded) -> Graded:
    """The same result without hidden checks."""
    return msgspec.structs.replace(graded, result=for_students(graded.result))


class ForStudents:
    """A watcher that passes results on to another one, without hidden checks."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def began(self, place: Place) -> None:
        self._watcher.began(place)

    def known(self, exercise: ExerciseResult) -> None:
        self._watcher.known(exercise_for_students(exercise))
