"""One student's files as plain data, and its digest.

Never touches the disk: readers (`grader.intake.folder`) make submissions, the worker receives them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Protocol

import msgspec


class Submission(msgspec.Struct, frozen=True):
    """What one student handed in.

    Attributes:
        name: the row's name in every report.
        files: POSIX paths below the submission's root, to their bytes; only ``*.py`` files.
        notes: what was left out and why; a note about a file begins with its path and ``": "``.
    """

    name: str
    files: dict[str, bytes]
    notes: tuple[str, ...] = ()

    def notes_on(self, path: str) -> Iterator[str]:
        """The notes about one file, e.g. why ``tensor_ops.py`` is not among the files."""
        return (note for note in self.notes if note.startswith(f"{path}: "))


class Source(Protocol):
    """A submission that was found, but not read yet: a class need not fit in memory."""

    @property
    def name(self) -> str:
        """The submission's name, unique among those found together."""

    def read(self) -> Submission:
        """Its files, read now."""


def digest(submission: Submission) -> str:
    """SHA-256 of what was handed in, independent of its name: same digest, same work."""
    total = hashlib.sha256()
    for path in sorted(submission.files):
        content = submission.files[path]
        total.update(f"{path}\0{len(content)}\0".encode())
        total.update(content)
    for note in submission.notes:
        total.update(f"note\0{note}\0".encode())
    return total.hexdigest()
