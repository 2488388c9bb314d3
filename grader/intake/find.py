"""Finds the submissions at the paths that the command line was given; reads none of them yet.

Never mixes the work of two students, and never leaves out a file that could be a submission.
"""

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import msgspec

from grader.errors import UserError
from grader.intake.archive import BrokenArchive, Folder, open_archive
from grader.intake.download import arrival_of, class_sources, lms_sources
from grader.intake.lms import GRADESCOPE_FILE, pieces_of
from grader.intake.names import (
    CODE,
    COURSE_FOLDERS,
    NOT_WORK,
    STUBS,
    as_text,
    is_archive,
    is_code,
    is_unsupported_archive,
)
from grader.intake.roster import Roster, Student, name_key
from grader.intake.sources import DownloadSource, PathSource, Source
from grader.intake.topics import Topics

Known = Topics | Iterable[str] | Mapping[str, Iterable[str]]
"""The names by which files of a course are recognised: see `Topics.of`."""
_NAMED = 5
"""How many students a note may name."""
_FIX = "give a folder with topic modules, a folder of such folders, a .py file, a notebook, a .zip or a .tar.gz"


def _ignore(line: str) -> None:
    pass


def find_submissions(
    paths: Iterable[Path],
    topics: Known,
    skip: Path | None = None,
    roster: Roster | None = None,
    note: Callable[[str], None] = _ignore,
    known_people: Mapping[str, str] = MappingProxyType({}),
) -> list[Source]:
    """The submissions at the paths: each is a submission, or a folder or archive of them; sorted, with unique names.

    Args:
        topics: names, or names and their exercises, so that a file can be recognised by its definitions.
        skip: the one folder inside them that is not a submission, because the results are in it.
        roster: gives names to ids, and times.
        note: is called with a line for each file of no student, and for students who handed in nothing.
        known_people: the names of students whose work is graded already, by id, else by name.

    Raises:
        UserError: a path does not exist, or holds no submission.
    """
    known = Topics.of(topics)
    left_out = None if skip is None else skip.resolve()
    found = [source for path in paths for source in _sources(path, known, left_out, note)]
    students = roster.students if roster else []
    ids = {key.lower() for key in known_people} | {key for one in students for key in one.ids}
    found = [_of_lms_file(source, ids) for source in found]
    found = _enrolled(found, roster, note, known_people) if roster else list(_known(found, known_people))
    return sorted(_unique(found), key=lambda source: source.name)


def open_submission(path: Path, topics: Known) -> PathSource:
    """The one submission at a path.

    Raises:
        UserError: there is none, or the path is a folder of submissions.
    """
    known = Topics.of(topics)
    _require(path)
    if path.is_file() or _is_submission(path, known):
        return _source(path, known)
    modules = ", ".join([*(f"{topic}.py" for topic in sorted(known.names)), *sorted(known.files)][:3])
    raise UserError(
        f"no topic module ({modules}, …) in {path} or its {STUBS} folder",
        fix="go to the folder with your work, name it with --submission DIR, or make one with: grader init DIR",
    )


def _sources(path: Path, topics: Topics, skip: Path | None, note: Callable[[str], None]) -> Iterator[Source]:
    _require(path)
    if path.is_file():
        yield from _in_archive(path, topics, note) if is_archive(path.name) else [_source(path, topics)]
        return
    if _is_submission(path, topics):
        yield _source(path, topics)
        return
    children = [
        child
        for child in sorted(path.iterdir())
        if not child.name.startswith(".")
        and child.name not in NOT_WORK | COURSE_FOLDERS | {STUBS}
        and child.resolve() != skip
    ]
    if _is_download(children):
        download = lms_sources(Folder(path), path, topics, note)
        if download:
            yield from download
            return
    empty = True
    for child in children:
        kind = is_code(child.name) or is_archive(child.name) or is_unsupported_archive(child.name)
        if child.is_dir() or kind:
            empty = False
            yield replace(_source(child, topics), is_link=child.is_symlink())
    if empty:
        raise UserError(f"no submission in {path}", fix=_FIX)


def _is_download(children: Sequence[Path]) -> bool:
    """Whether it looks like an unpacked LMS download, before all its folders are walked through."""
    inside = [child / GRADESCOPE_FILE for child in children] if len(children) == 1 else []
    if any(file.name == GRADESCOPE_FILE and file.is_file() for file in (*children, *inside)):
        return True
    return bool(pieces_of(f"{as_text(child.name)}{'/file' if child.is_dir() else ''}" for child in children)[0])


def _in_archive(path: Path, topics: Topics, note: Callable[[str], None]) -> Sequence[Source]:
    try:
        archive = open_archive(path.name, path)
    except BrokenArchive:
        return [_source(path, topics)]  # Its result will have a note that says so.
    return (
        lms_sources(archive, path, topics, note)
        or class_sources(archive, path, topics, note)
        or [_source(path, topics)]
    )


