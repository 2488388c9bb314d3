"""Text helpers that every report uses."""

from __future__ import annotations

from grader.text import counted


def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(n, "line") for n in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]
    assert [counted(n, "point") for n in (0.5, 1.0, 2.0)] == ["0.5 points", "1 point", "2 points"]
