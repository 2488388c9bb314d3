"""How a topic of a submission is loaded: as it is or, if that raises or does not end, statement by statement.

A student's file may hold more than answers: a cell that plots, a call that trains, a package that is not installed.
Notes name all that is left out, and a definition that needs it fails for that reason. Runs no submitted code: it asks
student processes, and takes their replies for data.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from grader.border import failures
from grader.border.messages import Definitions, FailedStatement, Imported
from grader.intake.notebook import Cells
from grader.judge.known_errors import with_message
from grader.results import Cause

AS_IT_IS: Final = 0.25
AS_IT_IS_SECONDS: Final = 1.0
"""After this part of the topic's time, and after these seconds at most, it is loaded statement by statement."""
NEXT_SECONDS: Final = 15.0
"""Each further try takes half of the time that is left, and at most this long: imports and definitions may be slow."""
MOST_TRIES: Final = 4
"""How often it is loaded statement by statement at most."""
_MOST_LINE: Final = 10_000_000
_NAMED: Final = 5

Import = Callable[[Definitions | None, float], tuple[failures.ImportFailure | None, Imported]]
"""Imports the topic in a fresh process, within so many seconds: why it could not, and what it left out."""


def load(
    exercises: Sequence[str], seconds: float, do_import: Import
) -> tuple[failures.ImportFailure | None, Imported | None]:
    """Imports a topic: why it cannot be imported as it is, else None, and what it left out if it could be loaded then.

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
                return first, imported
            order = replace(order, without=[*order.without, *overran])
        elif order.skips_rest or isinstance(failure, failures.SubmissionRaised) or not _may_be_scratch(failure):
            break
        else:
            order = replace(order, skips_rest=True)
    # What ended a later try says more than that the first took too long.
    ended = isinstance(failure, failures.SubmissionCrashed) and not isinstance(failure, failures.BadReply)
    return (failure if isinstance(first, failures.SubmissionTimeout) and ended else first), None


def _may_be_scratch(failure: failures.ImportFailure) -> bool:
    """Whether an import failed as code does that was left beside the answers; none of that ends its own process."""
    return not isinstance(failure, failures.SubmissionCrashed) or str(failure) == failures.OUT_OF_MEMORY


class LeftOut:
    """The statements of a topic that were left out, as its process says; looks at the text of the file only."""

    def __init__(self, file: str, source: bytes, imported: Imported) -> None:
        self._file = file
        self._imported = imported
        self._cells = Cells(source)

    def notes(self) -> list[str]:
        """The statements that were left out and why, for students and instructors; of a notebook, its cells."""
        notes = []
        for number, failed in enumerate(self._imported.failed[:_NAMED]):
            names = [failures.one_line(name) for name, cause in self._imported.lost if cause == number][:_NAMED]
            without = f", and with it {', '.join(names)}" if names else ""
            place = self._lines(failed.first, failed.last)
            notes.append(f"{self._file}: {place} {_why(failed)}: left out{without}")
        if (more := len(self._imported.failed) - _NAMED) > 0:
            notes.append(f"{self._file}: {more} more statements were left out")
        advice = "" if self._cells else '; put code that only runs something under `if __name__ == "__main__":`'
        return [f"{note}; all else is graded{advice}" for note in notes[:1]] + notes[1:]

    def why_lost(self, name: str) -> str:
        """The sentence about a name that has no value, because a statement has failed; empty for any other name."""
        number = dict(self._imported.lost).get(name, -1)
        if not 0 <= number < len(self._imported.failed):
            return ""
        failed = self._imported.failed[number]
        place = self._file
        if 0 < failed.first < _MOST_LINE:
            place = self._cells.place(failed.first) if self._cells else f"line {failed.first} of {self._file}"
        return f"`{name}` has no value, as {place} {_why(failed)}"

    def _lines(self, first: int, last: int) -> str:
        """``line 3``, ``lines 3–5``, ``cell 4``."""
        if not 0 < first <= last < _MOST_LINE:
            return "a line"
        if self._cells:
            return self._cells.named(self._cells.find(first)[0])
        return f"line {first}" if first == last else f"lines {first}–{last}"


def _why(failed: FailedStatement) -> str:
    if failed.raised is None:
        return "took too much time or memory"
    raised = failures.raised_error(failed.raised)
    cause = Cause(
        kind="exception", exception_type=raised.kind, exception_message=failures.one_line(raised.message, 300)
    )
    return f"raised {with_message(cause)}"
