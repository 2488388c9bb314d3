"""Rows of a terminal: text wrapped to its width, and bars of progress. Knows nothing of results."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text


def wrapped(console: Console, text: str, style: str, bar: str = "") -> list[Text]:
    """Text in rows of the console's width; each begins with the bar, or with the indentation of the text."""
    indent = bar or " " * (len(text) - len(text.lstrip(" ")))
    body = text if bar else text.lstrip(" ")
    pieces = Text(body, style).wrap(console, max(console.width - len(indent), 8), overflow="fold")
    for piece in pieces:
        piece.rstrip()
    return [Text.assemble((indent, "dim"), piece) for piece in pieces]


def print_rows(console: Console, rows: Iterable[Text]) -> None:
    """Prints each on a row of its own, as it is."""
    for row in rows:
        console.print(row, soft_wrap=True)


def print_wrapped(console: Console, text: str, style: str, bar: str = "") -> None:
    """Prints text in as many rows as it takes; see `wrapped`."""
    print_rows(console, wrapped(console, text, style, bar))
