"""Says of each line of the student's code in which cell it is, where a file of the submission was made of a notebook.

Looks at text only: nothing of a submission is run or parsed.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from grader.intake.notebook import Cells
from grader.judge import explain
from grader.results import MAX_TEXT, Cause, CheckResult, Frame


class CellPlaces:
    """The cells of one submission.

    Args:
        files: its files by path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._cells: dict[str, Cells | None] = {}

    def result(self, check: CheckResult) -> CheckResult:
        """The same result of a check that was just run, whose message names cells."""
        cause = self.cause(check.cause) if check.cause else None
        return check if cause is None or cause == check.cause else explain.result(check.name, replace(cause, advice=""))

    def cause(self, cause: Cause) -> Cause:
        """The same cause, whose lines say in which cell they are."""
        return replace(cause, frames=tuple(map(self._frame, cause.frames))) if cause.frames else cause

    def _frame(self, frame: Frame) -> Frame:
        cells = self._of(frame.file) if frame.line else None
        return replace(frame, place=cells.place(frame.line)[:MAX_TEXT]) if cells else frame

    def _of(self, file: str) -> Cells | None:
        """The cells of a file; a line of source names it without its folder, which must not leave it in doubt."""
        if file not in self._cells:
            found = [content for path, content in self._files.items() if path.rpartition("/")[2] == file]
            self._cells[file] = Cells(found[0]) if len(found) == 1 else None
        return self._cells[file]
