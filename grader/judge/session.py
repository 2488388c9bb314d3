"""The judge's pytest session: collects a course's checks once and stays open while they are run again and again.

All of it is ``pytest.main`` with a plugin whose run-test loop is the grading. Looks at the course's folders only: no
ini file, plugin, conftest or environment variable of the place where the grader was started.
"""

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from grader.errors import UserError
from grader.judge import cause as causes
from grader.judge import explain, hooks
from grader.judge.check import Check, Trace
from grader.judge.collected import CollectedChecks, skipped_result
from grader.judge.desk import Desk
from grader.judge.hooks import CheckHooks
from grader.judge.marks import Place
from grader.judge.time_limit import TimeLimit
from grader.results import CheckResult

T = TypeVar("T")
RunCheck = Callable[[Check, Desk], tuple[CheckResult, Trace]]
"""Runs a check at a desk, by pytest's own protocol."""

# fmt: off
_NOT_USED = (
    "terminal", "cacheprovider", "capture", "logging", "warnings", "faulthandler", "junitxml", "doctest",
    "unittest", "debugging", "recwarn", "stepwise", "pastebin", "setuponly", "setupplan", "threadexception",
    "unraisableexception", "pytester", "xdist", "xdist.looponfail", "hypothesispytest", "torchkata",
)
# fmt: on
"""Plugins of pytest that the judge does not use."""
_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None, "PYTEST_PLUGINS": None}
"""Environment variables that pytest reads: their values for the judge; None removes one."""


def with_collected_checks(
    files: Iterable[Path],
    root: Path,
    seed: int,
    use: Callable[[CollectedChecks], T],
    *,
    limit: TimeLimit | None = None,
    began: Callable[[Place], None] = lambda place: None,
) -> T:
    """Collects the checks of some topics, calls ``use`` with them, and returns its value.

    Args:
        files: check files.
        root: the folder that they belong to.
        seed: seed of the generated inputs.
        use: may run the checks as often as it likes, but not after it has returned.
        limit: of the judge's own time for a check; None means the default.
        began: called with the place of each check before it runs.

    Raises:
        UserError: when a check file cannot be collected: one line for each, with the reason.
    """
    files = list(files)
    limit = limit or TimeLimit()
    if not files:  # pytest would collect the current folder
        return use(CollectedChecks((), _no_check, limit, began))
    missing = [str(file) for file in files if not file.is_file()]
    if missing:  # pytest would look at the current folder instead
        raise _cannot_collect([f"{file} does not exist" for file in missing])
    session = _Session(seed, limit, lambda checks, run: use(CollectedChecks(checks, run, limit, began)))
    arguments = ["-c", os.devnull, "--rootdir", str(root), "--confcutdir", str(root), "--import-mode=importlib"]
    for name in _NOT_USED:
        arguments += ["-p", f"no:{name}"]
    with _environment(_ENVIRONMENT), _check_files_forgotten(root):
        code = pytest.main([*arguments, *map(str, files)], plugins=[hooks, session.hooks, session])
    return session.outcome(code)


