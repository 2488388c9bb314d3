"""The page of similar pairs: both codes side by side, in one file that a browser shows without a network.

The template escapes everything from submissions; the page carries no script.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import jinja2

from grader.course import Course
from grader.files import write_named_file
from grader.package import __version__
from grader.reports.excerpts import Excerpt, excerpt
from grader.reports.page_templates import environment_of
from grader.similar.pairs import Findings, Pair, Side, summary
from grader.text import clean, counted, one_line

MOST_PAIRS = 100
NOT_A_VERDICT = (
    "Being alike is not a verdict and proves nothing: short exercises have few good answers, and people"
    " learn together. "
    "Read both, and ask."
)
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
    template = _environment().get_template("similar.html")
    text = template.render(
        course=course,
        about=[one_line(line, 300) for line in about],
        summary=summary(findings),
        caution=NOT_A_VERDICT,
        pairs=list(_with_codes(findings.pairs[:MOST_PAIRS])),
        open=_OPEN,
        left_out=max(len(findings.pairs) - MOST_PAIRS, 0),
        notes=bounded_notes(findings.notes),
    )
    write_named_file(file, [text.encode("utf-8", "replace")], durable=False)


def bounded_notes(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more there are."""
    more = [f"and {counted(len(notes) - _MOST_NOTES, 'more note')}"] if notes[_MOST_NOTES:] else []
    return [one_line(note, 300) for note in notes[:_MOST_NOTES]] + more


def _with_codes(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, list[tuple[Side, Excerpt]]]]:
    """Pairs with the lines of both sides that are alike, and those around them; with none if there is no room."""
    room = _CODE_BYTES
    for pair in pairs:
        file = f"{pair.topic}.py"
        codes = []
        for side in (pair.first, pair.second):
            marks = {(file, line) for line in side.lines}
            codes += [(side, code) for code in excerpt({file: side.text}, pair.topic, "", marks, _MOST_LINES)]
        size = sum(code.size for _, code in codes)
        if size > room:
            codes, size = [], 0
        room -= size
        yield pair, codes


def _environment() -> jinja2.Environment:
    """Like the other pages: their frame and style, and no script at all."""
    environment, loader = environment_of("grader.similar", "grader.reports")
    environment.globals.update(
        style=loader.get_source(environment, "style.css")[0].strip(),
        policy="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        version=__version__,
    )
    environment.filters.update(clean=clean, one_line=one_line)
    return environment
