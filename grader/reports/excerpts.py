"""The lines of a student's file that belong to an exercise, for showing beside a failure.

Reads text only: submitted code is never run, imported or parsed, as it may be broken or made to break a parser.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

from grader.text import clean, counted

_WIDTH = 160
_CONTEXT = 3
_NEXT_STATEMENT = re.compile(r"[^\s#)\]}]")
"""The start of a line at the margin that does not belong to the definition above it."""
_HEAD = re.compile(r"\s*(?:async\s+def|def|class)\s")
_QUOTE = re.compile(r'^\s+[rRuU]?("""|\'\'\')')


class Line(msgspec.Struct, frozen=True):
    """One line of an excerpt; with ``number`` 0, `text` says how many lines were left out here."""

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
            docstrings = _docstrings(lines, start, end)
            wanted = [n for n in range(start, end + 1) if n not in docstrings]
            here = {n for path, n in marks if path == file}
            found.append(_shown(file, lines, _cut(wanted, here, most), here))
            seen = {(file, n) for n in range(start, end + 1)}
    for path in dict.fromkeys(path for path, number in marks if (path, number) not in seen):
        if path not in files:
            continue
        lines = lines_in(files[path])
        here = {n for other, n in marks if other == path and (other, n) not in seen and 0 < n <= len(lines)}
        around = {n for mark in here for n in range(mark - _CONTEXT, mark + _CONTEXT + 1) if 0 < n <= len(lines)}
        if around:
            found.append(_shown(path, lines, _cut(sorted(around), here, most), here))
    return found


def lines_in(content: bytes) -> list[str]:
    """The lines of a file as Python counts them; the first line has index 0."""
    return re.split(r"\r\n|\r|\n", content.decode("utf-8-sig", "replace"))


def definition(lines: list[str], name: str) -> tuple[int, int]:
    """First and last line (from 1) of the last definition of `name` at the top level; (0, 0) when there is none."""
    head = re.compile(rf"(?:async\s+def|def|class)\s+{re.escape(name)}\b|{re.escape(name)}\s*(?::[^=]*)?=[^=]")
    starts = [number for number, line in enumerate(lines, start=1) if head.match(line)]
    if not starts:
        return 0, 0
    start = end = starts[-1]
    for number in range(start + 1, len(lines) + 1):
        line = lines[number - 1]
        if _NEXT_STATEMENT.match(line):
            break
        if line.strip() and not line.startswith("#"):
            end = number
    while start > 1 and lines[start - 2].startswith("@"):
        start -= 1
    return start, end


def _docstrings(lines: list[str], start: int, end: int) -> set[int]:
    """The lines of the definition's docstring and of those of its methods."""
    found: set[int] = set()
    for number in range(start, end + 1):
        if number not in found and _HEAD.match(lines[number - 1]):
            found.update(_docstring(lines, number, end))
    return found


def _docstring(lines: list[str], start: int, end: int) -> range:
    """The lines of the docstring under the signature that begins at `start`."""
    for number in range(start + 1, min(start + 12, end) + 1):
        opening = _QUOTE.match(lines[number - 1])
        if opening:
            rest = lines[number - 1][opening.end() :]
            last = number
            while opening[1] not in rest and last < end:
                last += 1
                rest = lines[last - 1]
            return range(number, last + 1)
        if lines[number - 2].rstrip().endswith(":"):
            break
    return range(0)


def _cut(numbers: list[int], marked: Collection[int], most: int) -> list[int]:
    """At most `most` of the numbers: from the first, or around the first marked one if it would be cut off."""
    at = next((index for index, number in enumerate(numbers) if number in marked), 0)
    first = max(0, at - most // 2) if at >= most else 0
    return numbers[first : first + most]


def _shown(file: str, lines: list[str], numbers: list[int], marked: Collection[int]) -> Excerpt:
    shown: list[Line] = []
    for number in numbers:
        if shown and number > shown[-1].number + 1:
            gap = number - shown[-1].number - 1
            shown.append(Line(0, f"{counted(gap, 'line')} left out"))
        text = clean(lines[number - 1][: 4 * _WIDTH]).replace("\n", "\ufffd")
        text = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        shown.append(Line(number, text, number in marked))
    return Excerpt(clean(file), tuple(shown))
