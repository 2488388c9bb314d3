"""The pytest hooks by which a marked test becomes a check: the same in the judge's session and under plain pytest.

Both sessions register this module, for the mark and the ``submission`` fixture, and a `CheckHooks`. They differ in one
thing only: the desk through which a check calls its submission.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from grader.testkit.marking import EXERCISE_MARK, NEEDS_MARK

if TYPE_CHECKING:
    from grader.judge.check import Check, Trace
    from grader.judge.desk import Desk
    from grader.judge.time_limit import TimeLimit
    from grader.results import CheckResult

    DeskFor = Callable[[Check], Desk]
    """Gives a check the desk through which it calls its submission."""


class NoSubmissionYet:
    """The value of ``submission`` in fixtures, which are set up before there is a submission."""

    def __getattr__(self, name: str) -> Any:
        raise pytest.UsageError("`submission` can be used in a check, not in a fixture")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{EXERCISE_MARK}(name, hidden=False, may_change=False, ...): the exercise that a check belongs to"
    )
    config.addinivalue_line("markers", f"{NEEDS_MARK}(*needs): what a check needs of the machine to be assessed")


@pytest.fixture(name="submission", scope="session")
def submission_fixture() -> NoSubmissionYet:
    """The proxy to the submitted module: each check gets its own when it runs."""
    return NoSubmissionYet()


class CheckHooks:
    """Turns every test with a ``grader_exercise`` mark into a check, and runs it with its desk.

    Args:
        seed: seed of the generated inputs.
        open_desks: called once, when there are checks; returns the function that finds the desk of each.
        limit: the limit of the judge's own time; None under plain pytest.

    Attributes:
        checks: the checks by node id, in the order of their files.
        outcomes: the last result and trace of each check that was run, by node id.
    """

    def __init__(self, seed: int, open_desks: Callable[[], DeskFor], limit: TimeLimit | None = None) -> None:
        self._seed = seed
        self._limit = limit
        self._open_desks = open_desks
        self._desk_for: DeskFor | None = None
        self.checks: dict[str, Check] = {}
        self.outcomes: dict[str, tuple[CheckResult, Trace]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            mark = item.get_closest_marker(EXERCISE_MARK)
            if mark is None or not isinstance(item, pytest.Function):
                continue
            from grader.judge.check import Check

            self.checks[item.nodeid] = Check(item, mark.args[0], self._seed, limit=self._limit, **mark.kwargs)
        if self.checks and self._desk_for is None:
            self._desk_for = self._open_desks()

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        check = self.checks.get(pyfuncitem.nodeid)
        if check is None or self._desk_for is None:
            return None
        from grader.judge import needs, run

        if reason := needs.unmet(pyfuncitem, ()):
            pytest.skip(reason)
        result, trace = run.run(check, self._desk_for(check), fixtures_of(pyfuncitem))
        self.outcomes[pyfuncitem.nodeid] = result, trace
        if result.verdict != "passed":
            pytest.fail(f"[{result.verdict}] {result.message}", pytrace=False)
        return True


def fixtures_of(item: pytest.Function) -> dict[str, Any]:
    """The fixtures and parameters of a test by name, without the values that Hypothesis generates."""
    parameters = inspect.signature(item.obj).parameters.values()
    return {one.name: item.funcargs[one.name] for one in parameters if one.default is one.empty}
