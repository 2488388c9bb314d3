"""What the judge says of work that a person marks: it is there, missing or untouched, and no part of the total."""

from __future__ import annotations

import pytest
from judge_here import grade_here
from marked_class import ADA, BOB
from shared import MARKED_COURSE, WarmUp

from grader.intake.submission import Submission
from grader.results import Manual


def test_manual_exercises_come_after_those_with_checks_and_count_nothing() -> None:
    (result,) = grade_here(MARKED_COURSE, Submission("ada", ADA))
    names = ["curves.moving_average", "curves.style", "findings.plot", "findings.report"]
    assert [one.name for one in result.exercises] == names
    assert (result.score, result.max, result.verdicts, result.left_out) == (2, 2, {"passed"}, ())
    assert [one.manual for one in result.to_mark] == [
        Manual(1.5, "curves.py"),
        Manual(2, "plot.png"),
        Manual(4, "report.md"),
    ]


def test_what_is_missing_or_as_it_was_handed_out_is_told() -> None:
    stub = (MARKED_COURSE / "exercises" / "curves.py").read_bytes()
    (result,) = grade_here(MARKED_COURSE, Submission("bob", {**BOB, "curves.py": stub}))
    assert [one.manual.state for one in result.to_mark if one.manual] == ["untouched", "missing", "untouched"]


@pytest.mark.slow
def test_a_submission_cannot_read_what_a_person_marks(warm: WarmUp) -> None:
    spying = b"import os\n\nif 'report.md' in os.listdir('.'):\n    raise RuntimeError('seen')\n"
    result = warm(MARKED_COURSE).of(Submission("eve", {**ADA, "curves.py": spying + ADA["curves.py"]}))
    assert result.score == 2, result.exercises[0].checks


def test_manual_exercises_alone_start_no_process_and_flag_nothing() -> None:
    submission = Submission("cy", {"report.md": b"import ctypes, gc, sys"})
    (result,) = grade_here(MARKED_COURSE, submission, only=("findings.plot", "findings.report"))
    assert [one.name for one in result.exercises] == ["findings.plot", "findings.report"]
    assert (result.score, result.max, result.verdicts, result.flags) == (0, 0, set(), ())
