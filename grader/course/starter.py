"""``grader new``: a course, or an exercise of one, that `grader verify` calls sound at once and that an author changes.

Never replaces a file, changes only the course's own, and leaves nothing behind if it fails.
"""

import ast
import contextlib
import importlib.util
import keyword
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.course.handout import TEMPLATES, template, write, writing
from grader.course.manifest import Manifest
from grader.course.model import Course
from grader.course.source import names_bound_by, parse
from grader.course.stubs import release
from grader.errors import UserError
from grader.files import write_atomically


def new_course(folder: Path) -> Path:
    """Makes a course in a new folder: one topic with two exercises, and its stubs.

    Raises:
        UserError: the folder has files, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not empty", fix="name a new folder; an exercise more: grader new --exercise")
    name, title = names_for(folder)
    inside = TEMPLATES / "course"
    files = {folder / file.relative_to(inside).with_suffix(""): file for file in inside.rglob("*.txt")}
    with _all_or_nothing([*files, folder / "exercises" / "lines.py"]):
        for file, source in files.items():
            with writing(file):
                write(file, template(source, NAME=name, TITLE=title).encode())
        release(Course.load(folder, complete=False))
    return folder


def names_for(folder: Path) -> tuple[str, str]:
    """Name and title of a new course in this folder."""
    title = folder.resolve().name.replace("-", " ").replace("_", " ").strip().capitalize() or "A new course"
    return re.sub(r"[^\w-]+", "-", folder.resolve().name).strip("-").lower() or "course", title


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
    parts = template(TEMPLATES / "exercise.txt", TOPIC=topic, NAME=name).split("@@@ ")[1:]
    for file in (course.solution_file(topic), course.misconceptions_file(topic), course.check_file(topic)):
        if file.exists():
            parse(file)
    solution = course.solution_file(topic)
    source = solution.read_text(encoding="utf-8") if solution.is_file() else parts[0].partition("\n")[2]
    if any(name in names_bound_by(node) for node in ast.parse(source).body):
        raise UserError(f"`{name}` means something else in {solution.name} already", fix="rename the exercise")
    changed = {course.manifest: _with_table(course, topic, name)}
    for start, rest in zip(parts[::2], parts[1::2], strict=True):  # of each file its head, and what is added to it
        path, _, head = start.partition("\n")
        file = course.root / path
        before = with_imports(file.read_text(encoding="utf-8"), head) if file.exists() else head
        changed[file] = before.rstrip("\n") + "\n" + rest.partition("\n")[2]
    stubs = [course.stub_file(one) for one in {topic, *(one.name for one in course.modules)}]
    with _all_or_nothing([*changed, *stubs]):
        for file, text in changed.items():
            with writing(file):
                write(file, text.encode())
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


def with_imports(source: str, head: str) -> str:
    """A file with the imports of another file's head that it lacks, after its own."""
    tree = ast.parse(source)
    own = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    known = {one.asname or one.name for node in own for one in node.names}
    missing = []
    for node in ast.parse(head).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [one for one in node.names if one.name not in known]
            missing += [ast.unparse(node)] if node.names else []
    docstring = tree.body[:1] if ast.get_docstring(tree) is not None else []
    after = max((node.end_lineno or 0 for node in [*docstring, *own]), default=0)
    lines = source.split("\n")
    return "\n".join([*lines[:after], *missing, *lines[after:]])


def _with_table(course: Course, topic: str, name: str) -> str:
    """The manifest's text with an exercise more, after the last one of its topic."""
    lines = course.manifest.read_text(encoding="utf-8").rstrip("\n").split("\n")
    table = ["[[topics.exercises]]", f'name = "{name}"', "points = 1", 'hints = ["Write here what helps."]']
    topics = [one.name for one in course.topics]
    if topic not in topics:
        table = ["[[topics]]", f'name = "{topic}"', f'title = "{topic}: write here what it is about"', "", *table]
    next_topic = topics.index(topic) + 1 if topic in topics else len(topics)
    end = Manifest(course.manifest).line("topics", next_topic) - 1 if next_topic < len(topics) else len(lines)
    before = lines[:end]
    while before and (not before[-1].strip() or before[-1].startswith("#")):
        before.pop()
    return "\n".join([*before, "", *table, *lines[len(before) :], ""])
