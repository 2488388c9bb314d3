"""Gives a student a folder to work in: the course's stubs, a README, settings for editors; and keeps it up to date.

Never overwrites a student's work: a replaced file is kept as ``NAME.bak``. An own course's handout lies in the
folder itself, without answers: never a solution, never a misconception.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.course.answers import REFERENCE, modules_with_answers, without_answers
from grader.course.home import COURSE, HIDDEN, SHIPPED, STUBS, Home, Origin
from grader.course.model import Course, checking_files
from grader.course.notebooks import SUFFIX, notebook_of
from grader.course.source import without_secret
from grader.course.topic import Topic
from grader.course.update import updated, with_stub_of
from grader.errors import UserError
from grader.files import write_atomically
from grader.text import counted


def init(
    course: Course, folder: Path, origin: Origin = SHIPPED, *, force: bool = False, notebooks: bool = False
) -> list[Path]:
    """Copy the stubs to `folder`, which is made if need be, with all that belongs to a folder to work in.

    Args:
        course: the course that has the stubs.
        folder: the student's folder; its other files are left alone, a README.md too.
        origin: the folder remembers it. A course that is not installed is put into the folder, without its answers.
        force: replace files that differ, keeping each as ``NAME.bak``.
        notebooks: write a notebook for each topic, not a Python file.

    Returns:
        The files written for the student; none if all were there already.

    Raises:
        UserError: if files there differ from the stubs or it is a folder of another course (without `force`), or the
            folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", fix="name a folder that is new or empty")
    home = Home.find(folder)
    if home and home.folder == folder.resolve() and home.origin != origin and not force:
        raise UserError(
            f"{folder} is a folder of another course",
            fix="choose another folder; `grader init --update` brings what is new of its own course into this one",
        )
    wanted = dict(_work_file(course, topic, notebooks) for topic in course.modules)
    modules = list(wanted)
    wanted |= _templates(course)
    others = [name for name in (_other_kind(name) for name in modules) if (folder / name).exists()]
    if others:
        raise UserError(f"{folder} already has {others[0]}", fix="choose another folder: of two files one would count")
    changed = [name for name, data in wanted.items() if _differs(folder / name, data)]
    if changed and not force:
        raise UserError(
            f"{folder} already has other versions of: {', '.join(changed)}",
            fix="choose another folder; `grader init --update` brings new exercises into this one; "
            "--force replaces your files and keeps them as NAME.bak",
        )
    extra = {
        "README.md": _readme(course, modules).encode(),
        ".gitignore": b"__pycache__/\n.torchkata/progress.json\n*.bak*\n",
        ".vscode/tasks.json": _tasks(),
    }
    wanted |= {name: data for name, data in extra.items() if not (folder / name).exists()}
    try:
        for name in changed:
            (folder / name).rename(_free_backup(folder / name))
        missing = [name for name in wanted if not (folder / name).exists()]
        for name in missing:
            _write(folder / name, wanted[name])
        _write_hidden(course, folder, origin)
    except OSError as problem:
        raise UserError(f"{folder} cannot be written ({problem.strerror})", fix="choose another folder") from None
    return [folder / name for name in missing]


def _work_file(course: Course, topic: Topic, is_notebook: bool) -> tuple[str, bytes]:
    """Name and content of the file in which a student works on a topic."""
    stub = course.stub_file(topic.name).read_bytes()
    return (f"{topic.name}{SUFFIX}", notebook_of(topic, stub)) if is_notebook else (f"{topic.name}.py", stub)


def _templates(course: Course) -> dict[str, bytes]:
    """The templates of the files that a person marks, for exercises that have one."""
    modules = {f"{topic.name}.py" for topic in course.modules}
    names = {one.file: course.template_file(one) for one in course.manual if one.file and one.file not in modules}
    return {name: file.read_bytes() for name, file in names.items() if file.is_file()}


def _other_kind(name: str) -> str:
    """The notebook's name for a Python file's, and the other way round."""
    return str(Path(name).with_suffix(".py" if name.endswith(SUFFIX) else SUFFIX))


class Change(msgspec.Struct, frozen=True):
    """The outcome of an update for one file: a line for the student; ``is_problem`` if they have to do something."""

    text: str
    is_problem: bool = False


