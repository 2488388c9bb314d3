"""The place of a failure in a repository: the line that raised or looped, else the exercise's definition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.course.definitions import definition, lines_in
from grader.reports.feedback import lines_of
from grader.results import CheckResult, ExerciseResult


def place(exercise: ExerciseResult, check: CheckResult, files: Mapping[str, bytes], root: Path) -> tuple[str, int]:
    """File, relative to the repository's root, and line; line 1 when nothing is known."""
    topic, _, name = exercise.name.partition(".")
    file = f"{topic}.py"
    lines = lines_in(files[file]) if file in files else []
    pointed = [line for path, line in lines_of(check) if path == file and 1 <= line <= max(1, len(lines))]
    line = pointed[-1] if pointed else definition(lines, name)[0]
    return in_repository(file, root), max(1, line)


def in_repository(file: str, root: Path) -> str:
    """The path of a topic's file in the repository: in its ``exercises`` folder or at its root."""
    inside = f"exercises/{file}"
    return inside if (root / inside).is_file() else file
