"""The names that learning platforms give to files in a download of all submissions.

Works on names, and on the texts of the platform's own that say whose a submission is; never opens a file.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from grader.errors import UserError
from grader.intake.dates import read_time
from grader.intake.kinds import is_work, one_folder
from grader.intake.names import name_key
from grader.intake.submission import Arrival
from grader.intake.topics import Topics
from grader.text import folded, one_line

_MOODLE = re.compile(
    r"^(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_?/|_|$)(?P<rest>.*)$", re.DOTALL
)
_CANVAS = re.compile(
    r"^(?:anon(?:_LATE)?_(?P<anonymous>[A-Za-z0-9]+)(?:_LATE)?_(?:(?P<order>\d+)_)?"
    r"|(?P<name>(?:(?!_\d+_)[^/])*?)(?:_LATE|_late)?_(?P<id>\d+)_(?:(?P<order2>\d+)_|(?=(?:text|link)\.html$)))"
    r"(?P<rest>[^/]+)$",
    re.DOTALL,
)
_BLACKBOARD = re.compile(
    r"^(?P<who>[^/]+?)_attempt_(?P<day>\d{4}-\d\d-\d\d)-(?P<h>\d\d)-(?P<m>\d\d)-(?P<s>\d\d)(?:_(?P<rest>[^/]+)|\.txt)$",
    re.DOTALL,
)
_BRIGHTSPACE = re.compile(
    r"^(?P<id>\d+)-\d+ - (?P<name>[^/]+) - (?P<day>[^/]+?) (?P<h>\d{1,2})(?P<m>\d\d)(?P<half> [AP]M|)/(?P<rest>.+)$",
    re.DOTALL,
)
_BLACKBOARD_NAME = re.compile(
    r"[^:\uff1a\n]{1,40}[:\uff1a][ \t]*(?P<name>[^\n]{1,200}?) ?[(\uff08](?P<id>[^()\uff08\uff09\n]{1,100})[)\uff09]"
    r"[ \t\r]*(?:\n|$)"
)
# A folder for each time of handing in, as VPL, Galah and A+ make them; VPL puts what it printed into another one.
# Teams numbers them, in some languages.
_ATTEMPT = re.compile(
    r"^(?P<place>(?:[^/]+/)*?)(?:(?P<day>\d{4}-\d\d-\d\d)[T _-](?P<h>\d\d)[-:._]?(?P<m>\d\d)[-:._]?(?P<s>\d\d)"
    r"(?P<more>[^/]*)|Vers[^\W\d_]* (?P<number>\d{1,4}))/(?P<rest>.+)$",
    re.DOTALL,
)
_OUTPUT_OF_VPL = ".ceg"
FOLDER_TIME = "folder time"
"""The source of a time that is the name of a folder."""
GRADESCOPE_FILE = "submission_metadata.yml"
_GRADESCOPE_FOLDER = re.compile(r"assignment_\d+_export\b")
_GRADESCOPE = re.compile(r"^(?P<submission>submission_\d+)/(?P<rest>.+)$", re.DOTALL)
_DEEPEST = 100
_UTC = re.compile(r"(?:\.\d+)? ?(?:Z|UTC)$|\.\d+")
_COPY_NUMBER = re.compile(r"(?:-(?P<number>\d{1,3})| ?\((?P<copy>\d{1,3})\))(?=\.[A-Za-z.]+$)")
# The words for somebody without a name, in Moodle's languages.
_PARTICIPANTS = frozenset(
    (
        *("participant", "participante", "teilnehmer/in", "teilnehmerin", "teilnehmer", "partecipante", "deelnemer"),
        *("deltager", "deltagare", "deltaker", "osallistuja", "uczestnik", "ucastnik", "resztvevo", "katilimci"),
        *("участник", "учасник", "συμμετεχων", "参加者", "参与者", "參與者", "참가자", "참여자", "مشارك", "משתתף"),
    )
)


T = TypeVar("T")


@dataclass(frozen=True)
class Piece:
    """One file of a student's in a download.

    Attributes:
        path: in the download.
        file: its name in the submission.
        name: the student's name as the LMS writes it.
        student: the LMS's id; in a download without ids the name again.
        order: greater for files that were handed in later.
        lms: ``canvas``, ``moodle``, ``blackboard``, ``brightspace``, ``gradescope``, or empty.
        late: whether the LMS says that it is late.
        text: whether it was typed into a form, not uploaded as a file.
        submitted: the ISO time that the platform says, or empty.
        about: whether it is a file of the platform's own, with the student's name.
        attempt: when the whole submission came that this is a part of; a later one replaces all of it.
        place: the folder that attempts are made in, with its slash; each has its own.
    """

    path: str
    file: str
    name: str
    student: str
    order: int = 0
    lms: str = ""
    late: bool = False
    text: bool = False
    submitted: str = ""
    about: bool = False
    attempt: str = ""
    place: str = ""


@dataclass(frozen=True)
class Download:
    """How the files of one platform's download are named.

    Attributes:
        lms: see `Piece`.
        form: matches a path inside `folder`.
        make: a path and its match become a piece; Gradescope's pieces are those of its list (`gradescope_pieces`).
        folder: the one folder that all files are in, with its slash, or empty.
    """

    lms: str
    form: re.Pattern[str]
    make: Callable[[str, re.Match[str]], Piece]
    folder: str = ""

    def pieces(self, paths: Iterable[str]) -> tuple[list[Piece], list[str]]:
        """The students' files, and the other paths."""
        pieces, others = [], []
        for path in paths:
            if found := self.form.match(path.removeprefix(self.folder)):
                pieces.append(self.make(path, found))
            else:
                others.append(path)
        return _told_apart(pieces), others


