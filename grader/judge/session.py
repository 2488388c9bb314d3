"""Makes checks of marked tests, and keeps the judge's pytest session, in which they are run again and again.

`CheckHooks` does the former, and is the same under plain pytest; only the desk through which a check calls its
submission differs. For its fixture, this module itself is registered as a plugin, too. The judge's session is opened
and closed as ``pytest.main`` does it; whoever uses the checks comes in between. It looks at the course's folders only:
no ini file, plugin, conftest or environment variable of the place where the grader was started.
"""

import contextlib
import inspect
import io
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.config import ConftestImportFailure, _prepareconfig
from hypothesis.errors import HypothesisDeprecationWarning

from grader.course.model import DATA
from grader.errors import UserError
from grader.files import in_folder
from grader.judge import cause as causes
from grader.judge.check import Check, Desk, Trace
from grader.judge.docstrings import Written, check_examples
from grader.judge.listener import Listener
from grader.judge.run import CollectedChecks, outcome_of, run
from grader.judge.time_limit import TimeLimit
from grader.results import CheckResult
from grader.testkit.decorators import EXERCISE_MARK, NEEDS_MARK

DeskFor = Callable[[Check], Desk]
"""Gives a check the desk through which it calls its submission."""

_OF_ASSUME: Final = "Using `assume` outside a property-based test"
_NOT_USED = (
    "terminal cacheprovider warnings faulthandler junitxml doctest stepwise "
    "pastebin setuponly setupplan threadexception unraisableexception pytester xdist xdist.looponfail hypothesispytest "
    "torchkata"
)
"""Plugins of pytest that the judge does not use."""
_PRINTED: Final = "what a call prints is `printed(submission.f, ...)` of grader.testkit, because it prints over there"
_INSTEAD: Final = {
    **dict.fromkeys(("capsys", "capfd", "capsysbinary", "capfdbinary"), _PRINTED),
    "caplog": "what a call logs stays over there; a probe of the course's kit can run the call and return its records",
    "recwarn": "what a call warns of stays over there; a probe of the course's kit can run the call and return it",
}
"""What a check does without a fixture of pytest's that looks at its own process."""
_NOT_IN_CHECKS: Final = "capture logging unittest debugging recwarn"
"""Those that only the tests of a suite may use."""