def _no_check(check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
    raise AssertionError("there are no checks")


class _Session(Generic[T]):
    """A plugin for one pytest session, in which ``use`` takes the place of running the tests."""

    def __init__(self, seed: int, limit: TimeLimit, use: Callable[[Iterable[Check], RunCheck], T]) -> None:
        self.hooks = CheckHooks(seed, lambda: self._current_desk, limit)
        self._use = use
        self._returned: list[T] = []
        self._error: BaseException | None = None
        self._problems: list[str] = []
        self._desk: Desk | None = None
        self._reports: list[pytest.TestReport] = []
        self._missing_fixture = ""

    def outcome(self, code: int) -> T:
        """The value that ``use`` returned; the exit code is pytest's.

        Raises:
            UserError: when a check file could not be collected. Otherwise the exception of ``use``.
        """
        if self._error is not None:
            raise self._error
        if not self._returned:
            raise _cannot_collect(self._problems or [f"pytest has stopped with {code!r}"])
        return self._returned[0]

    def run(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """Runs one check by pytest's own protocol: set-up, call, tear-down."""
        self._desk = desk
        self._reports.clear()
        self._missing_fixture = ""
        self.hooks.outcomes.pop(check.item.nodeid, None)
        check.item.ihook.pytest_runtest_protocol(item=check.item, nextitem=None)
        for report in self._reports:
            if report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                return skipped_result(check, reason.removeprefix("Skipped: "))
        outcome = self.hooks.outcomes.pop(check.item.nodeid, None)
        failed = [report for report in self._reports if report.failed and (outcome is None or report.when != "call")]
        if outcome is None or failed:
            text = self._missing_fixture or (_exception_of(failed[0]) if failed else "")
            return explain.result(check.name, causes.fault(check, text)), Trace("error")
        return outcome

    def _current_desk(self, check: Check) -> Desk:
        assert self._desk is not None
        return self._desk

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        with contextlib.redirect_stdout(io.StringIO()):  # a check file's prints must not mix with the grader's output
            try:
                return (yield)
            except pytest.UsageError as error:
                self._problems.append(str(error))
                return None

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]) -> None:
        error = call.excinfo.value if call.excinfo is not None else None
        if error is not None and isinstance(node, pytest.Collector):
            self._problems.append(_reason(node.path, error))
        elif isinstance(error, pytest.FixtureLookupError):  # its report ends with a line of source, not with the reason
            self._missing_fixture = f"there is no fixture `{error.argname}`"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        if not self._problems:
            try:
                self._returned.append(self._use(self.hooks.checks.values(), self.run))
            except BaseException as error:  # pytest would print it and go on
                self._error = error
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        self._error = excinfo.value
        return True  # pytest prints nothing: `with_collected_checks` raises it

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._error = excinfo.value


def _exception_of(report: pytest.TestReport) -> str:
    """The exception of a failed set-up or tear-down, as one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash else str(report.longrepr).strip().splitlines()[-1]


def _cannot_collect(problems: list[str]) -> UserError:
    if len(problems) == 1:
        return UserError(f"the checks cannot be collected: {problems[0]}")
    return UserError("the checks cannot be collected:" + "".join(f"\n  {problem}" for problem in problems))


def _reason(file: Path, error: BaseException) -> str:
    """Why a file cannot be collected: its name, the line that failed, and the exception."""
    cause = error.__cause__ or error  # pytest raises an error of its own from that of an import
    if isinstance(cause, (pytest.Collector.CollectError, pytest.fail.Exception)):  # its own words, in many lines
        return f"{file.name}: {' '.join(str(cause).split())}"
    if isinstance(cause, SyntaxError):
        name, line, message = Path(cause.filename or file).name, cause.lineno, cause.msg
    else:
        lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == str(file)]
        name, line, message = file.name, lines[-1] if lines else None, str(cause)
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing and any((folder / missing).is_dir() for folder in file.parents[:2]):
            message += f'; if this is the kit, course.toml says so below [course]: kit = "{missing}"'
        elif missing == "kit":
            message += (
                f'; a kit is a folder {file.parents[1] / missing}, and in course.toml below [course]: kit = "kit"'
            )
    return f"{name}{f':{line}' if line else ''}: {type(cause).__name__}: {message}"


@contextlib.contextmanager
def _check_files_forgotten(root: Path) -> Iterator[None]:
    """Nothing that is imported from ``root`` meanwhile stays imported.

    pytest names a check file by its place below ``root``, and takes a module of that name that is already there: the
    next session would run the checks of the course before it.
    """
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in sys.modules.keys() - before:
            if Path(getattr(sys.modules[name], "__file__", None) or os.devnull).is_relative_to(root):
                del sys.modules[name]


@contextlib.contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """Environment variables while the context lasts; those with None are not set."""
    before = {name: os.environ.get(name) for name in changes}
    try:
        _set(changes)
        yield
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
