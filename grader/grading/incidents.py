"""Decides about a submission at which workers failed: which checks are not run again, and their cause.

If a check did not end and its worker was ended for it, the check is run on the solution: if it does not end there
either, it is an ``error`` for everybody, else the submission has failed it.

If a worker ended by itself, the check at hand is at fault the first time: it is an ``error``, and costs no points. A
submission at which workers end again gets no points for what they did then, unless the solution ends them as well. The
rest is graded.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from grader.course import Course, checks_of
from grader.errors import CourseError
from grader.grading.worker_process import WorkerFailed
from grader.judge.marks import NotRun, Place, endless, kept_busy
from grader.results import Cause, Frame

_WHOLE_TOPICS_FROM: Final = 4
"""From so many ends on, all of a topic is given up at once: every end costs a start of the judge."""


class Incidents:
    """The ends of workers at one submission.

    Args:
        faulty: checks that end a worker whatever the submission is, by place: they are not run.
        search: adds such checks of an exercise (full name) to these.
    """

    def __init__(self, course: Course, faulty: Mapping[Place, NotRun], search: Callable[[str], None]) -> None:
        self._course = course
        self._faulty = faulty
        self._search = search
        self._incidents: list[tuple[NotRun, float]] = []
        self._count = 0
        self._retried = 0

    def add(self, failure: WorkerFailed) -> bool:
        """Takes note of an end; whether it is worth while to grade the submission again."""
        self._count += 1
        mark = mark_on_end(self._course, failure)
        if mark is None:
            return self._count == 1 and not failure.is_final
        if not (mark.place.check or self._retried or self._incidents):
            self._retried = 1  # Not in a check: perhaps the system ended it, so nothing is given up yet.
            return True
        if not mark.place.topic:
            return False
        overran = failure.overran if mark.place.check else 0.0
        self._incidents.append((mark, overran))
        if overran or len(self._incidents) + self._retried > 1:
            for exercise in dict.fromkeys(one.place.exercise for one, _ in self._incidents if one.place.exercise):
                self._search(exercise)
        return True

    def marks(self) -> list[NotRun]:
        """The places that are not run when the submission is graded again."""
        own = [(mark, overran) for mark, overran in self._incidents if mark.place not in self._faulty]
        is_first = len(own) + self._retried <= 1
        marks = list(self._faulty.values())
        for number, (mark, overran) in enumerate(own, 1 + self._retried):
            if overran and number < _WHOLE_TOPICS_FROM:
                marks.append(NotRun(mark.place, kept_busy(overran)))
            elif is_first:
                marks.append(mark)
            else:
                place = Place(mark.place.topic, mark.place.exercise if number < _WHOLE_TOPICS_FROM else "")
                reason = "the grader's own process ended more than once while it graded this; your instructor is told"
                marks.append(NotRun(place, Cause(kind="judge_ended", reason=reason)))
        return marks


def mark_on_end(course: Course, failure: WorkerFailed) -> NotRun | None:
    """The place where a worker ended, with its cause if it is at fault; None if no place is."""
    place = failure.place
    if place is None:
        return None
    line = _check_line(course, place, failure.stack) if place.check else None
    if failure.overran and place.check:
        return NotRun(place, endless(failure.overran, line))
    return NotRun(place, Cause(kind="grader_fault", reason=failure.cause, check_line=line))


def _check_line(course: Course, place: Place, stack: list[tuple[str, int]]) -> Frame | None:
    """The check's line that was running, else its first one."""
    file = course.check_file(place.topic)
    lines = [line for name, line in stack if Path(name) == file]
    if not lines:
        function = f"test_{place.check.partition('[')[0]}"
        try:
            lines = [one.line for one in checks_of(course, place.topic) if one.function == function]
        except CourseError:
            return None
    return Frame(file.name, lines[0]) if lines else None
