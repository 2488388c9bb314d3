"""The columns of assignments in the files of an LMS, by their titles: which one is meant, and the points it is worth.

Works on the first line of a file only.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from grader.errors import UserError
from grader.exports.mark_column import number
from grader.text import one_line

_CANVAS: Final = re.compile(r"(?P<title>.*?)\s*\((?P<id>\d+)\)\s*", re.DOTALL)
_CANVAS_TOTALS: Final = re.compile(r"\b(Current|Final|Unposted \w+) (Score|Points|Grade)\s*$")
_BRIGHTSPACE: Final = re.compile(r"(?P<title>.*?)(?P<kind> Points Grade)?\s*(?:<(?P<facts>[^<>]*)>)?\s*", re.DOTALL)
_OTHER_VALUES: Final = re.compile(r" (Weighted Grade|Grade Symbol|Text Grade|Scheme Symbol)\s*(<[^<>]*>)?\s*$")
_MAX_POINTS: Final = re.compile(r"\bMaxPoints:\s*([\d.,]+)")
# After the words, which are in the site's language, a calculated column has one more: `up to 100`.
_BLACKBOARD: Final = re.compile(
    r"(?P<title>.*?)\s*\[[^\[\]:]*:\s*(?P<most>\d[\d.,]*)(?:\s+(?P<shown>[^\[\]]*?))?\s*\](?:\s*\|\s*(?P<id>\w+))?\s*",
    re.DOTALL,
)
_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}([.,]\d{3})+")
_NOT_POINTS: Final = ("Percentage", "Letter", "Text", "Complete/Incomplete")


class Title(NamedTuple):
    """The heading of an assignment's column.

    Attributes:
        text: the title that people gave it.
        id: the LMS's number of it; empty if the file has none.
        most: its most points as they are written; empty if the heading does not say it.
        shown: what its cells have instead of points; empty if they have points.
    """

    text: str
    id: str = ""
    most: str = ""
    shown: str = ""

    def worth(self, in_file: str = "") -> str:
        """The most points, as the heading says, else as another cell does; with a decimal point, or empty."""
        most = number(self.most or in_file)
        return "" if most is None else f"{most:.10g}"


def canvas_titles(head: Sequence[str]) -> dict[int, Title]:
    """The assignments of a Canvas gradebook, by column: ``Week 1 (77)``."""
    found = {c: _CANVAS.fullmatch(name) for c, name in enumerate(head) if not _CANVAS_TOTALS.search(name)}
    return {c: Title(one["title"], one["id"]) for c, one in found.items() if one}


def brightspace_titles(head: Sequence[str]) -> dict[int, Title]:
    """The items with points of a Brightspace export, by column: ``Week 1 Points Grade <Numeric MaxPoints:10>``."""
    titles = {}
    for column, name in enumerate(head):
        found = _BRIGHTSPACE.fullmatch(name)
        most = _MAX_POINTS.search(found["facts"] or "") if found else None
        if found and (found["kind"] or most) and not _OTHER_VALUES.search(name):
            titles[column] = Title(found["title"], most=most[1] if most else "")
    return titles


def blackboard_titles(head: Sequence[str]) -> dict[int, Title]:
    """The columns of a Blackboard download, by column: ``Week 1 [Total Pts: 10 Score] |1234``."""
    titles = {}
    for column, name in enumerate(head):
        if found := _BLACKBOARD.fullmatch(name):
            shown = found["shown"] or ""
            most = re.sub("[.,]", "", found["most"]) if _THOUSANDS.fullmatch(found["most"]) else found["most"]
            titles[column] = Title(found["title"], found["id"] or "", most, shown if shown in _NOT_POINTS else "")
    return titles


def chosen(path: Path, head: Sequence[str], titles: Mapping[int, Title], wanted: str | None) -> int:
    """The column that is meant.

    Args:
        wanted: its title, number or whole heading; else a part of the title that no other has. None: the only column.

    Raises:
        UserError: none or several could be meant, or its cells have no points.
    """
    columns = list(titles)
    if not columns:
        raise UserError(f"{path} has no column of marks", fix="name the file that you downloaded: --into FILE")
    if wanted is not None:
        exact = [c for c, title in titles.items() if wanted in (title.text, title.id, head[c])]
        key = _key(wanted)
        folded = [c for c, title in titles.items() if key in (_key(title.text), _key(head[c]))]
        part = re.compile(rf"(?<!\d){re.escape(key)}(?!\d)" if key else "(?!)")  # not the first digit of `Week 10`
        columns = exact or folded or [c for c, title in titles.items() if part.search(_key(title.text))]
    if len(columns) != 1:
        names = "; ".join(one_line(head[c]) for c in (columns or titles))
        what = "several assignments" if columns else "no such assignment"
        raise UserError(f"{path} has {what}: {names}", fix="name one by its title or number: --column NAME")
    if shown := titles[columns[0]].shown:
        problem = f"column `{one_line(head[columns[0]])}` has no points: {shown}"
        raise UserError(problem, fix="let its primary display be the score, and download the file again")
    return columns[0]


def _key(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
