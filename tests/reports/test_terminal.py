"""Terminal: what a student and an instructor read, and that text from submissions is harmless there."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from classrooms import check
from rich.console import Console

from grader.course import Course, misconceptions_of
from grader.gradebook import Row
from grader.reports.check_report import CheckReport
from grader.reports.terminal import WIDTH, make_console, show_class
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind
from grader.text import clean, percent

COURSE = Course.load(Path(__file__).resolve().parent.parent.parent / "examples" / "own_course")


def exercise(
    name: str,
    *checks: tuple[str, VerdictKind, str],
    score: float = 0,
    maximum: float = 1,
    explanation: str | None = None,
) -> ExerciseResult:
    results = tuple(check(*facts) for facts in checks)
    known = explanation and "known"
    return ExerciseResult(
        name=name, score=score, max=maximum, checks=results, misconception=known, explanation=explanation
    )


def shown(*exercises: ExerciseResult, missing: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> str:
    total = sum(e.score for e in exercises), sum(e.max for e in exercises)
    result = SubmissionResult(submission="me", score=total[0], max=total[1], exercises=exercises)
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH, highlight=False, markup=False, emoji=False)
    CheckReport(COURSE, console).end(result, notes, missing)
    return stream.getvalue()


def test_pass_is_one_line_with_points_and_the_total_ends() -> None:
    text = shown(
        exercise("vectors.normalize", ("a", "passed", ""), score=1), exercise("vectors.cosine", ("b", "passed", ""))
    )
    assert any("✓ normalize" in line and line.endswith("1/1") for line in text.splitlines())
    assert "\n1/2 points, 50.0%\n" in text
    assert "vectors  Vectors: length, direction, angle" in text


def test_failure_shows_message_and_first_hint_and_where_more_is() -> None:
    text = shown(
        exercise("vectors.normalize", ("ok", "passed", ""), ("three_four_five", "failed", "f(1)\nreturned  2"))
    )
    assert "  │ f(1)\n  │ returned  2\n" in text
    assert "hint: " + COURSE.exercise("vectors.normalize").hints[0][:40] in text
    assert "grader hint vectors.normalize --level 2" in text


def test_misconception_is_explained_instead_of_the_hint() -> None:
    known = misconceptions_of(COURSE, "vectors")[0]
    failed = exercise(known.exercise, ("a", "failed", "wrong\nvery"), explanation=known.tell)
    text = shown(failed)
    assert "what happened: " + known.tell[:40] in text
    assert "hint: " not in text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("blocked", "○ normalize    0/1  because"),
        ("skipped", "– normalize    0/1  in part not assessed: because"),
        ("timeout", "✗ normalize    0/1  because"),
        ("crashed", "✗ normalize    0/1  because"),
        ("error", "! normalize    0/1  because"),
    ],
)
def test_each_verdict_has_its_mark(verdict: VerdictKind, words: str) -> None:
    assert words in shown(exercise("vectors.normalize", ("a", verdict, "because")))


def test_points_left_out_of_the_total_are_shown() -> None:
    text = shown(exercise("vectors.cosine", ("a", "skipped", "needs a GPU"), maximum=0))
    assert "0 of 0, not assessed: vectors.cosine" in text and "nothing could be assessed" in text


def test_grader_fault_is_loud() -> None:
    assert "THE GRADER FAILED" in shown(exercise("vectors.normalize", ("a", "error", "bug"), maximum=0))


def test_missing_layers_and_notes_are_one_line_each() -> None:
    text = shown(missing=("seccomp", "uid"), notes=("a.py: left out",))
    assert "sandbox without: seccomp, uid" in text and "note: a.py: left out" in text


def test_students_text_cannot_leave_its_bar() -> None:
    evil = "\x1b]0;title\x07\x1b[2J[bold]x[/bold]\r::error::no\n::error::forged\n##[error]x\x9b31m\u202e" + "w" * 500
    text = shown(exercise("vectors.normalize", ("ok", "passed", ""), ("a", "failed", evil)))
    assert not set(text) & {"\x1b", "\r", "\x9b", "\x07", "\u202e"}
    assert "[bold]x[/bold]" in text
    assert not any(line.strip().startswith(("::", "##")) for line in text.splitlines())
    assert "##[" not in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_clean_keeps_ordinary_text() -> None:
    text = "naïve ∑ 日本\n  x[0] = {1}"
    assert clean(text) == text
    assert clean("\x1b[1;31mred\x1b[0m\x1b(B") == "red"
    clean("\ud800").encode()


def test_many_empty_lines_are_read_once() -> None:
    """Not again from each of them on: half a minute for what one student may hand in."""
    lines = " \n" * 50_000
    assert clean(f"{lines}end\n ::set-output::") == f"{lines}end\n : :set-output::"


def test_percent_never_looks_like_more_than_it_is() -> None:
    assert percent(999.9, 1000.0) == 99.9
    assert percent(0.29, 1.0) == 29.0
    assert percent(0.0, 0.0) is None


def test_class_table_has_a_row_each_and_says_what_is_notable() -> None:
    ok = SubmissionResult(submission="[red]alice\x1b[0m", score=1, max=2)
    slow = ExerciseResult(name="t.d", score=0, max=0, checks=(CheckResult(name="a", verdict="timeout"),))
    fault = CheckResult(name="b", verdict="error")
    bad = ExerciseResult(name="t.e", score=0, max=0, misconception="x", checks=(fault,))
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH, highlight=False, markup=False, emoji=False)
    rows = [
        Row(ok, "d", 0.5),
        Row(SubmissionResult(submission="bob", score=0, max=0, exercises=(slow, bad)), "d", 1, True),
    ]
    show_class(rows, console)
    text = stream.getvalue()
    assert "[red]alice" in text and "\x1b" not in text and "50.0" in text
    assert "GRADER FAULT, 1 too slow, 1 misconception, not assessed: t.d, t.e," in text and "unchanged" in text
    assert "2 submissions, mean 50.0%" in text


def test_piped_console_is_plain_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    console = make_console()
    assert console.width <= WIDTH
