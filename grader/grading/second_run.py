"""The course's solutions, graded once more by a worker process: a result that differs then depends on chance.

The worker has another process number and another order of sets than the process that verifies. It also finds checks at
which a judge would end or not come to an end, before they are run in a process that nothing could end.
"""

from functools import cached_property

from grader.course import Course
from grader.grading.local_workers import LocalWorkers, solution_of
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.judge.marks import NotRun, place_of
from grader.results import CheckResult

_HASH_SEED = 1


class SecondRun:
    """Begins at once and goes on beside the caller; use it in a ``with`` statement, which ends its worker."""

    def __init__(self, course: Course, options: WorkerOptions) -> None:
        self._workers = LocalWorkers(course, options, first=Worker(_HASH_SEED))
        self._graded = self._workers.submit(solution_of(course))

    def __enter__(self) -> "SecondRun":
        return self

    def __exit__(self, *error: object) -> None:
        self._workers.stop()
        self._workers.close()

    @cached_property
    def results(self) -> dict[tuple[str, str], CheckResult]:
        """The result of each check, by full name of the exercise and name of the check; waits until they are there."""
        exercises = self._graded.result().result.exercises
        return {(exercise.name, check.name): check for exercise in exercises for check in exercise.checks}

    def marks(self) -> tuple[NotRun, ...]:
        """The checks at which the judge ended or did not come to an end."""
        return tuple(
            NotRun(place_of(exercise, name), check.cause)
            for (exercise, name), check in self.results.items()
            if check.cause and check.cause.kind == "grader_fault" and check.cause.check_line
            if not check.cause.exception_type
        )
