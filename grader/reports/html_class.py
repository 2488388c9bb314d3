"""What the class page shows: how the class did as a whole, where it had trouble, and a table of all submissions.

Makes data for the template; escapes nothing and forms no HTML.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.course import Course
from grader.reports.entries import Entry
from grader.reports.feedback import FAILING, explanation_of, headline, not_assessed, one_cause, one_line, worst
from grader.results import ExerciseResult, SubmissionResult, VerdictKind
from grader.text import counted, percent, points

_MOST_COMMON = 10
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
        assessed: the number of submissions where it could be assessed.
        rate: passed in percent of assessed; None where nobody was assessed.
        level: the colour, from 0 (lowest rate) to 5 (everybody).
    """

    index: int
    name: str
    passed: int
    assessed: int
    rate: int | None
    level: int


@dataclass(frozen=True)
class Common:
    """A misconception or failure of several submissions; ``share`` is a fraction of the class."""

    exercise: str
    what: str
    count: int
    share: float


@dataclass(frozen=True)
class TableRow:
    """One submission in the table; ``missed`` has the indexes of the exercises that it did not pass."""

    name: str
    page: str
    score: str
    value: float
    share: float | None
    final: float
    notable: str
    seconds: float
    missed: str


@dataclass(frozen=True)
class ClassPage:
    """All that the page shows."""

    facts: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    topics: tuple[tuple[str, str, tuple[ExerciseRate, ...]], ...]
    misconceptions: tuple[Common, ...]
    failures: tuple[Common, ...]
    slowest: tuple[TableRow, ...]
    trouble: tuple[tuple[TableRow, str], ...]
    flagged: tuple[tuple[TableRow, tuple[str, ...]], ...]
    rows: tuple[TableRow, ...]
    sandboxes: tuple[tuple[str, int], ...]
    has_penalties: bool


def class_page(entries: Sequence[Entry], course: Course, pages: Mapping[str, str]) -> ClassPage:
    """The page's data; `pages` are the links to the feedback pages by submission."""
    names = [exercise.full_name for exercise in course.exercises]
    known = set(names)
    names += dict.fromkeys(e.name for entry in entries for e in entry.result.exercises if e.name not in known)
    index = {name: number for number, name in enumerate(names)}
    rows = tuple(_row(entry, index, pages) for entry in entries)
    shares = [row.share for row in rows if row.share is not None]
    trouble = ((row, _trouble(entry.result)) for row, entry in zip(rows, entries, strict=True))
    sandboxes = Counter(", ".join(entry.result.sandbox) or "none" for entry in entries)
    return ClassPage(
        facts=tuple(_facts(entries, shares)),
        bars=tuple(_bars(shares)),
        topics=tuple(_heat(entries, course, index)),
        misconceptions=tuple(_misconceptions(entries, course)),
        failures=tuple(_failures(entries)),
        slowest=tuple(sorted(rows, key=lambda row: -row.seconds)[:5]),
        trouble=tuple((row, what) for row, what in trouble if what),
        flagged=tuple(
            (row, tuple(one_line(str(flag), 200) for flag in entry.result.flags[:_FLAGS_SHOWN]))
            for row, entry in zip(rows, entries, strict=True)
            if entry.result.flags
        ),
        rows=rows,
        sandboxes=tuple(sandboxes.most_common()),
        has_penalties=any(entry.row.late and entry.row.late.penalty for entry in entries),
    )


