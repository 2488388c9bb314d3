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
_MOST_LINES = 60


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


def excerpt(files: Mapping[str, bytes], exercise: str, marks: Collection[tuple[str, int]]) -> list[Excerpt]:
    """The definition of an exercise, without docstrings, and the lines around marked lines elsewhere.

    Args:
        files: the submission's files, by path.
        exercise: its full name.
        marks: file and line number of the lines to mark.
    """
    found = []
    topic, _, name = exercise.partition(".")
    own = f"{topic}.py"
    wanted = dict.fromkeys([own, *(path for path, _ in marks)])
    lines = {path: lines_in(files[path]) for path in wanted if path in files}
    elsewhere = {path: [n for other, n in marks if other == path and 0 < n <= len(lines[path])] for path in lines}
    start, end = definition(lines[own], name) if own in lines else (0, 0)
    if start:
        left_out = docstrings(lines[own], start, end)
        numbers = [number for number in range(start, end + 1) if number not in left_out]
        found.append(_shown(own, files[own], numbers, elsewhere[own]))
        elsewhere[own] = [number for number in elsewhere[own] if not start <= number <= end]
    for path in dict.fromkeys(path for path, _ in marks if elsewhere.get(path)):
        near = {n for mark in elsewhere[path] for n in range(mark - _CONTEXT, mark + _CONTEXT + 1)}
        around = sorted(near & set(range(1, len(lines[path]) + 1)))
        found.append(_shown(path, files[path], around, elsewhere[path]))
    return found


def whole(file: str, content: bytes) -> Excerpt:
    """A file with all of its lines, numbered as in the file."""
    # Made harmless at once: line by line it would take most of the time of a report.
    lines = clean("\n".join(line[:_MOST_READ] for line in lines_in(content))).split("\n")
    return Excerpt(clean(file), tuple(Line(number, _narrow(line)) for number, line in enumerate(lines, start=1)))


def _shown(file: str, content: bytes, numbers: list[int], marked: Collection[int]) -> Excerpt:
    """Lines of a file; if it was made of a notebook, each cell begins with its name, and its lines at 1.

    Of very many lines, it shows the first, or those around the first marked one if that would be cut off.
    """
    lines, cells = lines_in(content), Cells(content)
    at = next((index for index, number in enumerate(numbers) if number in marked), 0)
    first = max(0, at - _MOST_LINES // 2) if at >= _MOST_LINES else 0
    shown: list[Line] = []
    last, cell = 0, 0
    for number in numbers[first : first + _MOST_LINES]:
        here, in_cell = cells.find(number) if cells else (0, number)
        if here != cell:
            shown.append(Line(0, cells.named([here])))
        elif last and number > last + 1:
            shown.append(Line(0, f"{counted(number - last - 1, 'line')} left out"))
        last, cell = number, here
        if in_cell or not cells:
            text = clean(lines[number - 1][:_MOST_READ]).replace("\n", "\ufffd")
            shown.append(Line(in_cell, _narrow(text), number in marked))
    return Excerpt(clean(file), tuple(shown))


def _narrow(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
