"""Submissions that never end, and some that outlive their end."""

from __future__ import annotations

import pytest
from arena import Arena, submission
from shared import but_nightly


@pytest.mark.parametrize(
    ("attack", "verdict"),
    but_nightly(
        [
            ("loop_in_message", "timeout"),
            ("loop_in_dunders", "failed"),
            ("loop_in_del", "failed"),
            ("catches_everything", "timeout"),
            ("ignores_signals", "timeout"),
            ("sleeps", "timeout"),
            ("alarm_at_import", "passed"),
            ("daemon_threads", "passed"),
            ("double_fork", "passed"),
            ("never_leaves", "passed"),
            ("wrong_then_endless", "failed"),
            ("topic_never_forks", "passed"),
            ("topic_never_reaps", "passed"),
        ],
        "loop_in_message",
        "ignores_signals",
    ),
)
def test_it_costs_that_exercise_and_nothing_outlives_it(arena: Arena, attack: str, verdict: str) -> None:
    # Where an object loops when it is thrown away, or a later call does, the first wrong answer has failed already.
    arena.survive(attack, gram=verdict, also=frozenset({"timeout"} if verdict == "failed" else {}))


def test_at_import_it_is_left_out_and_the_definitions_are_graded(arena: Arena) -> None:
    result = arena.survive("loop_at_import", gram="passed")
    assert any("took too much time" in note for note in result.notes), result.notes


def test_it_costs_that_exercise_and_the_message_names_the_line_of_the_loop(arena: Arena) -> None:
    result = arena.survive("loop_in_call", gram="timeout")
    line = next(
        n
        for n, text in enumerate(submission("loop_in_call").files["tensor_ops.py"].split(b"\n"), 1)
        if b"while" in text
    )
    text = result.exercises[-1].checks[0].message
    assert any(f"line {number} of tensor_ops.py, in gram" in text for number in (line, line + 1))
