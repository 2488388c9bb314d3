"""That modules are known before the fork makes it cheap, and must not change what submitted code sees."""

from __future__ import annotations

from shared import REPO, WarmUp

SEES = """
import sys

def first():
    import late_of_mine
    names = [name for name in sys.modules if name == "grader" or name.startswith("grader.")]
    loaded = [name for name in names if getattr(sys.modules[name], "__file__", None)]
    return not loaded or str(loaded)

second = third = first
"""


def test_no_module_of_the_grader_is_in_sight(warm: WarmUp) -> None:
    """Neither one that was loaded before the first fork, nor one that its leader has loaded since."""
    result = warm(REPO / "tests" / "courses" / "reuse").grade(state=SEES, late_of_mine="")
    assert [check.message for exercise in result.exercises for check in exercise.checks] == [""] * 4
