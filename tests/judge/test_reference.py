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
