"""Brings a student's file up to date with a course's stub, and puts one exercise back. Never changes an answer.

Works on lines, as a file may be broken just when its owner wants an exercise back. The file before it is always kept.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from grader.course.definitions import block_of, defined_names, definition, docstrings, lines_in
from grader.course.handout import SUFFIX, free_backup, work_templates, write, write_hidden, write_lessons, writing
from grader.course.home import SHIPPED, Home, Origin
from grader.course.model import Course, given_files
from grader.errors import UserError

_IMPORT: Final = re.compile(r"(?:import|from)\s")
_UNWRITTEN: Final = re.compile(r"raise NotImplementedError\(.write `")


class Change(msgspec.Struct, frozen=True):
    """The outcome of an update for one file: a line for the student; ``is_problem`` if they have to do something."""

    text: str
    is_problem: bool = False


def update(course: Course, folder: Path, origin: Origin = SHIPPED) -> list[Change]:
    """Bring new and changed stubs and docstrings into a folder that has answers, and touch no answer.

    Of a course with assignments, it is about those that were handed out into the folder.

    Returns:
        The changes; none if the folder was up to date.

    Raises:
        UserError: the folder is not there or cannot be written.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder", fix=f"make it with: grader init {folder}")
    home = Home(folder)
    changes: list[Change] = []
    here = course.part_of(origin.assignments)
    with writing(folder):
        for topic in here.modules:
            stub = course.stub_file(topic.name).read_bytes()
            changes += _update_file(folder / topic.file, stub, home.base(topic.name))
        for name, data in (work_templates(here) | given_files(course)).items():
            if not (folder / name).exists():
                write(folder / name, data)
                changes.append(Change(f"{name}: new"))
        changes += [Change(f"{name}: {what}") for name, what in write_lessons(here, folder).items()]
        write_hidden(course, folder, origin, here.modules)
    return changes


def _update_file(file: Path, stub: bytes, base: bytes | None) -> Iterator[Change]:
    notebook = file.with_suffix(SUFFIX)
    if notebook.exists() and not file.exists():  # a file beside it would take its place
        if base is not None and base != stub:
            text = "the exercises have changed; a new notebook: grader init --notebooks, in another folder"
            yield Change(f"{notebook.name}: {text}", is_problem=True)
        return
    if not file.exists():
        write(file, stub)
        yield Change(f"{file.name}: new")
        return
    work = file.read_bytes()
    if not _is_utf8(work):
        yield Change(f"{file.name}: not changed, as it is not saved as UTF-8", is_problem=True)
        return
    text, changes = updated(work, stub, base)
    _replace(file, work, text)
    for change in changes:
        yield Change(f"{file.name}: {change.text}", change.is_problem)


def reset(course: Course, folder: Path, exercise: str) -> Path | None:
    """Put the stub of one exercise (full name) in the place of the answer; the file before it is kept.

    Returns:
        The file that has the old text; None if the exercise is as it was handed out, and nothing was written.

    Raises:
        UserError: the topic's file is not there, is not UTF-8, or cannot be written.
    """
    topic, _, name = exercise.partition(".")
    if course.exercise(exercise).group:
        fix = "take its stubs from a new folder: grader init"
        raise UserError(f"{exercise} is a group of tests, not one function", fix=fix)
    file = folder / f"{topic}.py"
    notebook = file.with_suffix(SUFFIX)
    if not file.is_file() and notebook.is_file():
        raise UserError(
            f"{notebook.name} is a notebook, which is not changed here",
            fix=f"copy the cell of `{name}` from a new one: grader init --notebooks, in another folder",
        )
    if not file.is_file():
        fix = "go to your folder, or bring the file back: grader init --update"
        if all(one.name != topic for one in course.part_of(Home(folder).origin.assignments).topics):
            those = (one.name for one in course.assignments if exercise in one.exercises)
            fix = f"get it with: grader init --assignment {next(those, 'NAME')}"
        raise UserError(f"{file} is not there", fix=fix)
    work = file.read_bytes()
    if not _is_utf8(work):
        raise UserError(f"{file} is not saved as UTF-8", fix="save it as UTF-8 in your editor")
    text = with_stub_of(work, course.stub_file(topic).read_bytes(), name)
    with writing(folder):
        return _replace(file, work, text)


