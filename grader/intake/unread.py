"""Decides which topics were handed in as something that could not be read: no answer, and no wrong one either."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from grader.intake.kinds import COURSE_FOLDERS, is_clutter
from grader.intake.submission import WORK, Note
from grader.intake.topics import Topics, code_lines, imported_by
from grader.results import Unread
from grader.text import one_line

_MOST = 200
_SIGNATURES = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive",
    b"\x89PNG": "a picture",
    b"{\\rtf": "a document in RTF",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
}
_DOCUMENTS = (".pdf", ".doc", ".rtf")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


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


@dataclass
class UnreadTopics:
    """Looks for the topics whose work is there and could not be read.

    A topic without a file is one of them only if a file was left out that may have been the topic's. A file that is no
    code at all, such as a PDF, may have been it only if no topic was read. A topic whose file lacks an answer is one
    of them if the answer may be somewhere else in the upload.

    Attributes:
        not_run: definitions that a notebook runs and no module can, and why, by name, by path.
        why_not_own: of each topic with a file, why that holds nothing of it that the student wrote; empty if it does,
            or imports another file.
        other: the first file that may answer any topic, if nothing of any topic is written.
    """

    files: Mapping[str, bytes]
    notes: Sequence[Note]
    topics: Topics
    seen: Sequence[SeenText]
    not_run: Mapping[str, Mapping[str, str]]

    def __post_init__(self) -> None:
        topics, files = self.topics, self.files
        handed_out = {stub.decode("utf-8", "replace") for stub in topics.stubs.values()}
        self.seen = [one for one in self.seen if one.text not in handed_out]
        self.why_not_own = {
            topic: "" if self._imports_others(topic) else topics.why_not_own(topic, files[f"{topic}.py"])
            for topic in sorted(topics.names)
            if f"{topic}.py" in files
        }
        self.other = ""
        if all(self.why_not_own.values()):
            self.other = next((one.path for one in self.seen if self._may_be_work(one)), "")

    def unread(self) -> Iterator[Unread]:
        for topic in sorted(self.topics.names):
            reason = self._of_file(topic) if f"{topic}.py" in self.files else self._of_missing(topic)
            if reason:
                yield Unread(topic, one_line(reason, _MOST))

    def _of_missing(self, topic: str) -> str:
        """Why a topic without a file needs a look; empty if nothing of it was handed in."""
        file = f"{topic}.py"
        named = {f"{one}.py" for one in self.topics.names}
        lost = [note for note in self.notes if note.lost == WORK or (note.lost and not self.why_not_own)]
        for note in [note for note in lost if note.path == file] or [note for note in lost if note.path not in named]:
            return str(note)
        elsewhere = self._elsewhere(topic)
        return f"{file} is not there, but {elsewhere} is" if elsewhere else ""

    def _of_file(self, topic: str) -> str:
        """Why a topic with a file needs a look; empty if it has an answer, or was only not begun."""
        file = f"{topic}.py"
        why = self.why_not_own[topic]
        not_python = why_not_python(self.files[file])
        doubt = not_python or (self._of_untouched(topic, file, why) if why else self._of_answered(topic))
        return doubt and f"{file}: {doubt}"

    def _of_answered(self, topic: str) -> str:
        """Why a file with an answer needs a look."""
        not_run = self.not_run.get(f"{topic}.py", {})
        if name := min(self.topics.exercises.get(topic, frozenset()) & not_run.keys(), default=""):
            return f"{name}: {not_run[name]}"
        answered = self.topics.answered(topic, self.files[f"{topic}.py"])
        missing = self.topics.exercises.get(topic, frozenset()) - self.topics.written(topic, self.files[f"{topic}.py"])
        if not missing or self._imports_others(topic):
            return ""
        if replaced := sorted(missing & answered.keys()):
            return f"after the answer to {replaced[0]} comes its stub again"
        for one in self.seen:
            if one.module is not None and (there := missing & self.topics.written(topic, one.module)):
                return f"it has no {min(there)}, but {one.path} has"
        return ""

    def _of_untouched(self, topic: str, file: str, why: str) -> str:
        """Why a file without an answer needs a look."""
        content = self.files[file]
        about = [note for note in self.notes if note.path == file and (note.source or note.lost)] or [
            note for note in self.notes if note.lost == WORK and note.path.removesuffix(".py") not in self.topics.names
        ]
        if about:
            where = about[0].source or about[0].path
            return f"{why}; {f'{where}: ' if where != file else ''}{about[0].text}"
        if elsewhere := self._elsewhere(topic):
            return f"{why}, but {elsewhere} is there too"
        text = next((one.text for one in self.seen if one.path == file), "")
        name, in_comments = self.topics.hidden_in(topic, text, self.topics.at_top(content))
        if in_comments:
            return f"{why}, but has {name} in comments"
        if self.topics.has_link_only(topic, text):
            return f"{why}, but has a link"
        words = re.findall(r"\w+", "\n".join(code_lines(content)))
        is_begun = not {"def", "class", *self.topics.exercises.get(topic, ())}.isdisjoint(words)
        if not name and not (is_begun and self.topics.has_more_code(content)):
            return ""
        return why if why.startswith("it defines none") else f"{why}, but has more code"

    def _imports_others(self, topic: str) -> bool:
        others = {path.partition("/")[0].removesuffix(".py") for path in self.files} - {topic}
        return not others.isdisjoint(imported_by(self.files[f"{topic}.py"]))

    def _elsewhere(self, topic: str) -> str:
        """The first other file that may hold an answer to a topic; empty if there is none."""
        others = [one for one in self.seen if one.path != f"{topic}.py"]
        return next((one.path for one in others if self._may_answer(topic, one)), self.other)

    def _may_answer(self, topic: str, one: SeenText) -> bool:
        if one.module is None:
            is_named = self.topics.named(one.path.rpartition("/")[2]) == topic
            is_stub = set(code_lines(one.text.encode())) <= set(code_lines(self.topics.stubs.get(topic, b"")))
            return (is_named and not (one.text and is_stub)) or bool(self.topics.hidden_in(topic, one.text)[0])
        given = self.topics.given(one.path.removesuffix(".py"))
        if self.topics.answered(topic, one.module).keys() - given:
            return True
        return bool(self.topics.hidden_in(topic, one.text, self.topics.at_top(one.module), one.path)[0])

    def _may_be_work(self, one: SeenText) -> bool:
        """Whether a file may answer any topic: code that is no stub, a link, or no text."""
        if one.module is None:
            is_document = "\0" in one.text or "\ufffd" in one.text or one.path.lower().endswith(_DOCUMENTS)
            return is_document or self.topics.has_link_only("", one.text)
        if one.path.partition("/")[0] in self.topics.packages:
            return self.topics.has_more_code(one.module)
        if one.path.removesuffix(".py") in self.topics.names or not COURSE_FOLDERS.isdisjoint(one.path.split("/")):
            return False
        if PurePosixPath(one.path).stem in self.topics.names or is_clutter(one.path):
            return self.topics.has_more_code(one.module)
        return bool(code_lines(one.module))


def why_not_python(content: bytes) -> str:
    """Why these bytes are no Python source, whatever it says; empty if they are text that Python reads."""
    for begin, kind in _SIGNATURES.items():
        if content.startswith(begin):
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
