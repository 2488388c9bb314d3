"""One pytest session that has collected a course's checks and stays open: the judge runs its items again and again.

Looks at the course's folders only: no ini file, plugin or conftest of the place where the grader was started.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.config import Config, _prepareconfig
from _pytest.runner import runtestprotocol

from grader.errors import UserError
from grader.judge import cause as causes
from grader.judge import explain, plugin, run
from grader.judge.check import Check, Trace
from grader.judge.desk import Desk
from grader.results import CheckResult

_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
_QUIET = ("terminal", "cacheprovider", "capture", "logging", "warnings", "faulthandler", "junitxml", "doctest",
          "unittest", "debugging", "recwarn", "stepwise", "pastebin", "setuponly", "setupplan", "threadexception",
          "unraisableexception", "xdist", "xdist.looponfail", "hypothesispytest", "torchkata", "pytester")  # fmt: skip


class CollectedChecks:
    """The checks of some topics, collected once.

    Args:
        files: check files.
        root: the folder that they belong to.
        seed: seed of the generated inputs.

    Raises:
        UserError: when a check file cannot be collected.
    """

    def __init__(self, files: Iterable[Path], root: Path, seed: int) -> None:
        arguments = [
            "-c",
            os.devnull,
            "--rootdir",
            str(root),
            "--confcutdir",
            str(root),
            "--import-mode=importlib",
            "--grader-seed",
            str(seed),
        ]
        for name in _QUIET:
            arguments += ["-p", f"no:{name}"]
        self._desk: Desk | None = None
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            with _no_plugins_of_the_place():
                self._config: Config = _prepareconfig([*arguments, *map(str, files)], [plugin])
            self._config.stash[plugin.DeskFor] = cast("Callable[[Check], Desk]", lambda check: self._desk)
            self._session = pytest.Session.from_config(self._config)
            self._config._do_configure()
            self._config.hook.pytest_sessionstart(session=self._session)
            try:
                self._session.perform_collect()
            except pytest.UsageError as error:
                raise UserError(f"the checks cannot be collected: {error}") from error
        if self._session.testsfailed:
            failed = "; ".join(
                str(getattr(report, "longrepr", report)).strip().splitlines()[-1] for report in _failures(self._session)
            )
            raise UserError(f"the checks cannot be collected: {failed or output.getvalue()[-500:]}")
        self._checks: dict[str, list[Check]] = {}
        for item in self._session.items:
            check = self._config.stash.get(plugin.Checks, {}).get(item.nodeid)
            if check is not None:
                self._checks.setdefault(check.exercise, []).append(check)

    def of(self, exercise: str) -> list[Check]:
        """The checks of an exercise, in their files' order."""
        return self._checks.get(exercise, [])

    def run(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """Runs one check against a submission, with pytest's own set-up and tear-down of its fixtures."""
        self._desk = desk
        item = check.item
        results = self._config.stash[plugin.Results]
        results.pop(item.nodeid, None)
        if _is_plain(item):
            return self._run_plainly(check, desk)
        reports = runtestprotocol(item, log=False, nextitem=None)
        trace = item.stash.get(plugin.LastTrace, Trace("passed"))
        item.stash[plugin.LastTrace] = Trace("passed")
        for report in reports:
            if report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                cause = causes.not_assessed(reason.removeprefix("Skipped: "))
                return explain.result(check.name, cause), Trace("skipped")
        result = results.get(item.nodeid)
        if result is None or any(report.failed for report in reports if report.when != "call"):
            text = next((_words(report) for report in reports if report.failed), "")
            return explain.result(check.name, causes.fault(check, text)), Trace("error")
        return result, trace

    def _run_plainly(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """The same for a check without fixtures, without pytest's set-up, which costs more than most checks."""
        callspec = getattr(check.item, "callspec", None)
        try:
            return run.run(check, desk, dict(callspec.params) if callspec else {})
        except pytest.skip.Exception as skipped:
            return explain.result(check.name, causes.not_assessed(str(skipped))), Trace("skipped")


@contextlib.contextmanager
def _no_plugins_of_the_place() -> Iterator[None]:
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before


def _is_plain(item: pytest.Function) -> bool:
    params = set(item.callspec.params) if hasattr(item, "callspec") else set()
    marks = {mark.name for mark in item.iter_markers()}
    return set(item.fixturenames) <= {"submission"} | params and marks <= {"exercise", "parametrize", "hypothesis"}


def _words(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash else str(report.longrepr).strip().splitlines()[-1]


def _failures(session: Any) -> list[Any]:
    return [report for report in getattr(session, "_collectreports", [])]
