"""Draws how far each rank of a run got: one bar a rank, and its words, which alone say it all. Decides nothing."""

from typing import Final

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from grader.pictures import Stair
from grader.reports.terminal import behind_bar
from grader.text import clean

_TITLE: Final = "how far each rank got"
_COLOURS: Final = {"returned": "green", "waits": "yellow", "runs": "cyan"}
_WIDTH: Final = 3
"""Columns of one step."""
_LEAST: Final = 24
"""Columns that the words need beside the bars; with fewer they are below."""
_UNKNOWN: Final = "?"


def stair_rows(stair: Stair, console: Console, bar: str = "") -> list[Text]:
    """The stair for a terminal.

    Args:
        bar: begins each row.
    """
    sign = "━" if console.encoding.lower().startswith("utf") else "="
    room, column = console.width - len(bar), _column(stair)
    rows = [Text(_TITLE, "bold")]
    for rank, one in enumerate(stair.ranks):
        head = Text.assemble(f"rank {rank} ", (f"{_bar(one.step, sign):<{column}}", f"bold {_COLOURS[one.state]}"), " ")
        is_beside = room - len(head) >= _LEAST
        indent = " " * (len(head) if is_beside else 4)
        words = list(Text(clean(one.text)).wrap(console, max(room - len(indent), 8)))
        if is_beside:
            head.append_text(words.pop(0))
        rows += [head, *(Text(indent).append_text(line) for line in words)]
    return behind_bar(rows, bar)


def stair_block(stair: Stair) -> Markup:
    """The same as preformatted text of HTML, whose words wrap under themselves."""
    column = _column(stair)
    hanging = f"white-space:pre-wrap;margin:0 0 0 {8 + column}ch;text-indent:-{8 + column}ch"
    line = Markup('<div style="{}">rank {} {:<{}} {}</div>')
    bars = ((_bar(one.step, "━"), clean(one.text)) for one in stair.ranks)
    lines = [line.format(hanging, rank, bar, column, text) for rank, (bar, text) in enumerate(bars)]
    return Markup(
        '<figure style="margin:.5rem 0"><figcaption style="font-weight:bold">{}</figcaption>'
        '<div style="font:0.8rem/1.4 ui-monospace,Menlo,Consolas,monospace">{}</div></figure>'
    ).format(_TITLE, Markup("").join(lines))


def _column(stair: Stair) -> int:
    return max(1, _WIDTH * max(one.step for one in stair.ranks))


def _bar(step: int, sign: str) -> str:
    return sign * _WIDTH * step or _UNKNOWN
