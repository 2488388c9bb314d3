"""Loads the definitions of a module that cannot be imported as it is, with what they need, statement by statement.

A statement that raises is left out, and so is what needs it to be made: its names then stand for nothing, so that a
function that uses one raises a NameError and never gets something else. Runs submitted code: in student processes only.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from grader.border.messages import Definitions, FailedStatement, Imported, Raised
from grader.student.statements import Kinds, Statement, needed, statements_of
from grader.student.work_folder import forget_listing

MOST_FAILED: Final = 20
"""Failed statements, and places where something was left out, that are sent."""
MOST_LOST: Final = 200
"""Lost names that are sent."""
_BUILT_IN: Final = frozenset(vars(builtins))


class NothingLoaded(Exception):
    """None of the wanted names could be defined."""


def load_definitions(
    name: str, path: Path, order: Definitions, describe: Callable[[BaseException], Raised]
) -> tuple[ModuleType, Imported]:
    """The module with its definitions, and what was left out of it.

    Args:
        describe: makes data of an exception.

    Raises:
        NothingLoaded: none of the exercises is in it.
        SyntaxError: it cannot be parsed.
    """
    forget_listing(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    statements = statements_of(path.read_bytes(), str(path))
    is_needed = needed(statements, [*order.exercises, *order.names])
    kept = [one for one, is_kept in zip(statements, is_needed, strict=True) if is_kept]
    running = _Running(vars(module), Kinds.of(statements), frozenset(order.without), describe)
    for one in kept:
        running.run(one)
    running.remove_what_would_find_another(kept)
    if not any(one in vars(module) for one in order.exercises):
        raise NothingLoaded
    not_run = [one for one, is_kept in zip(statements, is_needed, strict=True) if not is_kept]
    left_out = _lines([one for one in not_run if not (one.never_runs or one.is_import)])  # nobody misses an import
    lost = [(name, number) for name, number in running.lost.items() if number < MOST_FAILED]
    return module, Imported(running.failed, left_out[:MOST_FAILED], lost[:MOST_LOST])


class _Running:
    """Runs statements in a namespace.

    Attributes:
        failed: the first `MOST_FAILED` statements that could not be run for reasons of their own.
        lost: names that have no value because of a statement that failed, and the number of that.
    """

    def __init__(
        self,
        namespace: dict[str, object],
        kinds: Kinds,
        without: frozenset[int],
        describe: Callable[[BaseException], Raised],
    ) -> None:
        self._namespace = namespace
        self._kinds = kinds
        self._without = without
        self._describe = describe
        self._count = 0
        self.failed: list[FailedStatement] = []
        self.lost: dict[str, int] = {}

    def run(self, one: Statement) -> None:
        """Runs a statement, unless it needs a name that was lost."""
        cause = next((self.lost[name] for name in sorted(one.now) if name in self.lost), None)
        if cause is None:
            if any(one.first <= line <= one.last for line in self._without):
                cause = self._failure(one, None)
            elif one.code is None:
                cause = self._failure(one, self._describe(one.problem or SyntaxError()))
            else:
                try:
                    exec(one.code, self._namespace)
                except BaseException as error:  # sys.exit too
                    cause = self._failure(one, self._describe(error))
        if cause is not None:
            self._lose(one, cause)
        elif one.always_gives:
            for name in one.gives:
                self.lost.pop(name, None)

    def remove_what_would_find_another(self, statements: Sequence[Statement]) -> None:
        """Removes the functions that use a lost name which Python itself has: they would take that one instead."""
        for one in statements:
            for name in one.later & _BUILT_IN & self.lost.keys():
                if one.always_gives:
                    self._lose(one, self.lost[name])

    def _failure(self, one: Statement, raised: Raised | None) -> int:
        if len(self.failed) < MOST_FAILED:
            self.failed.append(FailedStatement(one.first, one.last, raised))
        self._count += 1
        return self._count - 1

    def _lose(self, one: Statement, cause: int) -> None:
        if one.is_part_of_package and one.gives <= self._namespace.keys():
            return
        changed = one.stores - self._kinds.modules | one.touches & self._kinds.data
        for name in one.gives | changed:
            self._namespace.pop(name, None)
            self.lost[name] = cause


def _lines(statements: Sequence[Statement]) -> list[tuple[int, int]]:
    """First and last lines of statements, those that follow each other as one."""
    found: list[tuple[int, int]] = []
    for one in statements:
        if found and one.first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], one.last))
        else:
            found.append((one.first, one.last))
    return found
