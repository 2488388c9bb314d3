"""`verify` finds comparisons that have the expected value first, and says nothing of any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import REPO

from grader.course.source import swapped_comparisons

SWAPPED = {
    "a call": "assert_close(x @ x.T, submission.gram(x))",
    "a part of a result": "assert_equal((2, 2), submission.gram(x).shape)",
    "two names": "expected = x @ x.T\n    got = submission.gram(x)\n    assert_close(expected, got)",
}
RIGHT = {
    "a call": "assert_close(submission.gram(x), x @ x.T)",
    "two names": "expected = x @ x.T\n    got = submission.gram(x)\n    assert_close(got, expected)",
    "two results": "first = submission.gram(x)\n    assert_close(first, submission.gram(x))",
    "results in a list": "found = []\n    found.append(submission.f(x))\n    assert_close(found, submission.g(x))",
    "results in a loop": "for one in submission.grams(x):\n        assert_close(one, submission.gram(x))",
    "made of a result": "first = submission.f(x)\n    twice = 2 * first\n    assert_close(twice, submission.g(x))",
}


def lines(folder: Path, body: str, options: str = "") -> list[int]:
    file = folder / "test_ops.py"
    file.write_text(f'@exercise("ops.gram"{options})\ndef test_it(submission, x):\n    """It."""\n    {body}\n')
    return [line for _, line in swapped_comparisons(file)]


@pytest.mark.parametrize("name", SWAPPED)
def test_the_expected_value_before_the_returned_one_is_found(tmp_path: Path, name: str) -> None:
    assert lines(tmp_path, SWAPPED[name]) == [3 + len(SWAPPED[name].splitlines())]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_where_the_first_value_comes_from_the_submission(tmp_path: Path, name: str) -> None:
    assert lines(tmp_path, RIGHT[name]) == []


def test_an_argument_that_may_change_counts_as_returned(tmp_path: Path) -> None:
    body = "assert_close(x, submission.scale_in_place(x))"
    assert lines(tmp_path, body) == [4] and lines(tmp_path, body, ", may_change=True") == []


@pytest.mark.parametrize("file", sorted(REPO.glob("grader/checks/test_*.py")), ids=lambda file: file.stem)
def test_no_check_of_the_shipped_course_is_called_swapped(file: Path) -> None:
    assert list(swapped_comparisons(file)) == []