def download_of(paths: Iterable[str]) -> Download | None:
    """The platform whose form more than half of the entries at the top have; None if these are not its download.

    The platform begins a name, and the student ends it. So a student can give a file a second form, but all files have
    the platform's: it has the most matches, and of two that match all files it is the one that the names begin with.
    Files that can be nobody's work, such as an index of the platform's own, do not count.
    """
    all_paths = list(paths)
    folder = _wrapping(all_paths)
    entries = _at_top(path.removeprefix(folder) for path in all_paths)
    best: tuple[tuple[int, bool, int], Download] | None = None
    # Students can hand in a file of this name, but not at the top, nor in a folder that is named as the export is.
    is_export = f"{folder}{GRADESCOPE_FILE}" in all_paths and (not folder or _GRADESCOPE_FOLDER.match(folder))
    for download in (*_DOWNLOADS, *([_EXPORT] if is_export else [])):
        found = list(filter(None, map(download.form.match, entries)))
        # Canvas numbers each file. Names with the same numbers are Blackboard's, whose title may have numbers in it.
        is_numbered = download.form is not _CANVAS or len({one[0][: one.start("rest")] for one in found}) == len(found)
        key = len(found), is_numbered, -sum(len(one[0]) - len(one["rest"] or "") for one in found)
        others = sum(not download.form.match(entry) for entry in entries if entry.endswith("/_") or is_work(entry))
        if len(found) > others and (best is None or key > best[0]):
            best = key, replace(download, folder=folder)
    return best[1] if best else None


