"""Reads the pages that people read: README, CONTRIBUTING and the site's, and the code blocks in them.

A comment above a block says what it is, invisibly for readers:

- ``<!-- run: SCENARIO -->``: commands that a test runs; all of a scenario run one after another
- ``<!-- not run: REASON -->``: commands that no test runs
- ``<!-- file: PATH -->``: a file that the scenario writes before its next commands
- ``<!-- output -->``: lines that the commands before print
- ``<!-- output of FUNCTION: LINE -->``: lines that ``grader check`` prints for a function with this body
- ``<!-- head -->``, ``<!-- check -->``, ``<!-- answers -->``, ``<!-- kit -->``, ``<!-- manifest -->``: parts of the
  cookbook's course; see ``test_cookbook.py``
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from shared import REPO

PAGES = [*sorted((REPO / "docs").glob("*.md")), REPO / "CONTRIBUTING.md", REPO / "README.md"]
"""README comes last: its commands go on where those of the site's pages end."""
SHELL = frozenset({"sh", "bash", "console", "shell"})

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^>]*?) -->\n)?^```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Block(msgspec.Struct, frozen=True):
    """One fenced block: ``mark`` is what the comment above it says, or empty."""

    page: str
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def kind(self) -> str:
        """``run``, ``not run``, ``file``, ``output``, or empty."""
        return self.mark.partition(":")[0].strip()

    @property
    def value(self) -> str:
        """What stands after the colon of the mark."""
        return self.mark.partition(":")[2].strip()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page.name,
            text.count("\n", 0, found.start()) + 1,
            found["language"].strip(),
            (found["mark"] or "").strip(),
            found["text"],
        )
        for found in _BLOCK.finditer(text)
    ]


def all_blocks() -> list[Block]:
    """The blocks of every page."""
    return [block for page in PAGES for block in blocks(page)]


def table_under(page: Path, heading: str) -> dict[str, list[str]]:
    """The first table under a heading: the other cells of each row by the code in its first one."""
    lines = page.read_text(encoding="utf-8").partition(f"{heading}\n")[2].splitlines()
    rows: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("#"):
            break
        if found := re.match(r"\| `([^`]+)` \|(.*)\|$", line):
            rows[found[1]] = [cell.strip() for cell in found[2].split(" | ")]
        elif rows:
            break
    return rows
