"""Submissions whose answers look right to a careless comparison."""

from __future__ import annotations

import pytest
from arena import Arena


@pytest.mark.parametrize(
    ("attack", "verdict"),
    [
        ("equals_everything", "failed"),
        ("pretends_class", "failed"),
        ("tensor_subclass", "failed"),
        ("number_subclasses", "failed"),
        ("nan", "failed"),
        ("infinity", "failed"),
        ("patches_comparisons", "failed"),
        ("patches_at_import", "failed"),
        ("changes_argument_later", "failed"),
        ("hides_its_change", "failed"),
        ("alias", "failed"),
        ("lazy", "failed"),
        ("metaclass", "failed"),
        ("error_subclass", "failed"),
    ],
)
def test_it_wins_nothing(arena: Arena, attack: str, verdict: str) -> None:
    # What is patched stays patched in this process: it may end in the middle of a later check.
    arena.survive(attack, gram=verdict, also=frozenset({"crashed", "timeout"}))
