"""Submissions that look for the answers; each of these is honest only when it found none."""

from __future__ import annotations

import pytest
from arena import Arena


@pytest.mark.parametrize(
    "attack",
    [
        "gc_objects",
        "frames",
        "own_memory",
        "other_processes",
        "environment",
        "imports_answers",
        "reads_files",
        "earlier_submissions",
    ],
)
def test_there_is_nothing_to_be_found(arena: Arena, attack: str) -> None:
    arena.survive(attack, gram="passed")
    arena.survive(attack, gram="passed")


@pytest.mark.parametrize("attack", ["replays_first_answer", "published_examples_only"])
def test_answers_that_are_known_are_not_enough(arena: Arena, attack: str) -> None:
    arena.survive(attack, gram="failed")
