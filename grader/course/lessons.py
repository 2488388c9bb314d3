"""The lessons of a course: one Markdown file for each topic, an idea under each heading, read strictly.

``lessons/TOPIC.md`` begins with ``# Title`` and what the topic is for. Each ``## Idea`` names the exercises that use it
(``For: gram, softmax``), and has one worked example in the form of Python's prompt and one drawing. Every refusal names
file and line. Never runs an example: `verify` does (`grading/written_examples.py`).
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from grader.course.model import Course
from grader.course.source import pictured_in
from grader.course.tables import Topic, full_name
from grader.errors import CourseError, did_you_mean

MOST_LINES: Final = 20
"""Lines of an idea, without empty ones, its drawing and the line with its exercises."""
MOST_COLUMNS: Final = 100
_MOST_IDEAS: Final = 7
DRAWING_LINES, DRAWING_COLUMNS, EXAMPLE_COLUMNS = 12, 60, 76
_FENCE: Final = re.compile(r"(```+|~~~+)\s*(\w*)\s*$")
_PICTURE: Final = re.compile(r"!\[(?P<words>[^\]]*)\]\(picture:(?P<name>[\w.]+)\)\s*$")
_FOR: Final = "For:"
_PROMPTS: Final = (">>> ", "... ")

Kind = Literal["prose", "example", "drawing", "picture"]


class LessonPart(msgspec.Struct, frozen=True):
    """A piece of an idea: paragraphs, its worked example, or its drawing.

    Attributes:
        text: its lines, without fences; of a picture, what to look for.
        line: of its first line in the file, from 1.
        picture: the full name of the exercise whose picture is meant.
    """

    kind: Kind
    text: str
    line: int
    picture: str = ""


class Idea(msgspec.Struct, frozen=True):
    """The part under one ``## heading``.

    Attributes:
        line: of the heading, from 1.
        exercises: full names of those that use it.
    """

    title: str
    line: int
    exercises: tuple[str, ...]
    parts: tuple[LessonPart, ...]


class Lesson(msgspec.Struct, frozen=True):
    """The lesson of one topic.

    Attributes:
        about: what the topic is for: the lines above the first idea.
    """

    topic: str
    file: Path
    title: str
    about: str
    ideas: tuple[Idea, ...]

    def idea_of(self, exercise: str) -> Idea:
        """The idea of an exercise (full name)."""
        return next(idea for idea in self.ideas if exercise in idea.exercises)

    @property
    def examples(self) -> str:
        """All worked examples, each line where it is in the file, and empty lines between."""
        return self._in_place(lambda line: line)

    @property
    def code(self) -> str:
        """The statements of all worked examples as Python, each line where it is in the file."""
        return self._in_place(lambda line: line[len(_PROMPTS[0]) :] if line.startswith(_PROMPTS) else "")

    def _in_place(self, shown: Callable[[str], str]) -> str:
        found: dict[int, str] = {}
        for part in (part for idea in self.ideas for part in idea.parts if part.kind == "example"):
            found |= {number: shown(line) for number, line in enumerate(part.text.split("\n"), start=part.line)}
        return "".join(f"{found.get(number, '')}\n" for number in range(1, max(found, default=0) + 1))


def lesson_of(course: Course, topic: str) -> Lesson | None:
    """The lesson of a topic; None if the course has none for it.

    Raises:
        CourseError: it is not in the form that lessons have.
    """
    file = course.lesson_file(topic)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(file, None, f"cannot be read: {error}") from error
    return _Reader(course, course.topic(topic), file, text).lesson()


def markdown_of(idea: Idea) -> str:
    """An idea as Markdown for a page or a notebook, which know no pictures of exercises."""
    shown = [f"## {idea.title}"]
    for part in idea.parts:
        match part.kind:
            case "example":
                shown.append(f"```pycon\n{part.text}\n```")
            case "drawing":
                shown.append(f"```text\n{part.text}\n```")
            case "picture":
                shown.append(f"*{part.text}* (`grader show {part.picture}`)")
            case "prose":
                shown.append(part.text)
    return "\n\n".join(shown)


class _Reader:
    """Reads the text of a lesson."""

    def __init__(self, course: Course, topic: Topic, file: Path, text: str) -> None:
        self._course = course
        self._topic = topic
        self._file = file
        self._lines = [line.rstrip() for line in text.splitlines()]

    def lesson(self) -> Lesson:
        heads = [number for number, line in self._headings("## ")]
        first = next((number for number, line in enumerate(self._lines, start=1) if line), 1)
        title = self._line(first)
        if not title.startswith("# "):
            raise self._error(first, "a lesson begins with `# Title`")
        if not heads:
            raise self._error(first, "a lesson needs at least one `## Idea`")
        if len(heads) > _MOST_IDEAS:
            raise self._error(heads[_MOST_IDEAS], f"a lesson has at most {_MOST_IDEAS} ideas, not {len(heads)}")
        if again := next((number for number, _ in self._headings("# ") if number != first), None):
            raise self._error(again, "a second `# Title`; ideas have `## `")
        about = "\n".join(self._lines[first : heads[0] - 1]).strip("\n")
        if not about:
            raise self._error(first, "says nothing between title and first idea: what is the topic for?")
        ends = [*(head - 1 for head in heads[1:]), len(self._lines)]
        ideas = [self._idea(head, end) for head, end in zip(heads, ends, strict=True)]
        for number, line in enumerate(self._lines, start=1):
            if len(line) > MOST_COLUMNS:
                raise self._error(number, f"a line has at most {MOST_COLUMNS} characters, not {len(line)}")
        self._require_every_exercise(ideas)
        return Lesson(self._topic.name, self._file, title[2:].strip(), about, tuple(ideas))

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def _error(self, line: int, message: str) -> CourseError:
        return CourseError(self._file, line, message)

    def _headings(self, start: str) -> Iterator[tuple[int, str]]:
        """The lines that begin so and are in no block."""
        fence = ""
        for number, line in enumerate(self._lines, start=1):
            found = _FENCE.match(line)
            if found and not fence:
                fence = found[1]
            elif fence and line == fence:
                fence = ""
            elif not fence and line.startswith(start):
                yield number, line

    def _idea(self, head: int, end: int) -> Idea:
        title, at = self._line(head)[3:].strip(), head + 1
        while at <= end and not self._line(at):
            at += 1
        exercises: tuple[str, ...] = ()
        if self._line(at).startswith(_FOR):
            exercises = tuple(self._exercises(at))
            at += 1
        parts = tuple(self._parts(at, end))
        for kinds, what in ((("example",), "worked example"), (("drawing", "picture"), "drawing")):
            found = [part for part in parts if part.kind in kinds]
            if not found:
                raise self._error(head, f"`{title}` has no {what}: each idea has one")
            if len(found) > 1:
                raise self._error(found[1].line, f"`{title}` has a second {what}: each idea has one")
        texts = (part.text for part in parts if part.kind in ("prose", "example"))
        written = [line for text in texts for line in text.split("\n") if line]
        if len(written) > MOST_LINES:
            message = f"`{title}` has {len(written)} lines without its drawing; an idea has at most {MOST_LINES}"
            raise self._error(head, message)
        return Idea(title, head, exercises, parts)

    def _exercises(self, line: int) -> Iterator[str]:
        known = [one.full_name for one in (*self._topic.exercises, *self._topic.manual)]
        names = [one.strip(" `") for one in self._line(line)[len(_FOR) :].split(",")]
        for name in filter(None, names):
            full = full_name(self._topic.name, name)
            if full not in known:
                similar = did_you_mean(name, [one.partition(".")[2] for one in known])
                raise self._error(line, f"topic `{self._topic.name}` has no exercise `{name}`{similar}")
            yield full

    def _parts(self, start: int, end: int) -> Iterator[LessonPart]:
        prose: list[str] = []
        began, at = start, start
        while at <= end:
            line = self._line(at)
            picture, fence = _PICTURE.match(line), _FENCE.match(line)
            if not picture and not fence:
                prose.append(line)
                at += 1
                continue
            yield from _prose(prose, began)
            prose = []
            if picture:
                yield self._picture(at, picture["name"], picture["words"])
            elif fence:
                last = next((n for n in range(at + 1, end + 1) if self._line(n) == fence[1]), None)
                if last is None:
                    raise self._error(at, f"the block that begins here has no {fence[1]} at its end")
                yield self._block(fence[2], at + 1, last)
                at = last
            at += 1
            began = at
        yield from _prose(prose, began)

    def _picture(self, line: int, name: str, words: str) -> LessonPart:
        full = full_name(self._topic.name, name)
        if full not in pictured_in(self._course.check_file(self._topic.name), self._topic):
            raise self._error(line, f"no exercise `{full}` has a picture")
        if not words.strip():
            raise self._error(line, "say what to look for: ![the loss falls in steps](picture:NAME)")
        return LessonPart("picture", words.strip(), line, full)

    def _block(self, language: str, start: int, end: int) -> LessonPart:
        """The block with its first line at `start`, and its closing fence at `end`."""
        lines = self._lines[start - 1 : end - 1]
        if language == "text":
            if len(lines) > DRAWING_LINES:
                raise self._error(start, f"a drawing has at most {DRAWING_LINES} lines, not {len(lines)}")
            self._require_width(lines, start, "a drawing", DRAWING_COLUMNS)
            return LessonPart("drawing", "\n".join(lines), start)
        if language != "python":
            raise self._error(start - 1, "a block is ```python, the worked example, or ```text, the drawing")
        if not lines or not lines[0].startswith(_PROMPTS[0]):
            raise self._error(start, "a worked example is what Python's prompt shows: its lines begin with `>>> `")
        self._require_width(lines, start, "a worked example", EXAMPLE_COLUMNS)
        self._require_no_answer(lines, start)
        return LessonPart("example", "\n".join(lines), start)

    def _require_width(self, lines: list[str], start: int, what: str, most: int) -> None:
        for number, line in enumerate(lines, start=start):
            if len(line) > most:
                raise self._error(number, f"a line of {what} has at most {most} columns, not {len(line)}")

    def _require_no_answer(self, lines: list[str], start: int) -> None:
        code = "\n".join(line[len(_PROMPTS[0]) :] if line.startswith(_PROMPTS) else "" for line in lines)
        try:
            tree = ast.parse(code)
        except SyntaxError as error:
            message = f"the worked example is not Python: {error.msg}"
            raise self._error(start + (error.lineno or 1) - 1, message) from None
        names = {one.name for one in self._course.exercises}
        for node in tree.body:  # a method may be called `backward`
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name in names:
                message = f"`{node.name}` is an exercise: the worked example must not answer it, nor have its name"
                raise self._error(start + node.lineno - 1, message)

    def _require_every_exercise(self, ideas: list[Idea]) -> None:
        of: dict[str, Idea] = {}
        for idea in ideas:
            for name in idea.exercises:
                if name in of:
                    raise self._error(idea.line, f"`{name}` is under `{of[name].title}` already: each has one idea")
                of[name] = idea
        for one in (*self._topic.exercises, *self._topic.manual):
            if one.full_name not in of:
                raise self._error(1, f"`{one.full_name}` is under no idea: name it in a line `For: {one.name}`")


def _prose(lines: list[str], start: int) -> Iterator[LessonPart]:
    text = "\n".join(lines)
    if text.strip():
        above = len(lines) - len(text.lstrip("\n").split("\n"))
        yield LessonPart("prose", text.strip("\n"), start + above)
