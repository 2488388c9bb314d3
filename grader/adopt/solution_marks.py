"""Puts our markers into the solutions of otter's and nbgrader's notebooks, in the place of theirs.

Never changes the behaviour of a solution. Of functions that students write as a whole, the head and the docstring stay.
"""

import ast
import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.course.source import Definition, Function, first_line

_ONE_LINE = re.compile(r"([ \t]*)((?:async )?def .*\)(?: *->.*)?:)[ \t]+([^#\s].*)$")
_REGION = re.compile(r"\s*#+\s*(BEGIN|END)\s+(SOLUTION|HIDDEN TESTS|PROMPT|IGNORE)\b", re.I)
_ASSIGNMENT = re.compile(r"\s*[^\s#()=][^#()=]*=(?!=)\s*")
_TEXT = re.compile(r"\s*[\"']{3};?\s*#\s*(BEGIN|END)\s+(PROMPT|PLUGIN)\b", re.I)
"""A text with the prompt in it: its lines become comments. Those of a plugin of otter's are left out."""
_END_OF_LINE = re.compile(r"\s*#\s*((?-i:SOLUTION\b).*|(?:SOLUTION|SEED|IGNORE)\s*)$", re.I)


class MarkedLine(NamedTuple):
    """A line of a cell without otter's and nbgrader's marks."""

    text: str
    is_solution: bool = False
    is_hidden: bool = False


def without_marks(code: str) -> list[MarkedLine]:
    """The lines of a cell, and which of them students do not get. Prompts become comments; a seed stays."""
    found: list[MarkedLine] = []
    regions: list[str] = []  # the innermost is the last
    for line in code.split("\n"):
        if mark := _REGION.match(line) or _TEXT.match(line):
            name = mark[2].upper()
            name = name if mark.re is _REGION else {"PROMPT": "TEXT", "PLUGIN": "IGNORE"}[name]
            if mark[1].upper() == "BEGIN":
                regions.append(name)
            elif name in regions:
                del regions[len(regions) - 1 - regions[::-1].index(name) :]
        elif "TEXT" in regions:
            indent = line[: len(line) - len(line.lstrip())]
            found.append(MarkedLine(f"{indent}# {line.strip()}"))
        elif "IGNORE" not in regions:
            end = _END_OF_LINE.search(line)
            kind = end[1].upper().strip() if end else ""
            text = line[: end.start()] if end else line
            if kind != "IGNORE" and (text.strip() or not kind):
                is_solution = regions[-1:] == ["SOLUTION"] or kind.startswith("SOLUTION")
                found.append(MarkedLine(text, is_solution, "HIDDEN TESTS" in regions))
    return found


def marked(lines: Sequence[MarkedLine]) -> str:
    """The code with our markers round the statements that students write. Of functions the head and docstring stay."""
    lines = [part for line in lines for part in _on_two_lines(line)]
    flagged = {number for number, line in enumerate(lines, start=1) if line.is_solution and line.text.strip()}
    text = [line.text for line in lines]
    if not flagged:
        return "\n".join(text)
    spans = list(_spans(ast.parse("\n".join(text)).body, flagged, text))
    outside = flagged.difference(*(range(start, end + 1) for start, end, _ in spans))
    alone = {number for number in outside if text[number - 1].lstrip().startswith("#")}
    made = [None if number in alone else line for number, line in enumerate(text, start=1)]
    for start, end, column in sorted(spans, reverse=True):
        made.insert(end, " " * column + "# end")
        made.insert(start - 1, " " * column + "# solution:")
    return "\n".join(line for line in made if line is not None)


def skeleton(lines: Sequence[MarkedLine]) -> str:
    """The code as otter hands it out, with ``...`` in the place of solutions.

    Empty if no statement is a solution in part, or if the rest is not Python.
    """
    flagged = {number for number, line in enumerate(lines, start=1) if line.is_solution and line.text.strip()}
    text = [line.text for line in lines]
    spans = list(_spans(ast.parse("\n".join(text)).body, flagged, text)) if flagged else []
    inside = {number for start, end, _ in spans for number in range(start, end + 1)}
    if all(not text[number - 1].strip() for number in inside - flagged):
        return ""
    made: list[str] = []
    for number, line in enumerate(lines, start=1):
        if number not in flagged:
            made.append(line.text)
        elif found := _ASSIGNMENT.match(line.text):
            made.append(f"{found[0].rstrip()} ...")
        elif number - 1 not in flagged:
            made.append(line.text[: len(line.text) - len(line.text.lstrip())] + "...")
    with contextlib.suppress(SyntaxError):
        ast.parse("\n".join(made))
        return "\n".join(made)
    return ""


def _on_two_lines(line: MarkedLine) -> list[MarkedLine]:
    """A function on one line with its body on the next one."""
    found = _ONE_LINE.match(line.text) if line.is_solution else None
    if found is None:
        return [line]
    return [line._replace(text=found[2]), line._replace(text=f"{found[1]}    {found[3]}")]


def _spans(body: Sequence[ast.stmt], flagged: set[int], text: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """First line, last line and column of each part that goes between markers: whole statements of one body."""
    found: list[tuple[int, int, int, int]] = []
    for at, one in enumerate(body):
        own = flagged & set(range(first_line(one), (one.end_lineno or one.lineno) + 1))
        if not own:
            continue
        if isinstance(one, Definition):
            inner = one.body[1:] if ast.get_docstring(one) is not None else one.body
            parts = list(_spans(inner, flagged, text)) if one.lineno not in flagged else []
            if parts and (isinstance(one, Function) or all(_has_code_to_write(part, inner) for part in parts)):
                yield from parts
                continue
            if isinstance(one, Function) or any(isinstance(part, Function) for part in inner):
                yield _wide(first_line(inner[0]), inner[-1].end_lineno or 0, inner[0].col_offset, flagged, text)
                continue
        if found and found[-1][3] == at - 1:
            found[-1] = (found[-1][0], one.end_lineno or 0, one.col_offset, at)
        else:
            found.append((first_line(one), one.end_lineno or 0, one.col_offset, at))
    yield from (_wide(start, end, column, flagged, text) for start, end, column, _ in found)


def _has_code_to_write(part: tuple[int, int, int], body: Sequence[ast.stmt]) -> bool:
    """Whether a part of a class is inside of a method, or round one: else the class is left out as a whole."""
    start, end, column = part
    return column > body[0].col_offset or any(isinstance(one, Function) and start <= one.lineno <= end for one in body)


def _wide(start: int, end: int, column: int, flagged: set[int], text: Sequence[str]) -> tuple[int, int, int]:
    """A part with the comments of the solution above and below it."""
    while start - 1 in flagged and text[start - 2].lstrip().startswith("#"):
        start -= 1
    while end + 1 in flagged and text[end].lstrip().startswith("#"):
        end += 1
    return start, end, column
