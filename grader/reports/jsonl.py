"""``results.jsonl``: one line with a JSON object per submission, in the given order. Never leaves half a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.files import write_atomically
from grader.results import SubmissionResult, to_json


def write_jsonl(results: Iterable[SubmissionResult], path: Path) -> int:
    """Writes the file in one step (all of it or none) and returns the number of lines.

    Raises:
        OSError: it cannot be written.
    """
    lines = 0

    def encoded() -> Iterator[bytes]:
        nonlocal lines
        for result in results:
            lines += 1
            yield to_json(result) + b"\n"

    write_atomically(path, encoded())
    return lines
