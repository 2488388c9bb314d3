"""Draws a picture in a terminal, by plotext; one line in words for a terminal that cannot show it.

Only numbers and characters of this module go to plotext; labels are printed by rich, as any text. Decides nothing.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from grader.pictures import Grid, Lines, Picture, PictureData, Points
from grader.reports.terminal import print_wrapped
from grader.text import clean, counted

ROWS: Final = 18
"""Lines of text of a plot."""
_WIDEST: Final = 80
_NARROWEST: Final = 40
_COLOURS: Final = (33, 208, 35, 171, 203, 44, 178, 245)
"""For each line or class; of the 256 colours, those that can be read on light and dark."""
_LINES: Final = "●+×◆o#*="
_CELLS: Final = "░▒▓█·:-="
_SHADES: Final = " ░▒▓█"


def print_picture(picture: Picture, console: Console, rows: int = ROWS) -> None:
    """Prints a picture, or why there is none.

    Args:
        rows: lines of text of the plot itself.
    """
    print_wrapped(console, clean(picture.title), "bold")
    if picture.data is None:
        print_wrapped(console, f"no picture: {clean(picture.problem)}", "yellow")
        return
    has_signs = console.encoding.lower().startswith("utf")
    if console.is_dumb_terminal or not has_signs or console.width < _NARROWEST:
        print_wrapped(console, in_words(picture.data), "")
        return
    has_colours = console.color_system is not None and not console.no_color
    for line in _drawn(picture.data, min(console.width, _WIDEST), rows, has_colours):
        line.no_wrap = True
        console.print(line, soft_wrap=True)


def in_words(data: PictureData) -> str:
    """The picture in one line."""
    match data:
        case Lines():
            parts = []
            for name, numbers in data.series.items():
                known = [one for one in numbers if one is not None]
                if known:
                    parts.append(f"{name}: {len(numbers)} numbers, from {known[0]:g} to {known[-1]:g}")
            return clean("; ".join(parts))
        case Points():
            return f"{counted(len(data.x), 'point')} of {counted(len(set(data.classes)), 'class', 'classes')}"
        case Grid():
            return f"a grid of {len(data.values)} × {len(data.values[0])} cells"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """At most that many round numbers from the low one to the high one; the two themselves if none fit."""
    step = 10 ** math.floor(math.log10((high - low) / most)) if high > low else 1.0
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= most - 1 + 1e-9)
    found = [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return found or [low, high]


def ticks_within(one_end: float, other_end: float, most: int) -> list[float]:
    """The ticks of an axis between its ends, of which either may be the lower one."""
    low, high = sorted((one_end, other_end))
    return [one for one in ticks(low, high, most) if low <= one <= high]


def marks_of(data: PictureData) -> tuple[Sequence[str], float | None, float | None]:
    """The names of a picture's lines or classes; of values in a grid no names, but the lowest and the highest."""
    match data:
        case Lines():
            return list(data.series), None, None
        case Grid() if not data.names:
            known = [value for row in data.values for value in row if value is not None]
            return (), min(known), max(known)
        case _:
            count = (
                1 + int(max((one for one in data.classes if one is not None), default=0))
                if isinstance(data, Points)
                else 0
            )
            names = data.names or [str(number) for number in range(count)]
            return (names if len(names) > 1 else ()), None, None


