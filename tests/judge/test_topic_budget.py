"""A topic has one budget of time: imports, checks and second runs draw from it, and no exercise pays for another."""

from __future__ import annotations

import pytest
from shared import REPO, WarmUp

COURSE = REPO / "tests" / "courses" / "reuse"
SLEEPERS = """
import time


def first():
    time.sleep(4)
    return True


def second():
    return True


def third():
    time.sleep(4)
    return True
"""


@pytest.mark.slow
def test_sleepers_share_one_budget_and_leave_time_for_a_right_answer(warm: WarmUp) -> None:
    """Each call ends within the time of a check; together they would take twice as long as the topic may."""
    limits = {"check_seconds": 5.2, "topic_seconds": 8.0}
    first, second, third = warm(COURSE, **limits).grade(state=SLEEPERS).exercises
    assert [check.verdict for check in first.checks] == ["passed", "timeout"]
    assert [check.verdict for check in second.checks] == ["passed"]
    assert [check.verdict for check in third.checks] == ["timeout"]
