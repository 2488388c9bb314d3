"""Submissions inside one download or one archive of a whole class, read from it one by one without unpacking it.

Never writes a file, and never shows one student's files to another's submission.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from grader.intake.archive import Archive
from grader.intake.lms import GRADESCOPE_FILE, Piece, blackboard_name, gradescope_pieces, pieces_of
from grader.intake.names import ARCHIVE_BYTES, STUBS, as_text, is_archive, is_clutter, is_code, is_hidden_code
from grader.intake.sources import DownloadSource
from grader.intake.submission import Arrival
from grader.intake.topics import Topics


def lms_sources(download: Archive, at: Path, topics: Topics, note: Callable[[str], None]) -> list[DownloadSource]:
    """The students of a Canvas or Moodle download; none if it is no such download.

    `note` is called with a line for each entry that belongs to no student.
    """
    paths = [path for path in download.paths if not is_clutter(path) or is_hidden_code(path)]
    pieces, others = _of_gradescope(download, paths) or pieces_of(paths)
    if not pieces:
        return []
    # Of an entry whose path leads out of the archive, the rest of the path may still name the student.
    reasons = {path.lstrip("./") or path: reason for path, reason in download.problems}
    problematic, foreign = pieces_of(reasons)
    for path in [*(path for path in others if not is_clutter(path)), *foreign, *(() if problematic else reasons)]:
        note(f"{as_text(at.name)}: {path}: {reasons.get(path, 'not a submission, by its name: left out')}")
    return _grouped(download, at, topics, pieces, [(piece, reasons[piece.path]) for piece in problematic])


def _of_gradescope(download: Archive, paths: Sequence[str]) -> tuple[list[Piece], list[str]] | None:
    """The students' files of a Gradescope export, and the other paths; None if it is no such export."""
    found = [path for path in paths if path.rpartition("/")[2] == GRADESCOPE_FILE and path.count("/") <= 1]
    folder = found[0].removesuffix(GRADESCOPE_FILE) if len(found) == 1 else ""
    if len(found) != 1 or not all(path.startswith(folder) for path in paths):
        return None  # a file of that name in one student's folder says nothing about the others
    pieces = gradescope_pieces((path.removeprefix(folder) for path in paths), _text(download, found[0]))
    known = {piece.path for piece in pieces} | {GRADESCOPE_FILE}
    others = [path for path in paths if path.removeprefix(folder) not in known]
    return ([replace(piece, path=f"{folder}{piece.path}") for piece in pieces], others) if pieces else None


def _text(download: Archive, path: str) -> str:
    """A file of the platform's own."""
    # Gradescope's is about a whole class, with the output of every test.
    content = download.content(path, ARCHIVE_BYTES)
    return "" if isinstance(content, str) else content.decode("utf-8", "replace")


def class_sources(download: Archive, at: Path, topics: Topics, note: Callable[[str], None]) -> list[DownloadSource]:
    """The students of an archive that holds a folder or file for each; none if it is one submission."""
    in_order = [path for path in download.paths if not is_clutter(path)]
    paths = [path for path in in_order if is_code(path) or is_archive(path) or topics.is_wanted(path)]
    root = ""
    while True:
        inside = [path.removeprefix(root) for path in paths]
        tops = {path.partition("/")[0] for path in inside}
        if STUBS in tops or any(_is_topic(path, topics) for path in inside):
            return []
        if len(tops) != 1 or any("/" not in path for path in inside):
            break
        root += f"{tops.pop()}/"
    if len(tops) < 2:
        return []
    for path, reason in download.problems:
        note(f"{as_text(at.name)}: {path}: {reason}")
    pieces = []
    hidden = [path for path in download.paths if is_hidden_code(path) and "/" in path.removeprefix(root)]
    # Whoever handed in nothing that can be read is one of the class, too.
    others = [path for path in in_order if path.startswith(root) and "/" in path.removeprefix(root)]
    others = [path for path in others if path.removeprefix(root).partition("/")[0] not in tops]
    others += [
        path for path in hidden if path.startswith(root) and not is_clutter(path.removeprefix(root).partition("/")[0])
    ]
    paths, inside = [*paths, *others], [*inside, *(path.removeprefix(root) for path in others)]
    for path, name in zip(paths, inside, strict=True):
        top, _, rest = name.partition("/")
        who = top if rest else top.partition(".")[0]
        pieces.append(Piece(path, rest or top, who, ""))
    return _grouped(download, at, topics, pieces, [])


def _grouped(
    download: Archive, at: Path, topics: Topics, pieces: Iterable[Piece], problematic: Iterable[tuple[Piece, str]]
) -> list[DownloadSource]:
    students: dict[tuple[str, str], list[Piece]] = {}
    problems: dict[tuple[str, str], list[tuple[str, str]]] = {}
    names: dict[tuple[str, str], str] = {}
    for piece in pieces:
        names.setdefault(_who(piece), piece.name)
        students.setdefault(_who(piece), []).append(piece)
    for piece, reason in problematic:
        names.setdefault(_who(piece), piece.name)
        students.setdefault(_who(piece), [])
        problems.setdefault(_who(piece), []).append((piece.file, reason))
    return [
        DownloadSource(
            name=next((said for one in of if one.about and (said := _said_name(download, one))), names[who]),
            path=at,
            topics=topics,
            download=download,
            pieces=tuple(of),
            problems=tuple(problems.get(who, ())),
            arrival=arrival_of(who[0], of),
        )
        for who, of in students.items()
    ]


def _said_name(download: Archive, piece: Piece) -> str:
    return blackboard_name(_text(download, piece.path)[:1000], piece.student)


def arrival_of(student: str, pieces: Sequence[Piece]) -> Arrival:
    """When a student's files came, as far as their names say so."""
    lms = pieces[0].lms if pieces else ""
    submitted = max((piece.submitted for piece in pieces), default="")
    by = f"{lms.capitalize()} time" if submitted else ""
    return Arrival(student=student, submitted=submitted, by=by, late=any(piece.late for piece in pieces), lms=lms)


def _who(piece: Piece) -> tuple[str, str]:
    """The id, by which one student may have a name in two spellings; the name where there is none."""
    return piece.student, "" if piece.student else piece.name


def _is_topic(path: str, topics: Topics) -> bool:
    return path in topics.files or ("/" not in path and path.rpartition(".")[0] in topics.names)
