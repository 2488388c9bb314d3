"""Runs the tests of a suite, unchanged: pytest collects them in the judge, where students' modules are proxies.

Each test is a check of its exercise, and its whole run by pytest's protocol is the check's body: fixtures, the test,
what its fixtures do afterwards. Whatever of that calls the submission counts for the check.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import dataclasses
import importlib.abc
import importlib.util
import inspect
import io
import signal
import sys
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import hypothesis
import pytest
import torch
from _pytest.skipping import evaluate_skip_marks
from hypothesis import HealthCheck, Phase
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader

from grader.border.channel import Channel
from grader.border.failures import MissingName, SubmissionRaised, SubmissionTimeout, is_exception, kind_of
from grader.border.proxies import Call, SubmissionProxy
from grader.course import Course
from grader.course.model import DATA
from grader.course.source import assigned_by, names_bound_by, parse
from grader.course.suite import Group, check_name, group_of, names_apart, sentence_of
from grader.errors import CourseError, UserError
from grader.files import python_files
from grader.judge import session
from grader.judge.check import Check
from grader.judge.in_process import ModuleProcess
from grader.judge.listener import Listener
from grader.judge.run import CannotBeAssessed, CollectedChecks
from grader.judge.suite_failure import Comparisons, exception_expected, exceptions_expected, in_words
from grader.judge.time_limit import TimeLimit
from grader.suites.bridge import Bridge, running
from grader.suites.collecting import Solution, asking
from grader.suites.deferred import as_values, variables_in
from grader.suites.exceptions import Exceptions
from grader.suites.handles import Handles
from grader.suites.harm import kept_from_harm
from grader.suites.leftovers import Leftovers
from grader.suites.loaders import iterator_here
from grader.suites.modules import file_of, missing_in, standing_in
from grader.suites.rewriting import rewritten
from grader.suites.room import own_room
from grader.suites.transforms import transformed_over_there
from grader.suites.unpickling import unpickling_carefully

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_PROFILE: Final = "suite"
_READ_PRINTS: Final = frozenset({"capsys", "capfd", "capsysbinary", "capfdbinary"})
_CHANGES: Final = (
    "it passes only because your code changes what it is given, or what it returns has a say: "
    "work on a copy, and return plain values"
)
_TIMEOUT: Final = "timeout"
"""The mark of a test's own seconds, as the plugin pytest-timeout has it."""
_POINTS: Final = "points"
"""The mark of a test's own points, beside those of its exercise's other tests."""
_FAILED_PARTS: Final = pytest.StashKey[list[tuple[BaseException, Call | None, list[Call]]]]()
"""The exceptions of the failed subtests of a test, each with the last calls up to then."""


