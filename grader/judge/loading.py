"""How a topic of a submission is loaded: as it is or, if that raises or does not end, its definitions alone.

A student's file may hold more than answers: a cell that plots, a call that trains, a package that is not installed.
What is left out is said, and a definition that needs it fails for that reason. Runs no submitted code: it only asks
student processes, and takes what they say for data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from grader.border.failures import OUT_OF_MEMORY, import_raised, one_line
from grader.border.messages import (
    Definitions,
    FailedStatement,
    ImportBadReply,
    ImportCrashed,
    Imported,
    ImportFailure,
    ImportRaised,
    ImportTimeout,
    SourceLine,
)
from grader.course import Topic
from grader.course.definitions import defined_names, lines_in
from grader.intake.notebook import Cells
from grader.judge import explain
from grader.judge.advice import with_message
from grader.results import Cause, CheckResult, ExerciseResult

AS_IT_IS: Final = 0.25
AS_IT_IS_SECONDS: Final = 3.0
"""After this part of the time of an import, and after these seconds at most, only the definitions are loaded.

The statements that the definitions need may take longer than that, because they are run again with them. A file that
trains costs no more."""
MOST_TRIES: Final = 4
"""How often a topic is imported at most, each time without a statement more that did not end."""
_MOST_LINE: Final = 10_000_000
_NAMED: Final = 5
_MOST_PLACES: Final = 20
_MOST_CELLS: Final = 40
_UNKNOWN: Final = re.compile(r"name '(\w+)' is not defined")

Import = Callable[[Definitions | None, float], "Outcome"]
"""Imports the topic in a fresh process, within so many seconds."""


class Outcome(msgspec.Struct, frozen=True):
    """How one import went.

    Attributes:
        failure: why the topic could not be imported; None if it was.
        imported: the statements that were left out, as its process says.
        place: the line at the topic's top level that was running when its time was up; 0 if unknown.
    """

    failure: ImportFailure | None
    imported: Imported = Imported()
    place: int = 0


class Partial(msgspec.Struct, frozen=True):
    """A topic of which only the definitions were loaded.

    Attributes:
        file: the topic's file.
        failure: why it could not be imported as it is.
        definitions: how further processes load it.
        imported: the statements that were left out, as the process says.
        stopped: the line that the first import was running when its time was up; 0 if unknown.
    """

    file: str
    failure: ImportFailure
    definitions: Definitions
    imported: Imported
    stopped: int = 0

    def notes(self, source: bytes) -> list[str]:
        """The statements that were left out and why, for students and instructors; of a notebook, its cells."""
        where = _Places(source)
        frames = self.failure.frames if isinstance(self.failure, ImportRaised) else ()
        line = next((frame.line for frame in frames if frame.file == self.file), self.stopped)
        first = f"{where.of(line, line)} {self._what()}" if line else self._what()
        left_out = where.all_of(self.imported.left_out)
        graded = f"graded without what no definition needs ({left_out})" if left_out else "its definitions are graded"
        advice = "" if where.is_notebook else '; put code that only runs something under `if __name__ == "__main__":`'
        notes = [f"{self.file}: {first}: {graded}{advice}"]
        for number, failed in enumerate(self.imported.failed[:_NAMED]):
            names = [one_line(name) for name, cause in self.imported.lost if cause == number][:_NAMED]
            without = f", and with it {', '.join(names)}" if names else ""
            place = where.of(failed.first, failed.last)
            notes.append(f"{self.file}: {place} {_why(failed)}: left out{without}")
        return notes

    def _what(self) -> str:
        match self.failure:
            case ImportRaised(kind, message):
                return f"raised {one_line(f'{kind}: {message}'.strip(), 160)}"
            case ImportTimeout():
                return "did not end in time"
        return f"cannot be imported as it is: it {one_line(self.failure.reason, 160)}"

    def explain_lost(self, result: ExerciseResult, source: bytes) -> ExerciseResult:
        """The same result; if it fails for a name that was lost, it says which statement of `source` failed."""
        lost = dict(self.imported.lost)
        if not any(check.cause and check.cause.kind in ("missing", "exception") for check in result.checks):
            return result
        where = _Places(source)
        return replace(result, checks=tuple(self._explained(check, lost, where) for check in result.checks))

    def _explained(self, check: CheckResult, lost: dict[str, int], where: _Places) -> CheckResult:
        cause = check.cause
        unknown = _UNKNOWN.search(cause.exception_message) if cause and cause.exception_type == "NameError" else None
        name = cause.names[0] if cause and cause.kind == "missing" and cause.names else unknown[1] if unknown else ""
        number = lost.get(name, -1)
        if cause is None or not 0 <= number < len(self.imported.failed):
            return check
        failed = self.imported.failed[number]
        place = where.line(failed.first, self.file)
        advice = f"`{name}` has no value, as {place} {_why(failed)}"
        return explain.result(check.name, replace(cause, advice=advice))


def definitions_of(topic: Topic, stub: Path) -> Definitions:
    """How a topic's definitions are loaded: the names of its exercises, and all others that its stub has."""
    others = defined_names(lines_in(stub.read_bytes())) if stub.is_file() else []
    return Definitions([one.name for one in topic.exercises], others)


