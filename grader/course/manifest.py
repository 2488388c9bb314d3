"""Reads ``course.toml`` strictly: every refusal names the file and the line.

Never looks at any other file and never guesses: an unknown key is an error, not a comment.
"""

import keyword
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from grader.course.allowed import known_keys, wrong_value
from grader.course.due import LatePolicy, read_due, read_fraction, read_minutes, read_penalty
from grader.course.marks import MarkPolicy, Resubmissions, read_letters
from grader.course.rubric import problems, with_points
from grader.course.topic import ALWAYS, Credit, Exercise, Topic
from grader.errors import CourseError, did_you_mean

T = TypeVar("T")
_MODULES: Final = sys.stdlib_module_names | {"grader", "torch"}
"""Names that a topic cannot have: its file would be found in the place of these modules."""
Key = tuple[str | int, ...]
"""Where a value is in the manifest: ``("topics", 0, "exercises", 2, "points")``."""

_HEADER = re.compile(r"^\s*(\[\[?)\s*([\w.\s-]+?)\s*\]\]?\s*(#.*)?$")
_ENTRY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")
_SYNTAX_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.+?)`")
_KEYS_OF_MARKS = re.compile(
    rb"^[ \t]*(?:due|late_penalty_per_day|late_grace_minutes|late_cap|late_until|resubmissions|weight|letters)"
    rb"[ \t]*=.*\n?",
    re.MULTILINE,
)


class CourseEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[course]`` table."""

    name: str
    title: str
    kit: str | None = None
    show_solutions: Literal["never", "after_passing"] = "never"
    strict_import: bool = False
    finish: tuple[str, ...] = ()
    credit: Credit = "all"
    hidden_until: Any = None
    due: Any = None
    late_penalty_per_day: Any = 0.0
    late_grace_minutes: Any = 0.0
    late_cap: Any = 1.0
    late_until: Any = None
    resubmissions: Resubmissions = "latest"
    letters: Any = None


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of ``course.toml``."""

    course: CourseEntry
    topics: tuple[Topic, ...] = ()


class Manifest:
    """A manifest as data, and the line of each of its entries."""

    def __init__(self, file: Path) -> None:
        """Read and convert `file`.

        Raises:
            CourseError: if it is missing or not TOML, has an unknown key or a value of the wrong type, a name that is
                not valid in Python or not unique, points that are not above 0, or needs that cannot be met.
        """
        self.file = file
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CourseError(file, None, "there is no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise CourseError(file, None, f"cannot be read: {error}") from error
        self._lines = _lines_of(text)
        try:
            tables: Any = msgspec.toml.decode(text)
        except msgspec.DecodeError as error:
            raise self._syntax_error(str(error), text) from None
        try:
            entry = msgspec.convert(tables, ManifestEntry)
        except msgspec.ValidationError as error:
            raise self._wrong_entry(str(error), tables) from None
        self._require_only_keys_of_the_file(tables)
        topics = tuple(topic.with_full_names(entry.course.credit) for topic in entry.topics)
        self.entry = replace(entry, topics=topics)
        self._require_rubrics(tables)
        self._read_hidden_until()
        self._require_topics()
        self._require_needs()
        self._keys = {exercise.full_name: key for key, exercise in self._exercises()}
        self._set_manual_apart()
        self.late = self._late()
        self.marks = self._marks()

    def line(self, *key: str | int) -> int:
        """The line of `key`, or of the nearest table that would contain it; 1 if there is none."""
        while key and key not in self._lines:
            key = key[:-1]
        return self._lines.get(key, 1)

    def error(self, message: str, *key: str | int) -> CourseError:
        """A `CourseError` at the line of `key`."""
        return CourseError(self.file, self.line(*key), message)

    def key_of(self, exercise: str) -> Key:
        """Where the table of an exercise (full name) is."""
        return self._keys[exercise]

    def _exercises(self) -> Iterator[tuple[Key, Exercise]]:
        for t, topic in enumerate(self.entry.topics):
            for e, exercise in enumerate(topic.exercises):
                yield ("topics", t, "exercises", e), exercise

    def _require_only_keys_of_the_file(self, tables: Any) -> None:
        """A topic and its exercises have fields that follow from the place of a table, and are no keys in the file."""
        for t, topic in enumerate(tables.get("topics", ())):
            if "manual" in topic:
                raise self.error("unknown key `manual`", "topics", t, "manual")
            for e, exercise in enumerate(topic.get("exercises", ())):
                if "topic" in exercise:
                    raise self.error("unknown key `topic`", "topics", t, "exercises", e, "topic")

    def _require_rubrics(self, tables: Any) -> None:
        for key, exercise in self._exercises():
            topic = self.entry.topics[int(key[1])]
            table = tables["topics"][key[1]]["exercises"][key[3]]
            for message, where in problems(exercise, topic, table):
                raise self.error(message, *key, *where)

    def _set_manual_apart(self) -> None:
        """Separates the exercises that a person marks from those with checks, once all are known to be right."""
        filled = (replace(one, exercises=tuple(map(with_points, one.exercises))) for one in self.entry.topics)
        self.entry = replace(self.entry, topics=tuple(topic.with_manual_apart() for topic in filled))

    def _require_topics(self) -> None:
        if not self.entry.topics:
            raise self.error("a course needs at least one [[topics]]")
        seen: dict[str, str] = {}
        for t, topic in enumerate(self.entry.topics):
            self._require_new_name("topic", topic.name, topic.name, seen, "topics", t, "name")
            if topic.name in _MODULES:
                message = f"`name`: Python has a module `{topic.name}`; give the topic another name"
                raise self.error(message, "topics", t, "name")
            for module in topic.preload:
                if not all(part.isidentifier() for part in module.split(".")):
                    raise self.error(f"`{module}` cannot be the name of a module", "topics", t, "preload")
            if not topic.exercises:
                raise self.error(f"topic `{topic.name}` has no [[topics.exercises]]", "topics", t)
        for key, exercise in self._exercises():
            self._require_new_name("exercise", exercise.name, exercise.full_name, seen, *key, "name")
            if exercise.kind == "automatic" and not (math.isfinite(exercise.points) and exercise.points > 0):
                raise self.error(f"points must be a number above 0, not {exercise.points}", *key, "points")
            for check, number in exercise.hints_for.items():
                if not 1 <= number <= len(exercise.hints):
                    message = f"hints_for: `{check}` wants hint {number} of {len(exercise.hints)}"
                    raise self.error(message, *key, "hints_for")

    def _require_new_name(self, what: str, name: str, full: str, seen: dict[str, str], *key: str | int) -> None:
        """Adds a name to those seen. Topics are files, and on some systems capitals do not tell files apart."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise self.error(f"`name`: `{name}` cannot be a name in Python", *key)
        plain = full.lower() if what == "topic" else full
        if plain in seen:
            raise self.error(f"`name` is taken: {seen[plain]} already", *key)
        seen[plain] = f"line {self.line(*key)} has the {what} `{full}`"

    def _require_needs(self) -> None:
        needs = {exercise.full_name: exercise.needs for _, exercise in self._exercises()}
        by_hand = {exercise.full_name for _, exercise in self._exercises() if exercise.kind == "manual"}
        for key, exercise in self._exercises():
            name = exercise.full_name
            reached: set[str] = set()
            frontier = list(needs[name])
            for need in frontier:
                if need not in needs:
                    message = f"`{name}` needs `{need}`, which is not an exercise of this course"
                    raise self.error(message + did_you_mean(need, needs), *key, "needs")
                if need in by_hand:
                    raise self.error(f"`{name}` needs `{need}`, which a person marks", *key, "needs")
            while frontier:
                need = frontier.pop()
                if need == name:
                    raise self.error(f"`{name}` needs itself, directly or through others", *key, "needs")
                if need not in reached:
                    reached.add(need)
                    frontier.extend(needs.get(need, ()))

    def _read_hidden_until(self) -> None:
        """Puts the times until which checks are hidden in the place of dates: the exercise's own, else the course's."""
        usual = self._time(self.entry.course.hidden_until, ALWAYS, "course", "hidden_until")
        times = [self._time(one.hidden_until, usual, *key, "hidden_until") for key, one in self._exercises()]
        left = iter(times)
        topics = (
            replace(topic, exercises=tuple(replace(one, hidden_until=next(left)) for one in topic.exercises))
            for topic in self.entry.topics
        )
        self.entry = replace(self.entry, topics=tuple(topics))

    def _time(self, value: Any, usual: str, *key: str | int) -> str:
        try:
            return usual if value is None else read_due(value).isoformat()
        except ValueError as problem:
            raise self.error(f"hidden_until: {problem}", *key) from None

    def _late(self) -> LatePolicy:
        course = self.entry.course
        policy = LatePolicy(
            due=self._read("due", read_due) if course.due is not None else None,
            per_day=self._read("late_penalty_per_day", read_penalty),
            grace_minutes=self._read("late_grace_minutes", read_minutes),
            cap=self._read("late_cap", read_fraction),
            until=self._read("late_until", read_due) if course.late_until is not None else None,
        )
        if policy.due and policy.until and policy.until < policy.due:
            raise self.error("late_until: the last date is before the due date", "course", "late_until")
        return policy

    def _marks(self) -> MarkPolicy:
        course = self.entry.course
        for t, topic in enumerate(self.entry.topics):
            if topic.weight is not None and not (math.isfinite(topic.weight) and topic.weight >= 0):
                raise self.error(f"weight must be a number from 0 on, not {topic.weight}", "topics", t, "weight")
        weights = tuple((topic.name, topic.weight) for topic in self.entry.topics if topic.weight is not None)
        letters = () if course.letters is None else self._read("letters", read_letters)
        return MarkPolicy(course.resubmissions, weights, letters)

    def _read(self, key: str, read: Callable[[object], T]) -> T:
        """A value of the table ``[course]``."""
        try:
            return read(getattr(self.entry.course, key))
        except (ValueError, OverflowError) as problem:
            raise self.error(f"{key}: {problem}", "course", key) from None

    def _syntax_error(self, message: str, text: str) -> CourseError:
        found = _SYNTAX_LINE.search(message)
        line = int(found.group(1)) if found else max(1, len(text.splitlines()))
        message = _SYNTAX_LINE.sub("", message).replace(" (at end of document)", " at the end of the file")
        return CourseError(self.file, line, f"not valid TOML: {message}")

    def _wrong_entry(self, message: str, tables: Any) -> CourseError:
        message, _, path = message.partition(" - at ")
        key: Key = tuple(int(part) if part.isdigit() else part for part in re.findall(r"\w+", path))
        unknown = _UNKNOWN.match(message)
        if unknown:
            name = unknown.group(1)
            similar = did_you_mean(name, known_keys(ManifestEntry, key))
            return self.error(f"unknown key `{name}`{similar}", *key, name)
        if message.startswith("Object missing required field"):
            return self.error(message.replace("Object missing required field", "missing key"), *key)
        return self.error(wrong_value(ManifestEntry, key, tables), *key)


def without_due_dates(manifest: bytes) -> bytes:
    """The manifest's text without the lines about late work and marks, which change no result."""
    return _KEYS_OF_MARKS.sub(b"", manifest)


def _lines_of(text: str) -> dict[Key, int]:
    """The line of every table and key; array tables are numbered in order of appearance."""
    lines: dict[Key, int] = {}
    count: dict[Key, int] = {}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            *parents, last = (part.strip() for part in header.group(2).split("."))
            table = ()
            for name in parents:
                table = (*table, name)
                if table in count:
                    table = (*table, count[table])
            table = (*table, last)
            if header.group(1) == "[[":
                count[table] = count.get(table, -1) + 1
                table = (*table, count[table])
            lines.setdefault(table, number)
            continue
        entry = _ENTRY.match(line)
        if entry:
            lines.setdefault((*table, entry.group(1)), number)
    return lines
