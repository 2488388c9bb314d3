"""How all that a person gives gets into the gradebook: what another person gave is not replaced unless they agree."""

import contextlib
import datetime
import getpass
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.course import Course
from grader.errors import UserError, did_you_mean
from grader.gradebook import Gift, Given, GivenMeanwhile, Gradebook, LookedAt, Row, work_hash
from grader.reports.status import given_line
from grader.text import listed

Agreed = Callable[[], bool]
"""Whether the person who gives something agrees that it replaces what another person gave; asked only then."""


def nobody_agrees() -> bool:
    """The other person's entry stays."""
    return False


def open_book(out: Path, course: Course | None) -> Gradebook:
    """The gradebook in a folder; its course is handed in as `course` says, if that is given.

    Raises:
        UserError: there is none, or it is of another course.
    """
    book = Gradebook.open_existing(out)
    if course is not None:
        with contextlib.ExitStack() as opened:
            opened.callback(book.close)
            book.require_course(course.name)
            opened.pop_all()
        book.use_plan(course.plan)
    return book


def give_asking(book: Gradebook, gifts: Sequence[Gift], agreed: Agreed) -> Iterator[str]:
    """Keeps what a person gave; returns lines on what it replaces, and asks first if that is from others.

    Raises:
        UserError: the person does not agree that it is replaced; nothing is kept.
    """
    course = course_of(book)
    meanwhile: tuple[Given, ...] = ()
    while True:
        standing = [book.standing(course, gift.people, gift.given) for gift in gifts]
        replaced = dict.fromkeys(one for there in standing for one in there.given)
        yield from (f"before: {given_line(one)}" for one in replaced)
        others = [one for one in replaced if one in meanwhile or one.who != gifts[0].given.who]
        if others and not agreed():
            who = listed([*dict.fromkeys(one.who for one in others)], 3)
            raise UserError(f"nothing is changed, because that is from {who}", fix="to replace it: --yes")
        try:
            known = [gift._replace(after=there.number) for gift, there in zip(gifts, standing, strict=True)]
            book.give_all(course, known)
            return
        except GivenMeanwhile as newer:
            meanwhile = newer.given


def looked_at(book: Gradebook, row: Row, exercise: str, file: str = "") -> LookedAt:
    """The work of an exercise that a person looks at; with the hash of its file, if that is what they look at."""
    digest = row.digest_of(exercise)
    return LookedAt(row.arrival.student, digest, file, work_hash(book.files(digest), file) if file else "")


def course_of(book: Gradebook) -> str:
    """The course of the last run.

    Raises:
        UserError: there is no run.
    """
    if not book.course:
        raise UserError(f"no run in {book.path} yet", fix="grade something: grader grade PATH")
    return book.course


def exercise_called(known: list[str], name: str) -> str:
    """The full name of the exercise that is meant.

    Raises:
        UserError: there is none, or several.
    """
    found = [full for full in known if name in (full, full.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"`{name}` could be {' or '.join(found)}", fix=f"name it in full: {found[0]}")
    fix = f"there are: {listed(known, 12)}"
    raise UserError(f"no exercise `{name}` in the gradebook" + did_you_mean(name, known), fix=fix)


def user() -> str:
    """Who is at the keyboard, as the system says."""
    with contextlib.suppress(KeyError, OSError, ImportError):
        return getpass.getuser()
    return "unknown"


def now() -> str:
    """The time, in ISO form with its offset."""
    return datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