class SuiteCheck(Check):
    """A test of a suite.

    Args:
        root: the folder with a copy of the suite, which is the current one while it runs.

    Attributes:
        leftovers: of the suite's tests.
        variables: places at which the test names variables of the submission.
    """

    runs_item = True
    leftovers: Leftovers
    variables: Sequence[tuple[dict[str, Any], str]] = ()

    def __init__(
        self,
        item: pytest.Function,
        group: Group,
        *,
        hidden: bool,
        root: Path,
        limit: TimeLimit,
        exceptions: Mapping[str, type[SubmissionRaised]],
    ) -> None:
        hides: bool | str = "all" if hidden else False
        points = _number_of(item, _POINTS)
        super().__init__(item, group.exercise, 0, hidden=hides, may_change=True, limit=limit, points=points)
        self.name = check_name(item.nodeid)
        self.sentence = sentence_of(item.function.__doc__ or "", self.name.partition("[")[0])
        self.seconds = _number_of(item, _TIMEOUT) or group.seconds
        self.body = limit.timed(self._run)
        self._root = root
        self._exceptions = exceptions
        self._is_drawn = True

    def _run(self, submission: SubmissionProxy) -> None:
        names = self.item.fixturenames
        has_logs = "caplog" in names or hasattr(self.item.cls, "assertLogs")
        reads = (not _READ_PRINTS.isdisjoint(names), has_logs)
        channel = submission._channel
        assert isinstance(channel, Channel)
        temporary = pytest.TempPathFactory.getbasetemp(vars(self.item.config)["_tmp_path_factory"])
        bridge = Bridge(channel, self._root, Handles(), Exceptions(self._exceptions), temporary, *reads)
        comparisons = Comparisons()
        bridge.keeps_arguments, bridge.by_solution = self.keeps_arguments, self.changed_by_solution or frozenset()
        is_solution = isinstance(channel.transport, ModuleProcess)
        try:
            if not is_solution:
                self.leftovers.begin(channel.transport)
            with (
                self.leftovers.beside(channel.transport) if is_solution else contextlib.nullcontext(),
                _place_kept(self._root),
                comparisons.noted(),
                contextlib.redirect_stdout(io.StringIO()),  # its prints must not mix with the grader's output
                bridge.active(),
                as_values(self.variables if evaluate_skip_marks(self.item) is None else ()),
            ):
                try:
                    _run_item(self.item)
                except (Exception, pytest.fail.Exception):
                    if bridge.harmful is None:
                        raise
                if bridge.harmful is not None:  # whatever the test, or `doctest`, has made of it
                    raise bridge.harmful from None
        except (AssertionError, pytest.fail.Exception) as error:
            if self.hidden:
                raise AssertionError("the answer is wrong") from None
            if self.keeps_arguments:
                raise AssertionError(_CHANGES) from None
            raise in_words(error, self.sentence, channel.last, comparisons) or error from None
        except hypothesis.errors.Flaky:
            raise AssertionError("it gives another answer when it is called again with the same") from None
        except Exception as error:
            raised = bridge.exceptions.submissions(error) or missing_in(error) or error
            if not isinstance(raised, SubmissionRaised):
                raised.__cause__ = None if self.hidden else in_words(error, self.sentence, channel.last, comparisons)
                raise
            if isinstance(raised, MissingName):
                raised.file = file_of(raised.file) if raised.file else ""
            elif not self.hidden and (expected := exception_expected(error, raised.kind)):
                said = f"{self.sentence.rstrip('.')}: it raises {raised.kind}, not {expected}"
                raise AssertionError(said) from raised
            raise raised from None
        finally:
            self.changed = frozenset(bridge.changed)
            if bridge.is_waiting:  # an alarm of the test's own has gone off
                raise SubmissionTimeout("no answer in the time that the test allows")


def _run_item(item: pytest.Function) -> None:
    """Sets a test up, runs it, and tears it down, as pytest does it; the first exception goes out."""
    if vars(item).get("_instance") is not None:  # else a test in a class keeps its `self`
        item._obj = None
        del item._instance
    item._initrequest()
    item.stash[_FAILED_PARTS] = []
    failure: BaseException | None = None
    try:
        item.ihook.pytest_runtest_setup(item=item)
        ready = pytest.CallInfo.from_call(lambda: None, "setup")
        item.ihook.pytest_runtest_makereport(item=item, call=ready)  # `tmp_path` asks for it
        call = pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_call(item=item), "call")
        item.ihook.pytest_runtest_makereport(item=item, call=call)  # unittest's tests say there that they have failed
        failed = item.stash.get(_FAILED_PARTS, [])
        failure = call.excinfo.value if call.excinfo else None
        if failed:  # what the test asks after a failed part says nothing of it
            failure, asked, recent = failed[0]
            _show_again(asked, recent)
    except BaseException as error:
        failure = error
    try:
        item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
    except BaseException as error:
        last = error
        while type(own := getattr(last, "exceptions", None)) is tuple and issubclass(type((*own, 0)[0]), BaseException):
            last = own[0]  # of several fixtures; a submission's exception has no exceptions in it
        failure = failure or last
    item._request = False  # type: ignore[assignment]
    item.funcargs = None  # type: ignore[assignment]
    if failure is not None:
        raise failure from None


def _show_again(last: Call | None, recent: Sequence[Call]) -> None:
    """The failure that is reported is after this call."""
    if running and last is not None:
        channel = running[-1].channel
        channel.last = last
        channel.recent.clear()
        channel.recent.extend(recent)


@contextlib.contextmanager
def _place_kept(folder: Path) -> Iterator[None]:
    """The folder is the current one meanwhile; an alarm that the test sets takes nothing from the judge's own clock."""
    has_alarm = hasattr(signal, "setitimer")
    handler = signal.getsignal(signal.SIGALRM) if has_alarm else None
    began, timer = time.monotonic(), signal.getitimer(signal.ITIMER_REAL) if has_alarm else (0.0, 0.0)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            for name in ("runner", "fixtures"):  # else what a fixture leaves after a crash stays for the next test
                patch.setattr(f"_pytest.{name}.TEST_OUTCOME", BaseException)
            patch.setattr(torch, "compile", lambda own=None, **_: (lambda one: one) if own is None else own)
            patch.setattr(DataLoader, "_get_iterator", iterator_here)
            if resource is not None:
                patch.setattr(resource, "setrlimit", _refuse_limit)
            hook = register_optimizer_step_pre_hook(_without_fused_kernels)
            try:
                yield
            finally:
                hook.remove()
    finally:
        if has_alarm and signal.getsignal(signal.SIGALRM) is not handler:
            signal.signal(signal.SIGALRM, handler)
        if timer[0] and not signal.getitimer(signal.ITIMER_REAL)[1]:
            left = max(timer[0] - (time.monotonic() - began), 0.01)
            signal.setitimer(signal.ITIMER_REAL, left, timer[1])