def odd_entries(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The entries at the top that are named as in a download, and of which platform; for what is not a download."""
    for entry in _at_top(paths):
        if lms := next((one.lms for one in _DOWNLOADS if one.form.match(entry)), ""):
            yield entry.removesuffix("/_"), lms


def _at_top(paths: Iterable[str]) -> dict[str, None]:
    """The files at the top, and each folder as the path of a file in it."""
    return dict.fromkeys(f"{top}/_" if slash else top for top, slash, _ in (path.partition("/") for path in paths))


def pieces_of(paths: Iterable[str]) -> tuple[list[Piece], list[str]]:
    """The students' files, and the other paths; no pieces at all if this is not an LMS's download."""
    all_paths = list(paths)
    download = download_of(all_paths)
    return download.pieces(all_paths) if download else ([], [])


def arrival_of(student: str, pieces: Sequence[Piece]) -> Arrival:
    """When a student's files came, as far as their names say so."""
    lms = pieces[0].lms if pieces else ""
    submitted = max((piece.submitted for piece in pieces), default="")
    return Arrival(
        student="" if lms == "moodle" else student,  # its numbers are of one assignment
        platform_id=student,
        submitted=submitted,
        by=(f"{lms.capitalize()} time" if lms else FOLDER_TIME) if submitted else "",
        late=any(piece.late for piece in pieces),
        lms=lms,
        prefix=_prefix_of(pieces) if lms or not any(piece.attempt for piece in pieces) else "",
    )


def attempt_of(piece: Piece) -> Piece:
    """The piece, as part of an attempt if a folder that it is in has the name of a time."""
    found = _ATTEMPT.match(piece.file)
    if found is None:
        return piece
    when = f"{found['day']} {found['h']}:{found['m']}:{found['s']}" if found["day"] else found["number"].zfill(4)
    piece = replace(piece, attempt=when, submitted=read_time(when), place=found["place"])
    return replace(piece, file=f"{found['place']}{found['rest']}", about=found["more"] == _OUTPUT_OF_VPL)


def is_attempt(folder: str) -> bool:
    """Whether a folder has the name of a time."""
    return _ATTEMPT.match(f"{folder}/_") is not None


def _prefix_of(pieces: Sequence[Piece]) -> str:
    """The beginning of the name of the last file that was uploaded, by which its platform knows the submission."""
    if not pieces or pieces[0].lms == "gradescope":  # its folders are of all who handed in together
        return ""
    last = max(pieces, key=lambda piece: (piece.attempt, not piece.about, not piece.text, piece.order))
    start = f"{last.path.removesuffix('.txt')}_" if last.about else last.path.removesuffix(last.file)
    folder = "/" if start.endswith("/") else ""
    return f"{start.rstrip('/').rpartition('/')[2]}{folder}"


def latest_files(
    pieces: Iterable[Piece], topics: Topics, may_count: Callable[[Piece], bool]
) -> tuple[list[Piece], list[tuple[str, str]]]:
    """The files of one student that count, and a note for each name that was handed in more than once.

    Args:
        may_count: whether something is in a file: an empty one does not replace the one before.
    """
    of_places: dict[str, dict[str, list[Piece]]] = {}
    for piece in sorted(pieces, key=lambda one: one.attempt):
        of_places.setdefault(piece.place, {}).setdefault(piece.attempt, []).append(piece)
    counting: list[Piece] = []
    notes: list[tuple[str, str]] = []
    for place, attempts in of_places.items():
        counting += attempts.pop("", [])
        in_order = [*attempts.items()]
        if in_order:
            used, theirs = _last(in_order, lambda one: any(not piece.about and may_count(piece) for piece in one[1]))
            counting += theirs
        if in_order[1:]:
            which = f"the last{_WITH[used != in_order[-1][0]]} counts, of {used}"
            notes.append((place or "./", f"handed in {len(in_order)} times; {which}"))
    last, more = _latest_versions(counting, topics, may_count)
    return last, [*notes, *more]


def _latest_versions(
    pieces: Sequence[Piece], topics: Topics, may_count: Callable[[Piece], bool]
) -> tuple[list[Piece], list[tuple[str, str]]]:
    """The same for the files of one attempt, of which some may be there in several versions."""
    there = {piece.file for piece in pieces}
    groups: dict[str, list[tuple[int, int, str, Piece]]] = {}
    for piece in pieces:
        base, number = piece.file, 0
        if found := _COPY_NUMBER.search(piece.file):
            original = _COPY_NUMBER.sub("", piece.file)
            if original in there or topics.named(original.partition(".")[0]) or topics.is_wanted(original):
                base, number = original, int(found["number"] or found["copy"])
        groups.setdefault(base, []).append((piece.order, number, piece.path, piece))
    last: list[Piece] = []
    notes: list[tuple[str, str]] = []
    for base, group in groups.items():
        in_order = [piece for *_, piece in sorted(group, key=lambda member: member[:3])]
        counts = _last(in_order, may_count)
        last.append(replace(counts, file=base))
        if in_order[1:]:
            others = ", ".join(piece.path.rpartition("/")[2] for piece in in_order if piece is not counts)
            which = f"the last{_WITH[counts is not in_order[-1]]} counts ({counts.path.rpartition('/')[2]})"
            notes.append((base, f"handed in {len(group)} times; {which}, not {others}"))
    return last, notes


_WITH = ("", " with an answer")


def _last(versions: Sequence[T], may_count: Callable[[T], bool]) -> T:
    """The last version that may count, else the last one; it is looked at only if there are several."""
    return next((one for one in reversed(versions) if versions[1:] and may_count(one)), versions[-1])


def _moodle(path: str, found: re.Match[str]) -> Piece:
    who = found["name"].strip()
    # Before it the name of a group may stand.
    who = f"Participant {found['id']}" if folded(who.rpartition("-")[2]) in _PARTICIPANTS else who
    return Piece(path, found["rest"].lstrip("/"), who, found["id"], 0, "moodle", text=found["kind"] != "file")


def _canvas(path: str, found: re.Match[str]) -> Piece:
    # Of a name without a letter, such as an emoji, Canvas leaves nothing.
    name = found["name"] or (f"anon_{found['anonymous']}" if found["anonymous"] else f"user {found['id']}")
    is_late = "_LATE_" in found.string[: found.start("rest")].upper()
    order = int(found["order"] or found["order2"] or 0)
    is_text = found["order"] is found["order2"] and found["rest"] in ("text.html", "link.html")
    return Piece(path, found["rest"], name, found["id"] or found["anonymous"], order, "canvas", is_late, is_text)


def _blackboard(path: str, found: re.Match[str]) -> Piece:
    who, rest = found["who"], found["rest"] or ""
    when = f"{found['day']} {found['h']}:{found['m']}:{found['s']}"
    return Piece(path, rest, who, who, 0, "blackboard", submitted=read_time(when), about=not rest, attempt=when)


def _brightspace(path: str, found: re.Match[str]) -> Piece:
    when = read_time(f"{found['day']} {found['h']}:{found['m']}{found['half']}")
    order = int(re.sub(r"\D", "", when[:19]) or 0)
    return Piece(path, found["rest"], found["name"].strip(), found["id"], order, "brightspace", submitted=when)


_DOWNLOADS = (
    Download("moodle", _MOODLE, _moodle),
    Download("blackboard", _BLACKBOARD, _blackboard),
    Download("brightspace", _BRIGHTSPACE, _brightspace),
    Download("canvas", _CANVAS, _canvas),
)
_EXPORT = Download("gradescope", _GRADESCOPE, lambda path, found: Piece(path, found["rest"], found[1], found[1]))


def _told_apart(pieces: list[Piece]) -> list[Piece]:
    """The same: of Blackboard's ids without the assignment, of the others only those that have one name."""
    names: dict[str, set[tuple[str, ...]]] = {}
    for piece in pieces:
        names.setdefault(piece.student, set()).add(name_key(piece.name))
    if pieces and pieces[0].lms == "blackboard":
        first, last = min(names), max(names)
        same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
        title = first[: first.rfind("_", 0, same) + 1]
        ids = [piece.student.removeprefix(title) for piece in pieces]
        return [replace(piece, name=one, student=one) for piece, one in zip(pieces, ids, strict=True)]
    return [piece if len(names[piece.student]) == 1 else replace(piece, student="") for piece in pieces]


def blackboard_student(path: str, text: str) -> tuple[str, str] | None:
    """The student's name and id in Blackboard's text about a submission, whatever its language.

    Args:
        path: of the text; after the assignment's title it has the id, too. None if that is another one.
    """
    found, of = _BLACKBOARD_NAME.match(text.lstrip("\ufeff")), _BLACKBOARD.match(path.rpartition("/")[2])
    return (found["name"].strip(), found["id"]) if found and of and of["who"].endswith(f"_{found['id']}") else None


def blackboard_words(text: str) -> str:
    """What the student typed into the form, of Blackboard's text about a submission; its own sentences in English are
    left out.
    """
    _, *sections = re.split(r"\n[ \t]*\r?\n", text.lstrip("\ufeff").strip())
    words = []
    for section in sections[:-1]:  # the last one names the files
        label, _, said = section.partition("\n")
        said = said if label.rstrip().endswith((":", "\uff1a")) else section
        if said.strip() and said.strip() not in _NOTHING_TYPED:
            words.append(html.unescape(_LINE_END.sub("\n", said)))
    return "\n".join(words)


_LINE_END = re.compile(r"<br\s*/?>|</p>|</div>|</li>", re.IGNORECASE)
_NOTHING_TYPED = (
    "There is no student submission text data for this assignment.",
    "There are no student comments for this assignment.",
)


def gradescope_pieces(paths: Iterable[str], metadata: bytes, folder: str = "") -> list[Piece]:
    """The files of a Gradescope export, for each of those who handed in a submission together.

    Args:
        metadata: its `GRADESCOPE_FILE`.
        folder: the one folder that all files are in, with its slash, or empty.

    Raises:
        UserError: that is not YAML.
    """
    import yaml  # here, because it takes a moment

    times: dict[str, str] = {}
    people: dict[str, dict[str, dict[str, str]]] = {}
    try:
        for above, text in _yaml_texts(metadata.decode("utf-8", "replace")):
            match above:
                case submission, ":created_at":
                    times[submission] = read_time(_UTC.sub("+00:00", text))
                case submission, ":submitters", place, fact:
                    people.setdefault(submission, {}).setdefault(place, {})[fact] = text
    except yaml.YAMLError as problem:
        reason = one_line(" ".join(str(problem).split()), 200)
        raise UserError(f"{GRADESCOPE_FILE} cannot be read: {reason}", fix="download the export again") from None
    pieces = []
    for found in filter(None, (_GRADESCOPE.match(path.removeprefix(folder)) for path in paths)):
        for person in people.get(found["submission"], {}).values():
            key = person.get(":sid") or person.get(":email") or ""
            name, when = person.get(":name") or key, times.get(found["submission"], "")
            pieces.append(Piece(f"{folder}{found.string}", found["rest"], name, key, 0, "gradescope", submitted=when))
    return _told_apart(pieces)


def _yaml_texts(document: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts of a YAML document that lie at most four deep, each after the keys and the places in lists above it.

    By the parser's events: nothing is built, so no alias costs memory, and a number stays as it is written. PyYAML's
    loaders recurse, and the one in C ends the process when it is too deep.

    Raises:
        yaml.YAMLError: it cannot be read, or nests too deeply.
    """
    import yaml

    above: list[str | int | None] = []  # None: in a mapping, a key comes next
    for event in yaml.parse(document, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
        if isinstance(event, yaml.CollectionEndEvent):
            above.pop()
        elif isinstance(event, yaml.ScalarEvent) and above and above[-1] is None:
            above[-1] = event.value
            continue
        elif isinstance(event, yaml.ScalarEvent) and len(above) <= 4:
            yield tuple(map(str, above)), event.value
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(above) > _DEEPEST:
                raise yaml.YAMLError(f"nested more than {_DEEPEST} deep")  # the parser takes minutes for it
            above.append(0 if isinstance(event, yaml.SequenceStartEvent) else None)
            continue
        if above and isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):  # the end of a value, or an odd key
            last = above[-1]
            above[-1] = last + 1 if isinstance(last, int) else "" if last is None else None


def _wrapping(paths: list[str]) -> str:
    """The one folder that all files are in, with its slash; empty if there is none or it is a student's."""
    folder = one_folder(paths)
    return "" if not folder or _MOODLE.match(folder[:-1]) or _BRIGHTSPACE.match(paths[0]) else folder
