"""The page of `grader finish`: a student's finished work, to keep and to share.

It has the pictures that the course names, of the student's own code, how far they are, what was hardest, and where to
go on. It names no person and no path, links to nothing, and nothing of it leaves the machine. Decides nothing.
"""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from grader.course import Course, Exercise
from grader.course.record import Tries
from grader.files import write_named_file
from grader.pictures import Picture
from grader.reports.drawing import problem_of
from grader.reports.feedback import worst
from grader.reports.html import environment_of
from grader.reports.where import day_words
from grader.results import SubmissionResult, total_points
from grader.text import counted

_HARDEST: Final = 5
Drawn: TypeAlias = Mapping[str, Sequence[Picture]]
"""The pictures of exercises, by full name."""


class TopicDone(msgspec.Struct, frozen=True):
    """A topic: how many of its exercises pass, and the names of those that do not."""

    name: str
    title: str
    passed: int
    count: int
    missing: tuple[str, ...]


class Shown(msgspec.Struct, frozen=True):
    """An exercise with its pictures.

    Attributes:
        missing: why it has none yet; text of the student's code is not repeated here, as a path may be in it.
    """

    exercise: Exercise
    pictures: tuple[Picture, ...] = ()
    missing: str = ""


class Hard(msgspec.Struct, frozen=True):
    """An exercise that took several tries, in words: ``9 tries on 3 days``."""

    exercise: Exercise
    effort: str


class FinishPage(msgspec.Struct, frozen=True):
    """The page as data.

    Attributes:
        skipped: the exercises that cannot be assessed on this machine.
        period: from the first try to the last, in words; empty without a record.
        tries: how many there were in all, in words; empty without a record.
    """

    title: str
    passed: int
    count: int
    score: float
    max: float
    parts: tuple[TopicDone, ...]
    shown: tuple[Shown, ...]
    skipped: tuple[str, ...]
    hardest: tuple[Hard, ...]
    period: str
    tries: str
    finish: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether everything has passed that can be assessed here."""
        return self.passed > 0 and not self.missing

    @property
    def lacks(self) -> list[str]:
        """A line for each picture that is missing, with the exercise that it needs."""
        return [f"{one.exercise.full_name}: {one.missing.replace('`', '')}" for one in self.shown if one.missing]

    @property
    def missing(self) -> list[str]:
        """The full names of the exercises that have not passed."""
        return [name for part in self.parts for name in part.missing]


def finish_page(
    course: Course, result: SubmissionResult, wanted: Sequence[str], tries: Mapping[str, Tries]
) -> FinishPage:
    """The page of a result of all that a student was handed out.

    Args:
        wanted: the exercises (full names) whose pictures are shown, in this order.
        tries: the record of the student's folder.
    """
    found = {one.name: one for one in result.checked}
    passed = {name for name, one in found.items() if worst(one) == "passed"}
    skipped = {name for name, one in found.items() if worst(one) == "skipped" and one.max == 0}
    parts = []
    for topic in course.modules:
        names = [one.full_name for one in topic.exercises if one.full_name not in skipped]
        missing = tuple(name for name in names if name not in passed)
        if names:
            parts.append(TopicDone(topic.name, topic.title, len(names) - len(missing), len(names), missing))
    pictures = {name: one.pictures for name, one in found.items()}
    known = {one.full_name: one for one in course.exercises}
    tried = {name: one for name, one in tries.items() if name in known}
    return FinishPage(
        title=course.title,
        passed=len(passed),
        count=sum(part.count for part in parts),
        score=total_points(one.score for one in found.values()),
        max=total_points(one.max for one in found.values()),
        parts=tuple(parts),
        shown=tuple(_shown(known[name], course, passed, skipped, pictures) for name in wanted if name in known),
        skipped=tuple(name for name in known if name in skipped),
        hardest=tuple(_hardest(tried, known)),
        period=_period(tried),
        tries=counted(sum(one.count for one in tried.values()), "try", "tries") if tried else "",
        finish=course.finish,
    )


def write_finish_page(page: FinishPage, out: Path) -> None:
    """Writes the page.

    Raises:
        UserError: the file cannot be written.
    """
    text = environment_of().get_template("finish.html").render(page=page)
    write_named_file(out, [text.encode("utf-8", "replace")], fix="name another file: --out FILE")


def _shown(exercise: Exercise, course: Course, passed: Set[str], skipped: Set[str], pictures: Drawn) -> Shown:
    name = exercise.full_name
    if name in skipped:
        return Shown(exercise, missing="cannot be assessed on the machine where this page was made")
    if name not in passed:
        first = next(need for need in course.with_needs([name]) if need not in passed)
        return Shown(exercise, missing=f"needs `{first}`, which has not passed yet")
    drawn = tuple(one for one in pictures.get(name, ()) if not problem_of(one, on_a_page=True))
    if len(drawn) < len(pictures.get(name, ())) or not drawn:
        return Shown(exercise, drawn, missing=f"a picture could not be drawn: `grader show {name}` says why")
    return Shown(exercise, drawn)


def _hardest(tried: Mapping[str, Tries], known: Mapping[str, Exercise]) -> list[Hard]:
    """The exercises with the most tries, of those that needed more than one."""
    places = {name: place for place, name in enumerate(known)}
    several = [name for name, one in tried.items() if one.count > 1]
    several.sort(key=lambda name: (-tried[name].count, -tried[name].days, places[name]))
    return [Hard(known[name], _effort(tried[name])) for name in several[:_HARDEST]]


def _effort(tries: Tries) -> str:
    days = f" on {counted(tries.days, 'day')}" if tries.days > 1 else ""
    return counted(tries.count, "try", "tries") + days


def _period(tried: Mapping[str, Tries]) -> str:
    if not tried:
        return ""
    first, last = min(one.first for one in tried.values()), max(one.last for one in tried.values())
    return day_words(first) if first == last else f"{day_words(first)} to {day_words(last)}"
