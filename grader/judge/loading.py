"""How a topic of a submission is loaded: statement by statement, and what is left out.

A student's file may hold more than answers: a cell that plots, a call that trains, a package that is not installed.
Notes name all that is left out, and a definition that needs it fails for that reason. Runs no submitted code: it asks
student processes, and takes their replies for data.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from grader.border import failures
from grader.border.messages import NOTHING_LOADED, FailedStatement, Imported, LoadOrder, StatementPlace
from grader.intake.notebook import Cells
from grader.judge.known_errors import with_message
from grader.results import Cause
from grader.text import listed

FIRST_TRY: Final = 0.75
"""The part of the topic's time that all statements may use: each of them a third of that, a quarter of all."""
_TOO_LONG: Final = "took too much time"
_MOST_LINE: Final = 10_000_000
_NAMED: Final = 5

Import = Callable[[LoadOrder, float], tuple[failures.ImportFailure | None, Imported, StatementPlace | None]]
"""Imports the topic in a fresh process, within this many seconds: why it could not, what it left out, and the statement
that it ran last if it has ended."""


class Loaded(NamedTuple):
    """A topic that was loaded.

    Attributes:
        failure: why it could not be; None if it could.
        left_out: the statements that were left out; None if it could not be loaded, or if there are none.
        order: how later processes load it.
    """

    failure: failures.ImportFailure | None
    left_out: "LeftOut | None"
    order: LoadOrder


def load(topic: str, sources: Mapping[str, bytes], order: LoadOrder, seconds: float, do_import: Import) -> Loaded:
    """Loads a topic.

    A statement that raises or takes too long is left out. One that ends its process, or that nothing can interrupt, is
    left out in the second try, which is the last.

    Args:
        sources: the submission's files.
        order: the exercises.
        seconds: how long all of it may take.
    """
    order = replace(order, seconds=seconds * FIRST_TRY)
    failure, imported, last = do_import(order, order.seconds)
    why, ended = _TOO_LONG, None
    if failure is not None and last is not None and _is_of_a_statement(failure):
        why, ended = str(failure) or _TOO_LONG, failure
        order = replace(order, without=[last])
        failure, imported, _ = do_import(order, seconds)
    if isinstance(failure, failures.SubmissionRaised) and failure.kind == NOTHING_LOADED.kind:
        failure = ended or failures.SubmissionTimeout()
    if failure is not None:
        return Loaded(failure, None, order)
    left_out = LeftOut(f"{topic}.py", sources, imported, (order.without[0], why) if order.without else None)
    later = replace(order, seconds=0.0, without=[*order.without, *imported.skipped])
    return Loaded(None, left_out if imported.failed else None, later)


def _is_of_a_statement(failure: failures.ImportFailure) -> bool:
    """True if a statement has ended the process: it sent no junk, raised nothing, and the system did not kill it."""
    if isinstance(failure, failures.OutOfMemory):
        return failure.held > 0  # else it has raised
    is_end = isinstance(failure, failures.SubmissionCrashed | failures.SubmissionTimeout)
    return is_end and not isinstance(failure, failures.BadReply | failures.KilledBySystem)


class LeftOut:
    """The statements that were left out, as an untrusted process reports them; looks at the text of the files only.

    Args:
        file: of the topic.
        sources: the submission's files.
        ended: the statement that has ended a process, and what it did: the words complete "line 3 …".
    """

    def __init__(
        self,
        file: str,
        sources: Mapping[str, bytes],
        imported: Imported,
        ended: tuple[StatementPlace, str] | None = None,
    ) -> None:
        self._file = file
        self._sources = sources
        self._failed = imported.failed
        self._lost = {name: number for name, number in imported.lost if 0 <= number < len(imported.failed)}
        self._ended = ended
        self._cells = {
            one: Cells(sources.get(one, b"")) for one in {file, *(failed.place[0] for failed in imported.failed)}
        }

    def notes(self) -> list[str]:
        """The statements that were left out and why, for students and instructors; of a notebook, its cells."""
        said: dict[str, list[str]] = {}  # an import of several names fails for each of them
        for number, failed in enumerate(self._failed):
            names = [failures.one_line(name) for name, cause in self._lost.items() if cause == number][:_NAMED]
            place = self._lines(failed)
            said.setdefault(f"{self._name(failed)}: {place} {self._why(failed)}: left out", []).extend(names)
        notes = [
            note + (f", and with it {listed(names, _NAMED)}" if names else "")
            for note, names in [*said.items()][:_NAMED]
        ]
        if (more := len(said) - _NAMED) > 0:
            notes.append(f"{self._file}: {more} more statements were left out")
        advice = '; put code that only runs something under `if __name__ == "__main__":`'
        if self._cells[self._file] or (self._failed and _is_import(self._sources, self._failed[0])):
            advice = ""
        return [f"{note}; all else is graded{advice}" for note in notes[:1]] + notes[1:]

    def why_lost(self, name: str) -> str:
        """The sentence about a name that has no value, because a statement has failed; empty for any other name."""
        if name not in self._lost:
            return ""
        failed = self._failed[self._lost[name]]
        file, cells = self._name(failed), self._cells[failed.place[0]]
        place = file
        if 0 < failed.first < _MOST_LINE:
            place = cells.place(failed.first) if cells else f"line {failed.first} of {file}"
        return f"`{name}` has no value, as {place} {self._why(failed)}"

    def _name(self, failed: FailedStatement) -> str:
        return failed.place[0] if failed.place[0] in self._sources else self._file

    def _lines(self, failed: FailedStatement) -> str:
        """``line 3``, ``lines 3–5``, ``cell 4``."""
        first, last, cells = failed.first, failed.last, self._cells[failed.place[0]]
        if not 0 < first <= last < _MOST_LINE:
            return "a line"
        if cells:
            return cells.named(cells.find(first)[0])
        return f"line {first}" if first == last else f"lines {first}–{last}"

    def _why(self, failed: FailedStatement) -> str:
        if failed.raised is None:
            return self._ended[1] if self._ended and failed.place == self._ended[0] else _TOO_LONG
        raised = failures.raised_error(failed.raised)
        cause = Cause(
            kind="exception", exception_type=raised.kind, exception_message=failures.one_line(raised.message, 300)
        )
        return f"raised {with_message(cause)}"


def _is_import(sources: Mapping[str, bytes], failed: FailedStatement) -> bool:
    """Whether a statement begins like an import, in the text of its file."""
    lines = sources.get(failed.place[0], b"").splitlines()[failed.first - 1 : failed.first]
    return any(line.startswith((b"import ", b"from ")) for line in lines)


def place_of(text: str, files: Mapping[str, bytes]) -> StatementPlace | None:
    """The statement in a note that a process has left about itself; None if it has left none."""
    number, _, file = text.partition(" ")
    return (file, int(number)) if file in files and number.isdecimal() and len(number) < 9 else None
