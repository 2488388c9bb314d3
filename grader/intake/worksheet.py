"""The columns of Moodle's offline grading worksheet, whose first line is in the language of whoever downloaded it.

Known names are enough; else the place of a column and its cells say which it is. Works on cells only.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from grader.intake.dates import read_time

IDENTIFIER, FULL_NAME, GRADE, MAXIMUM, SUBMITTED, MODIFIED, FEEDBACK = (
    *("identifier", "full name", "grade", "maximum grade"),
    *("last modified (submission)", "last modified (grade)", "feedback comments"),
)
EMAIL: Final = "email address"
_IN_ENGLISH: Final[Mapping[str, str]] = {
    "vollständiger name": FULL_NAME,
    "e-mail-adresse": EMAIL,
    "bewertung": GRADE,
    "bestwertung": MAXIMUM,
    "zuletzt geändert (abgabe)": SUBMITTED,
    "zuletzt geändert (bewertung)": MODIFIED,
    "feedback als kommentar": FEEDBACK,
    "nom complet": FULL_NAME,
    "adresse de courriel": EMAIL,
    "dernière modification (travail remis)": SUBMITTED,
    "dernière modification (note)": MODIFIED,
    "nombre completo": FULL_NAME,
    "última modificación (entrega)": SUBMITTED,
    "última modificación (calificación)": MODIFIED,
}
_FEWEST = 6
"""Columns that a worksheet has at least."""
_PARTICIPANT = re.compile(r"\D{3,40}?(\d+)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_EMPTY = ("", "-", "\u2013")


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
    if IDENTIFIER in found or len(head) < _FEWEST or not body or not _same_participants(body):
        return found
    # Every language has the columns in the same order; only those of the form of handing in lie between some of them.
    there = dict(found)
    _by_places(found, head, body)
    if not {GRADE, SUBMITTED, MODIFIED} & found.keys():
        return there  # A class list of one's own, whose ids end with numbers.
    found[IDENTIFIER] = 0
    found.setdefault(FULL_NAME, 1)
    return found


def _same_participants(body: Sequence[Sequence[str]]) -> bool:
    """Whether all rows begin with one word and a number, as ``Participant 7``."""
    words = {cell[: len(cell) - len(number)] for row in body if (number := participant(cell := row[0].strip()))}
    return len(words) == 1 and all(participant(row[0]) for row in body)


def participant(cell: str) -> str:
    """The number in a cell such as ``Participant 7`` or ``Teilnehmer/in7``; empty if it is no such cell."""
    match = _PARTICIPANT.fullmatch(cell.strip())
    return match[1] if match else ""


def _by_places(found: dict[str, int], head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    """Finds the columns of marks, times and feedback that have no name which is known."""

    def cells(place: int) -> set[str]:
        return {row[place].strip() if place < len(row) else "" for row in body}

    for place in range(2, len(head)):
        same = cells(place)
        if MAXIMUM not in found and len(same) == 1 and _NUMBER.fullmatch(min(same)):
            before = cells(place - 1)
            if all(cell in _EMPTY or _NUMBER.fullmatch(cell) for cell in before):
                found.setdefault(GRADE, place - 1)
                found[MAXIMUM] = place
    start = found.get(MAXIMUM, found.get(GRADE, len(head))) + 1
    times = [
        place
        for place in range(start, len(head))
        if cells(place) - {""} and all(cell in _EMPTY or read_time(cell) for cell in cells(place))
    ]
    if len(times) > 1:
        found.setdefault(SUBMITTED, times[0])
    if times and times[-1] + 1 < len(head):
        found.setdefault(FEEDBACK, times[-1] + 1)
