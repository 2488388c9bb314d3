"""Imports a file of a submission; one that cannot be imported as it is, statement by statement, in its order.

A statement that raises is left out: the names that it would have given a value stand for nothing, so that a function
that uses one raises a NameError. Imports and definitions may take as long as an import may; all other statements share
a small budget, because code that trains or plots beside the answers is not graded. Runs submitted code: in student
processes only.
"""

import __future__

import ast
import contextlib
import copy
import dis
import importlib.util
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.abc import Loader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Final

from grader.border.messages import Definitions, FailedStatement, Imported, Raised

BUDGET_SECONDS: Final = 3.0
"""Processor time of all statements that are neither imports nor definitions; each may use half of what is left."""
_BLOCKED_FACTOR: Final = 4.0
"""By the clock, a statement may take this many times its part of the budget: it may sleep, or the machine is busy."""
_TICK_SECONDS: Final = 0.05
MOST_FAILED: Final = 20
"""Failed statements that are sent."""
MOST_LOST: Final = 200
"""Lost names that are sent."""


class NothingLoaded(Exception):
    """None of the wanted names could be defined."""


class _Overran(BaseException):
    """A statement has used its part of the budget."""


def import_file(name: str, path: Path) -> ModuleType:
    """Imports a file under a name."""
    module, _, loader = _new_module(name, path)
    loader.exec_module(module)
    return module


def _new_module(name: str, path: Path) -> tuple[ModuleType, str, Loader]:
    """A module that can be imported by its name but is still empty, the source of its file, and its loader.

    Raises:
        SyntaxError, UnicodeDecodeError: an import alone would accept bytes in comments that no script may have.
    """
    forget_listing(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    return module, importlib.util.decode_source(path.read_bytes()), spec.loader


def forget_listing(folder: Path) -> None:
    """Makes an ``import`` list a folder again.

    ``importlib.invalidate_caches`` does so for all folders, which a fork pays for: it writes to the memory of each.
    """
    for known in [path for path in sys.path_importer_cache if path.startswith(str(folder))]:
        del sys.path_importer_cache[known]


def load_definitions(
    name: str, path: Path, order: Definitions, describe: Callable[[BaseException], Raised]
) -> tuple[ModuleType, Imported]:
    """The module, and the statements that were left out of it.

    Args:
        describe: makes data of an exception.

    Raises:
        NothingLoaded: none of the exercises is in it.
        SyntaxError, UnicodeDecodeError: it cannot be parsed.
    """
    module, source, _ = _new_module(name, path)
    loading = _Loading(vars(module), order, describe)
    for node, flags in _statements(source, str(path)):
        loading.run(node, str(path), flags)
    if not any(one in vars(module) for one in order.exercises):
        raise NothingLoaded
    lost = [(name, number) for name, number in loading.lost.items() if number < MOST_FAILED]
    return module, Imported(loading.failed[:MOST_FAILED], lost[:MOST_LOST])


def _statements(source: str, filename: str) -> Iterator[tuple[ast.stmt, int]]:
    """The statements at the top level with the compiler's flags; an import of several names as one of each."""
    flags = 0
    for node in ast.parse(source, filename=filename).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level:
            features = (getattr(__future__, alias.name, None) for alias in node.names)
            flags |= sum(feature.compiler_flag for feature in features if feature is not None)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = copy.copy(node)
                one.names = [alias]
                yield one, flags
        else:
            yield node, flags


@dataclass
class _Loading:
    """Runs statements in a namespace.

    Attributes:
        left: of the budget (s).
        failed: the statements that were left out for reasons of their own.
        lost: names that have no value because a statement was left out, and the number of that.
    """

    namespace: dict[str, object]
    order: Definitions
    describe: Callable[[BaseException], Raised]
    left: float = BUDGET_SECONDS
    failed: list[FailedStatement] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)

    def run(self, node: ast.stmt, filename: str, flags: int) -> None:
        """Runs a statement, or leaves it out."""
        try:
            code = compile(ast.Module([node], []), filename, "exec", flags, dont_inherit=True)
        except SyntaxError as error:
            self._leave_out(node, {getattr(node, "name", "")}, error)
            return
        names = _given(code)
        try:
            self._run(node, code)
        except BaseException as error:  # sys.exit too
            if isinstance(node, ast.Import):  # `import torch.nothing` takes no `torch` away
                names -= self.namespace.keys()
            self._leave_out(node, names, error)
        else:
            for name in names & self.namespace.keys():
                self.lost.pop(name, None)

    def _run(self, node: ast.stmt, code: CodeType) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            exec(code, self.namespace)
        elif node.lineno in self.order.without or (self.order.skips_rest and not _is_constant(node)):
            raise _Overran
        else:
            worked, began = time.process_time(), time.monotonic()
            try:
                with _at_most(self.left / 2):
                    exec(code, self.namespace)
            finally:
                self.left -= _spent(worked, began)

    def _leave_out(self, node: ast.stmt, names: set[str], error: BaseException) -> None:
        number = self.lost.get(error.name or "") if isinstance(error, NameError) else None
        if number is None:
            number = len(self.failed)
            raised = None if isinstance(error, _Overran) else self.describe(error)
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            self.failed.append(FailedStatement(first, node.end_lineno or node.lineno, raised))
        for name in names:
            self.namespace.pop(name, None)
            self.lost[name] = number


def _given(code: CodeType) -> set[str]:
    """The names that a statement gives a value at the top level."""
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement is a number, a text or a collection of these, or gives such a value to names."""
    if not isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    return not any(isinstance(part, ast.Call | ast.Await | ast.comprehension) for part in ast.walk(node.value))


def _spent(worked: float, began: float) -> float:
    """The part of the budget (s) that was used since the processor time and the clock stood at these."""
    return max(time.process_time() - worked, (time.monotonic() - began) / _BLOCKED_FACTOR)


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Interrupts Python code that works longer than this, on systems that have interval timers.

    Raises:
        _Overran: in the middle of that code, again and again if it goes on.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    worked, began = time.process_time(), time.monotonic()
    is_running = True

    def tick(number: int, frame: FrameType | None) -> None:
        if is_running and _spent(worked, began) > seconds:
            raise _Overran

    handler = signal.signal(signal.SIGALRM, tick)
    timer = signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
    try:
        try:
            yield
        finally:
            is_running = False  # A tick may come before this: then the outer block still ends the timer.
    finally:
        is_running = False
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)
