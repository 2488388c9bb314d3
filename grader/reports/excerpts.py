"""The lines of a student's file that belong to an exercise, for showing beside a failure.

Reads text only: submitted code is never run, imported or parsed, as it may be broken or made to break a parser.
"""

from collections.abc import Collection, Mapping

import msgspec

from grader.course.definitions import definition, docstrings, lines_in
from grader.intake.notebook import Cells
from grader.text import clean, counted

_WIDTH = 160
_MOST_READ = 4 * _WIDTH
"""Characters of a line that are read: escape sequences may take some of them."""
_CONTEXT = 3


class Line(msgspec.Struct, frozen=True):
    """One line of an excerpt, with its number in the file, or in the cell of a notebook.

    With ``number`` 0, `text` names a cell that begins here, or lines that were left out.
    """

    number: int
    text: str
    marked: bool = False


class Excerpt(msgspec.Struct, frozen=True):
    """Some lines of one file."""

    file: str
    lines: tuple[Line, ...]

    @property
    def size(self) -> int:
        """About the number of characters that it adds to a page."""
        return 100 + sum(len(line.text) + 35 for line in self.lines)


def excerpt(
    files: Mapping[str, bytes], topic: str, name: str, marks: Collection[tuple[str, int]], most: int = 60
) -> list[Excerpt]:
    """The definition of exercise `name`, without docstrings, and the lines around marked lines elsewhere.

    Args:
        files: the submission's files, by path.
        topic: the topic of the exercise.
        marks: file and line number of the lines to mark.
        most: the most lines of one excerpt.
    """
    found = []
    seen: set[tuple[str, int]] = set()
    file = f"{topic}.py"
    if file in files:
        lines = lines_in(files[file])
        start, end = definition(lines, name)
        if start:
            left_out = docstrings(lines, start, end)
            wanted = [n for n in range(start, end + 1) if n not in left_out]
            here = {n for path, n in marks if path == file}
            found.append(_shown(file, lines, _cut(wanted, here, most), here, Cells(files[file])))
            seen = {(file, n) for n in range(start, end + 1)}
    for path in dict.fromkeys(path for path, number in marks if (path, number) not in seen):
        if path not in files:
            continue
        lines = lines_in(files[path])
        here = {n for other, n in marks if other == path and (other, n) not in seen and 0 < n <= len(lines)}
        around = {n for mark in here for n in range(mark - _CONTEXT, mark + _CONTEXT + 1) if 0 < n <= len(lines)}
        if around:
            found.append(_shown(path, lines, _cut(sorted(around), here, most), here, Cells(files[path])))
    return found


def whole(file: str, content: bytes) -> Excerpt:
    """A file with all of its lines, numbered as in the file."""
    # Made harmless at once: line by line it would take most of the time of a report.
    lines = clean("\n".join(line[:_MOST_READ] for line in lines_in(content))).split("\n")
    return Excerpt(clean(file), tuple(Line(number, _narrow(line)) for number, line in enumerate(lines, start=1)))


def _cut(numbers: list[int], marked: Collection[int], most: int) -> list[int]:
    """At most `most` of the numbers: from the first, or around the first marked one if it would be cut off."""
    at = next((index for index, number in enumerate(numbers) if number in marked), 0)
    first = max(0, at - most // 2) if at >= most else 0
    return numbers[first : first + most]


def _shown(file: str, lines: list[str], numbers: list[int], marked: Collection[int], cells: Cells) -> Excerpt:
    """Lines of a file; if it was made of a notebook, each cell begins with its name, and its lines at 1."""
    shown: list[Line] = []
    last, cell = 0, 0
    for number in numbers:
        here, in_cell = cells.find(number) if cells else (0, number)
        if here != cell:
            shown.append(Line(0, cells.named(here)))
        elif last and number > last + 1:
            shown.append(Line(0, f"{counted(number - last - 1, 'line')} left out"))
        last, cell = number, here
        if cells and not in_cell:
            continue
        text = clean(lines[number - 1][:_MOST_READ]).replace("\n", "\ufffd")
        shown.append(Line(in_cell, _narrow(text), number in marked))
    return Excerpt(clean(file), tuple(shown))


def _narrow(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
