"""Submissions that were found and are read when their turn comes: a path on disk, or a student's part of a download.

Never leaves something out without a note, and never shows one student's files to another's submission.
"""

import abc
import datetime
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from grader.intake import kinds
from grader.intake.archive import LINK, TWICE, Archive, Folder, read_file, time_of
from grader.intake.assemble import assemble
from grader.intake.bag import MAX_ENTRIES, Bag
from grader.intake.by_hand import TYPED
from grader.intake.lms import Piece, attempt_of, blackboard_words, latest_files
from grader.intake.notebook import module_of
from grader.intake.submission import ASIDE, FILE_TIME, NBGRADER, UNKNOWN, WORK, Arrival, Submission
from grader.intake.topics import Topics


@dataclass(frozen=True)
class Source(abc.ABC):
    """A submission that was found, but not read yet: a class need not fit in memory."""

    name: str
    path: Path
    topics: Topics
    arrival: Arrival = field(default=UNKNOWN, kw_only=True)

    @abc.abstractmethod
    def read(self) -> Submission:
        """The student's files, read now."""

    @property
    @abc.abstractmethod
    def longer_name(self) -> str:
        """The name to use when another submission has the same short one."""


class OneSource(Source):
    """A submission in one place."""

    def read(self) -> Submission:
        bag = Bag(self.topics)
        self._fill(bag)
        return assemble(self.name, bag, self._arrival(bag))

    @abc.abstractmethod
    def _fill(self, bag: Bag) -> None:
        """Puts the student's files into the bag."""

    def _arrival(self, bag: Bag) -> Arrival:
        """The arrival, with the time of the newest file if nothing else says when the work was handed in."""
        if bag.submitted:
            return msgspec.structs.replace(self.arrival, submitted=bag.submitted)
        if time := "" if self.arrival.submitted or self.arrival.lms else bag.nbgrader_time:
            return msgspec.structs.replace(self.arrival, submitted=time, by=NBGRADER)
        if self.arrival.submitted or bag.newest is None or self.arrival.lms == "canvas":
            return self.arrival  # Canvas packs the files itself: their times are those of the download.
        try:
            when = datetime.datetime.fromtimestamp(bag.newest).astimezone()
        except (ValueError, OverflowError, OSError):
            return self.arrival
        return msgspec.structs.replace(self.arrival, submitted=when.isoformat(timespec="seconds"), by=FILE_TIME)


@dataclass(frozen=True)
class PathSource(OneSource):
    """A folder with topic modules or notebooks at its root or under ``exercises/``, an archive of them, or one file.

    Attributes:
        is_link: whether it is a symbolic link in a class folder, which is not followed.
    """

    is_link: bool = False

    def _fill(self, bag: Bag) -> None:
        name = kinds.as_text(self.path.name)
        if self.is_link:
            bag.note(name, LINK)
        elif self.path.is_dir():
            folder = Folder(self.path, MAX_ENTRIES)
            for path, reason in sorted(folder.problems, key=lambda one: bag.reading_order(one[0])):
                bag.note(path, reason)
            pieces = tuple(attempt_of(Piece(path, path, name, "")) for path in folder.files)
            if any(piece.attempt for piece in pieces):
                DownloadSource(self.name, self.path, self.topics, folder, pieces, ())._fill(bag)
            else:
                bag.add_files(folder, {path: path for path in folder.files})
        elif kinds.is_archive(name):
            bag.add_archive(name, read_file(self.path.resolve()))
        elif kinds.is_code(name) or bag.topics.is_wanted(name):
            bag.add(name, read_file(self.path), time_of(self.path))
        elif bag.is_module(name, read_file(self.path)):
            bag.add_without_ending(name, read_file(self.path), time_of(self.path))
        elif kinds.is_work(name):
            bag.note(name, kinds.UNSUPPORTED_NOTE)
        else:
            bag.add_other(name, read_file(self.path))

    def topic_of(self, submission: Submission) -> str | None:
        """The topic whose file this is; None if it is none or several, or no file at all.

        Args:
            submission: as it was read from here.
        """
        found = [name.removesuffix(".py") for name in submission.files]
        is_topic = kinds.is_code(self.path.name) and not self.path.is_dir() and len(found) == 1
        return found[0] if is_topic and found[0] in self.topics.names else None

    @property
    def longer_name(self) -> str:
        return f"{kinds.as_text(self.path.absolute().parent.name)}/{kinds.as_text(self.path.name)}"


