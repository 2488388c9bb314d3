"""A check that is itself at fault says so, in words that say what to do; no student pays for it."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from judge_here import grade_here
from shared import check_of

CHECKS = '''
import pytest
import torch

from grader.testkit import Submission, assert_close, exercise

KEPT = []


@exercise("vectors.normalize")
@pytest.mark.some_mark_of_the_course
def test_marked(submission: Submission) -> None:
    """It has a mark of its own."""
    assert_close(submission.normalize(torch.zeros(1, 2)), torch.zeros(1, 2))


@exercise("vectors.normalize")
def test_keeps(submission: Submission) -> None:
    """It keeps a function from one run to the next."""
    KEPT.append(submission.normalize)
    assert_close(KEPT[0](torch.zeros(1, 2)), torch.zeros(1, 2))


@exercise("vectors.cosine")
def test_asks_for_much(submission: Submission) -> None:
    """It asks again and again."""
    for _ in range(100):
        assert len(submission.cosine(torch.zeros(300, 2), torch.zeros(300, 2))) in (300, 1 << 15)
'''


def test_a_fault_of_a_check_says_what_to_do(own_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = (own_course / "solutions" / "vectors.py").read_text()
    (own_course / "checks" / "test_vectors.py").write_text(CHECKS)
    monkeypatch.setattr("grader.border.channel.MAX_RECEIVED_BYTES", 1 << 16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, result = grade_here(own_course, {}, {"vectors": solution})
    assert check_of(result, "marked").verdict == "passed"
    found = {name: check_of(result, name) for name in ("keeps", "asks_for_much")}
    assert {check.verdict for check in found.values()} == {"error"}
    assert "keeps `submission`, or something of it, from an earlier run: ask `submission`" in found["keeps"].message
    assert "ask for less, or make several checks of it" in found["asks_for_much"].message
    much = solution.replace("(normalize(a) * normalize(b)).sum(dim=1)", "torch.zeros(1 << 15)")
    (large,) = grade_here(own_course, {"vectors": much}, only=["vectors.normalize", "vectors.cosine"])
    assert check_of(large, "asks_for_much").message.startswith("your code sent more than")


def test_a_module_of_the_course_that_was_not_handed_in_is_named_as_that(own_course: Path) -> None:
    (own_course / "solutions" / "pkg").mkdir()
    (own_course / "solutions" / "pkg" / "model.py").write_text("X = 1\n")
    at_top = "from {} import X\n\n\ndef normalize(x):\n    return X\n"
    within = "def normalize(x):\n    from {} import X\n    return X\n"
    texts = [text.format(name) for text in (at_top, within) for name in ("pkg.model", "another")]
    said = [
        one.exercises[0].checks[0].message for one in grade_here(own_course, *({"vectors": text} for text in texts))
    ]
    words = "`pkg` is a module of the course, and not in your submission: hand it in with your other files"
    assert [words in one for one in said] == [True, False, True, False], said
