"""Loads the files of a submission: statement by statement, in the order of the file.

A statement that raises, or that takes more than its part of the time, is left out: the names that it would have given
a value stand for nothing, so that a function that uses one raises a NameError. An ``await`` at the top level, as in a
notebook, is run to its end. The student's other modules are loaded by the same rule when they are imported. Runs
submitted code: in student processes only.
"""

import __future__

import ast
import contextlib
import copy
import dis
import importlib.util
import math
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Final

import torch

from grader.border import messages
from grader.border.messages import FailedStatement, Imported, LoadOrder, Raised, StatementPlace
from grader.student import needs
from grader.student.needs import Statement

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

LONG_SECONDS: Final = 0.5
"""A statement that takes longer than this is not run again in later processes, unless an exercise needs it."""
CLOCK_FACTOR: Final = 10.0
"""By the clock, a statement may take this many times its time, as it may wait for a processor."""
_TICK_SECONDS: Final = 0.05
_AWAITS: Final = 0x80
"""The flag of code that is a coroutine (``inspect.CO_COROUTINE``), for an ``await`` at the top level."""


class NothingLoaded(Exception):
    """None of the wanted names could be defined.

    Attributes:
        raised: the exception of the first statement that was left out.
    """

    def __init__(self, raised: Raised) -> None:
        self.raised = raised


class _Overran(BaseException):
    """A statement has used its part of the time, or is not to be run."""


