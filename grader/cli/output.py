"""What the commands print: lines on stdout, errors on stderr. Never lets a control character through."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from grader.text import clean


def print_lines(lines: Iterable[str]) -> None:
    """Prints each on a line of its own."""
    for line in lines:
        print(clean(line).replace("\n", " "))


def print_error(message: str, fix: str | None = None) -> None:
    """Prints what is wrong, and below it what to do about it."""
    print(f"error: {clean(message)}" + (f"\n  {clean(fix)}" if fix else ""), file=sys.stderr)
