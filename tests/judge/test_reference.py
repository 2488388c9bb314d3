"""When an answer cannot be used, the reference decides whose fault it is; that it is late itself decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import WarmUp, check_of

pytestmark = pytest.mark.slow

CHECKS = '''

@exercise("vectors.cosine")
def test_reference_is_late(submission: Submission) -> None:
    """Whether there is an answer of the right kind."""
    from grader.border.failures import SubmissionTimeout

    answer = submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
    if isinstance(answer, torch.Tensor):
        raise SubmissionTimeout
    answer.no_such_method()


@exercise("vectors.cosine")
def test_reference_has_no_such_method(submission: Submission) -> None:
    """Whether there is a method that no answer has."""
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2)).no_such_method()
'''


def test_a_late_reference_does_not_make_a_wrong_answer_the_checks_fault(own_course: Path, warm: WarmUp) -> None:
    file = own_course / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + CHECKS)
    solution = (own_course / "solutions" / "vectors.py").read_text()
    for _ in range(2):  # the second time, what the reference did is known
        result = warm(own_course).grade(vectors=solution + "\n\ndef cosine(a, b):\n    return 'no tensor'\n")
        assert check_of(result, "reference_is_late").verdict == "failed"
        assert check_of(result, "reference_has_no_such_method").verdict == "error"


BROKEN = '''

class Unspeakable(AssertionError):
    def __str__(self) -> str:
        raise ValueError("no words")


@exercise("vectors.cosine")
def test_breaks_on_that_answer(submission: Submission) -> None:
    """Raises what the judge cannot read, for one answer."""
    if submission.cosine(torch.ones(1, 2), torch.ones(1, 2)) == "no tensor":
        raise Unspeakable


@exercise("vectors.normalize")
def test_breaks_on_every_answer(submission: Submission) -> None:
    """Raises what the judge cannot read."""
    submission.normalize(torch.ones(1, 2))
    raise Unspeakable
'''


def test_what_breaks_the_judge_is_a_failure_unless_the_reference_breaks_it_too(own_course: Path, warm: WarmUp) -> None:
    file = own_course / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + BROKEN)
    solution = (own_course / "solutions" / "vectors.py").read_text()
    worker = warm(own_course)
    result = worker.grade(vectors=solution + "\n\ndef cosine(a, b):\n    return 'no tensor'\n")
    assert check_of(result, "breaks_on_that_answer").verdict == "crashed"
    assert check_of(result, "breaks_on_every_answer").verdict == "error"
    assert (result.score, result.max) == (1.0, 3.0)
    assert check_of(worker.grade(vectors=solution), "breaks_on_that_answer").verdict == "passed"
