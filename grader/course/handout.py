"""Gives a student a folder to work in: the course's stubs, a README, settings for editors.

Never overwrites a student's work: a replaced file is kept as ``NAME.bak``. An own course's handout lies in the
folder itself, without answers: never a solution, never a misconception.
"""

import ast
import contextlib
import itertools
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from grader.course.answers import handed_out
from grader.course.definitions import lines_in
from grader.course.home import COURSE, HIDDEN, ORIGIN, SHIPPED, STUBS, Home, Origin
from grader.course.lessons import lesson_of, markdown_of
from grader.course.model import Course, given_files, lesson_files
from grader.course.tables import Exercise, Topic
from grader.errors import CourseError, UserError
from grader.files import write_atomically
from grader.text import counted

TEMPLATES: Final = Path(__file__).parent / "templates"
SUFFIX: Final = ".ipynb"
_PACKAGE: Final = "torchkata"
_INSTALL: Final = """\
try:  # installs the grader where it is missing, as in Colab
    import grader
except ModuleNotFoundError:
    %pip install --quiet NAMES"""
_BEGIN: Final = """
    ![ -e .torchkata ] || grader init . --course NAMES"""
_FORMS: Final = [re.escape(one).replace("NAMES", r"[^\n]+") for one in (_INSTALL, _BEGIN)]
INSTALL_CELL: Final = re.compile(f"{_FORMS[0]}(?:{_FORMS[1]})?")
"""The whole of such a cell."""
_LESSONS: Final = """
New to a topic? Read its lesson in `lessons/`, or in a terminal: `grader learn`."""
OURS: Final = "from grader import check, hint, show"


def init(
    course: Course,
    folder: Path,
    origin: Origin = SHIPPED,
    *,
    force: bool = False,
    notebooks: bool = False,
    assignment: str | None = None,
) -> list[Path]:
    """Copy the stubs to `folder`, which is made if need be, with all that belongs to a folder to work in.

    A folder that has other assignments gets what it lacks, and keeps the student's work on them.

    Args:
        course: the course that has the stubs.
        folder: the student's folder; its other files are left alone, a README.md too.
        origin: the folder remembers it. A course that is not installed is put into the folder, without its answers.
        force: replace files that differ, keeping each as ``NAME.bak``.
        notebooks: write a notebook for each topic, not a Python file; a folder with notebooks gets more of them
            anyway, and so does each folder of a course that has a notebook of its own for each topic.
        assignment: hand out its topics only, and those that they need; None: the whole course.

    Returns:
        The files written for the student; none if all were there already.

    Raises:
        UserError: if files there differ from the stubs or it is a folder of another course (without `force`), or the
            folder cannot be written.
        UnknownName: there is no such assignment.
    """
    names: tuple[str, ...] = () if assignment is None else (course.plan.named(assignment).name,)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", fix="name a folder that is new or empty")
    home = Home.find(folder)
    before = home.origin if home and home.folder == folder.resolve() else None
    if before and not before.is_alike(origin):
        if not force:
            raise UserError(
                f"{folder} is a folder of another course",
                fix="choose another folder; `grader init --update` brings what is new of its own course into this one",
            )
        before = None
    new, old = course.part_of(names), None
    if before and (names or before.assignments):
        old = course.part_of(before.assignments)
        names = tuple(dict.fromkeys([*before.assignments, *names])) if names and before.assignments else ()
    begun = {topic.name for topic in old.modules} if old else set()
    notebooks = notebooks or has_notebooks(new) or any((folder / f"{name}{SUFFIX}").exists() for name in begun)
    wanted: dict[str, bytes] = {}
    suffix, other = (SUFFIX, ".py") if notebooks else (".py", SUFFIX)
    names_of = {topic.name: topic.file if topic.is_package else f"{topic.name}{suffix}" for topic in course.modules}
    for topic in new.modules:
        if (folder / f"{topic.name}{other}").exists():
            if topic.name in begun:
                continue
            fix = "choose another folder: of two files one would count"
            raise UserError(f"{folder} already has {topic.name}{other}", fix=fix)
        stub = course.stub_file(topic.name).read_bytes()
        is_notebook = notebooks and not topic.is_package
        wanted[names_of[topic.name]] = notebook_of(course, topic, stub) if is_notebook else stub
    wanted |= work_templates(new)
    given = given_files(course)
    wanted |= given
    there = {name: folder / name for name in wanted if (folder / name).exists()}
    changed = [name for name, file in there.items() if not file.is_file() or file.read_bytes() != wanted[name]]
    if not force:
        kept = {*(names_of[name] for name in begun), *(work_templates(old) | given if old else ())}
        wanted = {name: data for name, data in wanted.items() if name not in changed or name not in kept}
        changed = [name for name in changed if name in wanted]
    if changed and not force:
        raise UserError(
            f"{folder} already has other versions of: {', '.join(changed)}",
            fix="choose another folder; `grader init --update` brings new exercises into this one; "
            "--force replaces your files and keeps them as NAME.bak",
        )
    stubs = [topic for topic in new.modules if names_of[topic.name] in wanted]
    readme = folder / "README.md"
    is_ours = old is not None and readme.is_file() and readme.read_bytes() == _readme(old, suffix)
    wanted |= {
        readme.name: _readme(course.part_of(names), suffix),
        ".gitignore": b"__pycache__/\n.torchkata/progress.json\n*.bak*\n",
        ".vscode/tasks.json": (TEMPLATES / "tasks.json").read_bytes(),
    }
    with writing(folder, fix="choose another folder"):
        for name in changed:
            there[name].rename(free_backup(there[name]))
        missing = [name for name in wanted if not (folder / name).exists()]
        if is_ours and readme.read_bytes() != wanted[readme.name]:
            missing.append(readme.name)
        for name in missing:
            write(folder / name, wanted[name])
        missing += write_lessons(new, folder)
        write_hidden(course, folder, replace(origin, assignments=names), stubs)
    return [folder / name for name in missing]


