"""Exercises that a person marks: the keys that their tables in ``course.toml`` may have. Reads no file."""

import math
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from grader.course.topic import Exercise, Topic
from grader.text import printable

Problem = tuple[str, tuple[str | int, ...]]
"""The fault, and the key in the exercise's table that it is about."""

MOST_ITEMS: Final = 9
"""Each item has a digit as its key in `grader mark`."""
MOST_TEXT: Final = 200
"""Characters of an item's text: it stands on one line."""
_OF_CHECKS: Final = ("needs", "credit", "hidden_until", "hints_for")
_NOT_SHOWN: Final = (".ipynb", ".zip", ".tar", ".gz", ".tgz", ".rar", ".7z", ".bz2", ".xz", ".zst")
_OURS: Final = frozenset({"__pycache__", "__MACOSX", "solutions", "checks", "node_modules", "site-packages"})


def problems(exercise: Exercise, topic: Topic, table: Mapping[str, Any]) -> Iterator[Problem]:
    """The fault of an exercise in its keys about marks by a person.

    Args:
        topic: the topic with all of its exercises.
        table: the exercise's table as it was written.
    """
    if exercise.kind == "automatic":
        if "points" not in table:
            yield "missing key `points`", ()
        for key in ("rubric", "file"):
            if key in table:
                yield f'`{key}` is for what a person marks: it needs `kind = "manual"`', (key,)
        return
    for key in _OF_CHECKS:
        if key in table:
            yield f"`{key}` is for exercises with checks, and a person marks `{exercise.full_name}`", (key,)
    yield from _items(exercise)
    total = worth(exercise)
    if "points" in table and not math.isclose(exercise.points, total, abs_tol=1e-9):
        yield f"points: {exercise.points:g}, but the items of the rubric make {total:g}", ("points",)
    if "file" in table and (reason := _why_no_file(exercise.file)):
        yield f"file: `{printable(exercise.file)}` {reason}", ("file",)
    if "file" not in table and all(one.kind == "manual" for one in topic.exercises):
        yield f"`{exercise.full_name}` needs a `file`: no exercise of its topic has checks, so it has no module", ()


def _items(exercise: Exercise) -> Iterator[Problem]:
    if not exercise.rubric:
        yield f"`{exercise.full_name}` has no [[topics.exercises.rubric]]: a person would have nothing to mark by", ()
    if len(exercise.rubric) > MOST_ITEMS:
        message = f"a rubric has at most {MOST_ITEMS} items, not {len(exercise.rubric)}: each has a key"
        yield message, ("rubric", MOST_ITEMS)
    seen: set[str] = set()
    for number, item in enumerate(exercise.rubric):
        if not (math.isfinite(item.points) and item.points > 0):
            message = f"points of an item must be a number above 0, not {item.points:g}"
            yield message, ("rubric", number, "points")
        if not item.text.strip() or "\n" in item.text or "\t" in item.text or printable(item.text) != item.text:
            yield "text of an item must be one line of plain text", ("rubric", number, "text")
        if len(item.text) > MOST_TEXT:
            yield (
                f"text of an item has at most {MOST_TEXT} characters, not {len(item.text)}",
                ("rubric", number, "text"),
            )
        if item.text in seen:
            yield f"two items have the text `{printable(item.text)}`", ("rubric", number, "text")
        seen.add(item.text)


def _why_no_file(file: str) -> str:
    """Why this cannot be a file that a student hands in; empty if it can."""
    parts = file.split("/")
    if file.startswith("/") or "\\" in file or ":" in file or any(part in ("", ".", "..") for part in parts):
        return "must be a path below the folder with the work, with / between its parts"
    if any(part.startswith(".") or part in _OURS for part in parts) or printable(file) != file:
        return "is no name of a student's file"
    if PurePosixPath(file).suffix.lower() in _NOT_SHOWN:
        return "cannot be looked at: name a text, a picture, a PDF or a Python file"
    return ""


def worth(exercise: Exercise) -> float:
    """The points of a manual exercise: the sum of its items, in which tenths make up a whole."""
    return round(math.fsum(item.points for item in exercise.rubric), 9)


def with_points(exercise: Exercise) -> Exercise:
    """A manual exercise with the points that its items make; any other as it is."""
    if exercise.kind == "automatic":
        return exercise
    return msgspec.structs.replace(exercise, points=worth(exercise))
