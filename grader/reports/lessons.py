"""Lessons in a terminal: prose in rows of the window, examples and drawings as they are, and where to read on.

A drawing is never folded, because it would show nothing then; it fits a terminal of 60 columns.
"""

import itertools
import os
import pydoc
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from grader.course.lessons import Idea, Lesson, LessonPart
from grader.reports.terminal import print_rows
from grader.text import clean

_WIDEST: Final = 80
"""Columns of prose: longer rows are hard to read."""
_INDENT: Final = 4
_INLINE: Final = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\*(?P<weak>[^*\s][^*]*)\*|\[(?P<words>[^\]]+)\]\((?P<link>[^)]+)\)"
)
_ITEM: Final = re.compile(r"(?:[-*]|\d+\.) ")
_STYLES: Final = {"code": "cyan", "strong": "bold", "weak": "italic", "words": "underline"}
_PAGER: Final = "FRSX"
"""For `less`: leave at once what fits, keep colours, do not fold, leave the text on the screen."""


def print_lesson(lesson: Lesson, console: Console, only: Idea | None = None) -> None:
    """Prints a lesson, or one idea of it."""
    width = min(console.width, _WIDEST)
    if only is None:
        console.print(Text(clean(lesson.title), "bold"), Text("═" * min(len(lesson.title), width), "dim"), sep="\n")
        print_rows(console, _prose(lesson.about, console, width))
    for idea in lesson.ideas if only is None else (only,):
        if only is None:
            console.print()
        print_rows(console, Text(clean(idea.title), "bold cyan").wrap(console, width))
        console.print(Text("─" * min(len(idea.title), width), "dim"))
        for number, part in enumerate(idea.parts):
            if number:
                console.print()
            print_rows(console, _rows(part, console, width))
        if idea.exercises:
            console.print()
            print_rows(console, Text(f"in: {', '.join(idea.exercises)}", "dim").wrap(console, width))


def show_in_pages(text: str) -> None:
    """Shows what was printed for a terminal: in a pager, which leaves at once if it fits."""
    os.environ.setdefault("LESS", _PAGER)
    pydoc.pager(text)


def _rows(part: LessonPart, console: Console, width: int) -> Sequence[Text]:
    match part.kind:
        case "example":
            return list(_example(part.text, width))
        case "drawing":
            lines = clean(part.text).split("\n")
            indent = " " * (_INDENT if max(map(len, lines)) + _INDENT <= console.width else 0)
            return [Text(indent + line, "green") for line in lines]
        case "picture":
            text = f"{part.text}: `grader show {part.picture}` draws it, once it has passed"
            return list(_prose(text, console, width))
    return list(_prose(part.text, console, width))


def _example(text: str, width: int) -> Iterator[Text]:
    for line in clean(text).split("\n"):
        prompt = line[:4] if line.startswith((">>> ", "... ")) or line == "..." else ""
        style = "" if prompt else "yellow"
        pieces = [line[len(prompt) :]]
        room = width - _INDENT - len(prompt)
        if len(pieces[0]) > room:
            indent = " " * (len(pieces[0]) - len(pieces[0].lstrip()) + 4)
            pieces = textwrap.wrap(pieces[0], room, subsequent_indent=indent, break_on_hyphens=False) or [""]
        for number, piece in enumerate(pieces):
            start = prompt if number == 0 else " " * len(prompt)
            yield Text.assemble((" " * _INDENT + start, "dim"), (piece, style))


def _prose(text: str, console: Console, width: int) -> Iterator[Text]:
    """Paragraphs, with an empty row between, and the items of lists, each with its rows indented."""
    for is_text, lines in itertools.groupby(clean(text).split("\n"), key=lambda line: bool(line.strip())):
        if not is_text:
            yield Text()
            continue
        paragraphs: list[list[str]] = []
        for line in lines:
            if _ITEM.match(line.lstrip()) or not paragraphs:
                paragraphs.append([line.rstrip()])
            else:
                paragraphs[-1].append(line.strip())
        for paragraph in paragraphs:
            whole = " ".join(paragraph)
            item = _ITEM.match(whole.lstrip())
            margin = len(whole) - len(whole.lstrip())
            start = " " * margin + (item[0] if item else "")
            body = _styled(whole[len(start) :], has_colours=console.color_system is not None and not console.no_color)
            for number, row in enumerate(body.wrap(console, max(width - len(start), 8))):
                row.rstrip()
                yield Text.assemble(start if number == 0 else " " * len(start), row)


def _styled(text: str, *, has_colours: bool) -> Text:
    """Text with its marks as styles; code keeps its marks where there are no colours."""
    found = Text()
    at = 0
    for mark in _INLINE.finditer(text):
        found.append(text[at : mark.start()])
        kind = mark.lastgroup if mark.lastgroup != "link" else "words"
        assert kind is not None
        words = mark[kind] + (f" ({mark['link']})" if mark["link"] else "")
        found.append(words if has_colours or kind != "code" else mark[0], _STYLES[kind])
        at = mark.end()
    return found.append(text[at:])
