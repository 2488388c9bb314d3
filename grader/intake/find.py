"""Finds the submissions at the paths that the command line was given; reads none of them yet.

Never mixes the work of two students, and never leaves out a file that could be a submission.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace as replace_arrival

from grader.errors import UserError
from grader.intake import kinds, lms
from grader.intake.archive import Archive, BrokenArchive, Folder, ReadFile, open_archive, read_file
from grader.intake.bag import Bag
from grader.intake.notebook import module_of
from grader.intake.owner import of_single_file, with_names
from grader.intake.roster import Roster
from grader.intake.sources import DownloadSource, OneSource, PathSource, Source
from grader.intake.submission import FILE_TIME
from grader.intake.topics import Topics

Known = Topics | Iterable[str] | Mapping[str, Iterable[str]]
"""The names by which files of a course are recognised: see `Topics.of`."""
Say = Callable[[str], None]
"""Is called with a line for each file of no student, for example."""
IsOwned = Callable[[str], bool]
"""Says whether the name of a file, of any kind, is that of a student of the class list."""
_FIX = "give a folder with topic modules, a folder of such folders, a .py file, a notebook, a .zip or a .tar.gz"


def find_submissions(
    paths: Sequence[Path],
    topics: Known,
    skip: Path | None = None,
    roster: Roster | None = None,
    note: Say = lambda line: None,
    known_people: Mapping[str, str] = MappingProxyType({}),
    assignment: str = "",
) -> list[Source]:
    """The submissions at the paths: each is a submission, or a folder or archive of them; sorted, with unique names.

    Args:
        topics: names, or names and their exercises, so that a file can be recognised by its definitions.
        skip: the one folder inside them that is not a submission, because the results are in it.
        roster: gives names to ids, and times.
        note: is called with a line for each file of no student, and for students who handed in nothing.
        known_people: the names of students whose work is graded already, by id, else by name.
        assignment: its name; students of whom only Moodle's number in it is known are told apart by it.

    Raises:
        UserError: a path does not exist, or holds no submission.
    """
    known = Topics.of(topics)
    left_out = None if skip is None else skip.resolve()

    def is_owned(name: str) -> bool:
        return roster is not None and roster.index.find(kinds.without_ending(kinds.as_text(name))).one is not None

    found = [source for path in paths for source in _sources(path, known, left_out, note, is_owned)]
    graded = Roster.of_people(known_people)
    given = set(paths)
    people = roster or graded
    # In a folder, an id in a name that is not as most others are says nothing: anybody may have written it.
    found = [of_single_file(one, people, graded) if one.path in given else one for one in found]
    named = with_names(found, people, graded, note, assignment)
    return sorted(_unique(named), key=lambda source: source.name)


def open_submission(path: Path, topics: Known) -> PathSource:
    """The one submission at a path.

    Raises:
        UserError: there is none, or the path is a folder of submissions.
    """
    known = Topics.of(topics)
    _require(path)
    if path.is_file() or _is_submission(path, known):
        return PathSource(_name_of(path), path, known)
    modules = ", ".join([*(f"{topic}.py" for topic in sorted(known.names)), *sorted(known.files)][:3])
    fix = "go to the folder with your work, name it with --submission DIR, or make one with: grader init DIR"
    raise UserError(f"no topic module ({modules}, …) in {path} or its {kinds.STUBS} folder", fix=fix)


# ---------------------------------------------------------------- on disk


def _sources(path: Path, topics: Topics, skip: Path | None, note: Say, is_owned: IsOwned) -> list[OneSource]:
    _require(path)
    if kinds.is_archive(path.name) and path.is_file():
        try:
            archive = open_archive(path.name, path)
        except BrokenArchive:
            return [_source(path, topics)]  # Its result will have a note that says so.
        inside = _of_lms(archive, path, topics, note) or _of_class(archive, path, topics, note, is_owned)
        return _with_folder_times(inside or [_source(path, topics)])
    if path.is_file() or _is_submission(path, topics, is_owned) or _has_attempts(path, topics):
        return _with_folder_times([_source(path, topics)])
    children = [
        child
        for child in sorted(path.iterdir())
        if not child.name.startswith(".")
        and child.name not in kinds.NOT_WORK | kinds.COURSE_FOLDERS | {kinds.STUBS}
        and child.resolve() != skip
    ]
    if _is_download(children) and (download := _of_lms(Folder(path), path, topics, note)):
        return [*download]
    if folder := _wrapped(children, topics, is_owned):
        note(f"{kinds.as_text(path.name)}: all is in the folder {kinds.as_text(folder.name)}: taken for the class")
        return _sources(folder, topics, skip, note, is_owned)
    is_flat = not any(child.is_dir() for child in children)
    submissions = [
        child
        for child in children
        if child.is_dir()
        or kinds.is_work(child.name)
        or (is_flat and topics.may_be_by_hand(child.name))
        or _is_module(child, topics)
        or is_owned(child.name)
    ]
    if not submissions:
        raise UserError(f"no submission in {path}", fix=_FIX)
    _note_odd(path, _entries(submissions), note)
    found: list[OneSource] = []
    for child in submissions:
        source = _source(child, topics)
        found.append(replace(source, is_link=child.is_symlink()) if isinstance(source, PathSource) else source)
    return _with_folder_times(found)


def _wrapped(children: Sequence[Path], topics: Topics, is_owned: IsOwned) -> Path | None:
    """The folder of several submissions that is all there is, as in a download that was unpacked; None if none is."""
    while len(children) == 1 and children[0].is_dir() and not children[0].is_symlink():
        (folder,) = children
        if is_owned(folder.name) or _is_submission(folder, topics, is_owned):
            return None
        children = [one for one in folder.iterdir() if not kinds.is_clutter(one.name)]
        entries = _entries(children)
        pieces, _ = lms.pieces_of(entries)
        # A student who is alone can name one folder as another one's.
        if len({one.student for one in pieces}) > 1 or sum(is_owned(one.partition("/")[0]) for one in entries) > 1:
            return folder
    return None


def _with_folder_times(found: Sequence[OneSource]) -> list[OneSource]:
    """The same; if not all of a class have folders that are named by times, those say no more than times of files."""
    if found[1:] and all(source.arrival.by == lms.FOLDER_TIME for source in found):
        return [*found]
    return [
        replace(one, arrival=replace_arrival(one.arrival, by=FILE_TIME)) if one.arrival.by == lms.FOLDER_TIME else one
        for one in found
    ]


def _has_attempts(folder: Path, topics: Topics) -> bool:
    """Whether a folder has one student's work in folders that are named by the times of handing in, and no others."""
    paths = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for one in entries:
            if one.is_dir(follow_symlinks=False) and not one.name.startswith("."):
                if not lms.is_attempt(one.name):
                    return False
                paths += [f"{one.name}/{file.name}" for file in os.scandir(one.path) if file.is_file()]
    return _are_attempts(paths, topics)


