"""When an answer cannot be used, the reference decides whose fault it is; that it is late itself decides nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from shared import OWN_COURSE, WarmUp, check_of

pytestmark = pytest.mark.slow

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
NO_TENSOR = SOLUTION + "\n\ndef cosine(a, b):\n    return 'no tensor'\n"
CHECKS = '''

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


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Own course with these checks in addition."""
    folder = tmp_path_factory.mktemp("reference") / "course"
    shutil.copytree(OWN_COURSE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + CHECKS)
    return folder


def test_a_late_reference_does_not_make_a_wrong_answer_the_checks_fault(course: Path, warm: WarmUp) -> None:
    for _ in range(2):  # the second time, what the reference did is known
        result = warm(course).grade(vectors=NO_TENSOR)
        assert check_of(result, "reference_is_late").verdict == "failed"
        assert check_of(result, "reference_has_no_such_method").verdict == "error"


def test_what_breaks_the_judge_is_a_failure_unless_the_reference_breaks_it_too(course: Path, warm: WarmUp) -> None:
    worker = warm(course)
    result = worker.grade(vectors=NO_TENSOR)
    assert check_of(result, "breaks_on_that_answer").verdict == "crashed"
    assert check_of(result, "breaks_on_every_answer").verdict == "error"
    assert (result.score, result.max) == (1.0, 3.0)
    assert check_of(worker.grade(vectors=SOLUTION), "breaks_on_that_answer").verdict == "passed"
