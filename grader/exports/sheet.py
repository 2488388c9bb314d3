"""A downloaded CSV file in which single cells are replaced; every other byte stays as it is."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import UserError
from grader.text import clean

_BOUND = 64 * 1024 * 1024
_BEGIN_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Also in full width, which spreadsheets in some languages take for the same."""


@dataclass(frozen=True)
class Cell:
    """One cell: its value, and where its text is in the file."""

    value: str
    start: int
    end: int


@dataclass
class Sheet:
    """The cells of a CSV file, by row and column."""

    text: str
    encoding: str
    delimiter: str
    rows: list[list[Cell]]
    _changed: dict[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Sheet:
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
    def parse(cls, content: bytes) -> Sheet:
        """The cells of a file's content.

        Raises:
            UnicodeDecodeError: it is not text.
        """
        utf16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
        encoding = utf16.get(content[:2], "utf-8")
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            encoding = "cp1252"
            text = content.decode(encoding)
        head = text.lstrip("\ufeff").partition("\n")[0]
        delimiter = max(",;\t", key=head.count)
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


def neutral(text: str) -> str:
    """Text for a cell of a CSV file, changed so that no spreadsheet reads it as a formula."""
    text = clean(text)
    return f"'{text}" if text.lstrip().startswith(_BEGIN_FORMULAS) else text


def _rows(text: str, delimiter: str) -> list[list[Cell]]:
    plain = re.compile(rf"[^{delimiter}\r\n]*")
    quoted = re.compile(r'"((?:[^"]|"")*)"')
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text) or row:
        start = at
        inside = quoted.match(text, at)
        rest = plain.match(text, inside.end() if inside else at)
        assert rest is not None
        at = rest.end()
        row.append(Cell(inside[1].replace('""', '"') + rest[0] if inside else rest[0], start, at))
        if text[at : at + 1] == delimiter:
            at += 1
            continue
        rows.append(row)
        row = []
        at += 2 if text[at : at + 2] == "\r\n" else 1
    return rows
