"""Submissions that eat memory, processes, disk, or the judge's patience."""

from __future__ import annotations

import pytest
from arena import Arena, submission
from shared import as_nightly, but_nightly


def test_first_of_all_the_process_limit_holds(arena: Arena) -> None:
    arena.survive("counts_forks", gram="passed")


@pytest.mark.parametrize(
    ("attack", "verdict"),
    but_nightly(
        [
            ("growing_list", "crashed"),
            ("memory_in_children", "crashed"),
            ("thread_bomb", "failed"),
            ("endless_print", "timeout"),
            ("prints_much", "passed"),
            ("endless_file", "failed"),
            ("many_files", "failed"),
            ("huge_list", "crashed"),
            ("huge_tensor", "crashed"),
            ("huge_view", "crashed"),
            ("large_every_time", "failed"),
            ("deep_list", "crashed"),
            ("cyclic_list", "crashed"),
            ("many_tensors", "failed"),
            ("many_dims", "failed"),
            ("huge_integer", "crashed"),
            ("huge_message", "failed"),
        ],
        "huge_list",
        "many_tensors",
        "huge_message",
    ),
)
def test_it_costs_that_exercise(arena: Arena, attack: str, verdict: str) -> None:
    arena.survive(attack, gram=verdict, also=frozenset({"timeout"}))


@pytest.mark.parametrize("attack", ["fork_bomb", as_nightly("catches_memory_error")])
def test_it_ends_one_way_or_the_other(arena: Arena, attack: str) -> None:
    result = arena.attack(submission(attack))
    assert result.score == 3
    assert result.exercises[-1].checks[0].verdict in ("timeout", "crashed")


def test_memory_at_import_is_left_out_and_the_definitions_are_graded(arena: Arena) -> None:
    result = arena.survive("memory_at_import", gram="passed")
    assert result.notes


@pytest.mark.nightly
def test_a_fork_bomb_at_import_costs_its_topic_at_most(arena: Arena) -> None:
    """On a busy machine its processes may leave its definitions no time."""
    result = arena.attack(submission("fork_bomb_at_import"))
    verdicts = {check.verdict for exercise in result.exercises for check in exercise.checks}
    assert verdicts <= {"passed", "timeout"}
    assert "left out" in "".join(result.notes) or verdicts == {"timeout"}


@pytest.mark.parametrize("attack", ["big_tensor", as_nightly("touches_pages")])
def test_it_costs_that_exercise_and_the_message_says_that_it_was_memory(arena: Arena, attack: str) -> None:
    result = arena.survive(attack, gram="crashed", also=frozenset({"timeout"}))
    assert "memory" in result.exercises[-1].checks[0].message