class NoSubmissionYet:
    """The value of ``submission`` in fixtures, which are set up before there is a submission."""

    def __getattr__(self, name: str) -> Any:
        raise pytest.UsageError("`submission` can be used in a check, not in a fixture")

    def __repr__(self) -> str:
        return "submission"


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
        examples: those of exercises (full names) that are a check, too.

    Attributes:
        checks: the checks by node id, in the order of their files.
        outcomes: the last result and trace of each check that was run, by node id.
    """

    def __init__(
        self,
        seed: int,
        open_desks: Callable[[], DeskFor],
        limit: TimeLimit | None = None,
        examples: Mapping[str, Sequence[Written]] = {},
    ) -> None:
        self._seed = seed
        self._examples = examples
        self._limit = limit
        self._open_desks = open_desks
        self._desk_for: DeskFor | None = None
        self.checks: dict[str, Check] = {}
        self.outcomes: dict[str, tuple[CheckResult, Trace]] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        options = "name, hidden=False, may_change=False, ..."
        config.addinivalue_line("markers", f"{EXERCISE_MARK}({options}): the exercise that a check belongs to")
        config.addinivalue_line("markers", f"{NEEDS_MARK}(*needs): what a check needs of the machine to be assessed")
        # The examples of a property are replayed outside of Hypothesis, whose `assume` warns of that.
        config.addinivalue_line("filterwarnings", f"ignore:{_OF_ASSUME}:hypothesis.errors.HypothesisDeprecationWarning")
        warnings.filterwarnings("ignore", _OF_ASSUME, HypothesisDeprecationWarning)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        seen: Counter[str] = Counter()
        for item in items:
            mark = item.get_closest_marker(EXERCISE_MARK)
            if mark is not None and isinstance(item, pytest.Function):
                if item.get_closest_marker("xfail"):
                    path, line, _ = item.reportinfo()
                    place = f"{Path(path).name}:{(line or 0) + 1}"
                    raise pytest.UsageError(
                        f"{place}: `{item.name}` is marked xfail, and a check decides about points: take the mark away"
                    )
                seen[function := item.nodeid.partition("[")[0]] += 1
                options = {"number": seen[function], "limit": self._limit, **mark.kwargs}
                self.checks[item.nodeid] = Check(item, mark.args[0], self._seed, **options)
        last = {check.exercise: check.item for check in self.checks.values()}
        for exercise, item in last.items() if self._examples else ():
            if written := self._examples.get(exercise):
                added = _example_item(item, exercise, written)
                self.checks[added.nodeid] = Check(added, exercise, self._seed, limit=self._limit, is_example=True)
        if self.checks and self._desk_for is None:
            self._desk_for = self._open_desks()

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        check = self.checks.get(pyfuncitem.nodeid)
        if check is None or self._desk_for is None:
            return None
        if reason := check.unmet():
            pytest.skip(reason)
        # Without the values that Hypothesis generates: their parameters have a default.
        parameters = inspect.signature(pyfuncitem.obj).parameters.values()
        fixtures = {one.name: pyfuncitem.funcargs[one.name] for one in parameters if one.default is one.empty}
        result, trace = run(check, self._desk_for(check), fixtures)
        self.outcomes[pyfuncitem.nodeid] = result, trace
        if result.verdict != "passed":
            pytest.fail(f"[{result.verdict}] {result.message}", pytrace=False)
        return True


def _example_item(beside: pytest.Function, exercise: str, written: Sequence[Written]) -> pytest.Function:
    """A test that runs the examples of an exercise, in the file of another check of it."""
    name = exercise.partition(".")[2]

    def example(submission: Any) -> None:
        check_examples(submission, written)

    example.__doc__ = f"The example in the docstring of {name} gives what is written there."
    module = beside.getparent(pytest.Module)
    assert module is not None
    item: pytest.Function = pytest.Function.from_parent(module, name=f"example_of_{name}", callobj=example)
    return item


@contextlib.contextmanager
def collected_checks(
    files: Iterable[Path],
    root: Path,
    seed: int,
    *,
    limit: TimeLimit | None = None,
    listener: Listener | None = None,
    examples: Mapping[str, Sequence[Written]] = {},
) -> Iterator[CollectedChecks]:
    """The checks of some files, which can be run, as often as one likes, until the context ends.

    Args:
        files: check files.
        root: the folder that they belong to.
        seed: seed of the generated inputs.
        limit: of the judge's own time for a check; None means the default.
        listener: gets each check before it runs.
        examples: those of exercises (full names) that are a check, too.

    Raises:
        UserError: when a check file cannot be collected: one line for each, with the reason.
    """
    files = list(files)
    limit = limit or TimeLimit()
    hooks = SessionHooks(seed, limit, examples)
    missing = [str(file) for file in files if not file.is_file()]
    if missing:  # pytest would look at the current folder instead
        raise cannot_collect([f"{file} does not exist" for file in missing])
    folder = root.parent if (root.parent / DATA).is_dir() else None
    with check_files_forgotten(root), contextlib.ExitStack() as stack:
        if files:
            with in_folder(folder):
                stack.enter_context(collecting(files, root, hooks))
        if hooks.problems:
            raise cannot_collect(hooks.problems)
        yield CollectedChecks(hooks.checks.values(), hooks.run, limit, listener or Listener(), folder)


@contextlib.contextmanager
def collecting(
    files: Iterable[Path], root: Path, hooks: "SessionHooks", *, temporary: Path | None = None
) -> Iterator[None]:
    """A pytest session with these files collected; ``pytest.main`` would have no place for its user but a hook.

    Args:
        temporary: of files that were written for pytest alone, the folder of `tmp_path`: in pytest's own one, another
            pytest of this user tidies up. They find the modules beside them.
    """
    # A course has no ini file in which it could register its marks.
    warnings.filterwarnings("ignore", category=pytest.PytestUnknownMarkWarning)
    arguments = ["-c", os.devnull, "--rootdir", str(root), "--confcutdir", str(root)]
    of_suite = ["--import-mode=prepend", "--capture=no", "-o", "tmp_path_retention_policy=failed"]
    of_suite += ["--basetemp", str(temporary)]
    arguments += of_suite if temporary else ["--import-mode=importlib"]
    for name in (_NOT_USED if temporary else f"{_NOT_USED} {_NOT_IN_CHECKS}").split():
        arguments += ["-p", f"no:{name}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        patch.delenv("PYTEST_PLUGINS", raising=False)
        try:
            config = _prepareconfig([*arguments, *map(str, files)], [sys.modules[__name__], hooks])
        except ConftestImportFailure as failure:
            raise cannot_collect([_reason(failure.path, failure.cause)]) from None
    session = pytest.Session.from_config(config)
    config._do_configure()
    try:
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
        yield
    finally:
        config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        config._ensure_unconfigure()


class SessionHooks(CheckHooks):
    """A plugin for one pytest session, whose checks are run one by one.

    Attributes:
        problems: the reasons why check files cannot be collected.
    """

    def __init__(self, seed: int, limit: TimeLimit, examples: Mapping[str, Sequence[Written]]) -> None:
        super().__init__(seed, lambda: lambda check: self._desk, limit, examples)
        self.problems: list[str] = []
        self._desk = Desk()
        self._reports: list[pytest.TestReport] = []
        self._missing_fixture = ""

    def run(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """Runs one check by pytest's own protocol: set-up, call, tear-down."""
        self._desk = desk
        self._reports.clear()
        self._missing_fixture = ""
        self.outcomes.pop(check.item.nodeid, None)
        check.item.ihook.pytest_runtest_protocol(item=check.item, nextitem=None)
        for report in self._reports:
            if report.skipped and not hasattr(report, "wasxfail"):  # expecting a failure, it is assessed all the same
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                return outcome_of(check, causes.not_assessed(reason.removeprefix("Skipped: ")))
        outcome = self.outcomes.pop(check.item.nodeid, None)
        failed = [report for report in self._reports if report.failed and (outcome is None or report.when != "call")]
        if outcome is None or failed:
            expected = next((f"it calls pytest.xfail: {one.wasxfail}" for one in self._reports if one.skipped), "")
            expected = expected.partition(":")[0] if check.hidden else expected
            raised = _exception_of(failed[0], hides=check.hidden) if failed else expected
            text = self._missing_fixture or raised
            return outcome_of(check, causes.fault(check, text))
        return outcome

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        with contextlib.redirect_stdout(io.StringIO()):  # a check file's prints must not mix with the grader's output
            try:
                return (yield)
            except pytest.UsageError as error:
                self.problems.append(str(error))
                return None

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]) -> None:
        error = call.excinfo.value if call.excinfo is not None else None
        if error is not None and isinstance(node, pytest.Collector):
            self.problems.append(_reason(node.path, error))
        elif isinstance(error, pytest.FixtureLookupError):  # its report ends with a line of source, not with the reason
            instead = _INSTEAD.get(error.argname or "", "")
            self._missing_fixture = f"there is no fixture `{error.argname}`{instead and f': {instead}'}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)


def _exception_of(report: pytest.TestReport, *, hides: bool) -> str:
    """The exception of a failed set-up or tear-down, as one line; if it may hold an answer, only its place."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if hides:
        return f"its {report.when} fails" + (f" ({Path(crash.path).name}:{crash.lineno})" if crash else "")
    return str(crash.message) if crash else str(report.longrepr).strip().splitlines()[-1]


def cannot_collect(problems: list[str]) -> UserError:
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
            place = file.parents[1] / missing
            message += f'; a kit is a folder {place}, and in course.toml below [course]: kit = "kit"'
    return f"{name}{f':{line}' if line else ''}: {type(cause).__name__}: {message}"


@contextlib.contextmanager
def check_files_forgotten(root: Path) -> Iterator[None]:
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
