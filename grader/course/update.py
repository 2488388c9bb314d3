"""Brings a student's file up to date with a course's stub, and puts one exercise back. Never changes an answer.

Works on lines, as a file may be broken just when its owner wants an exercise back.
"""

import re
from typing import Final

import msgspec

from grader.course.definitions import block_of, defined_names, definition, docstrings, lines_in

_IMPORT: Final = re.compile(r"(?:import|from)\s")
_UNWRITTEN: Final = re.compile(r"raise NotImplementedError\(.write `")
Lines = list[str]


class Updated(msgspec.Struct, frozen=True):
    """A student's file after an update.

    Attributes:
        text: the whole file.
        added: names that are new.
        replaced: names of untouched stubs that have changed.
        documented: names whose docstring has changed; the code is as it was.
        signatures: names that are called in another way now; the student has to change that himself.
    """

    text: str
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    documented: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()


def updated(work: bytes, stub: bytes, base: bytes | None) -> Updated:
    """A student's file with the new parts of the stub.

    Args:
        work: the student's file.
        stub: the course's stub of today.
        base: the stub that the student began with; None if it is not known.
    """
    lines, new, old = lines_in(work), lines_in(stub), lines_in(base or b"")
    added, replaced, documented, signatures = [], [], [], []
    lines = _with_imports(lines, new)
    before = ""
    for name in defined_names(new):
        wanted, began, mine = block_of(new, name), block_of(old, name), block_of(lines, name)
        if not mine:
            lines = _inserted(lines, wanted, before)
            added.append(name)
        elif mine != wanted and began != wanted:
            if mine == began or (not began and _UNWRITTEN.search("\n".join(mine))):
                lines = _replaced(lines, name, wanted)
                replaced.append(name)
            else:
                after = _with_docstring(mine, wanted, began)
                if after != mine:
                    lines = _replaced(lines, name, after)
                    documented.append(name)
                if began and _signature(began) != _signature(wanted):
                    signatures.append(name)
        before = name
    return Updated(_text(lines, work), tuple(added), tuple(replaced), tuple(documented), tuple(signatures))


def with_stub_of(work: bytes, stub: bytes, name: str) -> str:
    """A student's file with the stub of one exercise in the place of the answer."""
    lines, wanted = lines_in(work), block_of(lines_in(stub), name)
    return _text(_replaced(lines, name, wanted) if block_of(lines, name) else _inserted(lines, wanted, ""), work)


def _replaced(lines: Lines, name: str, block: Lines) -> Lines:
    start, end = definition(lines, name)
    return [*lines[: start - 1], *block, *lines[end:]]


def _inserted(lines: Lines, block: Lines, before: str) -> Lines:
    """The lines with a block after the definition `before`, else at the end."""
    _, end = definition(lines, before) if before else (0, 0)
    if not end:
        end = next((n for n in range(len(lines), 0, -1) if lines[n - 1].strip()), 0)
    gap = ["", ""] if _is_function(block) else []
    return [*lines[:end], *gap, *block, *lines[end:]]


def _is_function(block: Lines) -> bool:
    return any(re.match(r"(?:async\s+def|def|class)\s", line) for line in block)


def _with_imports(lines: Lines, new: Lines) -> Lines:
    """The lines with the stub's imports that are not among them, below the last import."""
    missing = [line for line in new if _IMPORT.match(line) and line not in lines and "(" not in line]
    missing = [line for line in missing if "__future__" not in line]
    at = max((n for n, line in enumerate(lines, start=1) if _IMPORT.match(line) and "(" not in line), default=0)
    return [*lines[:at], *missing, *lines[at:]] if missing and at else lines


def _with_docstring(mine: Lines, wanted: Lines, began: Lines) -> Lines:
    """The definition with the stub's docstring, unless the student has changed it."""
    ours, theirs, before = (_docstring_of(block) for block in (mine, wanted, began))
    if not ours or not theirs or (began and [mine[n - 1] for n in ours] != [began[n - 1] for n in before]):
        return mine
    return [*mine[: ours[0] - 1], *(wanted[n - 1] for n in theirs), *mine[ours[-1] :]]


def _docstring_of(block: Lines) -> list[int]:
    """The numbers of the lines of the first docstring."""
    found = sorted(docstrings(block, 1, len(block))) if block else []
    return [n for index, n in enumerate(found) if n == found[0] + index]


def _signature(block: Lines) -> str:
    """The text up to the colon that ends the head of the definition."""
    kept = []
    for line in block:
        kept.append(" ".join(line.split()))
        if line.rstrip().endswith(":"):
            break
    return " ".join(kept)


def _text(lines: Lines, work: bytes) -> str:
    """The lines as a file, with the line ends that it had."""
    end = "\r\n" if b"\r\n" in work else "\n"
    return end.join(lines)