def import_file(name: str, path: Path) -> ModuleType:
    """Imports a file under a name, all or nothing: the course's own, or one of a course that is strict."""
    forget_listing(path.parent)
    importlib.util.decode_source(path.read_bytes())  # an import alone accepts bytes in comments that no script may have
    module, _ = _new_module(name, SourceFileLoader(name, str(path)))
    code = compile(path.read_bytes(), str(path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    with put_back(), contextlib.closing(_Loading(path.parent, LoadOrder([]))) as loading:
        loading.execute(code, vars(module))
    return module


@contextlib.contextmanager
def put_back() -> Iterator[None]:
    """Puts back settings of the process that a file may change: a notebook on Colab begins with ``os.chdir``.

    The current folder, file mask, output, filters of warnings, and torch's modes and default type: only functions are
    asked, and each finds the process as it is for everybody.
    """
    folder, filters = os.getcwd(), warnings.filters[:]
    os.umask(mask := os.umask(0o077))
    streams = sys.stdout, sys.stderr
    dtype, has_grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        yield
    finally:
        os.chdir(folder)
        os.umask(mask)
        sys.stdout, sys.stderr = streams
        if warnings.filters != filters:
            warnings.resetwarnings()  # Python also forgets which warnings it has shown
            warnings.filters[:] = filters  # type: ignore[index]
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)
        if torch.is_anomaly_enabled():
            torch.autograd.set_detect_anomaly(False)
        if torch.is_grad_enabled() != has_grad:
            torch.set_grad_enabled(has_grad)


def _new_module(name: str, loader: SourceFileLoader) -> tuple[ModuleType, SourceFileLoader]:
    """A module that can be imported by its name but is still empty."""
    spec = importlib.util.spec_from_file_location(name, loader.path, loader=loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    return module, loader


def forget_listing(folder: Path) -> None:
    """Makes an ``import`` list a folder again.

    ``importlib.invalidate_caches`` does so for all folders, which a fork pays for: it writes to the memory of each.
    """
    for known in [path for path in sys.path_importer_cache if path.startswith(str(folder))]:
        del sys.path_importer_cache[known]


def load_topic(
    name: str,
    path: Path,
    order: LoadOrder,
    describe: Callable[[BaseException], Raised],
    note: Callable[[StatementPlace], None] = lambda place: None,
) -> tuple[ModuleType, Imported]:
    """The module of a topic, and the statements that were left out of it and of the modules that it imports.

    Args:
        describe: makes data of an exception.
        note: is called with the place of each statement that does something, before it is run.

    Raises:
        NothingLoaded: none of the exercises is in it.
        SyntaxError, UnicodeDecodeError: it cannot be parsed.
    """
    global _current
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    forget_listing(folder)
    sys.path_importer_cache[str(folder)] = _finder(str(folder))
    loading = _Loading(folder, order, describe, note)
    module, loader = _new_module(name, _StatementLoader(name, str(path)))
    _current = loading
    try:
        loader.exec_module(module)
    finally:
        _current = None
        loading.close()
    found = not order.exercises or any(one in vars(module) for one in order.exercises)
    if not found and loading.failed:
        raise NothingLoaded(loading.failed[0].raised or messages.NOTHING_LOADED)
    return module, loading.imported(path.relative_to(loading.folder).as_posix())


def _finder(folder: str) -> FileFinder:
    return FileFinder(folder, (_StatementLoader, [".py"]))


class _StatementLoader(SourceFileLoader):
    """Loads a module of the submission; one that is imported when all is loaded, without a limit.

    Submitted code has it as ``__loader__``: it holds nothing.
    """

    def exec_module(self, module: ModuleType) -> None:
        for folder in getattr(module, "__path__", ()):
            sys.path_importer_cache[folder] = _finder(folder)
        folder = Path(self.path).parents[module.__name__.count(".") + hasattr(module, "__path__")]
        loading = _current or _Loading(folder, LoadOrder([]))
        with put_back():
            loading.run_file(Path(self.path), vars(module))
        if loading is not _current:
            loading.close()


def statements(source: str, filename: str) -> Iterator[Statement]:
    """The statements at the top level, without texts that stand alone; an import of several names as one of each."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for number, node in enumerate(ast.parse(source, filename=filename).body):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level:
            features = (getattr(__future__, alias.name, None) for alias in node.names)
            flags |= sum(feature.compiler_flag for feature in features if feature is not None)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = copy.copy(node)
                one.names = [alias]
                yield Statement(one, flags)
        elif number == 0 or not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield Statement(node, flags)


class _Watch:
    """Measures a statement, without the statements of modules that it imports.

    Attributes:
        most: the time that it may use (s).
        inside: the time that those statements used (s).
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.inside = 0.0
        self._waited = _waited_for_processors()
        self._worked, self._began = time.process_time(), time.monotonic()

    def total(self) -> float:
        """Processor time and sleep (s); time that it waited for a processor is no sleep, where the system counts it."""
        worked, passed = time.process_time() - self._worked, time.monotonic() - self._began
        if passed < _TICK_SECONDS:
            return worked
        waited = _waited_for_processors()
        not_waited = 0.0 if waited is None else passed - (waited - (self._waited or 0.0))
        return max(worked, not_waited, passed / CLOCK_FACTOR)

    def own(self) -> float:
        return self.total() - self.inside


def _waited_for_processors() -> float | None:
    """For how long the threads of this process have waited for a processor (s); None if the system does not say."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        waited = 0
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/schedstat", "rb") as counted:
                waited += int(counted.read(100).split()[1])
        return waited / 1e9
    return None


@dataclass
class _Loading:
    """Loads the files of a folder.

    Attributes:
        left: of the time that all statements may use (s).
        failed: the statements that were left out for reasons of their own.
        lost: names that have no value because a statement was left out, and the number of that.
        overran: the statements that used their part of the time.
        long: those that took long and came to their end.
        files: the namespace and the statements of each file that was loaded.
    """

    folder: Path
    order: LoadOrder
    describe: Callable[[BaseException], Raised] = lambda error: Raised("", False, "", ())
    note: Callable[[StatementPlace], None] = lambda place: None
    left: float = 0.0
    failed: list[FailedStatement] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    overran: list[StatementPlace] = field(default_factory=list)
    long: list[StatementPlace] = field(default_factory=list)
    files: dict[str, tuple[dict[str, object], list[Statement]]] = field(default_factory=dict)
    _without: frozenset[StatementPlace] = frozenset()
    _running: _Watch | None = None
    _loop: "AbstractEventLoop | None" = None

    def __post_init__(self) -> None:
        self.left = self.order.seconds or math.inf
        self._without = frozenset((file, number) for file, number in self.order.without)

    def run_file(self, path: Path, namespace: dict[str, object]) -> None:
        """Runs the statements of a file in a namespace.

        Raises:
            SyntaxError, UnicodeDecodeError: it cannot be parsed.
        """
        file = path.relative_to(self.folder).as_posix()
        source = importlib.util.decode_source(path.read_bytes())
        if self._loop is None and re.search("async|await", source):
            import asyncio  # here, because hardly any file needs it

            # One for all statements: what one begins, another awaits.
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        found = list(statements(source, str(path)))
        self.files[file] = namespace, found
        for number, one in enumerate(found):
            self._run(one, (file, number), namespace, str(path))

    def imported(self, file: str) -> Imported:
        """The statements that were left out, and those that need not be run again; the exercises are in this file."""
        skipped = [*self.overran]
        if self.long and self.order.exercises:  # else all that it defines may be asked for
            skipped += needs.not_needed(self.files, self.long, {file: {*self.order.exercises}})
        lost = [(name, number) for name, number in self.lost.items() if number < messages.MOST_FAILED]
        return Imported(
            self.failed[: messages.MOST_FAILED], lost[: messages.MOST_LOST], skipped[: messages.MOST_SKIPPED]
        )

    def _run(self, one: Statement, place: StatementPlace, namespace: dict[str, object], filename: str) -> None:
        """Runs a statement, or leaves it out."""
        node = one.node
        try:
            code = compile(ast.Module([node], []), filename, "exec", one.flags, dont_inherit=True)
        except SyntaxError as error:
            self._leave_out(node, place, namespace, {getattr(node, "name", "")}, error)
            return
        try:
            if place in self._without:
                raise _Overran
            if _acts(node):
                self.note(place)
                self._exec_in_time(code, namespace, place)
            else:
                self.execute(code, namespace)
        except BaseException as error:  # sys.exit too
            names = given(code)
            if isinstance(node, ast.Import):  # `import torch.nothing` takes no `torch` away
                names -= namespace.keys()
            if isinstance(error, _Overran) and place not in self._without:
                self.overran.append(place)
            self._leave_out(node, place, namespace, names, error)
        else:
            for name in given(code) & namespace.keys() if self.lost else ():
                self.lost.pop(name, None)

    def execute(self, code: CodeType, namespace: dict[str, object]) -> None:
        """Runs code, and an ``await`` at its top level to its end."""
        awaited = eval(code, namespace)
        if code.co_flags & _AWAITS and self._loop is not None:
            self._loop.run_until_complete(awaited)

    def close(self) -> None:
        """Ends what was awaited."""
        if self._loop is not None:
            self._loop.close()

    def _exec_in_time(self, code: CodeType, namespace: dict[str, object], place: StatementPlace) -> None:
        """Runs a statement for a third of all the time at most, and half of what is left of it."""
        if self.left == math.inf:
            self.execute(code, namespace)
            return
        outer = self._running
        watch = self._running = _Watch(min(self.order.seconds / 3, self.left / 2))
        try:
            with self._ticking():
                try:
                    self.execute(code, namespace)
                finally:
                    watch.most = math.inf
        finally:
            self._running = outer
            if outer is not None:
                outer.inside += watch.total()
            self.left -= watch.own()
        if watch.own() > LONG_SECONDS:
            self.long.append(place)

    @contextlib.contextmanager
    def _ticking(self) -> Iterator[None]:
        """Interrupts Python code that works longer than it may, on systems that have interval timers.

        Raises:
            _Overran: in the middle of that code, again and again if it goes on.
        """
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return

        def tick(number: int, frame: FrameType | None) -> None:
            if self._running is not None and self._running.own() > self._running.most:
                raise _Overran

        handler = signal.signal(signal.SIGALRM, tick)
        timer = signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, *timer)
            if signal.getsignal(signal.SIGALRM) is tick:  # not one of the file's own
                signal.signal(signal.SIGALRM, handler)

    def _leave_out(
        self, node: ast.stmt, place: StatementPlace, namespace: dict[str, object], names: set[str], error: BaseException
    ) -> None:
        number = self.lost.get(error.name or "") if isinstance(error, NameError) else None
        if number is None:
            number = len(self.failed)
            raised = None if isinstance(error, _Overran) else self.describe(error)
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            self.failed.append(FailedStatement(place, first, node.end_lineno or node.lineno, raised))
        for name in names:
            namespace.pop(name, None)
            self.lost[name] = number


_current: _Loading | None = None
"""Loads the topic at this moment; none once that is done."""


def given(code: CodeType) -> set[str]:
    """The names that a statement gives a value at the top level."""
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}


def _acts(node: ast.stmt) -> bool:
    """True if a statement may do more than to define a function."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.decorator_list:
        return True
    defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
    return any(isinstance(part, ast.Call) for default in defaults for part in ast.walk(default))
