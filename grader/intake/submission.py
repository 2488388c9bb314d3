"""One student's files as plain data, and its digest.

Never touches the disk: readers (`grader.intake`) make submissions, the worker receives them.
"""

import hashlib
from collections.abc import Iterator

import msgspec

from grader.results import Unread

FILE_TIME, LAST_COMMIT, NBGRADER = "file time", "last commit", "nbgrader time"
"""The sources of a time that proves nothing: whoever has a file, a clone or nbgrader's folder can set its times."""
CLAIMS = (FILE_TIME, LAST_COMMIT, NBGRADER)


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """Whose a submission is and when it came, as far as that is known; not part of the digest.

    Attributes:
        student: the id that the student is known by: that of the class list, else that of the LMS.
        platform_id: the id in the LMS's download; Moodle's number is somebody else's in another assignment.
        submitted: ISO time with offset.
        by: the source of that time, such as ``roster``, ``Moodle worksheet``, ``Gradescope time`` or `FILE_TIME`.
        late: whether the LMS says that it is late.
        lms: the platform whose download it came from, such as ``canvas`` or ``moodle``.
        due: ISO time until when the class list says that this student may hand in; empty: as for everybody.
        prefix: the beginning of the names that the platform gave to the student's files in that download; may be empty.
    """

    student: str = ""
    platform_id: str = ""
    submitted: str = ""
    by: str = ""
    late: bool = False
    lms: str = ""
    due: str = ""
    prefix: str = ""

    @property
    def proves(self) -> int:
        """How much its time proves: nothing if it is not known, most if the student cannot set it."""
        return {"": 0, FILE_TIME: 1, LAST_COMMIT: 2, NBGRADER: 2}.get(self.by if self.submitted else "", 3)


UNKNOWN = Arrival()


WORK, ASIDE = "work", "aside"


class Note(msgspec.Struct, frozen=True):
    """A note on something that was left out or is in doubt, and why; as text ``path: text``, or ``path: source: text``.

    Attributes:
        path: the file of the submission that it is about; ``./``: all of it.
        text: one line.
        source: the file that was handed in, if that has another name.
        lost: whether a topic's work may have been lost with it: ``work``: it may; ``aside``: only if nothing else of
            it is there, as with a PDF; empty: no.
    """

    path: str
    text: str
    source: str = ""
    lost: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.path, self.source, self.text)))


class Submission(msgspec.Struct, frozen=True):
    """The work of one student, as it was handed in.

    Attributes:
        name: the row's name in every report.
        files: POSIX paths below the submission's root, to their bytes; ``*.py`` files, and those that a person marks.
        notes: on the files that were left out, and why.
        arrival: the student's id, and the time when the work came.
        unread: the topics whose work could not be read.
        granted: exercises that a person gave all points for: others that need them are graded.
    """

    name: str
    files: dict[str, bytes]
    notes: tuple[Note, ...] = ()
    arrival: Arrival = UNKNOWN
    unread: tuple[Unread, ...] = ()
    granted: tuple[str, ...] = ()

    def notes_on(self, path: str) -> Iterator[str]:
        """The notes about one file, e.g. why ``tensor_ops.py`` is not among the files."""
        return (str(note) for note in self.notes if note.path == path)

    @property
    def note_lines(self) -> tuple[str, ...]:
        """All notes as text."""
        return tuple(map(str, self.notes))


class Unreadable(msgspec.Struct, frozen=True):
    """A submission that the grader failed to read: its own fault, because a broken submission is read with notes.

    Attributes:
        name: the submission's name.
        reason: why, in one line.
    """

    name: str
    reason: str


def digest(submission: Submission) -> str:
    """SHA-256 of the files and notes, independent of name and arrival: the same digest means the same work."""
    total = hashlib.sha256()
    for path in sorted(submission.files):
        content = submission.files[path]
        total.update(f"{path}\0{len(content)}\0".encode())
        total.update(content)
    for note in submission.note_lines:
        total.update(f"note\0{note}\0".encode())
    return total.hexdigest()
