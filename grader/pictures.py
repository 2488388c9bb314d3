"""Pictures as data: lines, points, a grid or a diagram that a trusted process draws. Nothing submitted draws.

`bounded` is the only way from what a picture function returns to what is kept and drawn: it takes plain numbers and
text, within bounds, and nothing else. Imports no torch and no library that draws.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from grader.text import one_line

MOST_SERIES: Final = 8
"""Lines in one picture, and classes: as many as can be told apart."""
MOST_NUMBERS: Final = 2_000
"""Numbers of all lines of one picture."""
MOST_POINTS: Final = 600
MOST_CELLS: Final = 4_096
MOST_DIAGRAM_LINES: Final = 24
DIAGRAM_COLUMNS: Final = 76
LARGEST: Final = 1e12
"""A number beyond it is drawn as a gap, like infinity and NaN."""
SMALLEST: Final = 1e-30
"""A number nearer to 0 is drawn as 0: the steps of an axis of such numbers could not be counted."""
LABEL: Final = 60
"""Characters of a label."""

Numbers: TypeAlias = Sequence[float | None]
"""Numbers to draw; None is a gap. A check may give a list, a tuple or a tensor, in which NaN is a gap as well."""


class Spot(msgspec.Struct, frozen=True):
    """A marked point of a picture of lines, such as the best epoch."""

    x: float
    y: float
    label: str


class Lines(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """One line for each series of numbers, such as a loss per epoch.

    Attributes:
        series: the numbers of each line by its name, at most 8 lines.
        x: where the numbers are on the x axis; empty means at 1, 2, 3, ...
        x_label: the words below the x axis.
        y_label: the words beside the y axis.
        marked: a point to mark; None means none.
    """

    series: Mapping[str, Numbers]
    x: Numbers = ()
    x_label: str = ""
    y_label: str = ""
    marked: Spot | None = None


class Points(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Points in the plane, each with its class.

    Attributes:
        x: their positions on the x axis.
        y: their positions on the y axis, as many.
        classes: the class of each, from 0; empty means that all have the same.
        names: of the classes; empty means ``0``, ``1``, ...
        x_label: the words below the x axis.
        y_label: the words beside the y axis.
    """

    x: Numbers
    y: Numbers
    classes: Numbers = ()
    names: Sequence[str] = ()
    x_label: str = ""
    y_label: str = ""


