"""Decides about a submission at which a worker process ended: which checks are not run again, and their cause.

If a check did not end and its worker was ended for it, the check is run on the solution: if it does not end there
either, it is an ``error`` for everybody, else the submission has failed it.

If a worker ended by itself, the check at hand is at fault the first time: it is an ``error``, and costs no points. A
submission at which workers end again gets no points for what they did then, unless the solution ends them as well. The
rest is graded.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Course, checks_of
from grader.errors import CourseError
from grader.grading.worker_process import WorkerDied
from grader.intake.submission import Submission
from grader.judge.marks import NotRun, Place, endless, kept_busy
from grader.results import Cause, Frame

_WHOLE_TOPICS_FROM: Final = 4
"""From so many ends on, all of a topic is given up at once: every end costs a start of the judge."""


class Incident(msgspec.Struct, frozen=True):
    """One end of a worker: its place then, and the cause that the check gets if it is at fault.

    Attributes:
        overran: how much of the judge's time the check had taken when the worker was ended for it (s); else 0.
    """

    place: Place
    cause: Cause
    overran: float = 0.0


class Incidents:
    """The ends of workers at one submission.

    Args:
        known: checks that end a worker whatever the submission is, by place: they are not run.
        find_faulty: gives such checks, after it has looked for all of an exercise (full name), or of the course ("").
    """

    def __init__(self, known: Mapping[Place, Cause], find_faulty: Callable[[str], Mapping[Place, Cause]]) -> None:
        self._faulty = known
        self._find_faulty = find_faulty
        self._incidents: list[Incident] = []
        self._retried = False

    def add(self, incident: Incident) -> bool:
        """Takes note of an end; whether it is worth while to grade the submission again."""
        if not incident.place.check and not self._retried and not self._incidents:
            self._retried = True  # Not in a check: perhaps the system ended it, so nothing is given up yet.
            return True
        if not incident.place.topic:
            return False
        self._incidents.append(incident)
        if incident.overran:
            self._faulty = self._find_faulty(incident.place.exercise)
        elif len(self._incidents) + self._retried > 1:
            self._faulty = self._find_faulty("")
        return True

    @property
    def marks(self) -> tuple[NotRun, ...]:
        """The places that are not run when the submission is graded again."""
        faults = [NotRun(place, cause) for place, cause in self._faulty.items()]
        own = [one for one in self._incidents if one.place not in self._faulty]
        is_first = len(own) + self._retried <= 1
        return (*faults, *(_mark(one, number, is_first) for number, one in enumerate(own, 1 + self._retried)))


def _mark(incident: Incident, number: int, is_first: bool) -> NotRun:
    """The mark on the place that is not run again after the incident of that number."""
    if incident.overran and number < _WHOLE_TOPICS_FROM:
        return NotRun(incident.place, kept_busy(incident.overran))
    if is_first:
        return NotRun(incident.place, incident.cause)
    place = msgspec.structs.replace(incident.place, check="")
    if number >= _WHOLE_TOPICS_FROM:
        place = Place(place.topic)
    reason = "the grader's own process ended more than once while it graded this; your instructor is told"
    return NotRun(place, Cause(kind="judge_ended", reason=reason))


def host_incident(place: Place) -> Incident:
    """The incident that the end of a warm host is. A check is not at fault: nothing of it runs there."""
    return Incident(msgspec.structs.replace(place, check=""), Cause(kind="grader_fault", reason="the warm host ended"))


def solution_of(course: Course) -> Submission:
    """The course's solutions as a submission."""
    files = {path.name: path.read_bytes() for path in sorted(course.solutions_dir.glob("*.py"))}
    return Submission("solution", files)


def faulty_checks(course: Course, grade: Callable[[Sequence[NotRun]], WorkerDied | None]) -> dict[Place, Cause]:
    """The checks at which a worker ends on the solution, each with its cause.

    Args:
        grade: grades the solution without the marked checks; how the worker died, if it did.
    """
    found: dict[Place, Cause] = {}
    while death := grade([NotRun(place, cause) for place, cause in found.items()]):
        incident = incident_of(course, death)
        if incident is None or not incident.place.check or incident.place in found:
            break
        found[incident.place] = incident.cause
    return found


def incident_of(course: Course, death: WorkerDied) -> Incident | None:
    """The incident that a worker's end is; None if it had not begun to grade."""
    if death.place is None:
        return None
    line = _check_line(course, death.place, death.stack)
    if death.overran and death.place.check:
        return Incident(death.place, endless(death.overran, line), death.overran)
    return Incident(death.place, Cause(kind="grader_fault", reason=f"the judge ended: {death.how}", check_line=line))


def _check_line(course: Course, place: Place, stack: list[tuple[str, int]]) -> Frame | None:
    """The check's line that was running, else its first one."""
    if not place.check:
        return None
    file = course.check_file(place.topic)
    for name, line in stack:
        if Path(name) == file:
            return Frame(file.name, line)
    function = f"test_{place.check.partition('[')[0]}"
    try:
        return next(
            (Frame(file.name, one.line) for one in checks_of(course, place.topic) if one.function == function), None
        )
    except CourseError:
        return None
