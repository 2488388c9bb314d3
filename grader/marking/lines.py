"""The line of a student's file that a comment is about: as it is written in a command, and as the file has it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from grader.errors import UserError
from grader.reports.feedback import lines_by_place
from grader.text import clean, counted

_WRITTEN: Final = re.compile(r"(?:(?:cell *)?(\d{1,6}) *[:,] *)?(?:line *)?(\d{1,7})", re.ASCII | re.IGNORECASE)
_MOST_CODE: Final = 200
"""Characters of the line that a comment keeps."""


class FileLine(NamedTuple):
    """A line of a file, from 1, and of a notebook its cell; 0 means the whole exercise, or a file that has no cells."""

    line: int = 0
    cell: int = 0

    @classmethod
    def read(cls, text: str) -> FileLine:
        """The line that is meant by ``12``, or in a notebook by ``4:2``: line 2 of cell 4.

        Raises:
            UserError: it is not the number of a line.
        """
        found = _WRITTEN.fullmatch(text.strip())
        place = cls(int(found[2]), int(found[1] or 0)) if found else cls()
        if not place.line:
            raise UserError(f"{text!r} is not a line", fix="write 12, or in a notebook CELL:LINE, for example 4:2")
        return place

    def code(self, file: str, content: bytes | None) -> str:
        """The text of the line in a student's file; its name is for the message.

        Raises:
            UserError: the file has no such line.
        """
        if content is None:
            raise UserError(f"{file} was not handed in, so it has no lines")
        if b"\0" in content:
            raise UserError(f"{file} is not text, so it has no lines", fix="leave out the line")
        lines = lines_by_place(content)
        cells = {cell for cell, _ in lines}
        if bool(self.cell) == (0 in cells) and lines:
            of = "is a notebook" if self.cell == 0 else "is not a notebook"
            fix = "name the cell, too: CELL:LINE" if self.cell == 0 else f"name the line alone: {self.line}"
            raise UserError(f"{file} {of}", fix=fix)
        if (self.cell, self.line) not in lines:
            there = max((line for cell, line in lines if cell == self.cell), default=0)
            where = f"cell {self.cell} of {file}" if self.cell else file
            raise UserError(f"{where} has {counted(there, 'line')}, no line {self.line}")
        return clean(lines[self.cell, self.line][1][:_MOST_CODE]).strip()


WHOLE: Final = FileLine()
"""The place of a comment that is about the whole exercise."""