def has_notebooks(course: Course) -> bool:
    """Whether a course has a notebook of its own for each topic: then students get those."""
    return bool(course.modules) and all(course.notebook_file(topic.name).is_file() for topic in course.modules)


def work_templates(course: Course) -> dict[str, bytes]:
    """The files that students begin with for work that a person marks, by name, without the stubs of topics."""
    stubs = {course.stub_file(topic.name) for topic in course.modules}
    files = {one.work_file: course.template_file(one) for one in course.manual}
    return {name: file.read_bytes() for name, file in files.items() if file.is_file() and file not in stubs}


def write_lessons(course: Course, folder: Path) -> dict[str, str]:
    """Writes the lessons that a folder lacks, and those that have changed; a reader's notes in one are kept beside it.

    Returns:
        ``new`` or ``changed`` for each file that was written, by name.
    """
    written: dict[str, str] = {}
    for name, file in lesson_files(course):
        data, base = file.read_bytes(), folder / HIDDEN / name
        before = (folder / name).read_bytes() if (folder / name).is_file() else None
        if before == data:
            continue
        if before is not None and not (base.is_file() and base.read_bytes() == before):
            write(free_backup(folder / name), before)
        write(folder / name, data)
        write(base, data)
        written[name] = "new" if before is None else "changed"
    return written


def write_hidden(course: Course, folder: Path, origin: Origin, topics: Iterable[Topic]) -> None:
    """Writes the folder's own notes: whose it is, the stubs that these topics began with, perhaps the course."""
    hidden = folder / HIDDEN
    inside = hidden / COURSE
    for place in (hidden, inside):
        if place.is_symlink():  # the target is not ours to replace
            raise UserError(f"{place} is a link", fix="remove the link, then do this again")
    for topic in topics:
        write(hidden / STUBS / f"{topic.name}.py", course.stub_file(topic.name).read_bytes())
    if origin.has_course and course.root.resolve() != inside.resolve():
        shutil.rmtree(inside, ignore_errors=True)  # files that the course no longer has
        for path, data in handed_out(course):
            write(inside / path, data)
    write(hidden / ORIGIN, msgspec.json.encode(origin))


@contextlib.contextmanager
def writing(place: Path, fix: str | None = None) -> Iterator[None]:
    """If something in the block cannot be written, names the file or folder that is meant.

    Raises:
        UserError: something cannot be written.
    """
    try:
        yield
    except OSError as problem:
        raise UserError(f"{place} cannot be written ({problem.strerror})", fix=fix) from None


