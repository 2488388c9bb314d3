"""Decides which checks are not assessed on this machine, from the check and the machine alone.

A submission has no say: everybody can earn the same points here. Must never ask a student process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import pytest

from grader.border.channel import Channel
from grader.border.failures import SubmissionCrashed
from grader.judge.desk import Desk
from grader.testkit import devices
from grader.testkit.marking import NEEDS, NEEDS_MARK

if TYPE_CHECKING:
    from grader.course import Course
    from grader.judge.check import Check
    from grader.judge.collected import CollectedChecks


def unmet(item: pytest.Item, layers: Collection[str]) -> str:
    """Why this machine does not meet a check's `needs` mark; empty if it does.

    Args:
        layers: the layers of the sandbox; none if nothing is sandboxed.
    """
    mark = item.get_closest_marker(NEEDS_MARK)
    for need in mark.args if mark else ():
        if not _IS_MET[need](layers):
            return NEEDS[need]
    return ""


_IS_MET: Final[dict[str, Callable[[Collection[str]], bool]]] = {
    "gpu": lambda layers: devices.real(1),
    "ranks": lambda layers: "seccomp" not in layers or "net-namespace" in layers,
}


class Assessment:
    """Which checks of a course are not assessed here, and why. Each is decided once, when it is first asked for.

    Args:
        layers: gives the layers of the sandbox that submissions get.
    """

    def __init__(self, course: Course, checks: CollectedChecks, layers: Callable[[], Collection[str]]) -> None:
        self._needs = {one.full_name: one.needs for topic in course.topics for one in topic.exercises}
        self._checks = checks
        self._layers = layers
        self._reasons: dict[str, str] = {}

    def reason(self, check: Check, *, is_run: bool = True) -> str:
        """Why a check is not assessed here; empty if it is.

        It needs something that this machine lacks, or it skips itself before it has asked the submission anything, or
        its exercise needs one that is not assessed.

        Args:
            is_run: whether the check will be run if it is assessed: all its examples are needed then.
        """
        found = self._reasons.get(check.item.nodeid)
        if found is None:
            asked = check if is_run else check.with_first_example()
            found = unmet(check.item, self._layers()) or self._own_skip(asked) or self._lacking_need(check.exercise)
            self._reasons[check.item.nodeid] = found
        return found

    def _own_skip(self, check: Check) -> str:
        """Why a check skips itself: it is run with a submission that answers nothing."""
        result, _ = self._checks.run(check, _NobodysDesk())
        return result.message if result.verdict == "skipped" else ""

    def _lacking_need(self, exercise: str) -> str:
        for need in self._needs.get(exercise, ()):
            checks = self._checks.of(need)
            if checks and all(map(self.reason, checks)):
                return f"needs {need}, which is not assessed here: {self.reason(checks[0])}"
        return ""


class _Nobody:
    """A `Transport` whose process has ended."""

    def __init__(self) -> None:
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        raise SubmissionCrashed("is not there")

    def call_outside(self, request: bytes) -> bytes:
        return self.call(request)


class _NobodysDesk(Desk):
    """A desk at which nobody answers: a check gets as far as its first request."""

    shrinks_failures = False

    def channel(self) -> Channel:
        return Channel(_Nobody())
