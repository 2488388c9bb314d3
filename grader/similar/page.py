"""The page of similar code: both codes side by side, in one file that a browser shows without a network.

Its template escapes everything from submissions, and it carries no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from grader.course import Course
from grader.files import write_named_file
from grader.reports.html import environment_of
from grader.reports.html_feedback import Excerpt, excerpt
from grader.similar.pairs import NOT_A_VERDICT, Findings, Pair, Side, summary
from grader.text import counted, one_line

MOST_PAIRS = 100
"""Pairs of the class that are shown, and as many with others."""
_OPEN = 3
"""Pairs whose code is open at first."""
_CODE_BYTES = 4_000_000
_MOST_LINES = 300
"""Lines of one file that are shown."""
_MOST_NOTES = 20


def write_page(findings: Findings, course: Course, file: Path, about: Sequence[str] = ()) -> None:
    """Writes the page.

    Args:
        about: which results these are, a line each.

    Raises:
        UserError: the file cannot be written.
    """
    others = findings.with_others
    sections = [_section("", findings.pairs)]
    if others is not None:
        sections = [_section("With others", others), _section("In the class", findings.pairs)]
    template = environment_of("grader.similar").get_template("similar.html")
    text = template.render(
        course=course,
        about=[one_line(line, 300) for line in about],
        summary=summary(findings),
        caution=NOT_A_VERDICT,
        sections=sections,
        open=_OPEN,
        notes=bounded_notes(findings.notes),
        policy="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",  # and no script
    )
    write_named_file(file, [text.encode("utf-8", "replace")], durable=False)


def bounded_notes(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more there are."""
    more = [f"and {counted(len(notes) - _MOST_NOTES, 'more note')}"] if notes[_MOST_NOTES:] else []
    return [one_line(note, 300) for note in notes[:_MOST_NOTES]] + more


class _Section(NamedTuple):
    """Pairs with their code, and how many more there are."""

    heading: str
    pairs: list[tuple[Pair, list[tuple[Side, Excerpt]]]]
    left_out: int


def _section(heading: str, pairs: Sequence[Pair]) -> _Section:
    return _Section(heading, list(_with_codes(pairs[:MOST_PAIRS])), max(len(pairs) - MOST_PAIRS, 0))


def _with_codes(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, list[tuple[Side, Excerpt]]]]:
    """Pairs with the lines of both sides that are alike, and those around them; with none if there is no room."""
    room = _CODE_BYTES
    for pair in pairs:
        codes = []
        for side in (pair.first, pair.second):
            file = side.file or f"{pair.topic}.py"
            alike = {(file, line) for line in side.lines}
            codes += [(side, code) for code in excerpt({file: side.text}, f"{pair.topic}.", alike, _MOST_LINES)]
        size = sum(code.size for _, code in codes)
        if size > room:
            codes, size = [], 0
        room -= size
        yield pair, codes
