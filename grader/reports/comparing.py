"""Draws the found and the right matrix beside each other, as grids in the terminal and as tables of a page.

A number that differs has a `!` everywhere, so that nobody needs to see the colours. Decides nothing, and is given
texts of numbers that the judge wrote.
"""

import math
from typing import Final

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from grader.pictures import Compared
from grader.reports.terminal import behind_bar

_GAP: Final = 4
"""Columns between the two grids in a terminal."""
_ALL_DIGITS: Final = 4
_WAYS: Final = ((_ALL_DIGITS, 2), (_ALL_DIGITS, 1), (2, 1), (0, 1))
"""Digits of a number, or none for a shade, and the columns for its mark: the first way that has room is taken."""
_SHADES: Final = "·░▒▓█"
_BACKGROUNDS: Final = (
    "black on color(195)",
    "black on color(153)",
    "black on color(111)",
    "white on color(26)",
    "white on color(18)",
)
"""From the lowest number to the highest: each can be read on its own, on a light and on a dark terminal."""
_NO_NUMBER: Final = "??"
_TABLE: Final = "border-collapse:collapse;font:0.8rem ui-monospace,Menlo,Consolas,monospace"
_CELL: Final = "padding:.15rem .4rem;text-align:right;border:1px solid #8886;white-space:nowrap"
_WRONG: Final = ";box-shadow:inset 0 0 0 2px #d64a4a;font-weight:bold"


def compared_rows(data: Compared, console: Console, bar: str = "") -> list[Text]:
    """The two grids for a terminal: numbers where they fit, else shades; none if there is no room for these either.

    Args:
        bar: begins each row.
    """
    grids, heads, scale = (data.found, data.expected), _heads(data), _scale(data)
    room = console.width - len(bar)
    for digits, gap in _WAYS:
        size = max(len(_written(text, digits)) for grid in grids for row in grid for text in row)
        if _width(data, size + gap) <= room:
            break
    else:
        return []
    if not digits and not console.encoding.lower().startswith("utf"):
        return []
    has_colours = console.color_system is not None and not console.no_color
    left = max(len(data.found[0]) * (size + gap), len(heads[0])) + _GAP
    rows = [Text(f"{heads[0]:<{left}}{heads[1]}", "bold")]
    for i in range(max(map(len, grids))):
        row = Text()
        for side, grid in enumerate(grids):
            if side:
                row.append(" " * (left - len(row)))
            for j, text in enumerate(grid[i] if i < len(grid) else ()):
                level = _level(text, scale)
                cell = f"{_written(text, digits):>{size}}" if digits or level is None else _SHADES[level] * 2
                row.append(cell, _BACKGROUNDS[level] if has_colours and level is not None else "")
                row.append(("!" if not side and data.differs[i][j] else "").ljust(gap), "bold red")
        rows.append(row)
    if said := _said(data, is_shaded=not digits):
        rows += Text(said, "dim").wrap(console, room)
    return behind_bar(rows, bar)


def compared_tables(data: Compared) -> Markup:
    """The same as two tables of HTML that bring their style, for pages and notebooks, light and dark."""
    scale = _scale(data)
    tables = []
    for side, (grid, head) in enumerate(zip((data.found, data.expected), _heads(data), strict=True)):
        rows = []
        for i, row in enumerate(grid):
            cells = []
            for j, text in enumerate(row):
                level, is_wrong = _level(text, scale), not side and data.differs[i][j]
                # Transparent, so that the colour of the text suits it on a light page and on a dark one.
                colour = "" if level is None else f";background:rgba(59,134,200,{0.06 + 0.11 * level:.2f})"
                style = f"{_CELL}{colour}{_WRONG if is_wrong else ''}"
                cells.append(Markup('<td style="{}">{}{}</td>').format(style, text, "!" if is_wrong else ""))
            rows.append(Markup("<tr>{}</tr>").format(Markup("").join(cells)))
        caption = Markup('<caption style="text-align:left;font-weight:bold;white-space:nowrap">{}</caption>')
        table = Markup('<div style="overflow-x:auto" tabindex="0"><table style="{}">{}{}</table></div>')
        tables.append(table.format(_TABLE, caption.format(head), Markup("").join(rows)))
    return Markup(
        '<figure style="margin:.5rem 0"><div style="display:flex;flex-wrap:wrap;gap:.5rem 1.5rem">{}</div>'
        '<figcaption style="font-size:.85rem">{}</figcaption></figure>'
    ).format(Markup("").join(tables), _said(data))


def _width(data: Compared, size: int) -> int:
    """Columns of both grids, if each cell takes so many."""
    left, right = (len(grid[0]) * size for grid in (data.found, data.expected))
    return max(left, len(_heads(data)[0])) + _GAP + max(right, len(_heads(data)[1]))


def _written(text: str, digits: int) -> str:
    """A number with so many digits; without any, as wide as a shade."""
    if not digits:
        return _NO_NUMBER
    return text if digits == _ALL_DIGITS or text in ("True", "False") else f"{float(text):.{digits}g}"


def _heads(data: Compared) -> tuple[str, str]:
    if data.sizes[0] == data.sizes[1]:
        return "found", "expected"
    found, expected = (f"{rows} × {columns}" for rows, columns in data.sizes)
    return f"found, {found}", f"expected, {expected}"


def _said(data: Compared, *, is_shaded: bool = False) -> str:
    """How to read the grids, in words."""
    said = []
    if any(map(any, data.differs)):
        said.append("! differs")
    if is_shaded and (scale := _scale(data)) is not None:
        said.append(f"{_SHADES[0]} is {scale[0]:.4g}, {_SHADES[-1]} is {scale[1]:.4g}")
    (rows, columns), (row, column) = data.sizes[0], data.corner
    if (len(data.found), len(data.found[0])) != (rows, columns):
        last_row, last_column = row + len(data.found) - 1, column + len(data.found[0]) - 1
        said.append(f"rows {row} to {last_row} and columns {column} to {last_column} of {rows} × {columns}")
    return "; ".join(said)


def _scale(data: Compared) -> tuple[float, float] | None:
    """The lowest and the highest number of both; None if there is no finite one."""
    numbers = (_number(text) for row in (*data.found, *data.expected) for text in row)
    known = [one for one in numbers if math.isfinite(one)]
    return (min(known), max(known)) if known else None


def _number(text: str) -> float:
    return float(text == "True") if text in ("True", "False") else float(text)


def _level(text: str, scale: tuple[float, float] | None) -> int | None:
    """The shade of a number, from 0 to 4; None for one that is not finite."""
    number = _number(text)
    if scale is None or not math.isfinite(number):
        return None
    low, high = scale
    return min(4, int(5 * (number / 2 - low / 2) / (high / 2 - low / 2))) if high > low else 2
