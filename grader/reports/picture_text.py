"""Draws a picture in a terminal, by plotext; one line in words for a terminal that cannot show it.

Only numbers and characters of this module go to plotext; labels are printed by rich, as any text. Decides nothing.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
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
_DIGITS: Final = "0123456789"
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


def ticks(one_end: float, other_end: float, most: int) -> list[float]:
    """At most that many round numbers of an axis between its ends, of which either may be the lower one."""
    low, high = sorted((one_end, other_end))
    step = 10 ** math.floor(math.log10((high - low) / most)) if high > low else 1.0
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= most - 1 + 1e-9)
    found = [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return [one for one in found or [low, high] if low <= one <= high]


def names_of(data: Points) -> Sequence[str]:
    """The names of the classes; none if there is only one."""
    names = data.names or [str(number) for number in range(1 + int(max(one or 0 for one in data.classes)))]
    return names if len(names) > 1 else ()


def classes_of(data: Points, names: Sequence[str]) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """The name of each class, empty if it has none, and the places of its points."""
    for number in range(max(len(names), 1 + int(max(one or 0 for one in data.classes)))):
        chosen = [(x, y) for x, y, one in zip(data.x, data.y, data.classes, strict=True) if one == number]
        yield names[number] if names else "", [x for x, _ in chosen], [y for _, y in chosen]


def lines_of(data: Lines) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """The name of each line, empty if it needs none, and the places of its numbers; None is a gap."""
    needs_names = len(data.series) > 1 or data.marked is not None
    for name, numbers in data.series.items():
        yield name if needs_names else "", list(data.x or range(1, 1 + len(numbers)))[: len(numbers)], list(numbers)


def scale_of(data: Grid) -> tuple[float, float] | None:
    """The lowest and the highest value of a grid; None if it has classes."""
    known = [value for row in data.values for value in row if value is not None]
    return None if data.names else (min(known), max(known))


def ranges(data: PictureData) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of both axes: from left to right, and from the bottom to the top, where numbers may fall."""
    match data:
        case Lines():
            longest = max(map(len, data.series.values()))
            drawn = [one for numbers in data.series.values() for one in numbers]
            drawn += [data.marked.y] if data.marked else []
            return _wide(data.x or range(1, 1 + longest), 0.0), _wide(drawn, 0.04)
        case Points():
            return _wide(data.x, 0.05), _wide(data.y, 0.05)
        case Grid():
            assert data.x is not None and data.y is not None
            return _edges(data.x, len(data.values[0])), _edges(data.y, len(data.values))


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


def _drawn(data: PictureData, width: int, rows: int, has_colours: bool) -> Iterator[Text]:
    """The lines of a picture; rows are those of the plot."""
    if isinstance(data, Grid) and (count := len(data.values)) <= rows - 3:
        rows = count * max(1, (rows - 3) // count) + 3
    plot = _Plot(data, width, rows, has_colours)
    match data:
        case Lines():
            for number, (name, x, y) in enumerate(lines_of(data)):
                for is_gap, run in itertools.groupby(zip(x, y, strict=True), lambda place: place[1] is None):
                    if not is_gap:
                        plot.add(list(run), _LINES[number], number, name, is_joined=True)
                        name = ""
            if data.marked is not None:
                plot.add([(data.marked.x, data.marked.y)], "X", len(data.series), data.marked.label)
        case Points():
            plot.add_classes(data, names_of(data), _LINES)
        case Grid():
            plot.add_cells(data)
    if data.y_label:
        yield Text(f" {clean(data.y_label)}", "dim")
    yield from plot.lines()
    if data.x_label:
        yield Text(clean(data.x_label).rjust(width - 1), "dim")
    if len(plot.legend) > 1:
        plot.legend.truncate(width, overflow="ellipsis")
        yield plot.legend


class _Plot:
    """A plot of plotext, and its legend."""

    def __init__(self, data: PictureData, width: int, rows: int, has_colours: bool) -> None:
        import plotext

        self._plot = plotext
        self._has_colours = has_colours
        self.legend = Text(" ")
        plotext.clear_figure()
        plotext.limitsize(False, False)
        plotext.theme("clear")
        plotext.plotsize(width, rows)
        self._x, self._y = ranges(data)
        plotext.yreverse(self._y[0] > self._y[1])
        for ends, limit, set_ticks, most in (
            (self._x, plotext.xlim, plotext.xticks, 7),
            (self._y, plotext.ylim, plotext.yticks, min(6, rows // 2)),
        ):
            limit(*sorted(ends))
            places = ticks(*ends, most)
            words = [f"{one:.4g}" for one in places]
            set_ticks(places, words)
        self._columns, self._rows = width - 2 - max(map(len, words)), rows - 3  # words of the y axis stand beside it

    def add(
        self, places: Sequence[tuple[Any, Any]], sign: str, number: int, name: str = "", is_joined: bool = False
    ) -> None:
        """Draws points or a line in the colour of that number, and names its sign in the legend."""
        colour = _COLOURS[number % len(_COLOURS)]
        is_fine = is_joined and self._has_colours
        if places:
            draw = self._plot.plot if is_joined else self._plot.scatter
            coloured = {"color": colour} if self._has_colours else {}
            draw(*map(list, zip(*places, strict=True)), marker="braille" if is_fine else sign, **coloured)
        if name:
            self.legend.append("   " if len(self.legend) > 1 else "")
            self.legend.append("━━" if is_fine else sign, f"color({colour})" if self._has_colours else "")
            self.legend.append(f" {clean(name)}")

    def add_classes(self, data: Points, names: Sequence[str], signs: str) -> None:
        for number, (name, x, y) in enumerate(classes_of(data, names)):
            self.add(list(zip(x, y, strict=True)), signs[number], number, name)

    def add_cells(self, data: Grid) -> None:
        """Draws one sign for each character of the plot, from the bottom up."""
        scale = scale_of(data)
        places: dict[int, list[tuple[float, float]]] = {}
        for i in range(self._rows):
            row = data.values[-1 - int((i + 0.5) / self._rows * len(data.values))]
            for j in range(self._columns):
                value = row[int((j + 0.5) / self._columns * len(row))]
                if value is not None:
                    x = self._x[0] + j / (self._columns - 1) * (self._x[1] - self._x[0])
                    y = self._y[0] + i / max(self._rows - 1, 1) * (self._y[1] - self._y[0])
                    places.setdefault(_level(value, scale), []).append((x, y))
        if scale is not None:
            for level, found in places.items():
                self.add(found, _SHADES[level], 0)
            self.legend.append(f"{scale[0]:.4g} {_SHADES.strip()} {scale[1]:.4g}")
        for number, name in enumerate(data.names):
            self.add(places.get(number, []), (_CELLS if data.points is not None else _DIGITS)[number], number, name)
        if data.points is not None:
            self.add_classes(data.points, (), _DIGITS)

    def lines(self) -> list[Text]:
        """The lines of the plot, without its legend."""
        return list(Text.from_ansi(self._plot.build().rstrip("\n")).split("\n"))


def _level(value: float, scale: tuple[float, float] | None) -> int:
    """The class of a cell, or the number of its shade."""
    if scale is None:
        return int(value)
    low, high = scale
    return int((value - low) / (high - low) * (len(_SHADES) - 1e-9)) if high > low else 0
