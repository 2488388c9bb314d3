"""The collected checks, and how one is run: not if it is marked, within the judge's own time limit, and to a verdict.

Whatever happens while one runs ends as its own result, but for the end of the warm host, with which the worker ends.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from grader.judge import cause as causes
from grader.judge import explain, pictures, run
from grader.judge.check import Check, Trace
from grader.judge.desk import Desk
from grader.judge.marks import NotRun, Place, endless, kept_busy, mark_on, place_of
from grader.judge.needs import unmet
from grader.judge.time_limit import Overrun, TimeLimit
from grader.pictures import Picture
from grader.results import VERDICT_OF, Cause, CheckResult
from grader.testkit.marking import EXERCISE_MARK, NEEDS_MARK


class CollectedChecks:
    """The checks of some topics.

    Args:
        run: runs one by pytest's own protocol, with its fixtures.
        limit: ends every check that takes too much of the judge's own time.
        began: called with the place of each check before it runs.
    """

    def __init__(
        self,
        checks: Iterable[Check],
        run: Callable[[Check, Desk], tuple[CheckResult, Trace]],
        limit: TimeLimit,
        began: Callable[[Place], None],
    ) -> None:
        self.began = began
        self._marks: Sequence[NotRun] = ()
        self._time_limit = limit
        self._endless: dict[Place, Cause] = {}
        self._run = run
        self._checks: dict[str, list[Check]] = {}
        for check in checks:
            self._checks.setdefault(check.exercise, []).append(check)
        self._pictures = pictures.pictures_beside(one for of_one in self._checks.values() for one in of_one)

    @contextlib.contextmanager
    def leaving_out(self, marks: Sequence[NotRun]) -> Iterator[None]:
        """Does not run the marked checks while it lasts: they get the cause of their mark."""
        before, self._marks = self._marks, marks
        try:
            yield
        finally:
            self._marks = before

    def mark_on(self, place: Place) -> NotRun | None:
        """The mark because of which nothing of the place is run, else None."""
        return mark_on(place, self._marks)

    def of(self, exercise: str) -> list[Check]:
        """The checks of an exercise, in their files' order."""
        return self._checks.get(exercise, [])

    def run(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """Runs one check against a submission, with pytest's own set-up and tear-down of its fixtures."""
        if reason := unmet(check.item, ()):
            return skipped_result(check, reason)
        place = place_of(check.exercise, check.name)
        if cause := self._cause_not_to_run(place):
            return explain.result(check.name, cause), Trace(VERDICT_OF[cause.kind])
        self.began(place)
        result = None
        try:
            with contextlib.suppress(Overrun), self._time_limit.counting(check.item.path):
                result = self._run_on(check, desk)
        except Exception as error:  # While replies were handled, not in the check's body.
            return self._broken(check, desk, error)
        overrun = self._time_limit.overrun
        verdict = result[0].verdict if result is not None else ""
        if result is not None and (overrun is None or verdict not in ("error", "timeout")):
            return result  # What was ended was only the search for a smaller example.
        assert overrun is not None
        if verdict == "timeout":
            check.on_reference = (
                "overruns"  # there the solution's code may have taken the overrun for its own exception
            )
        return self._ended(check, desk, place, overrun)

    def make_pictures(self, exercise: str, begin: Callable[[], Desk]) -> tuple[Picture, ...]:
        """The pictures of an exercise, each made with a desk that is asked for it, and within the time of a check."""
        return tuple(self._picture(one, begin) for one in self._pictures.get(exercise, ()))

    def _picture(self, picture: pictures.PictureFunction, begin: Callable[[], Desk]) -> Picture:
        if self.mark_on(picture.place):  # it ended a worker, or an exercise without checks is left out
            return pictures.no_picture(picture, "it cannot be made of this answer")
        self.began(picture.place)
        desk = begin()
        made = pictures.no_picture(picture, "it takes too long to make of this answer")
        with contextlib.suppress(Overrun), self._time_limit.counting(self.of(picture.exercise)[0].item.path):
            made = pictures.make(picture, desk)
        desk.end_process()
        return made

    def _run_on(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        return _run_directly(check, desk) if _needs_no_fixtures(check.item) else self._run(check, desk)

    def _cause_not_to_run(self, place: Place) -> Cause | None:
        mark = self.mark_on(place)
        return mark.cause if mark else self._endless.get(place)

    def _broken(self, check: Check, desk: Desk, error: Exception) -> tuple[CheckResult, Trace]:
        """The result of a check that raised beside its body: a failure, unless the reference does not pass either."""
        desk.end_process()
        traceback.clear_frames(error.__traceback__)
        if desk.reference_also_fails(check, lambda reference: self._run_on(check, reference)):
            return explain.result(check.name, causes.fault(check, error)), Trace("error")
        return explain.result(check.name, causes.unusable(check, error)), Trace("crashed")

    def _ended(self, check: Check, desk: Desk, place: Place, overrun: Overrun) -> tuple[CheckResult, Trace]:
        """The result of a check that did not end: a failure if it ends on the reference solution, else an error.

        One that does not end there either is not run again.
        """
        desk.end_process()
        with contextlib.suppress(Overrun), self._time_limit.counting(check.item.path):
            desk.reference_also_fails(check, lambda reference: self._run_on(check, reference))
        if self._time_limit.overrun is not None:  # pytest's own protocol has kept it from getting here
            check.on_reference = "overruns"
        if check.on_reference == "passes":
            return explain.result(check.name, kept_busy(overrun.seconds, check.sentence)), Trace("failed")
        cause = endless(overrun.seconds, overrun.line)
        if check.on_reference in ("overruns", "unclear"):
            self._endless[place] = cause
        return explain.result(check.name, cause), Trace("error")

    def not_to_run(self) -> tuple[NotRun, ...]:
        """The checks that did not end on the reference solution either, up to now."""
        return tuple(NotRun(place, cause) for place, cause in self._endless.items())


def _run_directly(check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
    """Runs a check that has no fixtures without pytest's set-up, which takes longer than most checks."""
    try:
        return run.run(check, desk, _parameters_of(check.item))
    except pytest.skip.Exception as skipped:
        return skipped_result(check, str(skipped))


def _parameters_of(item: pytest.Function) -> dict[str, Any]:
    """The parameters that pytest gives to a check without fixtures."""
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}


def _needs_no_fixtures(item: pytest.Function) -> bool:
    params = set(item.callspec.params) if hasattr(item, "callspec") else set()
    marks = {mark.name for mark in item.iter_markers()}
    known_marks = {EXERCISE_MARK, NEEDS_MARK, "parametrize", "hypothesis"}
    return set(item.fixturenames) <= {"submission"} | params and marks <= known_marks


def skipped_result(check: Check, reason: str) -> tuple[CheckResult, Trace]:
    return explain.result(check.name, causes.not_assessed(reason)), Trace("skipped")
