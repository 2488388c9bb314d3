"""Decides which topics were handed in as something that could not be read: no answer, and no wrong one either."""

import codecs
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from grader.intake.bag import COURSE_FOLDERS, is_clutter
from grader.intake.submission import ASIDE, WORK, Note
from grader.intake.topics import Topics, code_lines
from grader.results import Unread
from grader.text import one_line

_MOST: Final = 200
_IMPORTED: Final = re.compile(r"(?:from|import)\s+(\w+)")
_MARKS_OF_KINDS: Final = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive",
    b"\x89PNG": "a picture",
    b"{\\rtf": "a document in RTF",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
}
_DOCUMENTS: Final = (".pdf", ".doc", ".rtf")
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


class SeenText(msgspec.Struct, frozen=True):
    """A file of the upload, whether it counts or not, but none of the course's own.

    Attributes:
        path: in the upload, or of the module if it counts.
        text: all of it, with what is no code in a notebook.
        module: its code; None if it is of another kind.
    """

    path: str
    text: str
    module: bytes | None = None


def unread_topics(
    files: Mapping[str, bytes], notes: Iterable[Note], topics: Topics, seen: Sequence[SeenText] = ()
) -> tuple[Unread, ...]:
    """The topics whose work is there and could not be read, with the reason.

    A topic without a file is one of them only if a file was left out that may have been the topic's. A file that is no
    code at all, such as a PDF, may have been it only if no topic was read. A topic whose file lacks an answer is one
    of them if the answer may be somewhere else in the upload.
    """
    return tuple(_unread(files, list(notes), topics, seen))


def _unread(
    files: Mapping[str, bytes], notes: list[Note], topics: Topics, seen: Sequence[SeenText]
) -> Iterator[Unread]:
    seen = [one for one in seen if not topics.is_handed_out(one.text)]
    named = {f"{topic}.py" for topic in topics.names}
    anything_read = bool(named & files.keys())
    not_own = {topic: _why_not_own(topic, files, topics) for topic in topics.names if f"{topic}.py" in files}
    other = "" if any(not why for why in not_own.values()) else _anything_else(seen, topics)
    for topic in sorted(topics.names):
        file = f"{topic}.py"
        if file not in files:
            lost = [note for note in notes if note.lost and not (note.lost == ASIDE and anything_read)]
            about = [note for note in lost if note.path == file] or [note for note in lost if note.path not in named]
            elsewhere = _elsewhere(topic, topics, seen) or other
            reason = str(about[0]) if about else f"{file} is not there, but {elsewhere} is" if elsewhere else ""
        else:
            reason = why_not_python(files[file]) or _of_doubt(topic, not_own[topic], files, topics, seen, other, notes)
            reason = reason and f"{file}: {reason}"
        if reason:
            yield Unread(topic, one_line(reason, _MOST))


def _why_not_own(topic: str, files: Mapping[str, bytes], topics: Topics) -> str:
    """Why a topic's file holds nothing of it that the student wrote; empty if it does, or imports another file."""
    content = files[f"{topic}.py"]
    return "" if _imports_others(topic, files) else topics.why_not_own(topic, content)


def _imports_others(topic: str, files: Mapping[str, bytes]) -> bool:
    others = {path.partition("/")[0].removesuffix(".py") for path in files} - {topic}
    return any(found[1] in others for line in code_lines(files[f"{topic}.py"]) if (found := _IMPORTED.match(line)))


def _of_doubt(
    topic: str,
    why: str,
    files: Mapping[str, bytes],
    topics: Topics,
    seen: Sequence[SeenText],
    other: str,
    notes: Sequence[Note],
) -> str:
    """Why a topic needs a look although its file was read; empty if it has an answer, or was only not begun."""
    file = f"{topic}.py"
    content = files[file]
    if not why:
        missing = topics.exercises.get(topic, frozenset()) - topics.written(topic, content)
        if not missing or _imports_others(topic, files):
            return ""
        if replaced := topics.replaced(topic, content):
            return f"after the answer to {replaced[0]} comes its stub again"
        for one in seen:
            if one.module is not None and (there := missing & topics.written(topic, one.module)):
                return f"it has no {min(there)}, but {one.path} has"
        return ""
    about = [note for note in notes if note.path == file and (note.source or note.lost)]
    about = about or [note for note in notes if note.lost == WORK and note.path.removesuffix(".py") not in topics.names]
    if about:
        where = about[0].source or about[0].path
        return f"{why}; {f'{where}: ' if where != file else ''}{about[0].text}"
    if beside := _elsewhere(topic, topics, seen) or other:
        return f"{why}, but {beside} is there too"
    if content == topics.stubs.get(topic):
        return ""
    text = next((one.text for one in seen if one.path == file), "")
    name, in_comments = topics.hidden_in(topic, text, topics.at_top(content))
    if in_comments:
        return f"{why}, but has {name} in comments"
    if topics.has_link_only(topic, text):
        return f"{why}, but has a link"
    if not name and not topics.may_answer(topic, content):
        return ""
    return why if why.startswith("it defines none") else f"{why}, but has more code"


def _elsewhere(topic: str, topics: Topics, seen: Sequence[SeenText]) -> str:
    """The first other file that may hold an answer to a topic, by its text or its name; empty if there is none."""
    others = [one for one in seen if one.path != f"{topic}.py"]
    return next((one.path for one in others if _may_answer(topic, topics, one)), "")


def _may_answer(topic: str, topics: Topics, one: SeenText) -> bool:
    if one.module is not None:
        is_written = bool(topics.written(topic, one.module) or topics.replaced(topic, one.module))
        return is_written or bool(topics.hidden_in(topic, one.text, topics.at_top(one.module), one.path)[0])
    has_name = topics.named(one.path.rpartition("/")[2]) == topic and not topics.is_stub(topic, one.text)
    return has_name or bool(topics.hidden_in(topic, one.text)[0])


def _anything_else(seen: Sequence[SeenText], topics: Topics) -> str:
    """The first file that may answer any topic: code that is no stub, a link, or no text; empty if there is none."""
    return next((one.path for one in seen if _may_be_work(one, topics)), "")


def _may_be_work(one: SeenText, topics: Topics) -> bool:
    if one.module is None:
        is_document = "\0" in one.text or "\ufffd" in one.text or one.path.lower().endswith(_DOCUMENTS)
        return is_document or topics.has_link_only("", one.text)
    if one.path.removesuffix(".py") in topics.names or not COURSE_FOLDERS.isdisjoint(one.path.split("/")):
        return False
    is_of_a_topic = PurePosixPath(one.path).stem in topics.names
    return topics.has_more_code(one.module) if is_of_a_topic or is_clutter(one.path) else bool(code_lines(one.module))


def why_not_python(content: bytes) -> str:
    """Why these bytes are no Python source, whatever it says; empty if they are text that Python reads."""
    for mark, kind in _MARKS_OF_KINDS.items():
        if content.startswith(mark):
            return f"it is {kind}, not Python text"
    if content.startswith(_UTF_16):
        return "it is text in UTF-16, which Python does not read; save it as UTF-8"
    if b"\0" in content:
        return "it holds null bytes: it is not Python text"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        content.decode(encoding)
    except Exception:  # a codec that the file names may raise any of them
        return "it is not text in UTF-8, nor in an encoding that it names; save it as UTF-8"
    return ""
