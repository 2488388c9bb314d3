"""The loop that all graders share: every submission gets a result, whatever others become."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from shared import OWN_COURSE

from grader.course import Course
from grader.grading.graders import Graded, Graders
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission, Unreadable
from grader.results import SubmissionResult


class AtOnce(Graders):
    """Two places, and results without any process."""

    def _limit(self) -> int:
        return 2

    def _submit(self, submission: Submission, is_alone: bool) -> Future[Graded]:
        done: Future[Graded] = Future()
        done.set_result(Graded(SubmissionResult(submission=submission.name, score=1, max=1), "digest", 0.0))
        self._arrived.put(done)
        return done

    def _received(self, future: Future[Graded], submission: Submission, is_alone: bool) -> Graded | None:
        return future.result()

    def close(self) -> None:
        """There is nothing to end."""


@pytest.mark.parametrize("first_lost", [0, 1, 2, 3, 7])
def test_those_behind_submissions_that_cannot_be_read_are_graded(first_lost: int) -> None:
    lost: list[Submission | Unreadable] = [Unreadable(f"lost {number}", "no memory") for number in range(first_lost)]
    read: list[Submission | Unreadable] = [Submission(name, {}) for name in ("ann", "bob", "carl")]
    with AtOnce(Course.load(OWN_COURSE), WorkerOptions()) as graders:
        graded = list(graders.results_of([*lost, *read, *lost, *read]))
    assert sum(one.was_read for one in graded) == 6
    assert sum(not one.was_read for one in graded) == 2 * first_lost