class _BrokenItem(pytest.Item):
    """Stands for the tests of a file that cannot be collected."""

    def runtest(self) -> None:
        """There is nothing to run."""

    function = obj = runtest


def _broken(item: Any, exercise: str, problem: str) -> Check:
    """A check whose file cannot be collected: a fault of the course, which costs nobody points."""

    def fail(submission: object) -> None:
        raise UserError(f"the suite's file cannot be collected: {problem}")

    check = Check(item, exercise, 0)
    check.runs_item, check.body = True, fail
    return check


def _without_fused_kernels(optimizer: torch.optim.Optimizer, *_: object) -> None:
    """They believe the shapes of a tensor or a state, which the submission may have changed."""
    for group in optimizer.param_groups:
        group.update({"fused": False} if group.get("fused") else {})


def _refuse_limit(*_: object) -> None:
    """In the place of ``resource.setrlimit``, which would limit the judge."""
    frame = sys._getframe(1)
    place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
    raise CannotBeAssessed(f"it limits its own process ({place}), and the student's code is in another one")


class _SuiteHooks(session.SessionHooks):
    """Makes checks of the tests that an exercise names."""

    def __init__(
        self, course: Course, limit: TimeLimit, exceptions: Mapping[str, type[SubmissionRaised]], root: Path
    ) -> None:
        super().__init__(0, limit, {})
        self._root = root
        self._exceptions = exceptions
        self._course = course
        self._own_limit = limit
        self._files: dict[str, tuple[pytest.Item | pytest.Collector, str]] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", f"{_TIMEOUT}(seconds): the test's own limit")
        config.addinivalue_line("markers", f"{_POINTS}(number): its part of the exercise's points")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        suite = self._course.suite
        assert suite is not None
        for item in items:
            nodeid = item.nodeid.removeprefix(f"{suite.path}/")
            belongs = group_of(self._course.groups, nodeid)
            if belongs is None or not isinstance(item, pytest.Function):
                continue
            group, is_hidden = belongs
            if item.get_closest_marker("xfail"):
                raise pytest.UsageError(f"{nodeid} is marked xfail, and its exercise counts it: name other tests")
            self.checks[item.nodeid] = SuiteCheck(
                item, group, hidden=is_hidden, root=self._root, limit=self._own_limit, exceptions=self._exceptions
            )
        _name_apart([check for check in self.checks.values() if isinstance(check, SuiteCheck)])

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]) -> None:
        if isinstance(node, pytest.Item):
            if call.excinfo is not None:
                last, recent = (running[-1].channel.last, [*running[-1].channel.recent]) if running else (None, [])
                node.stash.setdefault(_FAILED_PARTS, []).append((call.excinfo.value, last, recent))
            return
        seen = len(self.problems)
        super().pytest_exception_interact(node, call)
        if len(self.problems) > seen:
            name = node.nodeid.partition("::")[0].partition("/")[2]
            self._files.setdefault(name, (node, self.problems[-1]))

    def broken(self, groups: Sequence[Group]) -> Iterator[Check]:
        """A check that is at fault for each exercise whose tests are in a file that cannot be collected."""
        for group in groups:
            for name in dict.fromkeys(entry.partition("::")[0] for entry in (*group.tests, *group.hidden)):
                if name in self._files:
                    node, problem = self._files[name]
                    yield _broken(_BrokenItem.from_parent(node.session, name=Path(name).stem), group.exercise, problem)

    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """pytest calls it, but for a coroutine, if no plugin here has made a function of it."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        asyncio.run(pyfuncitem.obj(**given))
        return True


def _number_of(item: pytest.Item, name: str) -> float | None:
    """The number in a mark of a test; None if it has no such mark."""
    mark = item.get_closest_marker(name)
    value = (mark.args or tuple(mark.kwargs.values()) or (None,))[0] if mark else None
    return float(value) if isinstance(value, int | float) else None


def _name_apart(checks: Sequence[SuiteCheck]) -> None:
    """Gives tests of one exercise that have the same name in two files the names of these, too."""
    for exercise in {check.exercise for check in checks}:
        some = [check for check in checks if check.exercise == exercise]
        for check, name in zip(some, names_apart([one.item.nodeid for one in some]), strict=True):
            check.name = name


@contextlib.contextmanager
def collected_suite(
    course: Course, exercises: Sequence[str], limit: TimeLimit | None = None, listener: Listener | None = None
) -> Iterator[CollectedChecks]:
    """The tests of a course's suite that belong to some exercises (full names), until the context ends.

    Raises:
        UserError: a file cannot be collected.
    """
    suite, limit = course.suite, limit or TimeLimit()
    assert suite is not None
    groups = [one for one in course.groups if one.exercise in exercises]
    names = sorted({entry.partition("::")[0] for one in groups for entry in (*one.tests, *one.hidden)})
    exceptions = _exceptions_of(course)
    with (
        own_room(course.root, suite.path) as room,
        standing_in(
            suite.modules,
            suite.packages,
            _public_names(course),
            exceptions,
            (course.solutions_dir, course.exercises_dir),
        ),
        _hypothesis_settings(),
        transformed_over_there(),
        rewritten(),
        unpickling_carefully(room.root / suite.path, room.root / DATA),
        kept_from_harm(room, suite.path),
        session.check_files_forgotten(room.root),
        contextlib.ExitStack() as stack,
    ):
        stack.callback(sys.path.__setitem__, slice(None), sys.path[:])  # pytest leaves the suite's folder there
        files = [file for name in names if (file := room.root / suite.path / name).is_file()]
        hooks = _SuiteHooks(course, limit, exceptions, room.root)
        with warnings.catch_warnings(), asking(Solution(course.solutions_dir, room.root, suite.names)):
            warnings.simplefilter("ignore")  # about the suite: nobody here can mend it
            if files:
                stack.enter_context(session.collecting(files, room.root, hooks, temporary=room.temporary))
        if hooks.problems and not hooks.checks:
            raise session.cannot_collect(hooks.problems)
        parameters = [getattr(getattr(check.item, "callspec", None), "params", {}) for check in hooks.checks.values()]
        leftovers = Leftovers(room.root / suite.path, parameters, room)
        variables = _variables_of(course)
        for check, given in zip(hooks.checks.values(), parameters, strict=True):
            assert isinstance(check, SuiteCheck)
            check.leftovers = leftovers
            check.variables = variables_in(_functions_of(check.item), variables, given)
        checks = [*hooks.checks.values(), *hooks.broken(groups)]
        yield CollectedChecks(checks, hooks.run, limit, listener or Listener(), room.root)


@contextlib.contextmanager
def _hypothesis_settings() -> Iterator[None]:
    """Draws the same inputs for everybody, and has no clock of its own."""
    hypothesis.settings.register_profile(
        _PROFILE,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )
    before = hypothesis.settings.get_current_profile_name()
    hypothesis.settings.load_profile(_PROFILE)
    try:
        yield
    finally:
        hypothesis.settings.load_profile(before)


def find_submission(root: Path, folder: Path) -> None:
    """Under plain pytest: the suite of a course imports the modules of this folder, in this process.

    Raises:
        CourseError: the course cannot be read.
    """
    suite = Course.load(root, complete=False).suite
    sys.path.insert(0, str(folder))
    for name in suite.modules if suite else ():
        if "." in name:  # a file in the suite's folder for the suite, and none for students
            sys.meta_path.insert(0, _Alias(name, folder / f"{name.rpartition('.')[2]}.py"))


class _Alias(importlib.abc.MetaPathFinder):
    """Finds a file under the name by which a suite imports it."""

    def __init__(self, name: str, file: Path) -> None:
        self._name, self._file = name, file

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        return importlib.util.spec_from_file_location(name, self._file) if name == self._name else None


def _public_names(course: Course) -> dict[str, dict[str, str]]:
    """The names that ``from MODULE import *`` gives, as the solution has them, and libraries' whole names."""
    suite = course.suite
    assert suite is not None
    found: dict[str, dict[str, str]] = {name: {} for name in (*suite.modules, *suite.packages)}
    for folder in (course.exercises_dir, course.solutions_dir):
        for name in (*suite.modules, *suite.packages):
            own = folder / name.rpartition(".")[2]
            for file in own.rglob("*.py") if suite.is_package(own.name) else [own.with_suffix(".py")]:
                inside = file.with_suffix("").relative_to(own).parts if file.is_relative_to(own) else ()
                whole = ".".join((name, *inside)).removesuffix(".__init__")
                found[whole] = _names_at_top(file, suite.names) if file.is_file() else found.get(whole, {})
    return found


