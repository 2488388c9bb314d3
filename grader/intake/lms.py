"""The names that Canvas and Moodle give to files in a download of all submissions.

Works on names only; never opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from grader.intake.topics import Topics

_MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<rest>[_/].*|)$", re.DOTALL)
_MOODLE_FLAT = re.compile(
    r"^(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)_(?P<rest>[^/]+)$", re.DOTALL
)
_CANVAS_ANONYMOUS = re.compile(
    r"^anon(?P<late>_LATE)?_(?P<id>[A-Za-z0-9]+)(?P<late2>_LATE)?_(?:(?P<order>\d+)_)?(?P<rest>[^/]+)$", re.DOTALL
)
_CANVAS = re.compile(
    r"^(?P<name>[^/]+?)(?P<late>_LATE|_late)?_(?P<id>\d+)_(?:(?P<order>\d+)_)?(?P<rest>[^/]+)$", re.DOTALL
)
_COPY_NUMBER = re.compile(r"(?:-(?P<number>\d{1,3})| ?\((?P<copy>\d{1,3})\))(?=\.[A-Za-z.]+$)")


@dataclass(frozen=True)
class Piece:
    """One file of a student's in a download.

    Attributes:
        path: in the download.
        file: its name in the submission.
        name: the student's name as the LMS writes it.
        student: the LMS's id; in a download without ids the name again.
        order: greater for files that were handed in later.
        lms: ``canvas``, ``moodle``, or empty.
        late: whether the LMS marks it late.
        text: whether it was typed into a form, not uploaded as a file.
    """

    path: str
    file: str
    name: str
    student: str
    order: int = 0
    lms: str = ""
    late: bool = False
    text: bool = False


def pieces_of(paths: Iterable[str]) -> tuple[list[Piece], list[str]]:
    """The students' files, and the other paths; no pieces at all if this is not an LMS's download."""
    all_paths = list(paths)
    folder = _wrapping(all_paths)
    inside = {path: path.removeprefix(folder) for path in all_paths}
    for parse in (_moodle, _canvas):
        pieces = [piece for path, name in inside.items() if (piece := parse(path, name)) is not None]
        top = pieces if parse is _moodle else [path for path, name in inside.items() if "/" not in name]
        if pieces and 2 * len(pieces) >= len(top):
            known = {piece.path for piece in pieces}
            return pieces, [path for path in all_paths if path not in known]
    return [], []


def latest_files(pieces: Iterable[Piece], topics: Topics) -> tuple[list[Piece], list[tuple[str, str]]]:
    """The files of one student that count, and a note for each name that was handed in more than once."""
    groups: dict[str, list[tuple[int, int, Piece]]] = {}
    pieces = list(pieces)
    there = {piece.file for piece in pieces}
    for piece in pieces:
        found = _COPY_NUMBER.search(piece.file)
        base = _COPY_NUMBER.sub("", piece.file) if found else piece.file
        is_known = base in there or topics.named(base.partition(".")[0]) is not None or topics.is_wanted(base)
        if not found or not is_known:
            groups.setdefault(piece.file, []).append((piece.order, 0, piece))
        else:
            groups.setdefault(base, []).append((piece.order, int(found["number"] or found["copy"]), piece))
    last, notes = [], []
    for base, group in groups.items():
        *earlier, (_, _, counts) = sorted(group, key=lambda member: (member[0], member[1], member[2].path))
        last.append(replace(counts, file=base))
        if earlier:
            others = ", ".join(piece.path.rpartition("/")[2] for _, _, piece in earlier)
            this = counts.path.rpartition("/")[2]
            notes.append((base, f"handed in {len(group)} times; the last counts ({this}), not {others}"))
    return last, notes


def _moodle(path: str, name: str) -> Piece | None:
    found = _MOODLE_FLAT.match(name) if "/" not in name else _MOODLE.match(name)
    if found is None:
        return None
    who = f"Participant {found['id']}" if found["name"] == "Participant" else found["name"].strip()
    return Piece(path, found["rest"].lstrip("/"), who, found["id"], 0, "moodle", text=found["kind"] != "file")


def _canvas(path: str, name: str) -> Piece | None:
    anonymous = _CANVAS_ANONYMOUS.match(name)
    found = anonymous or _CANVAS.match(name)
    if found is None:
        return None
    text = found["rest"] == "text.html"
    if not text and found["order"] is None and not anonymous:
        return None
    late = bool(found["late"] or (anonymous and anonymous["late2"]))
    who = f"anon_{found['id']}" if anonymous else found["name"]
    return Piece(path, found["rest"], who, found["id"], int(found["order"] or 0), "canvas", late, text)


def _wrapping(paths: list[str]) -> str:
    """The one folder that all files are in, with its slash; empty if there is none or it is a student's."""
    first = {path.partition("/")[0] for path in paths if "/" in path}
    if len(first) == 1 and all("/" in path for path in paths) and not _MOODLE.match(next(iter(first))):
        return f"{next(iter(first))}/"
    return ""
