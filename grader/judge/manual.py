"""What there is of an exercise that a person marks. Reads bytes only, and gives no points."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from grader.course import Exercise
from grader.results import Manual


def manual_of(exercise: Exercise, files: Mapping[str, bytes], template: Path) -> Manual:
    """What a person has to mark.

    Args:
        files: the submission's files, by path.
        template: the file that students began with; there may be none.
    """
    file = exercise.work_file
    if file not in files:
        return Manual(exercise.points, file, "missing")
    with contextlib.suppress(OSError):
        if template.read_bytes() == files[file]:
            return Manual(exercise.points, file, "untouched")
    return Manual(exercise.points, file)