def _require(path: Path) -> None:
    try:
        if path.is_dir() or (path.is_file() and (is_code(path.name) or is_archive(path.name))):
            return
        kinds = f"{', '.join(CODE)}, .zip or .tar.gz"
        reason = f"is neither a folder nor a {kinds} file" if path.exists() else "is not there"
    except OSError as problem:
        reason = f"cannot be read ({problem.strerror})"
    raise UserError(f"{path} {reason}", fix=_FIX)


def _source(path: Path, topics: Topics) -> PathSource:
    resolved = path if path.name not in ("", "..") else path.resolve()
    name = as_text(resolved.name) or "submission"
    if not path.is_dir():
        stem = Path(name).stem
        name = stem[:-4] if stem.lower().endswith(".tar") else stem
    return PathSource(name, path, topics)


def _is_submission(folder: Path, topics: Topics) -> bool:
    places = (folder, folder / STUBS)
    names = [*(f"{topic}{end}" for topic in topics.names for end in CODE), *topics.files]
    return any(os.path.lexists(place / name) for name in names for place in places)


def _of_lms_file(source: Source, ids: Container[str]) -> Source:
    """The same; of one file out of an LMS's download with the student whose id is in its name, if that id is known."""
    if isinstance(source, DownloadSource) or source.path.is_dir():
        return source
    pieces, _ = pieces_of([as_text(source.path.name)])
    if not pieces or pieces[0].student.lower() not in ids:
        return source
    return replace(source, name=pieces[0].name, arrival=arrival_of(pieces[0].student, pieces))


def _known(found: Iterable[Source], known_people: Mapping[str, str]) -> Iterator[Source]:
    """The submissions under the names by which the gradebook knows their students: by the id, else by a unique name."""
    of_names: dict[tuple[str, ...], list[str]] = {}
    for key, name in known_people.items():
        of_names.setdefault(name_key(name), []).append(key)
    for source in found:
        key = source.arrival.student
        alike = [] if key else of_names.get(name_key(source.name), [])
        if len(alike) == 1 and source.name not in known_people:
            key = alike[0]
            person = key if key != known_people[key] else ""
            source = replace(source, arrival=msgspec.structs.replace(source.arrival, student=person))
        yield replace(source, name=known_people.get(key, source.name))


def _enrolled(
    found: Iterable[Source], roster: Roster, note: Callable[[str], None], known_people: Mapping[str, str]
) -> list[Source]:
    """The submissions under the names of the class list, with its times."""
    named: list[Source] = []
    seen = set()
    times_of = Counter(source.name for source in found)
    for line in roster.notes:
        note(line)
    for source in found:
        student = roster.find(source.arrival.student) or roster.find(source.name) or roster.of_repository(source.name)
        alike = [] if student or (source.arrival.student and times_of[source.name] > 1) else _named(roster, source)
        if len(alike) == 1:
            student = alike[0]
        if student is None and not alike and not source.arrival.student:
            student = roster.of_group(source.name)
        if student is not None:
            seen.add(student)
            times = {"submitted": student.submitted, "by": student.by} if student.submitted else {}
            times |= {"due": student.extension} if student.extension else {}
            key = source.arrival.student or student.ids[0]
            arrival = msgspec.structs.replace(source.arrival, student=key, **times)
            source = replace(source, name=student.name, arrival=arrival)
        elif alike:
            ids = ", ".join(one.ids[0] for one in alike[:_NAMED])
            seen.update(alike)
            note(f"{source.name}: could be any of {len(alike)} of that name in the roster ({ids}): name it by the id")
        else:
            note(f"{source.name}: not in the roster")
        named.append(source)
    known: set[object] = {key.lower() for key in known_people}
    known |= {name_key(name) for key, name in known_people.items() if roster.find(key) is None}
    there = seen | {one for one in roster.students if not known.isdisjoint((*one.ids, name_key(one.name)))}
    groups = {student.group for student in there} - {""}
    nothing = [one.name for one in roster.students if one not in there and one.group not in groups]
    if len(nothing) > _NAMED:
        first = ", ".join(nothing[:_NAMED])
        note(f"{len(nothing)} students of the roster have handed in nothing: {first}, …")
    else:
        for name in nothing:
            note(f"{name}: in the roster, but has handed in nothing")
    return named


def _named(roster: Roster, source: Source) -> list[Student]:
    """The students of that name; a Moodle download of groups has the group's name and a hyphen before it."""
    parts = source.name.split("-") if source.arrival.lms == "moodle" else [source.name]
    names = ("-".join(parts[at:]) for at in range(len(parts)))
    return next((alike for name in names if (alike := roster.named(name))), [])


def _unique(found: Sequence[Source]) -> Iterator[Source]:
    """Makes equal names different: by the id or the folder of each, and then by a number."""
    count = Counter(source.name for source in found)
    taken = {name for name, times in count.items() if times == 1}
    for source in found:
        if count[source.name] > 1:
            source = replace(source, name=_unused(source.longer_name, taken))
            taken.add(source.name)
        yield source


def _unused(name: str, taken: Container[str]) -> str:
    """The name, with the first number that makes it unique if it is taken."""
    unused, number = name, 1
    while unused in taken:
        number += 1
        unused = f"{name} ({number})"
    return unused