@dataclass(frozen=True)
class DownloadSource(OneSource):
    """One student's part of a download."""

    download: Archive
    pieces: tuple[Piece, ...]
    problems: tuple[tuple[str, str], ...]

    def read(self) -> Submission:
        whole = super().read()
        times = {piece.order for piece in self.pieces if piece.lms == "brightspace"}
        if len(times) < 2:
            return whole
        # What is in the files decides what of an earlier upload a later one replaces: it may have other names.
        files, unread = dict(whole.files), {one.topic: one for one in whole.unread}
        for time in sorted(times):
            part = super(DownloadSource, self._of(time)).read()
            lost = {one.topic: one for one in part.unread}
            for topic in self.topics.names:
                content = part.files.get(f"{topic}.py", b"")
                if topic in lost:
                    unread[topic] = lost[topic]
                elif self.topics.answers(topic, content):
                    files[f"{topic}.py"] = content
                    unread.pop(topic, None)
        return msgspec.structs.replace(whole, files=files, unread=tuple(unread.values()))

    def _of(self, time: int) -> "DownloadSource":
        return replace(self, pieces=tuple(piece for piece in self.pieces if piece.order == time))

    def _fill(self, bag: Bag) -> None:
        last, notes = latest_files(self.pieces, self.topics, self._may_count)
        if self.arrival.submitted in {piece.submitted for piece in self.pieces}:  # else the class list has said it
            bag.submitted = max((piece.submitted for piece in last), default="")
        for path, reason in self.problems:
            bag.note(path, reason, lost="" if reason == TWICE else WORK)
        for path, reason in notes:
            bag.note(path, reason, lost="")
        names = {}
        has_files = any(not piece.about for piece in last)
        for piece in last:
            file, read = piece.file or TYPED, self.download.files[piece.path][0]
            if piece.text:
                bag.note(file, "text typed into a form, not a file: left out", lost=ASIDE)
                bag.add_other(file, read)
            elif piece.about:
                self._add_words(bag, piece, has_files)
            else:
                names[piece.path] = file
                is_left_out = not kinds.is_work(file) and not kinds.is_clutter(file) and not self.topics.is_wanted(file)
                if is_left_out and not bag.is_module(file, read):
                    bag.note(file, "neither a Python file nor a notebook: left out", lost=ASIDE)
        bag.add_files(self.download, names)

    def _add_words(self, bag: Bag, piece: Piece, has_files: bool) -> None:
        """Remembers what was typed into Blackboard's form, which may be the work, or say where it lies."""
        if piece.lms != "blackboard":
            return
        text = self.download.content(piece.path, kinds.FILE_BYTES).decode("utf-8", "replace")
        words = blackboard_words(text).encode()
        if not has_files:
            bag.note(TYPED, "no file was handed in, only what is typed into the form: left out", lost=ASIDE)
        if words:
            bag.add_other(TYPED, lambda size: words[:size])

    def _may_count(self, piece: Piece) -> bool:
        """Whether a file is more than an empty one or a stub, as far as it is code."""
        if not kinds.is_code(piece.file):
            return True
        modules = [self.download.content(piece.path, kinds.limit_of(piece.file) + 1)]
        if b"\0" in modules[0]:  # UTF-16, for example: a person has to look
            return True
        if kinds.is_notebook(piece.file):
            code = module_of(modules[0])
            modules = [code.module or b"", *code.written.values()]
        return any(self.topics.answers(topic, module) for topic in self.topics.names for module in modules)

    @property
    def longer_name(self) -> str:
        student = self.arrival.platform_id or self.arrival.student
        return f"{self.name} ({student})" if student else f"{kinds.as_text(self.path.stem)}/{self.name}"
