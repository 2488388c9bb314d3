"""Which checks of a course are not assessed on this machine, from the check and the machine alone."""

from collections.abc import Callable, Collection

from grader.course import Course
from grader.judge.check import Check, NobodysDesk
from grader.judge.run import CollectedChecks
from grader.results import CheckResult


class Assessment:
    """Decides which checks of a course are not assessed on this machine, from the check and the machine alone.

    A submission has no say: everybody can earn the same points here. Each check is decided once, when it is first
    asked for. Must never ask a student process.

    Args:
        layers: gives the layers of the sandbox that submissions get.
    """

    def __init__(self, course: Course, checks: CollectedChecks, layers: Callable[[], Collection[str]]) -> None:
        self._needs = {one.full_name: one.needs for topic in course.topics for one in topic.exercises}
        self.checks = checks
        self._layers = layers
        self._reasons: dict[str, str] = {}

    def reason(self, check: Check, *, is_run: bool = False) -> str:
        """Why a check is not assessed here; empty if it is.

        It needs something that this machine lacks, or it skips itself before it has asked the submission anything, or
        its exercise needs one that is not assessed.

        Args:
            is_run: whether the check is run next if this is empty: `reason_after` tells then if it has skipped itself.
        """
        found = self._reasons.get(check.item.nodeid)
        if found is None and is_run and not check.unmet(self._layers()) and not self._lacking_need(check.exercise):
            return ""
        if found is None:
            found = check.unmet(self._layers()) or self._own_skip(check) or self._lacking_need(check.exercise)
            self._reasons[check.item.nodeid] = found
        return found

    def reason_after(self, check: Check, result: CheckResult) -> str:
        """As `reason`, of a check that was run on a submission: up to its first request it always does the same.

        Without it every check would get as far as that twice, and some train a model before.
        """
        if result.verdict in ("passed", "failed"):
            self._reasons.setdefault(check.item.nodeid, "")
        elif result.cause is not None and result.cause.kind == "not_assessed":
            self._reasons.setdefault(check.item.nodeid, result.message)
        return self.reason(check)  # else, as after the end of its process, that of a run without a submission

    def _own_skip(self, check: Check) -> str:
        """Why a check skips itself: it is run with a submission that answers nothing."""
        result, _ = self.checks.run(check.with_first_example(), NobodysDesk())
        return result.message if result.verdict == "skipped" else ""

    def _lacking_need(self, exercise: str) -> str:
        for need in self._needs.get(exercise, ()):
            checks = self.checks.of(need)
            if checks and all(map(self.reason, checks)):
                return f"needs {need}, which is not assessed here: {self.reason(checks[0])}"
        return ""
