"""One column of marks in the file of an LMS: which of its cells may be filled, and which marks that changes.

Never writes over the mark of a student who is excused, and never changes a mark without saying so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from grader.exports.spreadsheet import Spreadsheet
from grader.text import counted, one_line

_EMPTY: Final = ("", "-", "\u2013")
_NOT_GRADED: Final = ("needs grading", "needs marking", "in progress")
"""The words of Blackboard for work that has no mark yet."""
_EXCUSED: Final = ("ex", "excused", "exempt")
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d.,]*|[.,]\d+)", re.ASCII)
_NAMED: Final = 20

Put = Literal["filled", "unchanged", "kept", "excused", "no cell"]


@dataclass
class MarkColumn:
    """A column of a downloaded file.

    Attributes:
        only_empty: whether a cell that has a mark keeps it.
    """

    sheet: Spreadsheet
    place: int
    only_empty: bool = False
    _filled: list[str] = field(default_factory=list)
    _changed: list[str] = field(default_factory=list)
    _kept: list[str] = field(default_factory=list)

    def is_empty(self, row: int) -> bool:
        """Whether the cell says nothing at all."""
        return self._value(row) in _EMPTY

    def put(self, row: int, label: str, mark: str) -> Put:
        """Writes a mark into the cell of a row; says whether the cell has it then.

        Args:
            label: the student in the lines about what changes.
        """
        before = self._value(row)
        if before.casefold() in _EXCUSED:
            return "excused"
        if before and number(before) == number(mark):
            return "unchanged"
        is_free = before in _EMPTY or before.casefold() in _NOT_GRADED
        who = one_line(label)
        if not is_free and self.only_empty:
            self._kept.append(f"{who}: {one_line(before, 40)}, not {mark}")
            return "kept"
        if not self.sheet.replace(row, self.place, mark):
            return "no cell"
        if is_free:
            self._filled.append(f"{who}: {mark}")
        else:
            self._changed.append(f"{who}: {one_line(before, 40)} → {mark}")
        return "filled"

    def lines(self, *, all_of_them: bool = False) -> Iterator[str]:
        """The cells that are filled or change, with the mark before and after, and those that stay.

        Args:
            all_of_them: whether each cell has a line, not only the first of those that have a mark.
        """
        if self._filled:
            yield f"{counted(len(self._filled), 'empty cell is', 'empty cells are')} filled"
        if all_of_them:
            yield from (f"mark filled in: {line}" for line in self._filled)
        for lines, what, several in (
            (self._changed, "mark changes", "marks change"),
            (self._kept, "mark kept", "marks kept"),
        ):
            shown = lines if all_of_them else lines[:_NAMED]
            yield from (f"{what}: {line}" for line in shown)
            if more := len(lines) - len(shown):
                yield f"and {counted(more, f'more {what}', f'more {several}')} (--all-changes: each of them)"

    def _value(self, row: int) -> str:
        return self.sheet.value(row, self.place).strip()


def number(text: str) -> float | None:
    """The number in a cell, with a decimal point or comma, perhaps with thousands apart; None if there is none."""
    plain = "".join(text.split())
    if not _NUMBER.fullmatch(plain):
        return None
    point = max(plain.rfind("."), plain.rfind(","))
    whole = re.sub("[.,]", "", plain[:point]) if point >= 0 else plain
    return float(f"{whole}.{plain[point + 1 :]}" if point >= 0 else whole)


def has_decimal_comma(text: str) -> bool:
    """Whether it is a number with a decimal comma, such as ``8,50``."""
    return re.fullmatch(r"\d+,\d{1,2}", text.strip()) is not None
