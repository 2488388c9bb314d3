"""Whether a result of an earlier run can stand for the same files in this one. Makes no verdict."""

from __future__ import annotations

from grader.course import Course
from grader.intake.submission import Submission
from grader.results import ExerciseResult, SubmissionResult

_RAN = frozenset({"passed", "failed", "timeout", "crashed"})


def still_holds(result: SubmissionResult, submission: Submission, course: Course) -> bool:
    """Whether grading again could give nothing else.

    It could where another state of reading is known now, and where exercises wait for others that a person has given
    points for since, or no longer does.
    """
    graded = {exercise.name.partition(".")[0] for exercise in result.exercises}
    if {one.topic for one in result.unread} != {one.topic for one in submission.unread if one.topic in graded}:
        return False
    met = {exercise.name for exercise in result.exercises if exercise.meets_needs} | set(submission.granted)
    needs = {exercise.full_name: set(exercise.needs) for exercise in course.exercises}
    return all(_has_waited(exercise) == bool(needs.get(exercise.name, set()) - met) for exercise in _asked(result))


def _asked(result: SubmissionResult) -> list[ExerciseResult]:
    """The exercises that were asked, or would have been: not those of a topic without a file that can be imported."""
    return [exercise for exercise in result.exercises if _has_waited(exercise) or _ran(exercise)]


def _has_waited(exercise: ExerciseResult) -> bool:
    return any(check.verdict == "blocked" for check in exercise.checks)


def _ran(exercise: ExerciseResult) -> bool:
    causes = [check.cause for check in exercise.checks if check.verdict in _RAN]
    return any(cause is None or (cause.stage == "check" and cause.kind != "judge_ended") for cause in causes)
