"""The faults of an exercise that a person marks, and of a question, in words for the author of a course."""

import ast
import math
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from grader.course.tables import Exercise, Question, Topic
from grader.results import total_points
from grader.text import printable

Key = tuple[str | int, ...]
"""Where a value is in the manifest: ``("topics", 0, "exercises", 2, "points")``."""
_MOST_ITEMS: Final = 9
"""Each item of a rubric has a digit as its key in `grader mark`."""
_MOST_TEXT: Final = 200
"""Characters of an item's text: it stands on one line."""
_OF_CHECKS: Final = ("needs", "credit", "hidden_until", "hints_for", "tests", "hidden_tests", "seconds")
_NOT_SHOWN: Final = (".ipynb", ".zip", ".tar", ".gz", ".tgz", ".rar", ".7z", ".bz2", ".xz", ".zst")
_OURS: Final = frozenset({"__pycache__", "__MACOSX", "solutions", "checks", "node_modules", "site-packages"})
_MOST_QUESTION_LINES: Final = 6


def faults_of_manual(exercise: Exercise, topic: Topic, table: Mapping[str, Any]) -> Iterator[tuple[str, Key]]:
    """The faults of an exercise that a person marks, each with the key in its table that it is about."""
    name, rubric = exercise.full_name, exercise.rubric
    for key in _OF_CHECKS:
        if key in table:
            yield f"`{key}` is for exercises with checks, and a person marks `{name}`", (key,)
    if not rubric:
        yield f"`{name}` has no [[topics.exercises.rubric]]: a person would have nothing to mark by", ()
    if len(rubric) > _MOST_ITEMS:
        message = f"a rubric has at most {_MOST_ITEMS} items, not {len(rubric)}: each has a key"
        yield message, ("rubric", _MOST_ITEMS)
    for number, (text, points) in enumerate((item.text, item.points) for item in rubric):
        if not 0 < points < math.inf:
            yield f"points of an item must be a number above 0, not {points:g}", ("rubric", number, "points")
        of_text = ("rubric", number, "text")
        if not text.strip() or "\n" in text or "\t" in text or printable(text) != text:
            yield "text of an item must be one line of plain text", of_text
        if len(text) > _MOST_TEXT:
            yield f"text of an item has at most {_MOST_TEXT} characters, not {len(text)}", of_text
        if text in (item.text for item in rubric[:number]):
            yield f"two items have the text `{text}`", of_text
    total = sum_of_items(exercise)
    if "points" in table and not math.isclose(exercise.points, total, abs_tol=1e-9):
        yield f"points: {exercise.points:g}, but the items of the rubric make {total:g}", ("points",)
    if "file" in table and (reason := _why_no_file(exercise.file)):
        yield f"file: `{printable(exercise.file)}` {reason}", ("file",)
    if "file" not in table and all(one.kind == "manual" for one in topic.exercises):
        yield f"`{name}` needs a `file`: no exercise of its topic has checks, so it has no module", ()


def sum_of_items(exercise: Exercise) -> float:
    """The points of an exercise that a person marks; tenths make up a whole."""
    return total_points(item.points for item in exercise.rubric)


def why_no_question(question: Question) -> str:
    """Why the code of a question is none; empty if it is some."""
    code = question.code.strip("\n")
    if not code.strip() or printable(code) != code or code.count("\n") >= _MOST_QUESTION_LINES:
        return f"must be one to {_MOST_QUESTION_LINES} lines of plain text"
    try:
        ast.parse(code)
        ast.parse(code.rpartition("\n")[2], mode="eval")
    except SyntaxError as error:
        return f"must be Python, and its last line an expression: {error.msg}"
    return ""


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