def _are_attempts(paths: Sequence[str], topics: Topics) -> bool:
    """Whether these are the files of one student's attempts: not of a class, of which there may be several copies.

    Args:
        paths: beginning with a folder for each attempt.
    """
    work = [path for path in paths if path.count("/") == 1 and (kinds.is_work(path) or kinds.has_no_ending(path))]
    has_topic = any(path[path.find("/") + 1 :].rpartition(".")[0] in topics.names for path in work)
    times = Counter(path.partition("/")[0] for path in work)
    return has_topic or max(times.values(), default=0) == 1


def _is_module(file: Path, topics: Topics) -> bool:
    """Whether a file whose name has no ending is Python that defines an exercise."""
    return not file.is_symlink() and Bag(topics).is_module(file.name, read_file(file))


def _is_download(children: Sequence[Path]) -> bool:
    """Whether it looks like an unpacked LMS download, before all its folders are walked through."""
    inside = [child / lms.GRADESCOPE_FILE for child in children] if len(children) == 1 else []
    if any(file.name == lms.GRADESCOPE_FILE and file.is_file() for file in (*children, *inside)):
        return True
    return lms.download_of(_entries(children)) is not None


def _entries(children: Sequence[Path]) -> list[str]:
    """The names of files, and a path in each folder."""
    return [f"{kinds.as_text(child.name)}{'/file' if child.is_dir() else ''}" for child in children]


def _require(path: Path) -> None:
    try:
        if path.is_dir() or (path.is_file() and (kinds.is_code(path.name) or kinds.is_archive(path.name))):
            return
        known = ", ".join([*kinds.CODE, ".zip or .tar.gz"])
        reason = f"is neither a folder nor a {known} file" if path.exists() else "is not there"
    except OSError as problem:
        reason = f"cannot be read ({problem.strerror})"
    raise UserError(f"{path} {reason}", fix=_FIX)