def _exceptions_of(course: Course) -> dict[str, type[SubmissionRaised]]:
    """A class by name for each exception of a stub or the solution, or that a test expects, and of a frozen one."""
    bases: dict[str, list[str]] = {}
    places: dict[str, tuple[str, list[str]]] = {}
    folders = [folder for folder in (course.exercises_dir, course.solutions_dir) if folder.is_dir()]
    for folder, name in ((one, name) for one in folders for name in python_files(one)):
        with contextlib.suppress(CourseError):
            tree = parse(folder / name)
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.bases:
                    if node in tree.body:
                        places[node.name] = (
                            name.removesuffix(".py").removesuffix("/__init__").replace("/", "."),
                            [node.name],
                        )
                    bases[node.name] = [ast.unparse(one).rpartition(".")[2] for one in node.bases]
    frozen = type("FrozenInstanceError", (kind_of("AttributeError"), dataclasses.FrozenInstanceError), {})
    found: dict[str, type[SubmissionRaised]] = {"FrozenInstanceError": frozen}
    while more := {
        name: known
        for name, some in bases.items()
        if name not in found and (known := [one for one in some if one in found or is_exception(one)])
    }:
        name = min(more, key=lambda one: sum(base in bases and base not in found for base in bases[one]))
        members = _MADE_BY_TESTS | ({"far_place": places[name]} if name in places else {})
        kinds = [found.get(one) or kind_of(one) for one in more[name]]
        try:
            found[name] = type(name, tuple(kinds), members)
        except TypeError:  # no order of its bases
            found[name] = type(name, (kinds[0],), members)
    assert course.suite is not None
    for file in course.checks_dir.rglob("*.py"):
        with contextlib.suppress(CourseError):
            for name in exceptions_expected(parse(file), course.suite.names):
                found.setdefault(name, type(name, (kind_of("Exception"),), _MADE_BY_TESTS))
    return found


