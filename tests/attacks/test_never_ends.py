"""Submissions that never end, and some that outlive their end."""

from __future__ import annotations

import pytest
from arena import Arena, submission


@pytest.mark.parametrize(
    ("attack", "verdict"),
    [
        ("loop_in_call", "timeout"),
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
    ],
)
def test_it_costs_that_exercise_and_nothing_outlives_it(arena: Arena, attack: str, verdict: str) -> None:
    arena.survive(attack, gram=verdict)


@pytest.mark.parametrize("attack", ["loop_at_import", "topic_never_forks", "topic_never_reaps"])
def test_at_import_it_costs_the_topic_at_most(arena: Arena, attack: str) -> None:
    result = arena.attack(submission(attack))
    assert result.score <= 3


def test_the_message_names_the_line_of_the_loop(arena: Arena) -> None:
    result = arena.survive("loop_in_call", gram="timeout")
    line = next(
        n
        for n, text in enumerate(submission("loop_in_call").files["tensor_ops.py"].split(b"\n"), 1)
        if b"while" in text
    )
    text = result.exercises[-1].checks[0].message
    assert any(f"line {number} of tensor_ops.py, in gram" in text for number in (line, line + 1))