class Grid(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A plane divided into equal cells, each with a class or a value, such as the decision regions of a model.

    Attributes:
        values: the rows of cells, from the top down as in a matrix; at most 4,096 cells. Classes (from 0) if `names`
            says what they are, else values on a scale.
        names: of the classes, at most 8; empty means that the cells are values.
        x: the positions of the first and the last column; None means 0, 1, 2, ...
        y: the positions of the bottom and the top row; None means that rows are counted 0, 1, 2, ... from the top.
        points: points drawn on top, of the same classes; None means none.
        x_label: the words below the x axis.
        y_label: the words beside the y axis.
    """

    values: Sequence[Numbers]
    names: Sequence[str] = ()
    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    points: Points | None = None
    x_label: str = ""
    y_label: str = ""


class Diagram(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A drawing of characters, such as the graph of a formula or a bar for each layer.

    Attributes:
        lines: its lines, at most 24 of 76 characters; longer ones are cut.
    """

    lines: Sequence[str]


PictureData: TypeAlias = Lines | Points | Grid | Diagram


class Picture(msgspec.Struct, frozen=True):
    """One picture of an exercise, as results keep it.

    Attributes:
        title: its title.
        data: what is drawn, within the bounds of this module; None if it cannot be drawn.
        problem: why it cannot be drawn, on one line; empty if it can.
    """

    title: str
    data: PictureData | None = None
    problem: str = ""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two matrices that differ, to be drawn beside each other: the part of each around the first difference.

    Attributes:
        found: the numbers that came back, as text, row by row.
        expected: the right ones.
        differs: of each number that was found, whether it differs; all False if the sizes of the two differ.
        corner: the row and the column of the first number shown.
        sizes: rows and columns of the found matrix, and of the right one.
    """

    found: tuple[tuple[str, ...], ...]
    expected: tuple[tuple[str, ...], ...]
    differs: tuple[tuple[bool, ...], ...]
    corner: tuple[int, int]
    sizes: tuple[tuple[int, int], tuple[int, int]]


class RankStep(msgspec.Struct, frozen=True):
    """How far one rank got.

    Attributes:
        step: its stair: 0 if its place is not known, else higher the further it got.
        state: whether it returned, waits in a collective, or runs.
        text: the same in words, with the ranks that it waits for.
    """

    step: int
    state: Literal["returned", "waits", "runs"]
    text: str


class Stair(msgspec.Struct, frozen=True):
    """How far each rank got, to be drawn rank by rank: of a run that does not end."""

    ranks: tuple[RankStep, ...]


def bounded(data: object) -> PictureData:
    """The same picture with plain numbers, rounded to five digits, and harmless text.

    Raises:
        ValueError: it is no picture, has too many numbers, or none that can be drawn; the message is for the student.
    """
    if isinstance(data, Lines):
        return _lines(data)
    if isinstance(data, Points):
        return _points(data)
    if isinstance(data, Grid):
        return _grid(data)
    if isinstance(data, Diagram):
        return _diagram(data)
    raise ValueError(f"a picture is Lines, Points, a Grid or a Diagram, not {_kind(data)}")


def _lines(data: Lines) -> Lines:
    if not isinstance(data.series, Mapping) or not 0 < len(data.series) <= MOST_SERIES:
        raise ValueError(f"a picture has 1 to {MOST_SERIES} lines")
    most = MOST_NUMBERS // len(data.series)
    series = {_text(name): _numbers(numbers, f"`{_text(name)}`", most) for name, numbers in data.series.items()}
    longest = max(map(len, series.values()))
    x = _numbers(data.x, "the x axis", MOST_NUMBERS)
    if x and (len(x) < longest or None in x):
        raise ValueError(f"a line has {longest} numbers, and the x axis says where {len(x)} of them are")
    if all(number is None for numbers in series.values() for number in numbers):
        raise ValueError("there is no finite number to draw")
    marked = None
    if data.marked is not None:
        place = _numbers([data.marked.x, data.marked.y], "the marked point", 2)
        if place[0] is not None and place[1] is not None:
            marked = Spot(place[0], place[1], _text(data.marked.label))
    return Lines(series=series, x=x, x_label=_text(data.x_label), y_label=_text(data.y_label), marked=marked)


def _points(data: Points, names_of_cells: Sequence[str] = ()) -> Points:
    names = _names(data.names)
    x, y, classes = (_numbers(one, "the points", MOST_POINTS) for one in (data.x, data.y, data.classes))
    classes = classes or [0] * len(x)
    if not len(x) == len(y) == len(classes):
        raise ValueError(f"{len(x)} points in x, {len(y)} in y and {len(classes)} classes do not fit together")
    _require_classes(classes, names_of_cells or names)
    drawn = [point for point in zip(x, y, classes, strict=True) if None not in point]
    if not drawn:
        raise ValueError("there is no finite point to draw")
    x, y, classes = (list(column) for column in zip(*drawn, strict=True))
    return Points(x=x, y=y, classes=classes, names=names, x_label=_text(data.x_label), y_label=_text(data.y_label))


def _grid(data: Grid) -> Grid:
    names = _names(data.names)
    rows = _plain(data.values, "the grid", MOST_CELLS)
    count = _size(rows[0]) if rows else 0
    if not 0 < count * len(rows) <= MOST_CELLS:
        raise ValueError(f"a grid has 1 to {MOST_CELLS:,} cells")
    values = [_numbers(row, "a row of the grid", count) for row in rows]
    if any(len(row) != count for row in values):
        raise ValueError("the rows of the grid have different lengths")
    for row in values:
        _require_classes(row, names or None)
    if all(value is None for row in values for value in row):
        raise ValueError("there is no finite number to draw")
    return Grid(
        values=values,
        names=names,
        x=_range(data.x, count),
        y=(len(values) - 1, 0) if data.y is None else _range(data.y, len(values)),
        points=None if data.points is None else _points(data.points, names),
        x_label=_text(data.x_label),
        y_label=_text(data.y_label),
    )


def _diagram(data: Diagram) -> Diagram:
    lines = data.lines
    if type(lines) not in (list, tuple) or not 0 < len(lines) <= MOST_DIAGRAM_LINES:
        raise ValueError(f"a diagram has 1 to {MOST_DIAGRAM_LINES} lines")
    return Diagram(lines=[_text(line, DIAGRAM_COLUMNS).rstrip() for line in lines])


def _range(given: object, count: int) -> tuple[float, float]:
    found = _numbers((0, count - 1) if given is None else given, "the range of an axis", 2)
    first, last = found if len(found) == 2 else (None, None)
    if first is None or last is None or first > last:
        raise ValueError("the range of an axis is two finite numbers, the lower one first")
    return first, last


def _require_classes(numbers: Numbers, names: Sequence[str] | None) -> None:
    """Refuses numbers that are no classes; None for the names means that they are values."""
    known = len(names or ()) or MOST_SERIES
    wrong = [one for one in numbers if one is not None and not (one == int(one) and 0 <= one < known)]
    if names is not None and wrong:
        raise ValueError(f"{wrong[0]:g} is not a class: they are 0 to {known - 1}")


def _names(names: object) -> list[str]:
    if not isinstance(names, (list, tuple)) or len(names) > MOST_SERIES:
        raise ValueError(f"the names of the classes are at most {MOST_SERIES} texts")
    return [_text(name) for name in names]


def _numbers(values: object, what: str, most: int) -> list[float | None]:
    return [_number(value, what) for value in _plain(values, what, most)]


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float, bool):
        raise ValueError(f"{what}: {_kind(value)} where a number is expected")
    if not abs(value) <= LARGEST:  # nor is NaN
        return None
    rounded = float(f"{value:.5g}") if abs(value) >= SMALLEST else 0.0
    return int(rounded) if rounded == int(rounded) else rounded


def _plain(values: object, what: str, most: int) -> Sequence[Any]:
    """A list, tuple or tensor as a list; nothing else, because any other object could be a submission's."""
    size = _size(values)
    if size > most:
        raise ValueError(f"{what}: {size:,} numbers are too many to draw, at most {most:,} are")
    return values if isinstance(values, (list, tuple, range)) else values.tolist()  # type: ignore[attr-defined]


def _size(values: object) -> int:
    """How many numbers there are, before any of them is looked at."""
    if type(values) in (list, tuple, range):
        return len(values)  # type: ignore[arg-type]
    torch = sys.modules.get("torch")
    if torch is not None and type(values) in (torch.Tensor, torch.nn.Parameter) and values.dim() >= 1:  # type: ignore[attr-defined]
        return int(values.numel())  # type: ignore[attr-defined]
    raise ValueError(f"{_kind(values)} where numbers are expected")


def _text(text: object, most: int = LABEL) -> str:
    if type(text) is not str:
        raise ValueError(f"{_kind(text)} where a label is expected")
    return one_line(text, most)


def _kind(value: object) -> str:
    return f"a value of type {one_line(type(value).__name__, LABEL)}"