def update(course: Course, folder: Path, origin: Origin = SHIPPED) -> list[Change]:
    """Bring new and changed stubs and docstrings into a folder that has answers, and touch no answer.

    Returns:
        The changes; none if the folder was up to date.

    Raises:
        UserError: the folder is not there or cannot be written.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder", fix=f"make it with: grader init {folder}")
    home = Home(folder)
    changes: list[Change] = []
    try:
        for topic in course.modules:
            changes += _update_file(folder / f"{topic.name}.py", course.stub_file(topic.name), home.base(topic.name))
        for name, data in _templates(course).items():
            if not (folder / name).exists():
                _write(folder / name, data)
                changes.append(Change(f"{name}: new"))
        _write_hidden(course, folder, origin)
    except OSError as problem:
        raise UserError(f"{folder} cannot be written ({problem.strerror})") from None
    return changes


def _update_file(file: Path, stub_file: Path, base: bytes | None) -> Iterator[Change]:
    stub = stub_file.read_bytes()
    notebook = file.with_suffix(SUFFIX)
    if notebook.exists() and not file.exists():  # a Python file would take its place
        if base is not None and base != stub:
            text = "the exercises have changed; a new notebook: grader init --notebooks, in another folder"
            yield Change(f"{notebook.name}: {text}", is_problem=True)
        return
    if not file.exists():
        _write(file, stub)
        yield Change(f"{file.name}: new")
        return
    work = file.read_bytes()
    if not _is_utf8(work):
        yield Change(f"{file.name}: not changed, as it is not saved as UTF-8", is_problem=True)
        return
    found = updated(work, stub, base)
    if found.text.encode() != work:
        _write(_free_backup(file), work)
        _write(file, found.text.encode())
    for words, names in (("new", found.added), ("changed", found.replaced), ("new docstring", found.documented)):
        if names:
            yield Change(f"{file.name}: {words}: {', '.join(names)}")
    for name in found.signatures:
        yield Change(f"{file.name}: `{name}` is called in another way now: see its docstring", is_problem=True)


def reset(course: Course, folder: Path, exercise: str) -> Path | None:
    """Put the stub of one exercise (full name) in the place of the answer; the file before it is kept.

    Returns:
        The file that has the old text; None if the exercise is as it was handed out, and nothing was written.

    Raises:
        UserError: the topic's file is not there, is not UTF-8, or cannot be written.
    """
    topic, _, name = exercise.partition(".")
    file = folder / f"{topic}.py"
    if not file.is_file() and file.with_suffix(SUFFIX).is_file():
        raise UserError(
            f"{file.with_suffix(SUFFIX).name} is a notebook, which is not changed here",
            fix=f"copy the cell of `{name}` from a new one: grader init --notebooks, in another folder",
        )
    if not file.is_file():
        raise UserError(f"{file} is not there", fix="go to your folder, or bring the file back: grader init --update")
    work = file.read_bytes()
    if not _is_utf8(work):
        raise UserError(f"{file} is not saved as UTF-8", fix="save it as UTF-8 in your editor")
    restored = with_stub_of(work, course.stub_file(topic).read_bytes(), name).encode()
    if restored == work:
        return None
    backup = _free_backup(file)
    try:
        _write(backup, work)
        _write(file, restored)
    except OSError as problem:
        raise UserError(f"{folder} cannot be written ({problem.strerror})") from None
    return backup


def _write_hidden(course: Course, folder: Path, origin: Origin) -> None:
    """Writes the folder's own notes: whose it is, the stubs that it began with, perhaps the course."""
    inside = folder / HIDDEN / COURSE
    for place in (folder / HIDDEN, inside):
        if place.is_symlink():  # the target is not ours to replace
            raise UserError(f"{place} is a link", fix="remove the link, then do this again")
    for topic in course.modules:
        _write(folder / HIDDEN / STUBS / f"{topic.name}.py", course.stub_file(topic.name).read_bytes())
    if origin.has_course and course.root.resolve() != inside.resolve():
        shutil.rmtree(inside, ignore_errors=True)  # files that the course no longer has
        for path, data in handed_out(course):
            _write(inside / path, data)
    name, note = origin.file
    _write(folder / name, note)


