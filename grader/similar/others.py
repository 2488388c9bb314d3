"""The code of others that a class is compared with: earlier gradebooks, the course's solutions, files. Only reads.

Never runs or unpacks anything: files of folders and archives are read one by one, notebooks as modules.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.errors import UserError
from grader.gradebook import Gradebook, Run, gradebook_in
from grader.gradebook.backups import backups
from grader.intake.archive import Archive, BrokenArchive, Folder, open_archive, read_file
from grader.intake.kinds import ARCHIVES, CODE, as_text, is_archive, is_clutter, is_code, is_work, limit_of
from grader.intake.notebook import module_of
from grader.intake.topics import Topics
from grader.reports.entries import Entry, about, entries_of
from grader.text import counted, listed

SOLUTIONS: Final = "solutions"
"""The word for the course's own solutions; a folder of that name is ``./solutions``."""
_MOST_FILES = 5_000
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Others:
    """Code of one place that is not of the class.

    Attributes:
        name: the place, as it was given.
        about: what is there, a line each.
        is_code: it is not of a class: it may be the reference solution itself, and nothing in it is common.
        files_of: the name and the content of each file of a topic.
        notes: what is not compared, and why.
    """

    name: str
    about: tuple[str, ...]
    is_code: bool
    files_of: Callable[[str], Iterable[tuple[str, bytes]]]
    notes: tuple[str, ...] = ()


@contextlib.contextmanager
def open_others(places: Sequence[str], course: Course, book: Gradebook) -> Iterator[list[Others]]:
    """Opens each place once, however often it is given.

    Args:
        places: gradebooks or their folders, files or folders of code, archives, or `SOLUTIONS`.
        book: the gradebook of the class.

    Raises:
        UserError: there is nothing to compare with, it cannot be read, or it is the gradebook of the class.
    """
    found: dict[Path | str, Others] = {}
    with contextlib.ExitStack() as opened:
        for place in places:
            path = Path(place)
            with _errors_of(path):
                file = gradebook_in(path)
                has_gradebook = _is_gradebook(file)
                own = place == SOLUTIONS or (path.is_dir() and path.resolve() == course.solutions_dir.resolve())
            key = SOLUTIONS if own else (file if has_gradebook else path).resolve()
            if key in found:
                continue
            if own:
                found[key] = _solutions_of(course)
            elif has_gradebook:
                found[key] = _class_in(place, opened.enter_context(_open_other(path, book)))
            else:
                found[key] = _code_in(place, course)
        yield list(found.values())


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise UserError(f"{path} cannot be read ({problem.strerror})", fix="look at its permissions") from problem


def _is_gradebook(file: Path) -> bool:
    """Whether a file is a gradebook or ought to be one: an SQLite database, or gone while its backups are there."""
    if not file.is_file():
        return bool(backups(file))
    with file.open("rb") as stream:
        return file.suffix == ".sqlite" or stream.read(len(_SQLITE)) == _SQLITE


def _open_other(path: Path, book: Gradebook) -> Gradebook:
    """A gradebook of another class.

    Raises:
        UserError: it cannot be read, or is the class's own.
    """
    fix = "leave it out: the class is compared with itself anyway"
    own = UserError(f"{path} is the gradebook of this class, or a copy of it", fix=fix)
    file = gradebook_in(path)
    if file.exists() and any(file.samefile(one) for one in (book.path, *backups(book.path))):
        raise own
    try:
        other = Gradebook.open_existing(path)
    except UserError as problem:
        problem.fix = problem.fix and problem.fix.replace("--out DIR", "--against PATH")
        raise
    with contextlib.ExitStack() as opened:
        opened.enter_context(other)
        if set(map(_identity, other.runs())) & set(map(_identity, book.runs())):
            raise own
        opened.pop_all()
    return other


def _identity(run: Run) -> tuple[str, str, int]:
    return run.started, run.host, run.process


def _solutions_of(course: Course) -> Others:
    """The course's own solutions.

    Raises:
        UserError: this copy of the course was made without them.
    """
    course.require_solutions(f"similar --against {SOLUTIONS}")

    def files_of(topic: str) -> Iterator[tuple[str, bytes]]:
        file = course.solution_file(topic)
        if file.is_file():
            yield file.name, file.read_bytes()

    return Others("the course's solutions", ("the course's solutions",), is_code=True, files_of=files_of)


