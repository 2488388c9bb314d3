"""Submissions that end their process, or try to end others."""

from __future__ import annotations

import pytest
from arena import Arena, submission


@pytest.mark.parametrize(
    ("attack", "verdict"),
    [
        ("exit_in_call", "crashed"),
        ("os_exit_in_call", "crashed"),
        ("thread_exit_in_call", "crashed"),
        ("exit_at_atexit", "passed"),
        ("exit_in_property", "failed"),
        ("exit_in_message", "failed"),
        ("kills_itself", "crashed"),
        ("kills_parent", "passed"),
        ("kills_group", "crashed"),
        ("kills_everyone", "passed"),
        ("stops_itself", "timeout"),
        ("segfault", "crashed"),
        ("aborts", "crashed"),
        ("recursion", "failed"),
        ("closes_descriptors", "crashed"),
    ],
)
def test_in_a_call_it_costs_that_exercise(arena: Arena, attack: str, verdict: str) -> None:
    arena.survive(attack, gram=verdict)


def test_a_stack_overflow_costs_that_exercise(arena: Arena) -> None:
    result = arena.attack(submission("stack_overflow"))
    assert result.score == 3
    assert result.exercises[-1].checks[0].verdict in ("crashed", "failed")  # newer Pythons notice it in time


@pytest.mark.parametrize("attack", ["os_exit_at_import", "closes_descriptors_at_import"])
def test_at_import_the_statement_is_left_out(arena: Arena, attack: str) -> None:
    result = arena.survive(attack, gram="passed")
    assert any("ended the process" in note and "left out" in note for note in result.notes), result.notes


def test_a_second_such_statement_costs_the_topic(arena: Arena) -> None:
    source = submission("os_exit_at_import").files["tensor_ops.py"] + b"\nos._exit(4)\n"
    assert "importing tensor_ops.py ended the process with exit" in arena.rejected("x", {"tensor_ops.py": source})


def test_a_thread_that_ends_the_process_costs_the_topic_at_most(arena: Arena) -> None:
    """It may end it in the statement that starts it, or in a later one, which is left out then in vain."""
    result = arena.attack(submission("thread_exit_at_import"))
    assert result.verdicts in ({"passed"}, {"crashed"})


def test_sys_exit_at_import_raises_only_and_is_left_out(arena: Arena) -> None:
    result = arena.survive("exit_at_import", gram="passed")
    assert any("raised SystemExit: 0: left out" in note for note in result.notes), result.notes