def handed_out(course: Course) -> Iterator[tuple[str, bytes]]:
    """Path and content of all that a course hands out: manifest, stubs, checks, kit; no answer, no ``hidden="all"``.

    Checks that use ``checks/reference/`` skip themselves in it.
    """
    yield "course.toml", course.manifest.read_bytes()
    for topic in course.modules:
        yield f"exercises/{topic.name}.py", course.stub_file(topic.name).read_bytes()
    for name, data in _templates(course).items():
        yield f"exercises/{name}", data
    check_files = {course.check_file(topic.name): topic for topic in course.modules}
    answers = modules_with_answers(sorted(course.checks_dir.glob("*.py")))
    for name, file in checking_files(course):
        if not _knows_answers(name, answers):
            data = file.read_bytes()
            if of := check_files.get(file):
                data = without_answers(without_secret(data, file, of), answers)
            yield name, data


def _knows_answers(name: str, modules: set[str]) -> bool:
    """Whether a file is in ``checks/``, and is, or imports, something that knows answers."""
    return name.startswith(f"checks/{REFERENCE}/") or (
        name.startswith("checks/") and name.endswith(".py") and f"checks.{Path(name).stem}" in modules
    )


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, [data])


def _differs(file: Path, data: bytes) -> bool:
    return file.exists() and not (file.is_file() and file.read_bytes() == data)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def _free_backup(file: Path) -> Path:
    backup, number = file.with_name(f"{file.name}.bak"), 1
    while backup.exists():
        number += 1
        backup = file.with_name(f"{file.name}.bak{number}")
    return backup


def _tasks() -> bytes:
    """Tasks of VS Code: check the file at hand, or everything; problems are shown at their lines."""
    matcher = {
        "owner": "torchkata",
        "fileLocation": ["autoDetect", "${workspaceFolder}"],
        "pattern": {"regexp": r"^(.+?\.(?:py|ipynb)):(\d+): (.*)$", "file": 1, "line": 2, "message": 3},
    }
    task = {
        "type": "shell",
        "command": "grader",
        "problemMatcher": [matcher],
        "presentation": {"reveal": "always", "clear": True},
    }
    concise = ["--format", "concise"]
    here = {"label": "grader: check this file", "args": ["check", "${fileBasename}", *concise]}  # quoted by VS Code
    group = {"kind": "test", "isDefault": True}
    tasks = [
        {**here, **task, "group": group},
        {"label": "grader: check all", "args": ["check", *concise], **task, "group": "test"},
    ]
    return (json.dumps({"version": "2.0.0", "tasks": tasks}, indent=2) + "\n").encode()


def _readme(course: Course, files: list[str]) -> str:
    by_hand = "\n".join(
        f"- `{one.work_file}` · {one.name}, {counted(one.points, 'point')}: marked by a person, for: "
        + "; ".join(f"{item.text} ({item.points:g})" for item in one.rubric)
        for one in course.manual
    )
    if not files:
        return f"# {course.title}\n\n{by_hand}\n\nWhere you are: `grader`. What was handed in: `grader check`.\n"
    first = course.modules[0]
    exercise = f"{first.name}.{first.exercises[0].name}"
    topics = "\n".join(f"- `{file}` · {topic.title}" for file, topic in zip(files, course.modules, strict=True))
    topics += f"\n\nMarked by a person:\n\n{by_hand}" if by_hand else ""
    begin = f"Start with `{files[0]}`: write `{first.exercises[0].name}`, then see how you did:"
    if files[0].endswith(SUFFIX):
        return f"""# {course.title}

Each notebook is one topic, for Jupyter, VS Code or Colab. Every function says in its docstring what it must do; replace
its `raise` line by your code, run the cell, and run the cell below it, which checks it.

{topics}

{begin}

    check("{exercise}")

Stuck: `hint("{exercise}")`. All of a notebook: `check()`. Where you are, and what is next, in a terminal: `grader`.
"""
    return f"""# {course.title}

Each file is one topic. Every function says in its docstring what it must do; replace its `raise` line by your code.

{topics}

{begin}

    grader check {exercise}

Or let it check whenever you save: `grader watch`.
Where you are, and what is next: `grader`. Stuck: `grader hint {exercise}`.
Begin one again, with your text kept beside it: `grader reset {exercise}`.

In VS Code, "Run Test Task" checks the open file and shows each failure at its line.
"""
