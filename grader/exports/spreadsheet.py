"""CSV files of other programs: the cells of a downloaded one, which can be replaced, and text for any cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from grader.errors import UserError
from grader.intake.roster import decoded
from grader.text import clean

_BOUND: Final = 64 * 1024 * 1024
_BEGIN_FORMULAS: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Also in full width, which spreadsheets in some languages take for the same."""


def neutral(text: str) -> str:
    """Text for a cell of a CSV file, changed so that no spreadsheet reads it as a formula."""
    text = clean(text)
    return f"'{text}" if text.lstrip().startswith(_BEGIN_FORMULAS) else text


def csv_line(cells: Sequence[str]) -> bytes:
    """A line of a CSV file in which no cell acts as a formula."""
    stream = io.StringIO()
    csv.writer(stream).writerow([neutral(cell) for cell in cells])
    return stream.getvalue().encode("utf-8", "replace")


@dataclass(frozen=True)
class Cell:
    """One cell: its value, and where its text is in the file."""

    value: str
    start: int
    end: int


@dataclass
class Spreadsheet:
    """The cells of a CSV file, by row and column; all but those that are replaced stays as it is, byte by byte."""

    text: str
    encoding: str
    delimiter: str
    rows: list[list[Cell]]
    _changed: dict[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Spreadsheet:
        """Reads a CSV file in UTF-8, UTF-16 (as Excel saves it) or Windows' western encoding.

        Raises:
            UserError: it cannot be read.
        """
        try:
            with path.open("rb") as stream:
                content = stream.read(_BOUND + 1)
        except OSError as problem:
            fix = "name the file that you downloaded: --into FILE"
            raise UserError(f"{path}: {problem.strerror}", fix=fix) from problem
        if len(content) > _BOUND:
            raise UserError(f"{path} is larger than {_BOUND >> 20} MiB", fix="name the file that you downloaded")
        try:
            return cls.parse(content)
        except UnicodeDecodeError:
            raise UserError(f"{path} is not text", fix="download the CSV file again") from None

    @classmethod
    def parse(cls, content: bytes) -> Spreadsheet:
        """The cells of a file's content.

        Raises:
            UnicodeDecodeError: it is not text.
        """
        text, encoding = decoded(content)
        # Of what is not in quotes: titles have commas and semicolons, too, but no tabs.
        head = re.sub(r'"[^"]*"?', "", text.lstrip("\ufeff")).partition("\n")[0]
        delimiter = "\t" if "\t" in head else max(",;", key=head.count)
        return cls(text, encoding, delimiter, _rows(text, delimiter))

    def value(self, row: int, column: int) -> str:
        """The cell's value in the file; empty where the row is too short."""
        cells = self.rows[row]
        return cells[column].value if column < len(cells) else ""

    def replace(self, row: int, column: int, value: str) -> bool:
        """Puts another value into a cell; False if the row is too short to have it."""
        if column >= len(self.rows[row]):
            return False
        self._changed[row, column] = value
        return True

    def content(self) -> bytes:
        """The file with the replaced cells."""
        parts, at = [], 0
        for (row, column), value in sorted(self._changed.items()):
            cell = self.rows[row][column]
            quoted = self.text[cell.start : cell.start + 1] == '"' or re.search(rf'["\r\n{self.delimiter}]', value)
            parts += [self.text[at : cell.start], '"' + value.replace('"', '""') + '"' if quoted else value]
            at = cell.end
        return ("".join(parts) + self.text[at:]).encode(self.encoding, "replace")


def _rows(text: str, delimiter: str) -> list[list[Cell]]:
    form = re.compile(rf'(?:"((?:[^"]|"")*)")?([^{delimiter}\r\n]*)({delimiter}|\r\n|\r|\n|\Z)')
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    for found in form.finditer(text, 1 if text.startswith("\ufeff") else 0):
        if found.start() == len(text) and not row:
            break
        row.append(Cell((found[1] or "").replace('""', '"') + found[2], found.start(), found.start(3)))
        if found[3] != delimiter:
            rows.append(row)
            row = []
    return rows
