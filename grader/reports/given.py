"""Lines about points, time, marks and comments that people gave, and about work that nobody has marked yet."""

from collections import Counter
from collections.abc import Iterable, Iterator

from grader.course.due import moment
from grader.gradebook import Comment, Extension, Mark, Override, Row
from grader.reports.feedback import CHANGED
from grader.text import counted, one_line, points


def when(iso: str) -> str:
    """An ISO time as people read it."""
    return f"{moment(iso):%Y-%m-%d %H:%M}"


def marks(row: Row) -> str:
    """Points, before and after the penalty for lateness."""
    after = f", {points(row.final, row.max)} with late penalty" if row.late and row.late.penalty else ""
    return f"{points(row.score, row.max)}{after}"


def override_line(given: Override, row: Row) -> str:
    automatic = next((one for one in row.result.exercises if one.name == given.exercise), None)
    auto = points(automatic.score, automatic.max) if automatic else "none"
    now = "automatic again" if given.points is None else points(given.points, given.max)
    stale = f"; {CHANGED}" if given.stale else ""
    return (
        f"{given.student}: {given.exercise}: {now} (automatic: {auto}) by {given.who}, {when(given.made)}:"
        f" {given.why}{stale}"
    )


def extension_line(given: Extension) -> str:
    """An extension with who, when and why."""
    until = f"until {when(given.due)}" if given.due else "no extension any more"
    return f"{given.student}: {until}, by {given.who}, {when(given.made)}: {given.why}"


def mark_line(mark: Mark) -> str:
    """A mark with its items, who and when."""
    if mark.points is None:
        return f"{mark.student}: {mark.exercise}: not marked any more, by {mark.who}, {when(mark.made)}"
    given = ", ".join(str(n) for n, item in enumerate(mark.items, start=1) if item.given) or "none"
    stale = f"; {CHANGED}" if mark.stale else ""
    worth = points(mark.points, mark.max)
    return f"{mark.student}: {mark.exercise}: {worth} (items: {given}) by {mark.who}, {when(mark.made)}{stale}"


def comment_line(comment: Comment) -> str:
    """A comment with who and when, on one line."""
    text = one_line(comment.text.replace("\n", " / "), 300) or "no comment any more"
    stale = f"; {CHANGED}" if comment.stale else ""
    return f"{comment.student}: {comment.exercise}: {text} (by {comment.who}, {when(comment.made)}{stale})"


class Unmarked:
    """How many submissions of a class are not marked yet; rows are added one at a time."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()

    def add(self, row: Row) -> None:
        """Counts one more submission."""
        left = {one.name for one in row.unmarked}
        self._of.update(one.name for one in row.result.to_mark)
        self._left.update(left)
        self._begun.update(left & set(row.begun))

    def lines(self) -> Iterator[str]:
        """A line for each exercise that is not marked for everybody."""
        for name in self._of:
            if self._left[name]:
                more = f", {self._begun[name]} begun" if self._begun[name] else ""
                of = counted(self._of[name], "submission")
                yield f"not marked yet: {name}: {self._left[name]} of {of}{more} (see: grader mark)"


def unmarked_lines(rows: Iterable[Row]) -> Iterator[str]:
    """How many of these submissions are not marked yet, a line for each exercise."""
    unmarked = Unmarked()
    for row in rows:
        unmarked.add(row)
    yield from unmarked.lines()


def worth_less(row: Row) -> str:
    """That the work before was worth more, in words; empty if it was not."""
    if row.before is None:
        return ""
    most = row.result.max
    return f"the new work has {points(row.result.score, most)}, the work before it had {points(row.before, most)}"
