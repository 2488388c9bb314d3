"""The card of a result: what happened first, one failure, and the others folded away."""

from __future__ import annotations

from grader.course import Course
from grader.grading.graders import Graded
from grader.notebook.commands import Card
from grader.results import Cause, CheckResult, ExerciseResult, SubmissionResult

EXERCISE = "tensor_ops.gram"


def failing(name: str, reason: str) -> CheckResult:
    cause = Cause(kind="assertion", sentence="All dot products.", reason=reason, advice=reason)
    return CheckResult(name=name, verdict="failed", message=f"{reason}\nAll dot products.", cause=cause)


def test_one_failure_is_shown_and_the_others_are_folded_away() -> None:
    checks = (
        failing("three_rows", "1.0 where 5.0 was expected"),
        failing("one_row", "2.0 where 3.0 was expected"),
        failing("float64", "dtype torch.float32 where torch.float64 was expected"),
    )
    exercise = ExerciseResult(
        name=EXERCISE, score=0.0, max=1.0, checks=checks, misconception="cosines", explanation="You divide each row."
    )
    result = SubmissionResult(submission="notebook", score=0.0, max=1.0, exercises=(exercise,))
    html = Card(Graded(result, "", 0.0), Course.load(None), EXERCISE).html()
    places = [
        html.index(words)
        for words in (
            "<b>What happened:</b> You divide each row.",
            "1.0 where 5.0 was expected",
            "and 1 more check fails alike",
            "2.0 where 3.0 was expected",
            "and 1 more check fails in another way",
            "dtype torch.float32 where torch.float64 was expected",
        )
    ]
    assert places == sorted(places)