def works_of(entries: Sequence[Entry]) -> list[tuple[str, Entry]]:
    """Each work with a name. That of a group is there once, and no copy of itself."""
    groups = {entry.row.group: entry for entry in reversed(entries)}
    return [
        (f"{entry.result.submission} (group {group})" if group else entry.result.submission, entry)
        for entry in entries
        if not (group := entry.row.group) or groups[group] is entry
    ]


def _class_in(place: str, book: Gradebook) -> Others:
    """The latest submissions of a gradebook."""
    entries = entries_of(book)

    def files_of(topic: str) -> Iterator[tuple[str, bytes]]:
        for name, entry in works_of(entries):
            content = entry.files().get(f"{topic}.py")
            if content is not None:
                yield name, content

    lines = tuple(f"{place}: {line}" for line in about(book, entries))
    return Others(place, lines, is_code=False, files_of=files_of)


def _code_in(place: str, course: Course) -> Others:
    """The Python files and notebooks of a folder or an archive, or one of them.

    Raises:
        UserError: there are none, or too many.
    """
    archive = _archive_at(Path(place))
    paths = [path for path in archive.files if is_code(path) and not is_clutter(path)]
    if len(paths) > _MOST_FILES:
        raise UserError(f"{place} holds more than {_MOST_FILES:,} Python files", fix="name folders inside it")
    gradebooks = [path for path in archive.files if path.endswith(".sqlite") and ".backup-" not in path]
    if not paths:
        fix = f"a folder of grades, a gradebook, or code ({', '.join(CODE)}); `{SOLUTIONS}`: those of the course"
        inside = f"name each gradebook in it by its path: {listed(gradebooks, 3)}" if gradebooks else f"name {fix}"
        raise UserError(f"{place} has neither a gradebook nor Python files", fix=inside)
    files, problems = _modules(archive, paths)
    if not files:
        raise UserError(f"{place} cannot be compared: {problems[0]}", fix="name code that can be read")
    problems += [f"{path}: {why}" for path, why in archive.problems]
    packed = [path for path in archive.files if is_work(path) and not is_code(path) and not is_clutter(path)]
    if packed:
        problems.append(f"archives inside are not opened: {listed(packed, 3)}")
    if gradebooks:
        problems.append(
            f"only Python files are compared; each gradebook inside needs its own --against: {listed(gradebooks, 3)}"
        )
    topics = Topics.of([topic.name for topic in course.modules])
    of_topic: dict[str | None, list[str]] = {}
    for path in files:
        of_topic.setdefault(topics.named(Path(path).stem), []).append(path)

    def files_of(topic: str) -> Iterator[tuple[str, bytes]]:
        for path in (*of_topic.get(topic, ()), *of_topic.get(None, ())):
            yield path, files[path]

    notes = tuple(f"{place}: {problem}" for problem in problems)
    return Others(place, (f"{place}: {counted(len(files), 'file')}",), is_code=True, files_of=files_of, notes=notes)


def _archive_at(path: Path) -> Archive:
    """The files at a path, also if it is a single one.

    Raises:
        UserError: there is nothing that can be compared.
    """
    kinds = f"name a folder, a gradebook, or a file that ends with {', '.join((*CODE, *ARCHIVES))}"
    with _errors_of(path):
        if path.is_dir():
            return Folder(path)
        if not path.exists():
            raise UserError(f"there is no {path}", fix=kinds)
    if is_archive(path.name):
        try:
            return open_archive(path.name, path)
        except BrokenArchive as problem:
            raise UserError(f"{path}: {problem}", fix="unpack it, and name its folder") from problem
    if not is_code(path.name):
        raise UserError(f"{path} is neither a gradebook nor Python", fix=kinds)
    single = Archive(path)
    single.files[as_text(path.name)] = read_file(path.resolve()), None
    return single


def _modules(archive: Archive, paths: Iterable[str]) -> tuple[Mapping[str, bytes], list[str]]:
    """The files as modules, and why some are not read."""
    files: dict[str, bytes] = {}
    problems: list[str] = []
    for path in paths:
        content = archive.files[path][0](limit_of(path) + 1)
        if isinstance(content, str):
            problems.append(f"{path}: {content}")
        elif len(content) > limit_of(path):
            problems.append(f"{path}: larger than {limit_of(path) >> 20} MiB: not read")
        elif not path.lower().endswith(".ipynb"):
            files[path] = content
        elif (module := (code := module_of(content)).module) is None:
            problems.append(f"{path}: {'; '.join(code.notes)}")
        else:
            files[path] = module
    return files, problems