def _replace(file: Path, work: bytes, text: str) -> Path | None:
    """Writes another text to a file, and its work beside it; the file with that, or None if they are the same."""
    if text.encode() == work:
        return None
    backup = free_backup(file)
    write(backup, work)
    write(file, text.encode())
    return backup


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def updated(work: bytes, stub: bytes, base: bytes | None) -> tuple[str, list[Change]]:
    """A student's file with the new parts of the stub, and which these are.

    An answer whose signature has changed stays as it is: the student has to change that.

    Args:
        work: the student's file.
        stub: the course's stub of today.
        base: the stub that the student began with; None if it is not known.
    """
    lines, new, old = lines_in(work), lines_in(stub), lines_in(base or b"")
    news: dict[str, list[str]] = {"new": [], "changed": [], "new docstring": []}
    problems: list[Change] = []
    lines = _with_imports(lines, new)
    before = ""
    for name in defined_names(new):
        wanted, began, mine = block_of(new, name), block_of(old, name), block_of(lines, name)
        if not mine:
            lines = _inserted(lines, wanted, before)
            news["new"].append(name)
        elif mine != wanted and began != wanted:
            if mine == began or (not began and _UNWRITTEN.search("\n".join(mine))):
                lines = _replaced(lines, name, wanted)
                news["changed"].append(name)
            else:
                after = _with_docstring(mine, wanted, began)
                if after != mine:
                    lines = _replaced(lines, name, after)
                    news["new docstring"].append(name)
                if began and _signature(began) != _signature(wanted):
                    text = f"`{name}` is called in another way now: see its docstring"
                    problems.append(Change(text, is_problem=True))
        before = name
    changes = [Change(f"{words}: {', '.join(names)}") for words, names in news.items() if names]
    return _text(lines, work), [*changes, *problems]


def with_stub_of(work: bytes, stub: bytes, name: str) -> str:
    """A student's file with the stub of one exercise in the place of the answer."""
    lines, wanted = lines_in(work), block_of(lines_in(stub), name)
    return _text(_replaced(lines, name, wanted) if block_of(lines, name) else _inserted(lines, wanted, ""), work)


def _replaced(lines: list[str], name: str, block: list[str]) -> list[str]:
    start, end = definition(lines, name)
    return [*lines[: start - 1], *block, *lines[end:]]


def _inserted(lines: list[str], block: list[str], before: str) -> list[str]:
    """The lines with a block after the definition `before`, else at the end."""
    _, end = definition(lines, before)
    if not end:
        end = max((n for n, line in enumerate(lines, start=1) if line.strip()), default=0)
    is_function = any(re.match(r"(?:async\s+def|def|class)\s", line) for line in block)
    return [*lines[:end], *(["", ""] if is_function else []), *block, *lines[end:]]


def _with_imports(lines: list[str], new: list[str]) -> list[str]:
    """The lines with the stub's imports that are not among them, below the last import."""
    missing = [line for line in new if _IMPORT.match(line) and line not in lines and "(" not in line]
    missing = [line for line in missing if "__future__" not in line]
    at = max((n for n, line in enumerate(lines, start=1) if _IMPORT.match(line) and "(" not in line), default=0)
    return [*lines[:at], *missing, *lines[at:]] if at else lines


def _with_docstring(mine: list[str], wanted: list[str], began: list[str]) -> list[str]:
    """The definition with the stub's docstring, unless the student has changed it."""
    ours, theirs, before = (_docstring_of(block) for block in (mine, wanted, began))
    if not ours or not theirs or (began and [mine[n - 1] for n in ours] != [began[n - 1] for n in before]):
        return mine
    return [*mine[: ours[0] - 1], *(wanted[n - 1] for n in theirs), *mine[ours[-1] :]]


def _docstring_of(block: list[str]) -> list[int]:
    """The numbers of the lines of the first docstring."""
    found = sorted(docstrings(block, 1, len(block)))
    return [n for index, n in enumerate(found) if n == found[0] + index]


def _signature(block: list[str]) -> str:
    """The text up to the colon that ends the head of the definition."""
    end = next((n for n, line in enumerate(block, start=1) if line.rstrip().endswith(":")), len(block))
    return " ".join(" ".join(block[:end]).split())


def _text(lines: list[str], work: bytes) -> str:
    """The lines as a file, with the line ends that it had."""
    return ("\r\n" if b"\r\n" in work else "\n").join(lines)
