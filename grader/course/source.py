"""Finds checks and misconceptions by reading source, so that a course is listed without importing torch or pytest.

Never runs a line of the files that it reads.
"""

import ast
import functools
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.course.topic import Topic, full_name
from grader.errors import CourseError

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class CheckInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One check as written: ``exercise`` is the full name, ``function`` the test's name.

    Attributes:
        hidden: whether a failure keeps back the expected value.
        is_secret: whether students see neither its name nor its docstring.
        points: its weight among the checks of its exercise; None: 1.
        bonus: the points above the exercise's that it gives; 0 for a check that is part of the exercise.
        end: its last line; ``line`` is that of its ``def``, and ``first`` that of its first decorator.
    """

    exercise: str
    function: str
    line: int
    docstring: str
    hidden: bool = False
    is_secret: bool = False
    points: float | None = None
    bonus: float = 0.0
    first: int = 0
    end: int = 0


class Misconception(msgspec.Struct, frozen=True, kw_only=True):
    """A named, classic wrong answer: ``exercise`` is the full name, ``function`` the name to import from the module,
    ``part`` the name in the topic's module that it takes the place of."""

    name: str
    exercise: str
    tell: str
    topic: str
    function: str
    part: str
    line: int


def parse(file: Path) -> ast.Module:
    """The syntax tree of `file`.

    Raises:
        CourseError: if it is missing or is not Python.
    """
    try:
        return _parsed(file.read_bytes(), file)
    except FileNotFoundError:
        raise CourseError(file, None, "there is no such file") from None
    except SyntaxError as error:
        raise CourseError(file, error.lineno, f"not valid Python: {error.msg}") from None


@functools.lru_cache(maxsize=32)
def _parsed(content: bytes, file: Path) -> ast.Module:
    """The tree of a file that is read more than once: for its checks and for its pictures."""
    return ast.parse(content, filename=str(file))


def read_checks(file: Path, topic: Topic) -> tuple[CheckInfo, ...]:
    """The checks in a topic's `file`, in order.

    Raises:
        CourseError: if the file is missing, or holds a test that belongs to no exercise of the topic.
    """
    found: dict[str, CheckInfo] = {}
    for node in _definitions(parse(file)):
        call = _decorator(node, "exercise")
        if call is None:
            if node.name.startswith("test_") and not isinstance(node, ast.ClassDef):
                raise CourseError(file, node.lineno, f'`{node.name}` has no @exercise("{topic.name}.NAME")')
            continue
        name, options = _literals(call, file)
        hidden, may_change = options.pop("hidden", False), options.pop("may_change", False)
        points = _points(options.pop("points", None), "points", file, call.lineno)
        bonus = _points(options.pop("bonus", 0), "bonus", file, call.lineno)
        if options or not (isinstance(hidden, bool) or hidden == "all") or not isinstance(may_change, bool):
            message = '@exercise takes one name, and hidden=True or "all", may_change=True, points=, bonus='
            raise CourseError(file, call.lineno, message)
        if bonus and points is not None:
            message = "a check has points of the exercise or a bonus beside them, not both"
            raise CourseError(file, call.lineno, message)
        if not node.name.startswith("test_"):
            raise CourseError(file, node.lineno, f"`{node.name}` is not collected: a check's name begins with test_")
        if node.name in found:
            raise CourseError(file, node.lineno, f"`{node.name}` is defined twice, so the first one never runs")
        exercise = _full_name(topic, name, file, call.lineno)
        docstring = ast.get_docstring(node) or ""
        found[node.name] = CheckInfo(
            exercise=exercise,
            function=node.name,
            line=node.lineno,
            docstring=docstring,
            hidden=bool(hidden),
            is_secret=hidden == "all",
            points=points,
            bonus=bonus or 0.0,
            first=min(one.lineno for one in node.decorator_list),
            end=node.end_lineno or node.lineno,
        )
    return tuple(found.values())


def read_pictures(file: Path, topic: Topic) -> tuple[str, ...]:
    """The exercises (full names) of which the functions in a topic's `file` of checks make pictures, in order.

    Raises:
        CourseError: if a decorator's arguments are not literals, or its exercise is unknown.
    """
    found: list[str] = []
    for node in _definitions(parse(file)):
        call = _decorator(node, "picture")
        if call is not None:
            name, options = _literals(call, file)
            if list(options) != ["title"] or not isinstance(options["title"], str):
                raise CourseError(file, call.lineno, '@picture takes an exercise and title="..."')
            found.append(_full_name(topic, name, file, call.lineno))
    return tuple(dict.fromkeys(found))


def without_secret(content: bytes, file: Path, topic: Topic) -> bytes:
    """A topic's `file` of checks without those that students must not see.

    Raises:
        CourseError: as `read_checks`.
    """
    lines = content.splitlines(keepends=True)
    for check in reversed(read_checks(file, topic)):
        if check.is_secret:
            del lines[check.first - 1 : check.end]
    return b"".join(lines)


def read_misconceptions(file: Path, topic: Topic) -> tuple[Misconception, ...]:
    """The wrong answers in a topic's `file`, in order; none if there is no such file.

    Raises:
        CourseError: if a decorator's arguments are not literals, its exercise is unknown, or two have one name.
    """
    if not file.is_file():
        return ()
    found: list[Misconception] = []
    for node in _definitions(parse(file)):
        call = _decorator(node, "misconception")
        if call is None:
            continue
        target, options = _literals(call, file)
        tell, name = options.pop("tell", None), options.pop("name", None) or node.name
        part = options.pop("part", None) or target
        named = isinstance(name, str) and isinstance(part, str)
        if options or not isinstance(tell, str) or not tell.strip() or not named:
            message = '@misconception takes an exercise, tell="..." and perhaps name="..." and part="..."'
            raise CourseError(file, call.lineno, message)
        if any(other.name == name or other.function == node.name for other in found):
            raise CourseError(file, node.lineno, f"a second misconception called `{name}` in this topic")
        exercise = _full_name(topic, target, file, call.lineno)
        found.append(
            Misconception(
                name=str(name),
                exercise=exercise,
                tell=tell,
                topic=topic.name,
                function=node.name,
                part=str(part),
                line=node.lineno,
            )
        )
    return tuple(found)


def _definitions(module: ast.Module) -> Iterator[Definition]:
    return (node for node in module.body if isinstance(node, Definition))


def _decorator(node: Definition, name: str) -> ast.Call | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            called = decorator.func
            if name == (called.id if isinstance(called, ast.Name) else getattr(called, "attr", None)):
                return decorator
    return None


def _literals(call: ast.Call, file: Path) -> tuple[str, dict[str, object]]:
    """The one positional string and the keyword literals of a decorator."""
    try:
        positional = [ast.literal_eval(argument) for argument in call.args]
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except ValueError:
        raise CourseError(file, call.lineno, "decorator arguments must be literals: they are read, not run") from None
    if len(positional) != 1 or not isinstance(positional[0], str):
        raise CourseError(file, call.lineno, "the decorator's first argument is the name of an exercise")
    return positional[0], options


def _points(value: object, what: str, file: Path, line: int) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise CourseError(file, line, f"{what} must be a number that is not below 0, not {value!r}")
    return float(value)


def _full_name(topic: Topic, name: str, file: Path, line: int) -> str:
    full = full_name(topic.name, name)
    if full not in {exercise.full_name for exercise in topic.exercises}:
        raise CourseError(file, line, f"topic `{topic.name}` has no exercise `{name}`")
    return full