def _facts(entries: Sequence[Entry], shares: Sequence[float]) -> Iterator[tuple[str, str]]:
    yield "submissions", str(len(entries))
    if shares:
        yield "mean", f"{statistics.fmean(shares):.1f}%"
        yield "median", f"{statistics.median(shares):.1f}%"
        yield "full marks", str(sum(share >= 100 for share in shares))
    yield "crashed or too slow", str(sum(bool({"crashed", "timeout"} & entry.result.verdicts) for entry in entries))
    flagged = sum(bool(entry.result.flags) for entry in entries)
    if flagged:
        yield "to look at", str(flagged)
    missing = max(sum(e.not_assessed for e in entry.result.left_out) for entry in entries)
    if missing:
        yield "points not assessed", f"{missing:g}"
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
    passed: Counter[str] = Counter()
    assessed: Counter[str] = Counter()
    for entry in entries:
        for exercise in entry.result.exercises:
            assessed[exercise.name] += exercise.max > 0
            passed[exercise.name] += exercise.is_right
    titles = {topic.name: topic.title for topic in course.topics}
    topics: dict[str, list[ExerciseRate]] = {}
    seen = {exercise.name for entry in entries for exercise in entry.result.exercises}
    for name, number in index.items():
        if name in seen:
            rate = int(100 * passed[name] / assessed[name]) if assessed[name] else None
            cell = ExerciseRate(number, name.partition(".")[2], passed[name], assessed[name], rate, (rate or 0) // 20)
            topics.setdefault(name.partition(".")[0], []).append(cell)
    for name, cells in topics.items():
        yield name, titles.get(name, ""), tuple(cells)


def _misconceptions(entries: Sequence[Entry], course: Course) -> Iterator[Common]:
    found: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], ExerciseResult] = {}
    for entry in entries:
        for exercise in entry.result.exercises:
            if exercise.misconception is not None:
                key = (exercise.name, exercise.misconception)
                found[key] += 1
                example[key] = exercise
    for key, count in found.most_common(_MOST_COMMON):
        yield Common(key[0], explanation_of(course, example[key]) or "", count, count / len(entries))


def _failures(entries: Sequence[Entry]) -> Iterator[Common]:
    found: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        found.update({key for exercise in entry.result.exercises for key in _failed(exercise)})
    for (where, what), count in found.most_common(_MOST_COMMON):
        yield Common(where, what, count, count / len(entries))


def _failed(exercise: ExerciseResult) -> Iterator[tuple[str, str]]:
    """The place and the headline of each failure: of every check, or of the one cause that stopped all of them."""
    shared = one_cause(exercise)
    for check in exercise.checks if shared is None else [shared]:
        if check.verdict in FAILING:
            of_topic = check.cause is not None and check.cause.stage != "check"
            where = exercise.name.partition(".")[0] if of_topic else exercise.name
            yield where, one_line(headline(check), 160)


def _row(entry: Entry, index: Mapping[str, int], pages: Mapping[str, str]) -> TableRow:
    result = entry.result
    missed = (str(index[e.name]) for e in result.exercises if e.max > 0 and not e.is_right)
    kinds = Counter(worst(exercise) for exercise in result.exercises)
    notable = ["fault of the grader"] if kinds["error"] else []
    notable += [f"{kinds[kind]} {word}" for kind, word in _NOTABLE.items() if kinds[kind]]
    named = sum(exercise.misconception is not None for exercise in result.exercises)
    notable += [counted(named, "misconception")] if named else []
    notable += [f"{len(entry.row.overrides)} by hand"] if entry.row.overrides else []
    notable += (
        [f"late, {entry.row.late.penalty:.0%} off" if entry.row.late.penalty else "late"] if entry.row.late else []
    )
    notable += [counted(len(result.flags), "flag")] if result.flags else []
    missing = not_assessed(result, {one.exercise for one in entry.row.overrides})
    notable += [missing] if missing else []
    return TableRow(
        name=one_line(result.submission),
        page=pages[result.submission],
        score=points(entry.row.score, entry.row.max),
        value=entry.row.score,
        share=percent(entry.row.score, entry.row.max),
        final=entry.row.final,
        notable=", ".join(notable),
        seconds=entry.row.seconds,
        missed=" ".join(missed),
    )


_NOTABLE: dict[VerdictKind, str] = {"crashed": "crashed", "timeout": "too slow", "skipped": "not assessed"}


def _trouble(result: SubmissionResult) -> str:
    """The exercises that crashed, took too long or could not be graded, in words; empty where there are none."""
    found = [(worst(e), e.name) for e in result.exercises if worst(e) in ("crashed", "timeout", "error")]
    words = {"crashed": "crashed", "timeout": "took too long", "error": "fault of the grader"}
    texts = []
    for kind in words:
        names = [name for verdict, name in found if verdict == kind]
        if names:
            more = f" and {len(names) - 3} more" if names[3:] else ""
            texts.append(f"{words[kind]}: {', '.join(names[:3])}{more}")
    return "; ".join(texts)
