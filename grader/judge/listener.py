"""The places of a course that a judge reports while it grades, and those that it is told not to run.

Imports nothing slow: the main process listens and says what is not run, and worker processes report and obey.
"""

from __future__ import annotations

import msgspec

from grader.results import Cause, ExerciseResult, Frame


class Place(msgspec.Struct, frozen=True):
    """A part of a course: a check, all of an exercise (without a check), or a topic (without an exercise)."""

    topic: str
    exercise: str = ""
    check: str = ""

    def covers(self, other: Place) -> bool:
        """Whether the other place is this one or a part of it."""
        return self.topic == other.topic and self.exercise in ("", other.exercise) and self.check in ("", other.check)


class NotRun(msgspec.Struct, frozen=True):
    """A place that is not run.

    Attributes:
        cause: the cause that its checks get instead. None for a check that exceeded the judge's time limit on this
            submission's answer: its outcome on the reference solution decides.
    """

    place: Place
    cause: Cause | None


class Listener:
    """Gets the news while a submission is graded; here, it does nothing with them."""

    def began(self, place: Place) -> None:
        """This place is run from now on."""

    def known(self, exercise: ExerciseResult) -> None:
        """The result of an exercise; it may come again if a worker had to be replaced."""


def endless(seconds: float, line: Frame | None) -> Cause:
    """The cause of a check that exceeds the judge's time limit on the reference solution too: no student loses points.

    Args:
        seconds: the time limit of the judge's own time.
        line: the check's line that was running.
    """
    reason = f"the check's own loop does not end: it took more than {seconds:g} s of the grader's time"
    return Cause(kind="grader_fault", reason=reason, check_line=line)


def kept_busy(seconds: float, sentence: str = "") -> Cause:
    """The cause of a check that exceeds the judge's time limit on a submission's answer, but not on the reference's."""
    reason = f"what came back kept the check busy for more than {seconds:g} s; the reference solution's answer does not"
    return Cause(kind="assertion", sentence=sentence, reason=reason)


def place_of(exercise: str, check: str) -> Place:
    """The place of a check; `exercise` is a full name."""
    return Place(exercise.partition(".")[0], exercise, check)
