"""``results.jsonl``: one JSON object per submission and line, in the order given. Never leaves half a file behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from grader.results import SubmissionResult, to_json


def write_jsonl(results: Iterable[SubmissionResult], path: Path) -> int:
    """Writes the file in one step (all of it or none) and returns the number of lines.

    Raises:
        OSError: it cannot be written.
    """
    lines = 0
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
        try:
            for result in results:
                stream.write(to_json(result) + b"\n")
                lines += 1
            stream.flush()
            os.fsync(stream.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(stream.name, 0o666 & ~mask)
            stream.close()
            os.replace(stream.name, path)
        except BaseException:
            stream.close()
            os.unlink(stream.name)
            raise
    return lines