def _variables_of(course: Course) -> set[str]:
    """The names of the variables of stubs and the solution."""
    found: set[str] = set()
    for folder in (course.exercises_dir, course.solutions_dir):
        for name in python_files(folder) if folder.is_dir() else ():
            with contextlib.suppress(CourseError):
                found.update(assigned_by(parse(folder / name)))
    return found


def _functions_of(item: pytest.Function) -> Iterator[FunctionType]:
    """A test, its fixtures, and the methods of its class that are no tests."""
    fixtures = (one.func for some in item._fixtureinfo.name2fixturedefs.values() for one in some)
    of_class = {name: one for kind in reversed((item.cls or object).__mro__) for name, one in vars(kind).items()}
    methods = (getattr(one, "__func__", one) for name, one in of_class.items() if not name.startswith("test"))
    for one in (item.function, *fixtures, *methods):
        if isinstance(found := inspect.unwrap(one), FunctionType):
            yield found


def _init(error: BaseException, *args: object, **fields: object) -> None:
    BaseException.__init__(error, *args)
    vars(error).update(fields)


_MADE_BY_TESTS: Final[dict[str, Any]] = {"__init__": _init}
"""What an exception of the solution has here: a test may make one itself, with any arguments."""


def _names_at_top(file: Path, own: Collection[str]) -> dict[str, str]:
    """The public names at the top of a module, with those that it takes as a whole from modules beside it.

    Args:
        own: the names of students' modules and packages.
    """
    found: dict[str, str] = {}
    with contextlib.suppress(CourseError, RecursionError):
        for node in parse(file).body:
            names: dict[str, str] = dict.fromkeys(sorted(names_bound_by(node)), "")
            if isinstance(node, ast.ImportFrom) and "*" in names and node.level < 2:
                path = (node.module or "").replace(".", "/")
                places = [file.parent] if node.level else list(file.parents) if path.partition("/")[0] in own else []
                files = [place / one for place in places for one in (f"{path}.py", f"{path}/__init__.py")]
                beside = next((one for one in files if one.is_file() and one != file), None)
                names = _names_at_top(beside, own) if beside else {}
            elif isinstance(node, ast.Import):
                names = {one.asname or one.name.partition(".")[0]: one.name for one in node.names if one.asname}
                names |= {top: top for one in node.names if not one.asname and (top := one.name.partition(".")[0])}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            found |= {
                name: "" if whole.partition(".")[0] in own else whole
                for name, whole in names.items()
                if not name.startswith("_") and name != "*"
            }
    return found
