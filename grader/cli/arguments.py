"""Reads names of exercises, files and folders after a command, and finds the course and the folder that they mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.options import course_here
from grader.errors import UserError

if TYPE_CHECKING:
    from grader.course import Course

_FILES = (".py", ".ipynb", ".zip", ".tar", ".gz", ".tgz")


def course_path(given: Path | None, places: Iterable[Path] = ()) -> Path | None:
    """The course that is meant: the one of the option, else that of a folder, else the one here, else (None) the
    shipped one.

    A folder can hold a course only for whoever stands in it: its checks are trusted code, and a folder that is only
    named may be anybody's.

    Args:
        places: the files and folders named on the command line. The first that is in a folder made by `grader init`
            counts, else the current folder.

    Raises:
        UserError: a folder is named that holds a course.
    """
    if given is not None:
        return given
    from grader.course.home import Home

    here = Home.find()
    homes = (Home.find(place) for place in places if place.exists())
    home = next((home for home in homes if home is not None), here)
    if home is None:
        return course_here(None)
    if home.has_course and (here is None or here.folder != home.folder):
        raise UserError(
            f"{home.folder} holds a course, whose checks would run here",
            fix="if the folder is yours, change into it first; else name the course: --course DIR",
        )
    return home.course


def split_targets(
    arguments: Sequence[str], submission: Path | None, topics: Sequence[str]
) -> tuple[Path, tuple[str, ...]]:
    """The folder or file with the work, and the names of the wanted topics and exercises.

    ``kata`` and ``kata/tensor_ops.py`` name a folder and a topic in it as well as ``tensor_ops`` and
    ``tensor_ops.gram`` name a part of the work here.

    Raises:
        UserError: two folders are named, or a file or folder that is not there.
    """
    places: list[Path] = [] if submission is None else [submission]
    names = []
    for argument in arguments:
        path = Path(argument)
        if path.suffix in _FILES and path.parent != Path() and not path.exists():
            raise UserError(f"no such file: {argument}")
        if path.suffix == ".py" and path.stem in topics:
            names.append(path.stem)
            if path.is_file() and path.parent != Path():
                places.append(path.parent)
        elif argument not in topics and (path.is_dir() or (path.suffix in _FILES and path.is_file())):
            places.append(path)
        elif path.suffix in _FILES or "/" in argument:
            raise UserError(f"no such file: {argument}" if path.suffix else f"no such folder: {argument}")
        else:
            names.append(argument)
    if len({place.resolve() for place in places}) > 1:
        raise UserError(
            f"two places with work: {places[0]} and {places[-1]}",
            fix="check one after the other, or a class with: grader grade",
        )
    return (places[0] if places else _work_here(topics)), tuple(names)


def _work_here(topics: Sequence[str]) -> Path:
    """The current folder, or, from a folder inside it, the one that `grader init` made."""
    from grader.course.home import Home

    here = Path()
    if any((here / f"{topic}.py").exists() for topic in topics):
        return here
    home = Home.find()
    return here if home is None or home.folder == here.resolve() else home.folder


def complete_name(incomplete: str) -> list[str]:
    """The names that complete the beginning of one in the shell: topics, and exercises with their topic."""
    from grader.course import Course

    try:
        course = Course.load(course_path(None), complete=False)
    except (UserError, OSError):
        return []
    names = [
        name
        for topic in course.topics
        for name in (topic.name, *(one.full_name for one in (*topic.exercises, *topic.manual)))
    ]
    return [name for name in names if name.startswith(incomplete)]


def one_exercise(course: Course, name: str | None, command: str, *, manual: bool = False) -> str:
    """The full name of the one exercise that is meant; without a name, the one at hand.

    Args:
        manual: whether it may be one that a person marks.

    Raises:
        UserError: it is not known, or a topic, or a person marks it; or there is none at hand.
    """
    if name is None:
        return _at_hand(course, command)
    selected = course.select([name])
    if not manual and len(selected) == 1 and course.exercise(selected[0]).kind == "manual":
        raise UserError(f"`{selected[0]}` has no checks: a person marks it", fix="its rubric: grader list")
    if len(selected) != 1:
        raise UserError(f"`{name}` is a topic", fix=f"name one exercise, for example: grader {command} {selected[0]}")
    return selected[0]


def _at_hand(course: Course, command: str) -> str:
    """The full name of the exercise that `grader next` names."""
    from grader.course.home import Home
    from grader.reports.where import next_of

    home = Home.find()
    if home is None:
        raise UserError(
            "this is not a folder of yours, so no exercise is at hand",
            fix=f"change into it, start one with `grader init kata`, or name one: grader {command} EXERCISE",
        )
    found = next_of(course, home.marks())
    if found is None:
        raise UserError("all is done", fix=f"name the exercise: grader {command} EXERCISE")
    return found.full_name
