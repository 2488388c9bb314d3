"""The data of the class page: how the class did as a whole, its trouble, and a table of all submissions.

Makes data for the template; escapes nothing and forms no HTML.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from grader.course import Course
from grader.intake.roster import Student
from grader.reports.entries import Entry
from grader.reports.feedback import FAILING, check_title, headline, notable, one_cause, to_look_at, worst
from grader.results import NOT_ASSESSED, ExerciseResult, SubmissionResult
from grader.text import listed, one_line, points

_ENOUGH = 9
"""Submissions from which on the best and the weakest third are compared."""
_FLAGS_SHOWN = 5
"""Flags of one submission that are listed."""


@dataclass(frozen=True)
class Bar:
    """One bar of the score distribution; ``share`` is its height as a fraction of the highest bar."""

    label: str
    count: int
    share: float


@dataclass(frozen=True)
class ExerciseRate:
    """One exercise of the heat map.

    Attributes:
        index: its number in the course, which `TableRow.missed` refers to.
        passed: the number of submissions that passed it.
        assessed: the number of submissions in which it could be assessed.
        rate: passed in percent of assessed; None if nobody was assessed.
        level: the colour, from 0 (lowest rate) to 5 (everybody).
        best: the rate among the third of the class with the most points; None if the class is too small to say.
        weakest: that among the third with the fewest.
    """

    index: int
    name: str
    passed: int
    assessed: int
    rate: int | None
    level: int
    best: int | None = None
    weakest: int | None = None

    @property
    def tells_apart(self) -> int | None:
        """By how many percentage points the best third is ahead of the weakest: low where an exercise tells little."""
        return None if self.best is None or self.weakest is None else self.best - self.weakest


@dataclass(frozen=True)
class Common:
    """A misconception or failure of several submissions.

    Attributes:
        share: a fraction of the class.
        tag: its name in `TableRow.tags`.
    """

    exercise: str
    what: str
    count: int
    share: float
    tag: str = ""


@dataclass(frozen=True)
class CheckRate:
    """One check: how many did not pass it, of those in which it was assessed; ``tag`` as in `Common`."""

    name: str
    missed: int
    assessed: int
    tag: str


@dataclass(frozen=True)
class TableRow:
    """One submission in the table.

    Attributes:
        id: the LMS's id of the student; may be empty.
        is_late: whether lateness costs points.
        tags: exercises and checks that did not pass, by which the table is filtered: ``e3`` is exercise 3.
        trouble: the exercises that crashed, took too long or could not be graded, in words.
        look: why a person should look at it.
        flags: some of its flags.
    """

    name: str
    id: str
    page: str
    score: str
    value: float
    share: float | None
    final: float
    notable: str
    seconds: float
    tags: str
    is_late: bool = False
    letter: str = ""
    group: str = ""
    trouble: str = ""
    look: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassPage:
    """What the page shows besides the lines about its runs, and those who handed in nothing."""

    facts: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    topics: tuple[tuple[str, str, tuple[ExerciseRate, ...]], ...]
    misconceptions: tuple[Common, ...]
    failures: tuple[Common, ...]
    checks: tuple[tuple[str, tuple[CheckRate, ...]], ...]
    rows: tuple[TableRow, ...]
    sandboxes: tuple[tuple[str, int], ...]


def class_page(
    entries: Sequence[Entry], course: Course, pages: Mapping[str, str], absent: Sequence[Student] = ()
) -> ClassPage:
    """The page's data.

    Args:
        pages: the links to the feedback pages by submission.
        absent: the students of the class list who have handed in nothing.
    """
    names = [exercise.full_name for exercise in course.exercises]
    known = set(names)
    names += dict.fromkeys(e.name for entry in entries for e in entry.result.exercises if e.name not in known)
    index = {name: number for number, name in enumerate(names)}
    tags = Tags(entries, index)
    rows = tuple(_row(entry, tags, pages) for entry in entries)
    shares = [row.share for row in rows if row.share is not None]
    sandboxes = Counter(", ".join(entry.result.sandbox) or "none" for entry in entries)
    return ClassPage(
        facts=tuple(_facts(entries, shares, len(absent))),
        bars=tuple(_bars(shares)),
        topics=tuple(_heat(entries, course, index)),
        misconceptions=tuple(_misconceptions(entries, tags)),
        failures=tuple(_failures(entries, tags)),
        checks=tuple(_checks(entries, tags)),
        rows=rows,
        sandboxes=tuple(sandboxes.most_common()),
    )


def _facts(entries: Sequence[Entry], shares: Sequence[float], absent: int) -> Iterator[tuple[str, str]]:
    yield "submissions", str(len(entries))
    if absent:
        yield "handed in nothing", str(absent)
    if len(shares) < len(entries):
        yield "no mark yet", str(len(entries) - len(shares))
    if shares:
        yield "mean", f"{statistics.fmean(shares):.1f}%"
        yield "median", f"{statistics.median(shares):.1f}%"
        yield "full marks", str(sum(share >= 100 for share in shares))
    yield "crashed or too slow", str(sum(bool({"crashed", "timeout"} & entry.result.verdicts) for entry in entries))
    flagged = sum(bool(entry.result.flags) for entry in entries)
    if flagged:
        yield "flagged", str(flagged)
    look = sum(bool(to_look_at(entry.row)) for entry in entries)
    if look:
        yield "needs a look", str(look)
    missing = max(sum(e.not_assessed for e in entry.result.left_out) for entry in entries)
    if missing:
        yield "points not assessed", f"{missing:g}"
    to_mark = sum(bool(entry.row.unmarked) for entry in entries)
    if to_mark:
        yield "not all marked yet", str(to_mark)
    faults = sum("error" in entry.result.verdicts for entry in entries)
    if faults:
        yield "faults of the grader", str(faults)


def _bars(shares: Sequence[float]) -> Iterator[Bar]:
    counts = Counter(min(int(share // 10), 9) for share in shares)
    highest = max(counts.values(), default=1)
    for number in range(10):
        label = f"{10 * number}–{10 * number + (9 if number < 9 else 10)}"
        yield Bar(label, counts[number], counts[number] / highest)


def _heat(
    entries: Sequence[Entry], course: Course, index: Mapping[str, int]
) -> Iterator[tuple[str, str, tuple[ExerciseRate, ...]]]:
    passed, assessed = _passed_and_assessed(entries)
    in_order = sorted((entry for entry in entries if not entry.row.unread), key=lambda entry: entry.share or 0.0)
    third = len(in_order) // 3 if len(in_order) >= _ENOUGH else 0
    thirds = [_passed_and_assessed(part) for part in (in_order[-third:], in_order[:third])] if third else []
    titles = {topic.name: topic.title for topic in course.topics}
    topics: dict[str, list[ExerciseRate]] = {}
    seen = {exercise.name for entry in entries for exercise in entry.result.exercises}
    for name, number in index.items():
        if name in seen:
            rate = _rate(passed[name], assessed[name])
            counts = passed[name], assessed[name], rate, (rate or 0) // 20
            of_thirds = [_rate(right[name], of[name]) for right, of in thirds]
            cell = ExerciseRate(number, name.partition(".")[2], *counts, *of_thirds)
            topics.setdefault(name.partition(".")[0], []).append(cell)
    for name, cells in topics.items():
        yield name, titles.get(name, ""), tuple(cells)


def _passed_and_assessed(entries: Iterable[Entry]) -> tuple[Counter[str], Counter[str]]:
    """In how many submissions each exercise passed, and could be assessed."""
    passed: Counter[str] = Counter()
    assessed: Counter[str] = Counter()
    for entry in entries:
        for exercise in entry.read:
            assessed[exercise.name] += entry.points_of(exercise)[1] > 0
            passed[exercise.name] += entry.is_right(exercise)
    return passed, assessed


def _rate(passed: int, assessed: int) -> int | None:
    """In percent, rounded; 100 only where all passed, and 0 only where none did."""
    if not assessed:
        return None
    rate = round(100 * passed / assessed)
    return rate if passed in (0, assessed) else min(max(rate, 1), 99)


def _misconceptions(entries: Sequence[Entry], tags: Tags) -> Iterator[Common]:
    found: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], ExerciseResult] = {}
    for entry in entries:
        for exercise in entry.read:
            if exercise.misconception is not None:
                key = (exercise.name, exercise.misconception)
                found[key] += 1
                example[key] = exercise
    for key, count in found.most_common(MOST_COMMON):
        what = example[key].explanation or ""
        yield Common(key[0], what, count, count / len(entries), tags.misconceptions[key])


def _failures(entries: Sequence[Entry], tags: Tags) -> Iterator[Common]:
    found: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        found.update({key for exercise in entry.read for key in failures_of(exercise)})
    for (where, what), count in found.most_common(MOST_COMMON):
        yield Common(where, what, count, count / len(entries), tags.failures[where, what])


def _checks(entries: Sequence[Entry], tags: Tags) -> Iterator[tuple[str, tuple[CheckRate, ...]]]:
    """Of each exercise the checks that somebody did not pass."""
    missed: Counter[tuple[str, str]] = Counter()
    assessed: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        for exercise in entry.read:
            for check in exercise.checks:
                assessed[exercise.name, check.name] += check.verdict not in NOT_ASSESSED
                missed[exercise.name, check.name] += check.verdict not in NOT_ASSESSED | {"passed"}
    of_exercise: dict[str, list[CheckRate]] = {}
    for (exercise_name, name), count in missed.items():
        if count:
            key = exercise_name, name
            rate = CheckRate(check_title(name), count, assessed[key], tags.checks[key])
            of_exercise.setdefault(exercise_name, []).append(rate)
    for exercise_name in tags.index:
        if exercise_name in of_exercise:
            yield exercise_name, tuple(of_exercise[exercise_name])


def _row(entry: Entry, tags: Tags, pages: Mapping[str, str]) -> TableRow:
    result = entry.result
    return TableRow(
        name=one_line(result.submission),
        id=one_line(entry.row.arrival.student),
        page=pages[result.submission],
        score="unread" if entry.row.unread else points(entry.row.score, entry.row.max),
        value=entry.row.score,
        share=None if entry.row.unread else entry.share,
        letter=entry.letter,
        group=one_line(entry.row.group),
        final=entry.final,
        notable=", ".join(notable(entry.row)),
        seconds=entry.row.seconds,
        tags=tags.of(entry),
        is_late=bool(entry.row.late and entry.row.late.penalty),
        trouble=_trouble(result),
        look=tuple(one_line(what, 200) for what in to_look_at(entry.row)),
        flags=tuple(one_line(str(flag), 200) for flag in result.flags[:_FLAGS_SHOWN]),
    )


def _trouble(result: SubmissionResult) -> str:
    """The exercises that crashed, took too long or could not be graded, in words; empty if there are none."""
    found = [(worst(e), e.name) for e in result.exercises if worst(e) in ("crashed", "timeout", "error")]
    words = {"crashed": "crashed", "timeout": "took too long", "error": "fault of the grader"}
    named = {kind: [name for verdict, name in found if verdict == kind] for kind in words}
    return "; ".join(f"{words[kind]}: {listed(names, 3)}" for kind, names in named.items() if names)


MOST_COMMON: Final = 10
"""Misconceptions and failures that the page shows."""


class Tags:
    """Short names for exercises, checks, misconceptions and failures, for the filters of the class page."""

    def __init__(self, entries: Sequence[Entry], index: Mapping[str, int]) -> None:
        self.index = index
        self.checks: dict[tuple[str, str], str] = {}
        self.misconceptions: dict[tuple[str, str], str] = {}
        self.failures: dict[tuple[str, str], str] = {}
        count: Counter[tuple[str, str]] = Counter()
        for entry in entries:
            for exercise in entry.read:
                for check in exercise.checks:
                    self.checks.setdefault((exercise.name, check.name), f"c{len(self.checks)}")
                if exercise.misconception is not None:
                    key = exercise.name, exercise.misconception
                    self.misconceptions.setdefault(key, f"m{len(self.misconceptions)}")
            count.update({key for exercise in entry.read for key in failures_of(exercise)})
        for key, _ in count.most_common(MOST_COMMON):
            self.failures[key] = f"f{len(self.failures)}"

    def of(self, entry: Entry) -> str:
        """The tags of one submission."""
        found: list[str] = []
        for exercise in entry.read:
            is_missed = entry.points_of(exercise)[1] > 0 and not entry.is_right(exercise)
            found += [f"e{self.index[exercise.name]}"] if is_missed else []
            for check in exercise.checks:
                if check.verdict not in NOT_ASSESSED | {"passed"}:
                    found.append(self.checks[exercise.name, check.name])
            if exercise.misconception is not None:
                found.append(self.misconceptions[exercise.name, exercise.misconception])
            found += [self.failures[key] for key in failures_of(exercise) if key in self.failures]
        return " ".join(dict.fromkeys(found))


def failures_of(exercise: ExerciseResult) -> Iterator[tuple[str, str]]:
    """The place and the headline of each failure: of every check, or of the one cause that stopped all of them."""
    shared = one_cause(exercise)
    for check in exercise.checks if shared is None else [shared]:
        if check.verdict in FAILING:
            of_topic = check.cause is not None and check.cause.stage != "check"
            where = exercise.name.partition(".")[0] if of_topic else exercise.name
            yield where, one_line(headline(check), 160)