def _source(path: Path, topics: Topics) -> PathSource | DownloadSource:
    name = _name_of(path)
    if path.is_dir() and not path.is_symlink() and _has_attempts(path, topics):
        folder = Folder(path)
        reasons = dict(folder.problems)
        pieces = [lms.attempt_of(lms.Piece(one, one, name, "")) for one in [*folder.files, *reasons]]
        return _of_student("", path, topics, folder, pieces, reasons)
    return PathSource(name, path, topics)


def _name_of(path: Path) -> str:
    resolved = path if path.name not in ("", "..") else path.resolve()
    name = kinds.as_text(resolved.name) or "submission"
    return name if path.is_dir() else kinds.without_ending(name)


def _is_submission(folder: Path, topics: Topics, is_owned: IsOwned = lambda name: False) -> bool:
    modules = [f"{topic}{end}" for topic in topics.names for end in (*kinds.CODE, *kinds.SAVED_AS)]
    names = [*modules, *topics.files, *topics.packages]
    if any(os.path.lexists(folder / kinds.STUBS / name) for name in names):
        return True
    if any(os.path.lexists(folder / name) for name in names):
        beside = [one.name for one in folder.iterdir() if one.is_dir() and not kinds.is_clutter(one.name)]
        with_work = [one for one in beside if any(os.path.lexists(folder / one / name) for name in modules)]
        at_top = {name: read_file(folder / name) for name in modules if os.path.lexists(folder / name)}
        return not at_top or not _are_students(with_work, at_top, topics, is_owned)
    # The work in another format: in a folder of a class, a file has the student's name in its own.
    return any(child.name.partition(".")[0].lower() in topics.stems_by_hand for child in folder.iterdir())


def _are_students(folders: Collection[str], at_top: Mapping[str, ReadFile], topics: Topics, is_owned: IsOwned) -> bool:
    """Whether folders beside files of topics are those of several students, and these files are of none of them.

    Args:
        folders: those with work in them.
        at_top: the files beside them.
    """
    folders = [name for name in folders if name not in kinds.COURSE_FOLDERS | {kinds.STUBS}]
    if len(folders) < 2 or sum(map(is_owned, folders)) > 1:
        return len(folders) > 1
    for name, read in at_top.items():
        content = read(kinds.limit_of(name) + 1)
        modules = [content if isinstance(content, bytes) else b""]
        if kinds.is_notebook(name):
            code = module_of(modules[0])
            modules = [code.module or b"", *code.written.values()]
        if any(topics.answers(topic, module) for topic in topics.names for module in modules):
            return False
    return True


# ---------------------------------------------------------------- in a download, or an archive of a whole class


def _of_lms(download: Archive, at: Path, topics: Topics, note: Say) -> list[DownloadSource]:
    """The students of a platform's download; none if it is no such download."""
    paths = _without_clutter(download.files)
    # Of an entry whose path leads out of the archive, the rest of the path may still name the student.
    reasons = {path.lstrip("./") or path: reason for path, reason in download.problems}
    platform = lms.download_of(paths)
    if platform is None:
        return []
    paths = [*dict.fromkeys([*paths, *reasons])]
    if platform.lms == "gradescope":
        pieces, others = _of_gradescope(download, paths, platform.folder)
    else:
        pieces, others = platform.pieces(paths)
    for path in others:
        if path in reasons or not kinds.is_clutter(path):
            note(f"{kinds.as_text(at.name)}: {path}: {reasons.get(path, 'not a submission, by its name: left out')}")
    return _by_student(download, at, topics, pieces, reasons)


def _of_gradescope(download: Archive, paths: Sequence[str], folder: str) -> tuple[list[lms.Piece], list[str]]:
    """The students' files of a Gradescope export, and the other paths; nothing if its list names nobody."""
    about = f"{folder}{lms.GRADESCOPE_FILE}"
    # It is about a whole class, with the output of every test.
    metadata = download.content(about, kinds.ARCHIVE_BYTES + 1)
    if len(metadata) > kinds.ARCHIVE_BYTES:
        raise UserError(f"{about} is larger than {kinds.ARCHIVE_BYTES >> 20} MiB", fix="download the export again")
    pieces = lms.gradescope_pieces(paths, metadata, folder)
    known = {about, *(piece.path for piece in pieces)}
    return pieces, [path for path in paths if path not in known] if pieces else []


