"""``grader new``: a course, or an exercise of one, that `grader verify` calls sound at once and that an author changes.

Never replaces a file, changes only the course's own, and leaves nothing behind if it fails.
"""

import ast
import contextlib
import importlib.util
import keyword
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from grader.course.manifest import Manifest
from grader.course.model import Course
from grader.course.source import parse
from grader.course.stubs import release
from grader.errors import UserError
from grader.files import write_atomically

_FILES: Final = {
    "course.toml": "course.toml.txt",
    "README.md": "README.md.txt",
    "solutions/lines.py": "solution.txt",
    "solutions/misconceptions/lines.py": "misconceptions.txt",
    "solutions/equivalent_mutants.toml": "equivalent_mutants.toml.txt",
    "checks/test_lines.py": "checks.txt",
}
"""The files of a new course, and the templates that they are made of."""


def new_course(folder: Path) -> Path:
    """Makes a course in a new folder: one topic with two exercises, and its stubs.

    Raises:
        UserError: the folder has files, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not empty", fix="name a new folder; an exercise more: grader new --exercise")
    title = folder.resolve().name.replace("-", " ").replace("_", " ").strip().capitalize() or "A new course"
    name = re.sub(r"[^\w-]+", "-", folder.resolve().name).strip("-").lower() or "course"
    with _all_or_nothing([folder / path for path in (*_FILES, "exercises/lines.py")]):
        for path, template in _FILES.items():
            _write(folder / path, _template(template).replace("@NAME@", name).replace("@TITLE@", title))
        release(Course.load(folder, complete=False))
    return folder


def new_exercise(course: Course, full_name: str) -> list[Path]:
    """Adds an exercise at the end of a topic, which is made if there is none; the files that changed.

    Args:
        full_name: ``topic.name``.

    Raises:
        UserError: it is not a name, is taken, or the course cannot be written.
        CourseError: a file of the course is not as it must be.
    """
    topic, _, name = full_name.partition(".")
    for part in (topic, name):
        if not part.isidentifier() or keyword.iskeyword(part):
            raise UserError(f"`{full_name}` is not TOPIC.NAME, both names in Python", fix="such as: vectors.sum")
    if course.kit is not None and course.kit.name == topic:
        raise UserError(f"`{topic}` is the name of the course's kit", fix="rename the topic")
    if all(one.name != topic for one in course.topics) and importlib.util.find_spec(topic) is not None:
        raise UserError(f"there is a module `{topic}` in Python or among the packages", fix="rename the topic")
    if course.is_shipped:
        raise UserError("the shipped course belongs to the grader", fix="name your own course: --course DIR")
    if any(one.full_name == full_name for one in course.all_exercises):
        raise UserError(f"there is an exercise `{full_name}` already")
    parts = _template("exercise.txt").replace("@TOPIC@", topic).replace("@NAME@", name).split("@@@ ")[1:]
    for file in (course.solution_file(topic), course.misconceptions_file(topic), course.check_file(topic)):
        if file.exists():
            parse(file)
    solution = course.solution_file(topic)
    source = solution.read_text(encoding="utf-8") if solution.is_file() else parts[0].partition("\n")[2]
    if name in _names_of(source):
        raise UserError(f"`{name}` means something else in {solution.name} already", fix="rename the exercise")
    changed = {course.manifest: _with_table(course, topic, name)}
    head = ""
    for part in parts:
        place, _, text = part.partition("\n")
        path, _, is_added = place.partition(" ")
        file = course.root / path
        if not is_added:
            head = text
            continue
        before = with_imports(file.read_text(encoding="utf-8"), head) if file.exists() else head
        changed[file] = before.rstrip("\n") + f"\n{text}"
    stubs = [course.stub_file(one) for one in {topic, *(one.name for one in course.modules)}]
    with _all_or_nothing([*changed, *stubs]):
        for file, text in changed.items():
            _write(file, text)
        return [*changed, *release(Course.load(course.manifest.parent, complete=False))]


@contextlib.contextmanager
def _all_or_nothing(files: Iterable[Path]) -> Iterator[None]:
    """If the block fails, these files are as they were before it, and the folders that were made for them are gone."""
    before = {file: file.read_bytes() if file.is_file() else None for file in files}
    missing = {folder for file in before for folder in file.parents if not folder.exists()}
    try:
        yield
    except BaseException:
        for file, content in before.items():
            if content is None and file.is_file():
                file.unlink()
            elif content is not None and file.read_bytes() != content:
                write_atomically(file, [content])
        for folder in sorted(missing, reverse=True):  # inner ones first
            with contextlib.suppress(OSError):  # one that is not there, or holds what something else put there
                folder.rmdir()
        raise


def _names_of(source: str) -> set[str]:
    """The names that a module imports, defines or assigns at its top."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        else:
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return found


def with_imports(source: str, head: str) -> str:
    """A file with the imports of another file's head that it lacks, after its own."""
    tree = ast.parse(source)
    own = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    known = {one.asname or one.name for node in own for one in node.names}
    missing = []
    for node in ast.parse(head).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names if one.name not in known]
            start = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
            missing += [f"{start} {', '.join(names)}"] if names else []
    lines = source.split("\n")
    first = tree.body[0] if tree.body and ast.get_docstring(tree) is not None else None
    after = max((node.end_lineno or 0 for node in [*own, *([first] if first else [])]), default=0)
    return "\n".join([*lines[:after], *missing, *lines[after:]])


def _with_table(course: Course, topic: str, name: str) -> str:
    """The manifest's text with an exercise more, after the last one of its topic."""
    lines = course.manifest.read_text(encoding="utf-8").rstrip("\n").split("\n")
    table = ["[[topics.exercises]]", f'name = "{name}"', "points = 1", 'hints = ["Write here what helps."]']
    number = next((number for number, one in enumerate(course.topics) if one.name == topic), None)
    if number is None:
        head = ["[[topics]]", f'name = "{topic}"', f'title = "{topic}: write here what it is about"', ""]
        return "\n".join([*lines, "", *head, *table, ""])
    is_last = number + 1 == len(course.topics)
    end = len(lines) if is_last else Manifest(course.manifest).line("topics", number + 1) - 1
    before = lines[:end]
    while before and (not before[-1].strip() or before[-1].startswith("#")):
        before.pop()
    return "\n".join([*before, "", *table, *lines[len(before) :], ""])


def _template(name: str) -> str:
    return resources.files("grader.course").joinpath("templates", name).read_text(encoding="utf-8")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, [text.encode()])
    except OSError as problem:
        raise UserError(f"{file} cannot be written ({problem.strerror})") from None
