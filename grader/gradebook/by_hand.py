"""What people gave by hand, as records: points, marks by a rubric, comments, time and excuses. Plain, frozen data.

Each class is a kind in the gradebook by its name.
"""

import hashlib
from collections.abc import Mapping

import msgspec

from grader.intake.notebook import HANDED_IN


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person gave to a student.

    Attributes:
        who: the person.
        made: ISO time.
    """

    student: str
    who: str
    made: str

    @property
    def subject(self) -> tuple[object, ...]:
        """Equal for two records of which the newer one replaces the other, or its effect, for the same student."""
        return (type(self).__name__,)

    @property
    def is_withdrawal(self) -> bool:
        """Whether it only takes back an earlier entry."""
        return False


class Override(Given, frozen=True, kw_only=True):
    """Points that a person gave for an exercise, beside the automatic ones.

    Attributes:
        points: None withdraws the overrides before it.
        max: the points of the exercise.
        stale: whether the work under it has changed: other files are graded now.
        automatic: the points that the checks gave then; None if nobody knows.
    """

    exercise: str
    points: float | None
    max: float
    why: str
    stale: bool = False
    automatic: float | None = None

    @property
    def subject(self) -> tuple[object, ...]:
        """The points of an exercise: an override and a mark stand for each other."""
        return ("points", self.exercise)

    @property
    def is_withdrawal(self) -> bool:
        """Whether it only takes back an earlier entry."""
        return self.points is None


class MarkedItem(msgspec.Struct, frozen=True):
    """An item of a rubric as it was when somebody marked by it, and whether it was given."""

    text: str
    points: float
    given: bool


class Mark(Given, frozen=True, kw_only=True):
    """The points that a person gave for an exercise by its rubric.

    Attributes:
        items: of the rubric, in its order.
        points: those of the items that were given; None takes back the marks before it.
        max: the points of the exercise.
        done: False: somebody has begun, and it counts nothing yet.
        stale: whether the work under it has changed.
    """

    exercise: str
    items: tuple[MarkedItem, ...]
    points: float | None
    max: float
    done: bool = True
    stale: bool = False

    @property
    def subject(self) -> tuple[object, ...]:
        """The points of an exercise: an override and a mark stand for each other."""
        return ("points", self.exercise)

    @property
    def is_withdrawal(self) -> bool:
        """Whether it only takes back an earlier entry."""
        return self.points is None


class Comment(Given, frozen=True, kw_only=True):
    """A person's words about an exercise, or about a line of its file.

    Attributes:
        text: empty takes back the comments at the same place before it.
        line: of the file, or of the notebook's cell, from 1; 0: the comment is about the whole exercise.
        cell: of the notebook, from 1; 0: the file is not a notebook.
        code: the line as it was then.
        stale: whether the file has changed.
    """

    exercise: str
    text: str
    line: int = 0
    cell: int = 0
    code: str = ""
    stale: bool = False

    @property
    def subject(self) -> tuple[object, ...]:
        """The exercise and the line."""
        return ("comment", self.exercise, self.cell, self.line)

    @property
    def is_withdrawal(self) -> bool:
        """Whether it only takes back an earlier entry."""
        return not self.text

    @property
    def place(self) -> str:
        """The line in words: ``line 12``, ``cell 4, line 2``; empty if it is about the whole exercise."""
        cell = f"{HANDED_IN.format(self.cell)}, " if self.cell else ""
        return f"{cell}line {self.line}" if self.line else ""

    @property
    def said(self) -> str:
        """The text, with its line before it."""
        return f"{self.place}: {self.text}" if self.line else self.text


class Extension(Given, frozen=True, kw_only=True):
    """A later due date of one student.

    Attributes:
        due: ISO time; empty withdraws the extensions before it.
    """

    due: str
    why: str

    @property
    def is_withdrawal(self) -> bool:
        """Whether it only takes back an earlier entry."""
        return not self.due


class Excuse(Given, frozen=True, kw_only=True):
    """That an assignment does not count for one student.

    Attributes:
        excused: False withdraws the excuses before it, and that of the class list.
    """

    why: str
    excused: bool = True

    @property
    def is_withdrawal(self) -> bool:
        """Whether it only takes back an earlier entry."""
        return not self.excused


class InForce(msgspec.Struct, frozen=True):
    """All that people gave for one subject and that counts, or would count if nothing went before it.

    Attributes:
        number: of the newest record, also one that takes back; 0 if there is none. It grows with every record.
        given: the newest of each kind.
    """

    number: int = 0
    given: tuple[Given, ...] = ()


class LookedAt(msgspec.Struct, frozen=True):
    """The work that a person looked at when they gave something.

    Attributes:
        person: the LMS's id of the student, if it is known.
        digest: that of all files that were handed in.
        file: the one that a mark or a comment is about.
        work: its hash, by `work_hash`.
    """

    person: str = ""
    digest: str = ""
    file: str = ""
    work: str = ""


def work_hash(files: Mapping[str, bytes], file: str) -> str:
    """SHA-256 (hex) of the file that a person looks at; empty if it is not there."""
    return hashlib.sha256(files[file]).hexdigest() if file in files else ""