def _of_class(download: Archive, at: Path, topics: Topics, note: Say, is_owned: IsOwned) -> list[DownloadSource]:
    """The students of an archive that holds a folder or file for each; none if it is one submission."""
    bag = Bag(topics)
    work = [
        path
        for path, (read, _) in download.files.items()
        if kinds.is_code(path) or kinds.is_archive(path) or topics.is_wanted(path) or bag.is_module(path, read)
    ]
    inside = [path for path in work if not kinds.is_clutter(path)]
    root = ""
    while True:
        tops = {path.partition("/")[0] for path in inside}
        stems = {kinds.code_name(path).rpartition(".")[0] for path in inside if "/" not in path}
        at_top = {path: download.files[root + path][0] for path in inside if "/" not in path}
        if kinds.STUBS in tops or not topics.files.isdisjoint(inside):
            return []
        with_work = [top for top in tops if any(f"{top}/{topic}." in path for topic in topics.names for path in inside)]
        if not stems.isdisjoint(topics.names) and not _are_students(with_work, at_top, topics, is_owned):
            return []
        folder = kinds.one_folder(inside)
        below = [path.removeprefix(folder) for path in inside]
        is_student = all(lms.is_attempt(path.partition("/")[0]) for path in below) and _are_attempts(below, topics)
        is_student = is_student or (bool(folder) and is_owned(folder[:-1]) and not is_owned(at.name))
        if not folder or is_student:
            break
        inside = below
        root += folder
    if len(tops) < 2 and not folder:
        return []
    for path, reason in download.problems:
        note(f"{kinds.as_text(at.name)}: {path}: {reason}")
    _note_odd(at, inside, note)
    pieces = []
    # Whoever handed in nothing that can be read is one of the class, too.
    for path in _without_clutter(path.removeprefix(root) for path in download.files if path.startswith(root)):
        top, _, rest = path.partition("/")
        if (rest or top in tops or kinds.is_work(top) or is_owned(top)) and not kinds.is_clutter(top):
            name = top if rest else kinds.without_ending(top)
            pieces.append(lms.attempt_of(lms.Piece(root + path, rest or top, name, "")))
    return _by_student(download, at, topics, pieces, {})


def _without_clutter(paths: Iterable[str]) -> list[str]:
    """The paths that may be work, and all of those at the top that have nothing else."""
    every = [*paths]
    kept = {path for path in every if not kinds.is_clutter(path) or kinds.is_hidden_code(path)}
    tops = {path.partition("/")[0] for path in kept}
    return [one for one in every if one in kept or not (tops | kinds.NOT_WORK).intersection([one.partition("/")[0]])]


def _note_odd(at: Path, entries: Iterable[str], note: Say) -> None:
    """Notes which of a class's entries are named as in a download, as most are not."""
    for entry, platform in lms.odd_entries(entries):
        why = f"named as in a download of {platform.capitalize()}, as most others are not: taken by its whole name"
        note(f"{kinds.as_text(at.name)}: {entry}: {why}")


def _by_student(
    download: Archive, at: Path, topics: Topics, pieces: Iterable[lms.Piece], reasons: Mapping[str, str]
) -> list[DownloadSource]:
    """The pieces of each student, and why some paths are left out."""
    students: dict[tuple[str, str], list[lms.Piece]] = {}
    for piece in pieces:
        # By the id, for which one student may have a name in two spellings; by the name where there is none.
        students.setdefault((piece.student, "" if piece.student else piece.name), []).append(piece)
    return [_of_student(student, at, topics, download, theirs, reasons) for (student, _), theirs in students.items()]


def _of_student(
    student: str, at: Path, topics: Topics, download: Archive, theirs: Sequence[lms.Piece], reasons: Mapping[str, str]
) -> DownloadSource:
    """One student's pieces, those that can be read."""
    of = tuple(piece for piece in theirs if piece.path in download.files)
    problems = tuple((piece.file, reasons[piece.path]) for piece in theirs if piece.path in reasons)
    texts = ((one.path, download.content(one.path, 1000).decode("utf-8", "replace")) for one in of if one.about)
    said = (lms.blackboard_student(path, text) for path, text in texts)
    name, student = next(filter(None, said), (theirs[0].name, student))
    return DownloadSource(name, at, topics, download, of, problems, arrival=lms.arrival_of(student, theirs))


# ---------------------------------------------------------------- their names


def _unique(found: Sequence[Source]) -> Iterator[Source]:
    """Makes equal names different: by the id or the folder of each, and then by a number."""
    count = Counter(source.name for source in found)
    taken = {name for name, times in count.items() if times == 1}
    for source in found:
        if count[source.name] > 1:
            student = "" if source.arrival.lms else source.arrival.student  # of the class list
            name = longer = f"{source.name} ({student})" if student else source.longer_name
            number = 1
            while name in taken:
                number += 1
                name = f"{longer} ({number})"
            source = replace(source, name=name)
            taken.add(name)
        yield source
