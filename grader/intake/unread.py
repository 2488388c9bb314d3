"""Decides which topics were handed in as something that could not be read: no answer, and no wrong one either."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from grader.intake.submission import ASIDE, WORK, Note
from grader.intake.topics import AS_HANDED_OUT, Topics, code_lines
from grader.results import Unread
from grader.text import one_line

_MOST: Final = 200
_IMPORTED: Final = re.compile(r"(?:from|import)\s+(\w+)")
_MARKS_OF_KINDS: Final = {b"%PDF": "a PDF", b"PK\x03\x04": "a zip archive", b"\x89PNG": "a picture"}
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def unread_topics(
    files: Mapping[str, bytes], notes: Iterable[Note], topics: Topics, others: Sequence[str] = ()
) -> tuple[Unread, ...]:
    """The topics whose work is there and could not be read, with the reason.

    A topic without a file is one of them only if a file was left out that may have been the topic's. A file that is no
    code at all, such as a PDF, may have been it only if no topic was read. A topic whose file has nothing of the
    student's own is one of them if there is other code that may be it.

    Args:
        others: files of other kinds: one with the topic's name may be its answer, such as ``vectors.py.txt``.
    """
    return tuple(_unread(files, list(notes), topics, others))


def _unread(files: Mapping[str, bytes], notes: list[Note], topics: Topics, others: Sequence[str]) -> Iterator[Unread]:
    named = {f"{topic}.py" for topic in topics.names}
    anything_read = bool(named & files.keys())
    not_own = {topic: _why_not_own(topic, files, topics) for topic in topics.names if f"{topic}.py" in files}
    other = "" if any(not why for why in not_own.values()) else _other_code(files, named)
    for topic in sorted(topics.names):
        file = f"{topic}.py"
        if file in files:
            reason = why_not_python(files[file])
            if not reason and not_own[topic]:
                about = [note for note in notes if note.path == file and (note.source or note.lost)]
                about = about or [note for note in notes if note.lost == WORK and note.path not in named]
                beside = other or next((path for path in others if topics.named(path.rpartition("/")[2]) == topic), "")
                reason = _of_doubt(topic, not_own[topic], files[file], topics, beside, [str(note) for note in about])
            if reason:
                yield Unread(topic, one_line(f"{file}: {reason}", _MOST))
            continue
        lost = [note for note in notes if note.lost and not (note.lost == ASIDE and anything_read)]
        may_be_it = [note for note in lost if note.path == file] or [note for note in lost if note.path not in named]
        if may_be_it:
            yield Unread(topic, one_line(str(may_be_it[0]), _MOST))
        elif other:
            yield Unread(topic, one_line(f"{file} is not there, but {other} is", _MOST))


def _why_not_own(topic: str, files: Mapping[str, bytes], topics: Topics) -> str:
    """Why a topic's file holds nothing of it that the student wrote; empty if it does, or imports another file."""
    content = files[f"{topic}.py"]
    others = {path.partition("/")[0].removesuffix(".py") for path in files} - topics.names
    imported = {found[1] for line in code_lines(content) if (found := _IMPORTED.match(line))}
    return "" if imported & others else topics.why_not_own(topic, content)


def _other_code(files: Mapping[str, bytes], named: Container[str]) -> str:
    """The first file that is no topic's and has code; empty if there is none."""
    return next((path for path, content in sorted(files.items()) if path not in named and code_lines(content)), "")


def _of_doubt(topic: str, why: str, content: bytes, topics: Topics, other: str, notes: Sequence[str]) -> str:
    """Why a topic without anything of the student's own needs a look; empty if it was only not begun."""
    if notes:
        return f"{why}; {notes[0]}"
    if other:
        return f"{why}, but {other} is there too"
    if hidden := topics.in_comments(topic, content):
        return f"{why}, but has {hidden} in comments"
    if not topics.has_more_code(topic, content) or not topics.is_named_in(topic, content):
        return ""
    return f"{why}, but has more code" if why == AS_HANDED_OUT else why


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
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return "it is not text in UTF-8, nor in an encoding that it names; save it as UTF-8"
    return ""
