"""Draws pictures: in a terminal by plotext, and as SVG for pages and notebooks by matplotlib.

Both are imported when the first picture is drawn. A terminal that cannot show a picture gets a line in words. Only
numbers and characters of this module go to plotext; labels are printed by rich, as any text. The same picture gives the
same SVG: its lines and words have the colour of the text around it, so it suits light and dark pages, and it has no
style sheet, script, link or image. A picture that cannot be drawn is a line of text, and no error. Decides nothing.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from markupsafe import Markup, escape
from rich.console import Console
from rich.text import Text

from grader.pictures import Diagram, Grid, Lines, Picture, PictureData, Points
from grader.reports.terminal import print_wrapped
from grader.text import clean, counted, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS: Final = 18
"""Lines of text of a plot."""
_WIDEST: Final = 80
_NARROWEST: Final = 40
_TERMINAL_COLOURS: Final = (33, 208, 35, 171, 203, 44, 178, 245)
"""For each line or class; of the 256 colours, those that can be read on light and dark."""
_SIGNS: Final = "●+×◆o#*="
_DIGITS: Final = "0123456789"
_CELLS: Final = "░▒▓█·:-="
_SHADES: Final = " ░▒▓█"
_COLOURS: Final = ("#3b86c8", "#e0791a", "#2a9d5c", "#a260cc", "#d64a4a", "#1f9aa8", "#b58900", "#808a94")
"""For each line or class: those that can be read on light and dark."""
_INK: Final = "#010203"
"""Stands for the colour of the text around the picture."""
_LEVELS: Final = 24
_RECTANGLE: Final = re.compile(r"M ([\d.]+) ([\d.]+)\s+L ([\d.]+) \2\s+L \3 ([\d.]+)\s+L \1 \4\s+(?:L \1 \2\s+)?z\s*")
"""As matplotlib writes it, which takes twice the room."""
_SETTINGS: Final = {
    **{"svg.fonttype": "none", "svg.hashsalt": "torchkata", "font.size": 10},
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon", "text.parse_math"), False),
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color", "axes.edgecolor", "axes.labelcolor"), _INK),
}


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
    try:
        lines = list(_drawn_text(picture.data, min(console.width, _WIDEST), rows, has_colours))
    except Exception as error:
        print_wrapped(console, f"no picture: {_problem(error)}", "yellow")
        return
    for line in lines:
        line.no_wrap = True
        console.print(line, soft_wrap=True)


def problem_of(picture: Picture, *, on_a_page: bool) -> str:
    """Why a picture cannot be drawn in a terminal or, if asked for, on a page; empty if it can."""
    if picture.data is None:
        return picture.problem
    try:
        list(_drawn_text(picture.data, _WIDEST, ROWS, has_colours=True))
        if on_a_page:
            _drawn_on_page(picture)
    except Exception as error:
        return _problem(error)
    return ""


def _problem(error: Exception) -> str:
    return f"its numbers cannot be drawn ({one_line(f'{type(error).__name__}: {error}')})"


def in_words(data: PictureData) -> str:
    """The picture in one line."""
    match data:
        case Lines():
            parts = []
            for name, numbers in data.series.items():
                if known := [one for one in numbers if one is not None]:
                    parts.append(f"{name}: {len(numbers)} numbers, from {known[0]:g} to {known[-1]:g}")
            return clean("; ".join(parts))
        case Points():
            return f"{counted(len(data.x), 'point')} of {counted(len(set(data.classes)), 'class', 'classes')}"
        case Grid():
            return f"a grid of {len(data.values)} × {len(data.values[0])} cells"
        case Diagram():
            return f"a diagram of {counted(len(data.lines), 'line')}"


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


def ranges(data: Lines | Points | Grid) -> tuple[tuple[float, float], tuple[float, float]]:
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
    half = half or max(map(abs, ends)) / 2 or 0.5  # where both ends are the same
    return ends[0] - half, ends[1] + half


def _wide(numbers: Sequence[float | None], margin: float) -> tuple[float, float]:
    """A range that holds the numbers, with a part of it as a margin."""
    known = [one for one in numbers if one is not None]
    low, high = min(known), max(known)
    room = (high - low) * margin if high > low else abs(high) / 2 or 1.0
    return low - room, high + room


def _drawn_text(data: PictureData, width: int, rows: int, has_colours: bool) -> Iterator[Text]:
    """The lines of a picture; rows are those of the plot."""
    if isinstance(data, Diagram):
        for line in map(Text, map(clean, data.lines)):
            line.truncate(width, overflow="ellipsis")
            yield line
        return
    if isinstance(data, Grid) and (count := len(data.values)) <= rows - 3:
        rows = count * max(1, (rows - 3) // count) + 3
    plot = _Plot(data, width, rows, has_colours)
    match data:
        case Lines():
            for number, (name, x, y) in enumerate(lines_of(data)):
                for is_gap, run in itertools.groupby(zip(x, y, strict=True), lambda place: place[1] is None):
                    if not is_gap:
                        plot.add(list(run), _SIGNS[number], number, name, is_joined=True)
                        name = ""
            if data.marked is not None:
                plot.add([(data.marked.x, data.marked.y)], "X", len(data.series), data.marked.label)
        case Points():
            plot.add_classes(data, names_of(data), _SIGNS)
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

    def __init__(self, data: Lines | Points | Grid, width: int, rows: int, has_colours: bool) -> None:
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

    def add(self, places: Sequence[Any], sign: str, number: int, name: str = "", is_joined: bool = False) -> None:
        """Draws points or a line in the colour of that number, and names its sign in the legend."""
        colour = _TERMINAL_COLOURS[number % len(_TERMINAL_COLOURS)]
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
                    number = int(value if scale is None else _fraction(value, scale) * (len(_SHADES) - 1e-9))
                    places.setdefault(number, []).append((x, y))
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


def _fraction(value: float, scale: tuple[float, float]) -> float:
    """The place of a value on a scale, from 0 to 1; 1 if the scale has one value only."""
    low, high = scale
    return (value - low) / (high - low) if high > low else 1.0


def figure_of(picture: Picture) -> Markup:
    """The picture as HTML: an SVG with its title, or why there is none."""
    title = escape(clean(picture.title))
    problem = picture.problem
    if picture.data is not None:
        try:
            # Of the same numbers it is drawn once.
            drawn = _drawn_on_page(picture)
            return Markup('<figure class="picture"><figcaption>{}</figcaption>{}</figure>').format(title, drawn)
        except Exception as error:
            problem = _problem(error)
    return Markup("<p>{}: no picture: {}</p>").format(title, clean(problem))


def _drawn_on_page(picture: Picture) -> Markup:
    if isinstance(picture.data, Diagram):
        text = "\n".join(map(clean, picture.data.lines))
        return Markup('<pre style="overflow-x:auto;white-space:pre;line-height:1.3">{}</pre>').format(text)
    return _drawn_svg(msgspec.json.encode(picture))


@functools.lru_cache(maxsize=64)
def _drawn_svg(encoded: bytes) -> Markup:
    import matplotlib.style
    from matplotlib.figure import Figure

    picture = msgspec.json.decode(encoded, type=Picture)
    data = picture.data
    assert data is not None and not isinstance(data, Diagram)
    with matplotlib.style.context(["default", _SETTINGS]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a sign that the font does not have, or a label without room
        (x_low, x_high), (y_low, y_high) = ranges(data)
        has_one_scale = not isinstance(data, Lines) and 0.5 < (x_high - x_low) / abs(y_high - y_low) < 2
        figure = Figure(figsize=(5.4, 4.4 if has_one_scale else 3.3), layout="constrained")  # inches; a page scales it
        axes = figure.add_subplot(aspect="equal" if has_one_scale else "auto")
        match data:
            case Lines():
                for number, (name, x, y) in enumerate(lines_of(data)):
                    places = [math.nan if one is None else one for one in y]
                    label, marker = _label(name) if name else None, "o" if len(y) == 1 else ""
                    axes.plot(x, places, color=_COLOURS[number], label=label, marker=marker)
                if spot := data.marked:
                    label = _label(spot.label)
                    axes.scatter([spot.x], [spot.y], marker="X", s=70, color=_INK, zorder=3, label=label)
            case Points():
                _add_points(data, axes, names_of(data))
            case Grid():
                _add_cells(data, axes)
        axes.set(xlim=(x_low, x_high), ylim=(y_low, y_high), xlabel=data.x_label, ylabel=data.y_label)
        for low, high, most, set_ticks in ((x_low, x_high, 8, axes.set_xticks), (y_low, y_high, 7, axes.set_yticks)):
            places = ticks(low, high, most)
            set_ticks(places, [f"{one:.4g}" for one in places])
        if names := axes.get_legend_handles_labels()[1]:
            columns = max(1, min(len(names), 60 // (4 + max(map(len, names)))))
            figure.legend(loc="outside upper left", ncols=columns, handlelength=1.4)
        written = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    return _to_stand_in_a_page(written.getvalue(), f"{picture.title}: {in_words(data)}")


def _add_points(data: Points, axes: Axes, names: Sequence[str]) -> None:
    for number, (name, x, y) in enumerate(classes_of(data, names)):
        if x:
            label = _label(name) if names else None
            axes.scatter(x, y, s=14, color=_COLOURS[number], edgecolors=_INK, linewidths=0.4, label=label, zorder=3)


def _add_cells(data: Grid, axes: Axes) -> None:
    """Draws each run of equal cells of a row as one rectangle, and all those of one class or value as one shape."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    scale = scale_of(data)
    (left, right), (bottom, top) = ranges(data)
    wide, tall = (right - left) / len(data.values[0]), (top - bottom) / len(data.values)
    corners: dict[int, list[tuple[float, float]]] = {}
    for i, row in enumerate(reversed(data.values)):
        begin = left
        for level, run in itertools.groupby(_level(value, scale) for value in row):
            end = begin + wide * len(list(run))
            y = bottom + i * tall
            if level is not None:
                box = [(begin, y), (end, y), (end, y + tall), (begin, y + tall), (begin, y)]
                corners.setdefault(level, []).extend(box)
            begin = end
    for level, found in sorted(corners.items()):
        shape = Path(found, [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(found) // 5))
        is_class = scale is None
        alpha = (0.3 if data.points else 0.8) if is_class else 0.04 + 0.96 * level / _LEVELS
        label = _label(data.names[level]) if is_class and data.points is None else None
        colour = _COLOURS[level if is_class else 0]
        axes.add_patch(PathPatch(shape, facecolor=colour, alpha=alpha, linewidth=0, gid="cells", label=label))
    if scale is not None:
        axes.set_title(f"from {scale[0]:.4g} (pale) to {scale[1]:.4g} (full colour)", loc="left", fontsize=9)
    if data.points is not None:
        _add_points(data.points, axes, data.names)


def _level(value: float | None, scale: tuple[float, float] | None) -> int | None:
    """The class of a cell, or the number of its shade; None if it is empty."""
    if value is None:
        return None
    return int(value) if scale is None else round(_fraction(value, scale) * _LEVELS)


def _label(name: str) -> str:
    """A name for a legend: matplotlib leaves out those that begin with an underscore."""
    return f" {name}" if name.startswith("_") else name


def _to_stand_in_a_page(text: str, words: str) -> Markup:
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[a-z_]+\d+"', "", text)
    text = text.replace('id="cells"', 'shape-rendering="crispEdges"').replace(_INK, "currentColor")
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1; font-family: inherit", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text)
    text = _RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", text)
    view = re.search(r'viewBox="[^"]*"', text)
    assert view is not None
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {view[0]} role="img" '
        f'aria-label="{escape(clean(words))}" stroke-linejoin="round" '
        'style="display:block;width:100%;max-width:36rem;height:auto">'
    )
    return Markup(re.sub(r"\n\s*", "\n", re.sub(r"<svg[^>]*>", lambda found: head, text, count=1)).strip())