def load(
    topic: str, wanted: Callable[[], Definitions], seconds: float, do_import: Import
) -> tuple[ImportFailure | None, Partial | None]:
    """Imports a topic; why it cannot be imported, else None, and the parts that were left out, if any.

    Args:
        wanted: the definitions that are loaded if it cannot be imported as it is.
        seconds: how long all of it may take.
    """
    at_first = min(seconds * AS_IT_IS, AS_IT_IS_SECONDS)
    first = do_import(None, at_first)
    if first.failure is None or not _may_be_scratch(first.failure):
        return first.failure, None
    definitions = wanted()
    for share in _shares(seconds - at_first):
        outcome = do_import(definitions, share)
        if outcome.failure is None:
            return None, Partial(f"{topic}.py", first.failure, definitions, outcome.imported, first.place)
        if not isinstance(outcome.failure, ImportTimeout) or not outcome.place:
            break
        definitions = replace(definitions, without=[*definitions.without, outcome.place])
    return first.failure, None


def _may_be_scratch(failure: ImportFailure) -> bool:
    """Whether an import failed as code does that was left beside the answers; none of that ends its own process."""
    match failure:
        case ImportBadReply():
            return False
        case ImportCrashed(reason):
            return reason == OUT_OF_MEMORY
    return True


def _shares(seconds: float) -> Iterator[float]:
    """The time of each further try: half of the time that is left."""
    for _ in range(MOST_TRIES - 1):
        seconds /= 2
        yield seconds


def line_at_top(frames: Sequence[SourceLine], file: str) -> int:
    """The line at the top level of a file that the stack of a process goes through; 0 if none is known.

    Args:
        frames: innermost first.
    """
    lines = [frame.line for frame in frames if frame.file == file and frame.function == "<module>"]
    return lines[-1] if lines else 0


def _why(failed: FailedStatement) -> str:
    if failed.raised is None:
        return "did not end in time"
    raised = import_raised(failed.raised)
    cause = Cause(kind="exception", exception_type=raised.kind, exception_message=one_line(raised.message, 300))
    return f"raised {with_message(cause)}"


class _Places:
    """Names the place of a line: the line itself, or the cell of the notebook that the module was made of."""

    def __init__(self, source: bytes) -> None:
        self._cells = Cells(source)
        self._count = source.count(b"\n") + 1
        self.is_notebook = bool(self._cells)

    def of(self, first: int, last: int) -> str:
        """``line 3``, ``lines 3–5``, ``cell 4``."""
        if not 0 < first <= last < _MOST_LINE:
            return "a line"
        if self.is_notebook:
            return self._cells.named([self._cells.find(first)[0]])
        return f"line {first}" if first == last else f"lines {first}–{last}"

    def line(self, line: int, file: str) -> str:
        """``line 3 of vectors.py``, ``cell 4, line 1``; the file alone for a line that cannot be."""
        if not 0 < line < _MOST_LINE:
            return file
        return self._cells.place(line) if self.is_notebook else f"line {line} of {file}"

    def all_of(self, places: Sequence[tuple[int, int]]) -> str:
        """``lines 3–5, 9``, ``cells 4, 6``; empty for none."""
        places = [(first, last) for first, last in places[:_MOST_PLACES] if 0 < first <= last < _MOST_LINE]
        if not places:
            return ""
        if self.is_notebook:
            lines = (line for a, b in places for line in range(a, min(b, self._count) + 1))
            cells = list(dict.fromkeys(self._cells.find(line)[0] for line in lines))
            return self._cells.named(cells[:_MOST_CELLS]) + (", …" if cells[_MOST_CELLS:] else "")
        found = [f"{first}" if first == last else f"{first}–{last}" for first, last in places]
        return f"{'line' if len(places) == 1 and places[0][0] == places[0][1] else 'lines'} {', '.join(found)}"
