"""Prints for the commands: lines on stdout, errors on stderr. Never lets a control character through."""

import sys
from collections.abc import Iterable

from grader.text import clean


def print_lines(lines: Iterable[str]) -> None:
    """Prints each on a line of its own."""
    for line in lines:
        print(clean(line).replace("\n", " "))


def print_error(message: str, fix: str | None = None) -> None:
    """Prints an error, and below it the fix."""
    print(f"error: {clean(message)}" + (f"\n  {clean(fix)}" if fix else ""), file=sys.stderr)
