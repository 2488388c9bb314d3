"""How a topic of a submission is loaded: as it is or, if that raises or does not end, statement by statement.

A student's file may hold more than answers: a cell that plots, a call that trains, a package that is not installed.
Notes name all that is left out, and a definition that needs it fails for that reason. Runs no submitted code: it asks
student processes, and takes their replies for data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from grader.border.failures import (
    OUT_OF_MEMORY,
    BadReply,
    ImportFailure,
    SubmissionCrashed,
    SubmissionRaised,
    SubmissionTimeout,
    one_line,
    raised_error,
)
from grader.border.messages import Definitions, FailedStatement, Imported
from grader.intake.notebook import Cells
from grader.judge import explain
from grader.judge.advice import with_message
from grader.results import Cause, CheckResult, ExerciseResult

AS_IT_IS: Final = 0.25
AS_IT_IS_SECONDS: Final = 1.0
"""After this part of the topic's time, and after these seconds at most, it is loaded statement by statement."""
NEXT_SECONDS: Final = 15.0
"""Each further try takes half of the time that is left, and at most this long: imports and definitions may be slow."""
MOST_TRIES: Final = 4
"""How often it is loaded statement by statement at most."""
_MOST_LINE: Final = 10_000_000
_NAMED: Final = 5
_UNKNOWN: Final = re.compile(r"name '(\w+)' is not defined")

Import = Callable[[Definitions | None, float], tuple[ImportFailure | None, Imported]]
"""Imports the topic in a fresh process, within so many seconds: why it could not, and what it left out."""


class Partial(msgspec.Struct, frozen=True):
    """A topic of which only the definitions were loaded.

    Attributes:
        file: the topic's file.
        failure: why it could not be imported as it is.
        definitions: how further processes load it.
        imported: the statements that were left out, as the process says.
    """

    file: str
    failure: ImportFailure
    definitions: Definitions
    imported: Imported

    def notes(self, source: bytes) -> list[str]:
        """The statements that were left out and why, for students and instructors; of a notebook, its cells."""
        places = _LinePlaces(source)
        advice = "" if places.is_notebook else '; put code that only runs something under `if __name__ == "__main__":`'
        notes = []
        for number, failed in enumerate(self.imported.failed[:_NAMED]):
            names = [one_line(name) for name, cause in self.imported.lost if cause == number][:_NAMED]
            without = f", and with it {', '.join(names)}" if names else ""
            notes.append(f"{self.file}: {places.of(failed.first, failed.last)} {_why(failed)}: left out{without}")
        if (more := len(self.imported.failed) - _NAMED) > 0:
            notes.append(f"{self.file}: {more} more statements were left out")
        if not notes:  # it only takes longer to import than most files
            return []
        return [f"{notes[0]}; all else is graded{advice}", *notes[1:]]

    def explain_lost(self, result: ExerciseResult, source: bytes) -> ExerciseResult:
        """The same result; if it fails for a name that was lost, it says which statement of `source` failed."""
        lost = dict(self.imported.lost)
        if not any(check.cause and check.cause.kind in ("missing", "exception") for check in result.checks):
            return result
        where = _LinePlaces(source)
        return replace(result, checks=tuple(self._explained(check, lost, where) for check in result.checks))

    def _explained(self, check: CheckResult, lost: dict[str, int], where: _LinePlaces) -> CheckResult:
        cause = check.cause
        unknown = _UNKNOWN.search(cause.exception_message) if cause and cause.exception_type == "NameError" else None
        name = cause.names[0] if cause and cause.kind == "missing" and cause.names else unknown[1] if unknown else ""
        number = lost.get(name, -1)
        if cause is None or not 0 <= number < len(self.imported.failed):
            return check
        failed = self.imported.failed[number]
        place = where.line(failed.first, self.file)
        advice = f"`{name}` has no value, as {place} {_why(failed)}"
        return explain.with_cause(check, replace(cause, advice=advice))


def load(
    file: str, exercises: Sequence[str], seconds: float, do_import: Import
) -> tuple[ImportFailure | None, Partial | None]:
    """Imports a topic; why it cannot be imported, else None, and the parts that were left out, if any.

    Statements that do not end are left out from the beginning in a further try, so that all processes of the submission
    have run the same ones. If there is no answer at all, only imports, definitions and constants are run.

    Args:
        exercises: the names that its checks ask for.
        seconds: how long all of it may take.
    """
    at_first = min(seconds * AS_IT_IS, AS_IT_IS_SECONDS)
    first, _ = failure, _ = do_import(None, at_first)
    if first is None or not _may_be_scratch(first):
        return first, None
    seconds -= at_first
    order = Definitions(list(exercises))
    for _ in range(MOST_TRIES):
        seconds -= (now := min(seconds / 2, NEXT_SECONDS))
        failure, imported = do_import(order, now)
        if failure is None:
            overran = [one.first for one in imported.failed if one.raised is None and one.first not in order.without]
            if order.skips_rest or not overran:
                return None, Partial(file, first, order, imported)
            order = replace(order, without=[*order.without, *overran])
        elif order.skips_rest or isinstance(failure, SubmissionRaised) or not _may_be_scratch(failure):
            break
        else:
            order = replace(order, skips_rest=True)
    # What ended a later try says more than that the first took too long.
    ended = isinstance(failure, SubmissionCrashed) and not isinstance(failure, BadReply)
    return (failure if isinstance(first, SubmissionTimeout) and ended else first), None


def _may_be_scratch(failure: ImportFailure) -> bool:
    """Whether an import failed as code does that was left beside the answers; none of that ends its own process."""
    return not isinstance(failure, SubmissionCrashed) or str(failure) == OUT_OF_MEMORY


def _why(failed: FailedStatement) -> str:
    if failed.raised is None:
        return "took too much time or memory"
    raised = raised_error(failed.raised)
    cause = Cause(kind="exception", exception_type=raised.kind, exception_message=one_line(raised.message, 300))
    return f"raised {with_message(cause)}"


class _LinePlaces:
    """Names the place of a line: the line itself, or the cell of the notebook that the module was made of."""

    def __init__(self, source: bytes) -> None:
        self._cells = Cells(source)
        self.is_notebook = bool(self._cells)

    def of(self, first: int, last: int) -> str:
        """``line 3``, ``lines 3–5``, ``cell 4``."""
        if not 0 < first <= last < _MOST_LINE:
            return "a line"
        if self.is_notebook:
            return self._cells.named(self._cells.find(first)[0])
        return f"line {first}" if first == last else f"lines {first}–{last}"

    def line(self, line: int, file: str) -> str:
        """``line 3 of vectors.py``, ``cell 4, line 1``; the file alone for a line that cannot be."""
        if not 0 < line < _MOST_LINE:
            return file
        return self._cells.place(line) if self.is_notebook else f"line {line} of {file}"
