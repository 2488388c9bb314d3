"""The columns of Moodle's offline grading worksheet, whose first line is in the language of whoever downloaded it.

Known names are enough; else the place of a column and its cells say which it is. Works on cells only.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from grader.intake.dates import read_time

IDENTIFIER, FULL_NAME, GRADE, MAXIMUM, SUBMITTED, MODIFIED, FEEDBACK = (
    *("identifier", "full name", "grade", "maximum grade"),
    *("last modified (submission)", "last modified (grade)", "feedback comments"),
)
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    FULL_NAME: ("vollständiger name", "nom complet", "nombre completo"),
    "email address": ("e-mail-adresse", "adresse de courriel"),
    GRADE: ("bewertung",),
    MAXIMUM: ("bestwertung",),
    SUBMITTED: ("zuletzt geändert (abgabe)", "dernière modification (travail remis)", "última modificación (entrega)"),
    MODIFIED: ("zuletzt geändert (bewertung)", "dernière modification (note)", "última modificación (calificación)"),
    FEEDBACK: ("feedback als kommentar",),
}
_IN_ENGLISH: Final = {name: english for english, names in _NAMES.items() for name in names}
_OF_A_WORKSHEET: Final = (GRADE, MAXIMUM, SUBMITTED, MODIFIED)
# Columns that a worksheet has at least.
_FEWEST = 6
_PARTICIPANT = re.compile(r"(\D{3,40}?)(\d+)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_EMPTY = {"", "-", "\u2013"}


def columns_of(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """The places of the columns by their English names in lower case; also of columns that Moodle does not know.

    Args:
        rows: the cells, the first line's first.
    """
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    found: dict[str, int] = {}
    for place, name in enumerate(head):
        found.setdefault(_IN_ENGLISH.get(name, name), place)
    body = [row for row in rows[1:] if any(cell.strip() for cell in row)]
    columns = [{row[place].strip() if place < len(row) else "" for row in body} for place in range(len(head))]
    if IDENTIFIER in found or len(head) < _FEWEST or not body or not _are_participants(columns[0]):
        return found
    # Every language has the columns in the same order; only those of the form of handing in lie between some of them.
    there = dict(found)
    _by_places(found, columns)
    if not {GRADE, SUBMITTED, MODIFIED} & found.keys():
        return there  # A class list of one's own, whose ids end with numbers.
    found[IDENTIFIER] = 0
    found.setdefault(FULL_NAME, 1)
    return found


def has_participants(rows: Sequence[Sequence[str]], columns: Mapping[str, int]) -> bool:
    """Whether the column of identifiers has Moodle's numbers of one assignment, and no ids of a list of one's own.

    Args:
        columns: as `columns_of` gives them.
    """
    place = columns.get(IDENTIFIER)
    cells = [row[place].strip() for row in rows[1:] if place is not None and place < len(row)]
    cells = [cell for cell in cells if cell]
    if not cells or not _are_participants(cells):
        return False
    return cells[0].lower().startswith("participant") or not columns.keys().isdisjoint(_OF_A_WORKSHEET)


def _are_participants(cells: Iterable[str]) -> bool:
    """Whether all cells are one word and a number, as ``Participant 7``."""
    matches = [_PARTICIPANT.fullmatch(cell) for cell in cells]
    return all(matches) and len({match[1] for match in matches if match}) == 1


def participant(cell: str) -> str:
    """The number in a cell such as ``Participant 7`` or ``Teilnehmer/in7``; empty if it is no such cell."""
    match = _PARTICIPANT.fullmatch(cell.strip())
    return match[2] if match else ""


def _by_places(found: dict[str, int], columns: Sequence[set[str]]) -> None:
    """Finds the columns of grades, times and feedback that have no name which is known."""
    for place in range(2, len(columns)):
        is_same_number = len(columns[place]) == 1 and _NUMBER.fullmatch(min(columns[place]))
        before = columns[place - 1] - _EMPTY
        if MAXIMUM not in found and is_same_number and all(map(_NUMBER.fullmatch, before)):
            found.setdefault(GRADE, place - 1)
            found[MAXIMUM] = place
    start = found.get(MAXIMUM, found.get(GRADE, len(columns))) + 1
    later = range(start, len(columns))
    times = [place for place in later if columns[place] - {""} and all(map(read_time, columns[place] - _EMPTY))]
    if len(times) > 1:
        found.setdefault(SUBMITTED, times[0])
    if times and times[-1] + 1 < len(columns):
        found.setdefault(FEEDBACK, times[-1] + 1)
