"""Decides which topics were handed in as something that could not be read: no answer, and no wrong one either."""

from __future__ import annotations

import codecs
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from grader.intake.submission import ASIDE, Note
from grader.intake.topics import Topics
from grader.results import Unread
from grader.text import one_line

_MOST: Final = 200
_MARKS_OF_KINDS: Final = {b"%PDF": "a PDF", b"PK\x03\x04": "a zip archive", b"\x89PNG": "a picture"}
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def unread_topics(files: Mapping[str, bytes], notes: Iterable[Note], topics: Topics) -> tuple[Unread, ...]:
    """The topics whose work is there and could not be read, with the reason.

    A topic without a file is one of them only if a file was left out that may have been the topic's. A file that is no
    code at all, such as a PDF, may have been it only if no topic was read.
    """
    return tuple(_unread(files, list(notes), topics))


def _unread(files: Mapping[str, bytes], notes: list[Note], topics: Topics) -> Iterator[Unread]:
    named = {f"{topic}.py" for topic in topics.names}
    anything_read = bool(named & files.keys())
    for topic in sorted(topics.names):
        file = f"{topic}.py"
        if file in files:
            reason = why_not_python(files[file])
            if reason:
                yield Unread(topic, f"{file}: {reason}")
            continue
        lost = [note for note in notes if note.lost and not (note.lost == ASIDE and anything_read)]
        may_be_it = [note for note in lost if note.path == file] or [note for note in lost if note.path not in named]
        if may_be_it:
            yield Unread(topic, one_line(str(may_be_it[0]), _MOST))


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
