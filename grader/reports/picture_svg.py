"""Draws a picture as SVG for pages and notebooks, by matplotlib, which is imported when the first one is drawn.

The same picture gives the same text. Its lines and words have the colour of the text around it, so it suits light and
dark pages; it has no style sheet, script, link or image. Decides nothing.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from markupsafe import Markup, escape

from grader.pictures import Grid, Lines, Picture, Points
from grader.reports.picture_text import classes_of, in_words, lines_of, names_of, ranges, scale_of, ticks
from grader.text import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS: Final = ("#3b86c8", "#e0791a", "#2a9d5c", "#a260cc", "#d64a4a", "#1f9aa8", "#b58900", "#808a94")
"""For each line or class: those that can be read on light and dark."""
_INK: Final = "#010203"
"""Stands for the colour of the text around the picture."""
_SIZE: Final = (5.4, 3.3)
_SQUARE: Final = (5.4, 4.4)
"""Inches, for pictures whose axes have one scale; a page scales both."""
_LEVELS: Final = 24
_RECTANGLE: Final = re.compile(r"M ([\d.]+) ([\d.]+)\s+L ([\d.]+) \2\s+L \3 ([\d.]+)\s+L \1 \4\s+(?:L \1 \2\s+)?z\s*")
"""As matplotlib writes it, which takes twice the room."""
_SETTINGS: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "torchkata",
    "text.parse_math": False,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **{f"{part}.color": _INK for part in ("text", "xtick", "ytick")},
    **{f"axes.{part}": _INK for part in ("edgecolor", "labelcolor")},
}


def figure_of(picture: Picture) -> Markup:
    """The picture as HTML: an SVG with its title, or why there is none."""
    title = escape(clean(picture.title))
    if picture.data is None:
        return Markup("<p>{}: no picture: {}</p>").format(title, clean(picture.problem))
    return Markup('<figure class="picture"><figcaption>{}</figcaption>{}</figure>').format(title, svg(picture))


def svg(picture: Picture) -> Markup:
    """The picture as an SVG element to stand in a page; the same numbers are drawn once."""
    return _drawn(msgspec.json.encode(picture))


@functools.lru_cache(maxsize=64)
def _drawn(encoded: bytes) -> Markup:
    import matplotlib.style
    from matplotlib.figure import Figure

    picture = msgspec.json.decode(encoded, type=Picture)
    data = picture.data
    assert data is not None
    with matplotlib.style.context(["default", _SETTINGS]):
        (x_low, x_high), (y_low, y_high) = ranges(data)
        has_one_scale = not isinstance(data, Lines) and 0.5 < (x_high - x_low) / abs(y_high - y_low) < 2
        figure = Figure(figsize=_SQUARE if has_one_scale else _SIZE, layout="constrained")
        axes = figure.add_subplot(aspect="equal" if has_one_scale else "auto")
        match data:
            case Lines():
                for number, (name, x, y) in enumerate(lines_of(data)):
                    places = [math.nan if one is None else one for one in y]
                    label, marker = _label(name) if name else None, "o" if len(y) == 1 else ""
                    axes.plot(x, places, color=_COLOURS[number], label=label, marker=marker)
                if mark := data.marked:
                    label = _label(mark.label)
                    axes.scatter([mark.x], [mark.y], marker="X", s=70, color=_INK, zorder=3, label=label)
            case Points():
                _draw_points(data, axes, names_of(data))
            case Grid():
                _draw_grid(data, axes)
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


def _draw_points(data: Points, axes: Axes, names: Sequence[str]) -> None:
    for number, (name, x, y) in enumerate(classes_of(data, names)):
        if x:
            label = _label(name) if names else None
            axes.scatter(x, y, s=14, color=_COLOURS[number], edgecolors=_INK, linewidths=0.4, label=label, zorder=3)


def _draw_grid(data: Grid, axes: Axes) -> None:
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
                corners.setdefault(level, []).extend(
                    [(begin, y), (end, y), (end, y + tall), (begin, y + tall), (begin, y)]
                )
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
        _draw_points(data.points, axes, data.names)


def _level(value: float | None, scale: tuple[float, float] | None) -> int | None:
    """The class of a cell, or the number of its shade; None if it is empty."""
    if value is None or scale is None:
        return None if value is None else int(value)
    low, high = scale
    return round((value - low) / (high - low) * _LEVELS) if high > low else _LEVELS


def _label(name: str) -> str:
    """A name for a legend: matplotlib leaves out those that begin with an underscore."""
    return f" {name}" if name.startswith("_") else name


def _to_stand_in_a_page(text: str, words: str) -> Markup:
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="(?:[a-z]+_?)+\d+"', "", text)
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
