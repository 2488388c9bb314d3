"""The result of `grader adopt`, the manifest of its courses, and the folder that it may write to.

Never overwrites anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from grader.course.suite import Suite
from grader.errors import CourseError, UserError


class Adopted(msgspec.Struct, frozen=True):
    """A course that was made of somebody's tests or notebook.

    Attributes:
        course: its folder.
        made: lines about its contents, for people.
        look: the places that a person must look at: ``FILE:LINE: sentence`` or ``cell 12: sentence``.
    """

    course: Path
    made: tuple[str, ...]
    look: tuple[str, ...]


class PlannedExercise(NamedTuple):
    """An exercise as the manifest has it.

    Attributes:
        tests, hidden: the names of its tests; without any, a person marks it.
        all_or_nothing: whether its points are for all tests together.
        rubric: the only requirement that a person looks for.
    """

    name: str
    points: float
    tests: Sequence[str] = ()
    hidden: Sequence[str] = ()
    hint: str = ""
    all_or_nothing: bool = False
    rubric: str = ""

    def lines(self) -> Iterator[str]:
        """Its table."""
        yield from ("", "[[topics.exercises]]", f"name = {quoted(self.name)}")
        if not self.tests and not self.hidden:
            yield from ('kind = "manual"', "", "[[topics.exercises.rubric]]", f"text = {quoted(self.rubric)}")
        elif self.all_or_nothing and len(self.tests) + len(self.hidden) > 1:
            yield 'credit = "all"'
        yield f"points = {self.points:g}"
        if self.hint:
            yield f"hints = {quoted([self.hint])}"
        for key, entries in (("tests", self.tests), ("hidden_tests", self.hidden)):
            if entries:
                yield from (f"{key} = [", *(f"    {quoted(entry)}," for entry in entries), "]")


class PlannedTopic(NamedTuple):
    """A topic as the manifest has it."""

    name: str
    title: str
    exercises: Sequence[PlannedExercise]
    preload: Sequence[str] = ()


def manifest(name: str, title: str, suite: Suite, topics: Iterable[PlannedTopic]) -> bytes:
    """The ``course.toml`` of a course with somebody else's tests."""
    lines = ["[course]", f"name = {quoted(name)}", f"title = {quoted(title)}", 'credit = "per-check"']
    lines += ["examples = false", "", "[suite]"]
    lines += [f"{key} = {quoted(getattr(suite, key))}" for key in ("path", "modules", "packages")]
    for topic in topics:
        lines += ["", "[[topics]]", f"name = {quoted(topic.name)}", f"title = {quoted(topic.title)}"]
        lines += [f"preload = {quoted(topic.preload)}"] if topic.preload else []
        lines += [line for one in topic.exercises for line in one.lines()]
    return "\n".join([*lines, ""]).encode()


def require_free(folder: Path) -> None:
    """Refuses a folder that holds something.

    Raises:
        UserError: there is a file with that name or above it, or a folder that is not empty.
    """
    if file := next((one for one in folder.parents if one.exists() and not one.is_dir()), None):
        raise UserError(f"{file} is a file: {folder} cannot be made in it", fix="name a new folder: --to COURSE")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not empty", fix="name a new folder: --to COURSE")


def source_of(file: Path) -> str:
    """The text of a file of a solution.

    Raises:
        CourseError: it cannot be read, or is not saved as UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CourseError(file, None, f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(file, None, "it is not saved as UTF-8: save it as UTF-8 in your editor") from None


def write(file: Path, content: str | bytes) -> None:
    """Writes a file, and makes its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def quoted(value: object) -> str:
    """A text or a list of texts as TOML has them."""
    return json.dumps(value, ensure_ascii=False)
