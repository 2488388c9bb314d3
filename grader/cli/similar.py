"""The command ``grader similar``: pairs of submissions to look at. Imports nothing slow before it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.help import app
from grader.cli.options import CourseHereOption, OutOption, RunOption
from grader.cli.output import print_lines

if TYPE_CHECKING:
    from grader.similar.pairs import Findings

_MOST_ROWS = 20
_NAME = 32


def _fraction(value: float) -> float:
    if not 0 < value <= 1:
        raise typer.BadParameter("must be a fraction above 0, at most 1")
    return value


@app.command(epilog="\b\nExamples:\n  grader similar --out week1\n  grader similar --least 0.8 --to similar.html")
def similar(
    out: OutOption = Path("grades"),
    run: RunOption = None,
    course: CourseHereOption = None,
    least: Annotated[
        float,
        typer.Option(
            "--least", metavar="FRACTION", callback=_fraction, help="How much of one of the two must be alike."
        ),
    ] = 0.6,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="PATH",
            help="The page (.html), or its folder.  [default: similar.html beside the gradebook]",
        ),
    ] = None,
) -> None:
    """List pairs of submissions with similar code, for you to look at; it is never a verdict."""
    from grader.course import Course
    from grader.gradebook import Gradebook
    from grader.reports.entries import about, entries_of
    from grader.similar.page import write_page
    from grader.similar.pairs import find_pairs

    loaded = Course.load(course)
    with Gradebook.open_existing(out) as book:
        entries = entries_of(book, run)
        findings = find_pairs(entries, loaded, least)
        page = _page(to, book.path.parent)
        write_page(findings, loaded, page, list(about(book, entries)))
    print_lines(_lines(findings))
    typer.echo(f"page: {page}")


def _page(to: Path | None, beside: Path) -> Path:
    if to is None:
        return beside / "similar.html"
    return to if to.suffix.lower() in (".html", ".htm") and not to.is_dir() else to / "similar.html"


def _lines(findings: Findings) -> Iterator[str]:
    from grader.similar.page import NOT_A_VERDICT, bounded_notes
    from grader.similar.pairs import summary
    from grader.text import one_line

    yield summary(findings)
    shown = findings.pairs[:_MOST_ROWS]
    width = max((len(pair.topic) for pair in shown), default=0)
    for pair in shown:
        sides = (pair.first, pair.second)
        shares = " / ".join(f"{side.share:>4.0%} {len(side.lines):>4}" for side in sides)
        names = "  ·  ".join(one_line(side.name, _NAME) for side in sides)
        yield f"  {shares}  {pair.topic:<{width}}  {names}"
    if more := len(findings.pairs) - len(shown):
        yield f"  and {more} more: see the page"
    yield from (f"note: {note}" for note in bounded_notes(findings.notes))
    yield NOT_A_VERDICT
