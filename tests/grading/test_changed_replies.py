"""`verify` changes all values that the solution gives: an exercise whose checks do not notice is a defect."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_here import run_here

pytestmark = pytest.mark.slow

CHECKS = '''"""Checks."""

import torch
from hypothesis import given

from grader.testkit import Submission, assert_close, assert_that, exercise, tensors


@exercise("vectors.normalize")
@given(x=tensors(shape=((1, 4), (1, 4))))
def test_flattened(submission: Submission, x: torch.Tensor) -> None:
    """The rows have length 1; their shape is lost before it is compared."""
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    expected = x / torch.where(length == 0, 1.0, length)
    assert_close(submission.normalize(x).flatten(), expected.flatten())


@exercise("vectors.cosine")
@given(x=tensors(shape=((1, 4), (1, 4))))
def test_compares_nothing(submission: Submission, x: torch.Tensor) -> None:
    """It can be called."""
    assert_that(submission.cosine(x, x) is not ..., "it gives something")
'''
ACCEPTED = """
[[mutant]]
definition = "vectors.cosine"
line = ""
change = "another dtype"
reason = "any number will do"
"""


def test_checks_that_do_not_look_are_found_unless_that_is_written_down(own_course: Path) -> None:
    (own_course / "checks" / "test_vectors.py").write_text(CHECKS)
    (own_course / "solutions" / "equivalent_mutants.toml").write_text(ACCEPTED)
    done = run_here("verify", "--course", own_course)
    advice = "; assert_equal and assert_close also look at type, dtype and shape, as `==` does not"
    said = [line for line in done.stdout.splitlines() if "no check notices" in line]
    found = [line.removesuffix(advice) for line in said]
    assert all(line.endswith(advice) for line in said)
    words = "no check notices when all values that come back are changed"
    file = own_course / "checks" / "test_vectors.py"
    assert found == [
        f"{file}: `vectors.normalize`: {words}: another shape",
        *(
            f"{file}: `vectors.cosine`: {words}: {change}"
            for change in ("another shape", "None", "all zeros", "all ones")
        ),
    ], done.stdout
    assert done.returncode == 1
