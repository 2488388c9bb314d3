"""Submissions that write results, or speak in the judge's or the student process's name."""

from __future__ import annotations

import pytest
from arena import Arena, submission
from shared import but_nightly

from grader.course import Course
from grader.intake.submission import Submission
from grader.reports.check_report import CheckReport
from grader.reports.terminal import make_console


@pytest.mark.parametrize(
    ("attack", "verdict"),
    but_nightly(
        [
            ("writes_results", "failed"),
            ("writes_descriptors", "crashed"),
            ("replies_early", "failed"),
            ("replies_twice", "failed"),
            ("replies_then_leaves", "failed"),
            ("announces_too_much", "crashed"),
            ("announces_and_waits", "timeout"),
            ("no_messagepack", "crashed"),
            ("deep_reply", "crashed"),
            ("wide_reply", "crashed"),
            ("odd_types", "crashed"),
            ("lying_shape", "crashed"),
            ("odd_devices", "crashed"),
            ("odd_keys", "crashed"),
            ("many_numbers", "crashed"),
            ("long_answer", "failed"),
            ("colliding_keys", "crashed"),
            ("colliding_tuples", "crashed"),
            ("floods", "failed"),
            ("forged_dump", "timeout"),
            ("brings_wrong_answers", "passed"),
            ("broken_helper", "passed"),
        ],
        "announces_and_waits",
        "wide_reply",
        "odd_devices",
        "odd_keys",
        "colliding_tuples",
    ),
)
def test_it_wins_nothing(arena: Arena, attack: str, verdict: str) -> None:
    arena.survive(attack, gram=verdict, also=frozenset({"crashed", "timeout"}))


@pytest.mark.parametrize(
    "attack",
    but_nightly(
        [
            "writes_descriptors_at_import",
            "says_ok_and_leaves",
            "says_ok_then_goes_on",
            "serves_itself",
            "serves_silence",
        ],
        "says_ok_then_goes_on",
        "serves_silence",
    ),
)
def test_at_import_it_wins_nothing(arena: Arena, attack: str) -> None:
    assert arena.attack(submission(attack)).score == 0


def test_what_raises_at_import_is_left_out_and_wins_nothing(arena: Arena) -> None:
    result = arena.survive("replaces_the_service", gram="failed")
    assert any("KeyError" in note for note in result.notes), result.notes


@pytest.mark.parametrize(
    "name",
    [
        "conftest",
        "sitecustomize",
        "usercustomize",
        "torch",
        "grader",
        "hypothesis",
        "pytest",
        "msgspec",
        "statistics",
        "test_tensor_ops",
    ],
)
def test_a_module_under_the_name_of_a_tool_changes_nothing(arena: Arena, name: str) -> None:
    files = submission("broken_helper").files
    hostile = b"import os\n\nos._exit(0)\n"
    assert (
        arena.attack(Submission("shadow", {**files, f"{name}.py": hostile, f"{name}/__init__.py": hostile})).score == 4
    )


@pytest.mark.parametrize("attack", ["prints_results", "handle_lies", "long_exception", "claims_not_missing", "markup"])
def test_no_print_or_name_passes_for_a_line_of_the_grader(arena: Arena, attack: str) -> None:
    console = make_console()
    with console.capture() as capture:
        CheckReport(Course.load(None), console).end(arena.survive(attack, gram="failed"), (), ())
    text = capture.get()
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text and "\r" not in text
    lines = text.splitlines()
    assert sum(line.startswith(("  ✓", "  ✗")) for line in lines) == 4
    assert [line for line in lines if "points, " in line and "│" not in line] == ["3/4 points, 75.0%"]
    assert not any(line.startswith(("::", "##[", "{", "ok ", "<")) or "##[" in line for line in lines)
    assert max(map(len, lines)) <= 120
