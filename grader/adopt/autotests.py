"""Makes assertions of nbgrader's AUTOTEST lines: about the values that the notebook's own solution gives.

The only part of `adopt` that runs a notebook, as nbgrader does: cell after cell, in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from grader.intake.notebook import as_python

AUTOTEST: Final = re.compile(r"^([ \t]*)#+[ \t]*(HASHED[ \t]+)?AUTOTEST\b(.*)", re.M)
_BARE: Final = re.compile(r"[\w.]+(?:\(.*\)|\[.*\])?")
_PATIENCE: Final = 600
"""Seconds."""
_RUN: Final = """
import contextlib, io, json, sys
cells, found = json.load(sys.stdin), {}

def autotest(number, value):
    kind = type(value).__name__
    if type(value) is float:
        found[number] = kind, repr(round(value, 2))
    else:
        found[number] = kind, repr(value if type(value) in (bool, int, str, set, dict) else str(value))

names = {"__name__": "__main__", "_autotest": autotest}
for cell in cells:
    with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(cell, "<cell>", "exec"), names)
print(json.dumps(found))
"""


def with_assertions(cells: Sequence[str], folder: Path) -> list[str]:
    """The code cells of a notebook with assertions in the place of AUTOTEST lines; a line without a value stays.

    Args:
        folder: of the notebook.
    """
    every = [part for cell in cells for line in AUTOTEST.finditer(cell) for part in _parts(line)]
    if not every:
        return list(cells)
    number = iter(range(len(every)))
    run = [AUTOTEST.sub(lambda line: line[1] + _asking(line, number), cell) for cell in cells]
    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        input=json.dumps([as_python(cell, {}, set()).source for cell in run]),
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    values = json.loads((done.stdout.splitlines() or ["{}"])[-1]) if not done.returncode else {}
    found = iter([values.get(str(one)) for one in range(len(every))])
    return [AUTOTEST.sub(lambda line: _assertions(line, [next(found) for _ in _parts(line)]), cell) for cell in cells]


def _parts(line: re.Match[str]) -> list[str]:
    return [part.strip() for part in line[3].split(";") if part.strip()]


def _asking(line: re.Match[str], number: Iterator[int]) -> str:
    return "; ".join(f"_autotest({next(number)}, {part})" for part in _parts(line))


def _assertions(line: re.Match[str], values: Sequence[tuple[str, str] | None]) -> str:
    """The assertions of one line; hashed ones are hidden tests."""
    made: list[str] = []
    for part, value in zip(_parts(line), values, strict=True):
        if value is None:
            return line[0]
        kind, shown = value
        if kind in ("bool", "int", "float", "str", "set", "dict"):
            bare = part if _BARE.fullmatch(part) else f"({part})"
            given = f"round({part}, 2)" if kind == "float" else bare
            made += [f"assert type({part}) is {kind}", f"assert {given} == {shown}"]
        else:
            made += [f"assert type({part}).__name__ == {kind!r}", f"assert str({part}) == {shown}"]
    if line[2]:
        made = ["### BEGIN HIDDEN TESTS", *made, "### END HIDDEN TESTS"]
    return "\n".join(line[1] + one for one in made)
