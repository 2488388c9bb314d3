"""Notes for the person at the command line, on stderr: one line each, and a limited number of them."""

import sys

from grader.text import clean

_SHOWN = 20


def print_note(text: str) -> None:
    """Prints a note on one line of stderr."""
    print(f"note: {clean(text)}".replace("\n", " "), file=sys.stderr)


class NoteList:
    """Notes to print together: the urgent ones first, then as many others as there is room for, then their number.

    Args:
        where_all: how to read all notes; it ends the line with the number of the others.
    """

    def __init__(self, where_all: str = "") -> None:
        self._where_all = where_all
        self._urgent: list[str] = []
        self._others: list[str] = []
        self._count = 0

    def add(self, text: str, urgent: bool = False) -> None:
        """Keeps a note; `print` prints it, urgent ones first."""
        self._count += 1
        kept = self._urgent if urgent else self._others
        if len(kept) < _SHOWN:
            kept.append(text)

    def print(self) -> None:
        """Prints the first notes, and the number of the others."""
        shown = [*self._urgent, *self._others][:_SHOWN]
        for text in shown:
            print_note(text)
        if self._count > len(shown):
            print_note(f"{self._count - len(shown)} more like these{self._where_all}")
