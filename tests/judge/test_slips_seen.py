"""Mistakes seen in code are said with their lines, two at most, where nothing certain is known of a failure."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from judge_here import grade_here
from msgspec.structs import replace
from shared import OWN_COURSE

from grader.course import Misconception
from grader.judge.hints import Hints
from grader.reports.feedback import what_happened
from grader.results import Cause, CheckResult, ExerciseResult, Frame, from_json, to_json

TWO = b"""def fit(model, x, y, optimizer):
    loss = F.cross_entropy(model(x).softmax(1), y)
    loss.backward()
    optimizer.step()
    model.eval()
"""
KNOWN = tuple(
    Misconception(name, "training.fit", f"You do\n  {name}.", "training", name, "fit", 1, seen)
    for name, seen in (
        ("unsaid", ""),
        ("step", "no_zero_grad"),
        ("again", "no_zero_grad"),
        ("softmax", "softmax_before_loss"),
        ("mode", "calls('eval')"),
    )
)
WRONG = Cause(kind="assertion", reason="1.0 where 0.0 was expected")
SAID = "line 3: You do step. And line 2: You do softmax."


def first_sentence(cause: Cause | None, source: bytes = TWO, **of_result: Any) -> str:
    check = CheckResult(name="it_trains", verdict="failed" if cause else "passed", cause=cause)
    result = replace(ExerciseResult(name="training.fit", score=0.0, max=1.0, checks=(check,)), **of_result)
    (found,) = Hints(source, "line {}".format, misconceptions=KNOWN).explain(result).checks
    return found.cause.advice if found.cause else ""


def test_the_first_two_are_said_with_their_lines() -> None:
    assert first_sentence(WRONG) == SAID
    raised = Cause(kind="exception", exception_type="RuntimeError", exception_message="no grad_fn")
    assert first_sentence(raised) == SAID


@pytest.mark.parametrize(
    "cause",
    [
        None,
        Cause(kind="exception", exception_type="RuntimeError", frames=(Frame("training.py", 3),)),
        Cause(kind="unwritten"),
        Cause(kind="missing", names=("fit",)),
        Cause(kind="timeout"),
        Cause(kind="crash", reason="ended the process"),
        Cause(kind="grader_fault"),
        Cause(kind="blocked"),
    ],
    ids=lambda cause: cause.kind if cause else "passed",
)
def test_nothing_is_said_where_something_certain_is(cause: Cause | None) -> None:
    assert "You do" not in first_sentence(cause)


def test_a_name_by_equal_records_and_a_slip_of_the_pen_come_first() -> None:
    assert "You do" not in first_sentence(WRONG, misconception="step", explanation="You do it.")
    assert "You do" not in first_sentence(WRONG, as_handed_out=True)
    assert first_sentence(WRONG, TWO.replace(b"optimizer.step()", b"optimizer.step")).startswith("line 4 only names")


OWN_MATCHERS = """
def whole_length(answer, function):
    return next((one.line for one in answer.calls(function)), 0)
"""
WRONG_TWICE = "import torch\n\n\ndef normalize(x):\n    return x.abs() / x.norm()\n"


def course_that_sees(root: Path, sentence: str, seen: str) -> Path:
    """The example course, in which the misconception whose text ends so says how it is seen."""
    course = Path(shutil.copytree(OWN_COURSE, root / "course"))
    known = course / "solutions" / "misconceptions" / "vectors.py"
    assert f'{sentence}",' in known.read_text()
    known.write_text(known.read_text().replace(f'{sentence}",', f'{sentence}", seen="{seen}",'))
    (course / "checks" / "slips.py").write_text(OWN_MATCHERS)
    return course


def test_a_course_has_matchers_of_its_own_and_all_reports_have_what_they_see(tmp_path: Path) -> None:
    course = course_that_sees(tmp_path, "reduce over dim 1 only.", "whole_length('norm')")
    (result,) = grade_here(course, {"vectors": WRONG_TWICE}, only=["vectors.normalize"], names=True)
    (exercise,) = from_json(to_json(result)).exercises
    failing = [check for check in exercise.checks if check.verdict != "passed"]
    said = "line 5: You divided by the length of the whole matrix. Each row has its own length: reduce over dim 1 only."
    assert exercise.misconception is None
    assert {what_happened(exercise, check) for check in failing} == {said}
    assert all(check.message.startswith(f"{said}\n") for check in failing)
    (unnamed,) = grade_here(course, {"vectors": WRONG_TWICE}, only=["vectors.normalize"])
    one, other = ([check.verdict for check in each.exercises[0].checks] for each in (result, unnamed))
    assert one == other and result.score == unnamed.score == 0.0


def test_a_hidden_check_tells_of_the_students_own_text(tmp_path: Path) -> None:
    course = course_that_sees(tmp_path, "that of the directions.", "calls('sum')")
    right = "def normalize(x):\n    return x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)\n\n\n"
    wrong = f"{right}def cosine(a, b):\n    return (a * b).sum(1) + 1\n"
    (result,) = grade_here(course, {"vectors": wrong}, names=True)
    said = {check.name: check.message.partition("\n")[0] for check in result.exercises[1].checks if check.message}
    assert said["length_does_not_matter"].startswith("line 6: You returned the plain dot product"), said
