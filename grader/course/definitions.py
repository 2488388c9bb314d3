"""Finds the definitions in a module's text by their lines, even if Python cannot parse it.

Submitted code is never run, imported or parsed here, as it may be broken or made to break a parser.
"""

import functools
import re

_NEXT_STATEMENT = re.compile(r"[^\s#)\]}]")
"""The start of a line at the margin that does not belong to the definition above it."""
_HEAD = re.compile(r"\s*(?:async\s+def|def|class)\s")
_QUOTE = re.compile(r'^\s+[rRuU]?("""|\'\'\')')
_TOP: re.Pattern[str] = re.compile(r"(?:async\s+def|def|class)\s+(\w+)|([^\W\d]\w*)\s*(?::[^=]*)?=[^=]")

_INSIDE = " \t#"
"""No line that is empty, or begins with one of these, is the head of a definition at the top level."""


def lines_in(content: bytes) -> list[str]:
    """The lines of a file as Python counts them; the first line has index 0."""
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def definition(lines: list[str], name: str) -> tuple[int, int]:
    """First and last line (from 1) of the last definition of `name` at the top level; (0, 0) when there is none."""
    return _lines_of(lines, dict(_heads(lines)).get(name, 0))


def _heads(lines: list[str]) -> list[tuple[str, int]]:
    """The names that are defined at the top level, each with the line (from 1) of its head; a name may come again."""
    found = [(number, _TOP.match(line)) for number, line in enumerate(lines, start=1) if line[:1] not in _INSIDE]
    return [(match[1] or match[2], number) for number, match in found if match]


def _lines_of(lines: list[str], start: int) -> tuple[int, int]:
    """First and last line of the definition with its head at `start`; (0, 0) if that is 0."""
    if not start:
        return 0, 0
    end = start
    for number in range(start + 1, len(lines) + 1):
        line = lines[number - 1]
        if _NEXT_STATEMENT.match(line):
            break
        if line.strip() and not line.startswith("#"):
            end = number
    while start > 1 and lines[start - 2].startswith("@"):
        start -= 1
    return start, end


def docstrings(lines: list[str], start: int, end: int) -> set[int]:
    """The lines of the docstring of the definition in lines `start` to `end`, and of those of its methods."""
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


def defined_names(lines: list[str]) -> list[str]:
    """The names that are defined at the top level, each once, in order."""
    return list(dict.fromkeys(name for name, _ in _heads(lines)))


def untouched_names(work: bytes, stub: bytes) -> frozenset[str]:
    """The names that a student's file defines once, in just the lines of the stub."""
    mine, handed_out = _blocks(work), _blocks(stub)
    return frozenset(
        name for name, blocks in mine.items() if len(blocks) == 1 and blocks == handed_out.get(name, [])[-1:]
    )


@functools.lru_cache(maxsize=64)
def _blocks(content: bytes) -> dict[str, list[list[str]]]:
    """The lines of all definitions at the top level, by name."""
    lines = lines_in(content)
    found: dict[str, list[list[str]]] = {}
    for name, number in _heads(lines):
        start, end = _lines_of(lines, number)
        found.setdefault(name, []).append(lines[start - 1 : end])
    return found


def block_of(lines: list[str], name: str) -> list[str]:
    """The lines of a definition; none if there is none."""
    start, end = definition(lines, name)
    return lines[start - 1 : end] if start else []