class _Plot:
    """A plot of plotext, and its legend.

    Args:
        x: the range of the x axis.
        y: the range of the y axis, from the bottom to the top; it may fall.
    """

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], width: int, rows: int, has_colours: bool
    ) -> None:
        import plotext

        self._plot = plotext
        self._has_colours = has_colours
        self.legend = Text(" ")
        plotext.clear_figure()
        plotext.limitsize(False, False)
        plotext.theme("clear")
        plotext.plotsize(width, rows)
        self.columns, self.rows = width - 2, rows - 3
        plotext.yreverse(y[0] > y[1])
        for ends, limit, set_ticks, most in (
            (x, plotext.xlim, plotext.xticks, 7),
            (y, plotext.ylim, plotext.yticks, min(6, rows // 2)),
        ):
            limit(*sorted(ends))
            places = ticks_within(*ends, most)
            words = [f"{one:.4g}" for one in places]
            set_ticks(places, words)
        self.columns -= max(map(len, words))  # of the y axis: they stand beside the plot

    def add(
        self, x: Sequence[Any], y: Sequence[Any], sign: str, number: int, name: str = "", joined: bool = False
    ) -> None:
        """Draws points or a line in the colour of that number, and names its sign in the legend."""
        colour = _COLOURS[number % len(_COLOURS)]
        is_fine = joined and self._has_colours
        if len(x):
            draw = self._plot.plot if joined else self._plot.scatter
            draw(
                x,
                y,
                marker="braille" if is_fine else sign,
                **({"color": colour} if self._has_colours else {}),
            )
        if name:
            self.legend.append("   " if len(self.legend) > 1 else "")
            self.legend.append("━━" if is_fine else sign, f"color({colour})" if self._has_colours else "")
            self.legend.append(f" {clean(name)}")

    def lines(self) -> list[Text]:
        """The lines of the plot, without its legend."""
        return list(Text.from_ansi(self._plot.build().rstrip("\n")).split("\n"))


def _drawn(data: PictureData, width: int, rows: int, has_colours: bool) -> Iterable[Text]:
    """The lines of a picture; rows are those of the plot."""
    match data:
        case Lines():
            plot = _Plot(*ranges(data), width, rows, has_colours)
            _draw_lines(data, plot)
        case Points():
            plot = _Plot(*ranges(data), width, rows, has_colours)
            _draw_points(data, plot, marks_of(data)[0], _LINES)
        case Grid():
            count = len(data.values)
            rows = count * max(1, (rows - 3) // count) + 3 if count <= rows - 3 else rows
            plot = _Plot(*ranges(data), width, rows, has_colours)
            _draw_grid(data, plot)
    if data.y_label:
        yield Text(f" {clean(data.y_label)}", "dim")
    yield from plot.lines()
    if data.x_label:
        yield Text(clean(data.x_label).rjust(width - 1), "dim")
    if len(plot.legend) > 1:
        plot.legend.truncate(width, overflow="ellipsis")
        yield plot.legend


def ranges(data: PictureData) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of both axes."""
    match data:
        case Lines():
            drawn = [one for numbers in data.series.values() for one in numbers]
            drawn += [data.marked.y] if data.marked else []
            return _wide(positions(data), 0.0), _wide(drawn, 0.04)
        case Points():
            return _wide(data.x, 0.05), _wide(data.y, 0.05)
        case Grid():
            assert data.x is not None and data.y is not None
            return _edges(data.x, len(data.values[0])), _edges(data.y, len(data.values))


def positions(data: Lines) -> list[float | None]:
    """Where the numbers of the longest line are on the x axis."""
    return list(data.x) or list(range(1, 1 + max(map(len, data.series.values()))))


def _draw_lines(data: Lines, plot: _Plot) -> None:
    needs_names = len(data.series) > 1 or data.marked is not None
    for number, (name, numbers) in enumerate(data.series.items()):
        for x, y in _pieces(positions(data), numbers):
            plot.add(x, y, _LINES[number], number, name if needs_names else "", joined=True)
            name = ""
    if data.marked is not None:
        plot.add([data.marked.x], [data.marked.y], "X", len(data.series), data.marked.label)


def _pieces(xs: Sequence[Any], numbers: Sequence[float | None]) -> Iterable[tuple[list[float], list[float]]]:
    """The parts of a line between its gaps."""
    part: tuple[list[float], list[float]] = ([], [])
    for x, number in zip(xs, [*numbers, None], strict=False):
        if number is not None:
            part[0].append(x)
            part[1].append(number)
        elif part[0]:
            yield part
            part = ([], [])
    if part[0]:
        yield part


def _draw_points(data: Points, plot: _Plot, names: Sequence[str], signs: str) -> None:
    for number in range(max(len(names), 1 + int(max(one or 0 for one in data.classes)))):
        chosen = [(x, y) for x, y, one in zip(data.x, data.y, data.classes, strict=True) if one == number]
        plot.add([x for x, _ in chosen], [y for _, y in chosen], signs[number], number, names[number] if names else "")


def _draw_grid(data: Grid, plot: _Plot) -> None:
    """Draws one sign for each character of the plot, from the bottom up."""
    _, low, high = marks_of(data)
    (left, right), (bottom, top) = ranges(data)
    places: dict[int, tuple[list[float], list[float]]] = {}
    for i in range(plot.rows):
        row = data.values[-1 - int((i + 0.5) / plot.rows * len(data.values))]
        for j in range(plot.columns):
            value = row[int((j + 0.5) / plot.columns * len(row))]
            if value is not None:
                level = int(value) if low is None or high is None else _level(value, low, high)
                xs, ys = places.setdefault(level, ([], []))
                xs.append(left + j / (plot.columns - 1) * (right - left))
                ys.append(bottom + i / max(plot.rows - 1, 1) * (top - bottom))
    if low is not None and high is not None:
        for level, (xs, ys) in places.items():
            plot.add(xs, ys, _SHADES[level], 0)
        plot.legend.append(f"{low:.4g} {_SHADES.strip()} {high:.4g}")
    for number, name in enumerate(data.names):
        sign = (_CELLS if data.points is not None else "0123456789")[number]
        xs, ys = places.get(number, ([], []))
        plot.add(xs, ys, sign, number, name)
    if data.points is not None:
        _draw_points(data.points, plot, (), "0123456789")


def _level(value: float, low: float, high: float) -> int:
    return int((value - low) / (high - low) * (len(_SHADES) - 1e-9)) if high > low else 0


def _edges(ends: tuple[float, float], count: int) -> tuple[float, float]:
    """The outer edges of cells whose first and last middle are given."""
    half = (ends[1] - ends[0]) / (count - 1) / 2 if count > 1 else 0.5
    return ends[0] - half, ends[1] + half


def _wide(numbers: Sequence[float | None], margin: float) -> tuple[float, float]:
    """A range that holds the numbers, with a part of it as a margin."""
    known = [one for one in numbers if one is not None]
    low, high = min(known), max(known)
    room = (high - low) * margin if high > low else abs(high) / 2 or 1.0
    return low - room, high + room