def write(file: Path, data: bytes) -> None:
    """Writes a file at once, and makes its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, [data])


def free_backup(file: Path) -> Path:
    """The first name for a copy of a file that is free: ``NAME.bak``, ``NAME.bak2``, ..."""
    numbers = itertools.chain([""], itertools.count(2))
    backups = (file.with_name(f"{file.name}.bak{number}") for number in numbers)
    return next(backup for backup in backups if not backup.exists())


def template(file: Path, **words: str) -> str:
    """The text of a template, with the words in the place of their names: ``@TITLE@``."""
    text = file.read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _readme(course: Course, suffix: str) -> bytes:
    """The README of a folder with a file of this kind for each topic with checks."""
    files = [topic.file if topic.is_package else f"{topic.name}{suffix}" for topic in course.modules]
    by_hand = "\n".join(
        f"- `{one.work_file}` · {one.name}, {counted(one.points, 'point')}: marked by a person, for: "
        + "; ".join(f"{item.text} ({item.points:g})" for item in one.rubric)
        for one in course.manual
    )
    if not files:
        return (
            f"# {course.title}\n\n{by_hand}\n\nWhere you are: `grader`. What was handed in: `grader check`.\n".encode()
        )
    topics = "\n".join(f"- `{file}` · {topic.title}" for file, topic in zip(files, course.modules, strict=True))
    topics += f"\n\nMarked by a person:\n\n{by_hand}" if by_hand else ""
    file = TEMPLATES / ("student_notebooks.md.txt" if suffix == SUFFIX else "student.md.txt")
    first = course.exercises[0]
    lessons = f"{_LESSONS}\n" if next(lesson_files(course), None) else ""
    words = {"TITLE": course.title, "TOPICS": topics, "FILE": files[0], "LESSONS": lessons}
    text = template(file, **words, TOPIC=first.topic, NAME=first.name)
    return text.encode()


def notebook_of(course: Course, topic: Topic, stub: bytes) -> bytes:
    """The notebook of a topic: the course's own, ``exercises/TOPIC.ipynb``, or one that is made of stub and lesson.

    Without outputs; always the same bytes for the same stub and lesson.

    Raises:
        CourseError: the lesson is not in the form that lessons have.
    """
    own = course.notebook_file(topic.name)
    return own.read_bytes() if own.is_file() else notebook_with(_cells(course, topic, stub))


def notebook_with(pieces: Iterable[tuple[str, str]]) -> bytes:
    """A notebook with these cells, given as kind and text."""
    cells: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(pieces, start=1):
        outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
        lines = text.splitlines(keepends=True)
        cells.append({"cell_type": kind, "id": f"cell-{number}", "metadata": {}, **outputs, "source": lines})
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def handed_out_text(course: Course, topic: Topic) -> str:
    """The cells of text in a topic's notebook; empty if its lesson cannot be read."""
    if (own := course.notebook_file(topic.name)).is_file():
        cells = json.loads(own.read_bytes())["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    with contextlib.suppress(CourseError, OSError):
        made = _cells(course, topic, course.stub_file(topic.name).read_bytes())
        return "\n".join(text for kind, text in made if kind == "markdown")
    return ""


def _cells(course: Course, topic: Topic, stub: bytes) -> Iterator[tuple[str, str]]:
    """Kind and text of each cell; taken together, the code is the stub: a notebook is graded exactly as the file is."""
    lesson = lesson_of(course, topic.name)
    lines = lines_in(stub)
    tree = ast.parse(stub)
    names = {exercise.name for exercise in topic.exercises}
    docstring = ast.get_docstring(tree) or ""
    link = f"[Open in Colab]({course.colab.rstrip('/')}/{topic.name}{SUFFIX})" if course.colab else ""
    yield "markdown", "\n\n".join(filter(None, [f"# {topic.title}", docstring, link]))
    yield "code", install_cell(course)
    if lesson is not None:
        yield "markdown", lesson.about
    body = tree.body[1:] if docstring else tree.body
    end = tree.body[0].end_lineno or 0 if docstring else 0
    start = end
    for node in itertools.takewhile(lambda one: isinstance(one, ast.Import | ast.ImportFrom), body):
        end = node.end_lineno or end
    yield "code", "\n".join(["\n".join(lines[start:end]).strip("\n"), "", OURS]).strip("\n")
    shown = 0
    for statement in (one for one in body if one.lineno > end):
        start, end = end, statement.end_lineno or 0
        for index in range(end, len(lines)):  # no cell may begin with an indented comment
            if re.match(r"[ \t]+#", lines[index]):
                end = index + 1
            elif lines[index].strip():
                break
        name = getattr(statement, "name", "")
        if name in names and lesson is not None:
            ideas = lesson.ideas[shown : lesson.ideas.index(lesson.idea_of(f"{topic.name}.{name}")) + 1]
            yield from (("markdown", markdown_of(idea)) for idea in ideas)
            shown += len(ideas)
        if about := next((_about(one) for one in topic.exercises if one.name == name), ""):
            yield "markdown", about
        yield "code", "\n".join(lines[start:end]).strip("\n")
        if name in names:
            yield "code", f'check("{topic.name}.{name}")'
    if lesson is not None:
        yield from (("markdown", markdown_of(idea)) for idea in lesson.ideas[shown:])
    if topic.questions:
        count = counted(len(topic.questions), "question")
        yield "markdown", f"**Predict before you run**: {count}, asked once; Enter skips one."
        yield "code", f'from grader import ask\n\nask("{topic.name}")'


def _about(exercise: Exercise) -> str:
    """The course's words about an exercise: how hard it is, how long it takes, its purpose."""
    said = ": ".join(filter(None, [exercise.effort, exercise.why]))
    return f"**{exercise.name}**, {said}" if said else ""


def install_cell(course: Course) -> str:
    """The cell that installs the grader, and begins a folder if the course is no part of it."""
    begins = "" if course.is_shipped or course.install == _PACKAGE else _BEGIN.replace("NAMES", course.name)
    return _INSTALL.replace("NAMES", course.install) + begins
