"""``grader report``: a folder of pages that a browser shows from the disk, without a network.

A page of the class shows how it did as a whole, its trouble, and a table of all submissions; a feedback page is for one
of them. The templates escape everything from submissions after `clean`; the policy in each page allows only the script
that the page carries, and no connections. Shows results and decides nothing.
"""

import base64
import functools
import hashlib
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import jinja2
from markupsafe import Markup, escape

from grader.course import Course
from grader.errors import UserError
from grader.files import write_atomically, write_named_file
from grader.gradebook import Gradebook
from grader.package import __version__
from grader.reports import feedback
from grader.reports.drawing import figure_of
from grader.reports.entries import Entry
from grader.reports.html_feedback import Line, by_hand, feedback_page, heading_of
from grader.results import NOT_ASSESSED, ExerciseResult, SubmissionResult, total_points
from grader.text import clean, listed, one_line, points

_PAGE_NAME = re.compile(r"[^\s./\\]*-[0-9a-f]{10}\.html")
_REPORT_BYTES = 9_000_000
"""The size of all pages of a class of up to 300 submissions; code is shown only while there is room for it."""
_ENOUGH: Final = 9
"""Submissions from which on the best and the weakest third are compared."""
_MOST_COMMON: Final = 10
"""Misconceptions and failures that the page shows."""


@dataclass(frozen=True)
class WithoutMark:
    """Those of a class who are in no average, each as ``name (id)``.

    Attributes:
        nothing: they have handed in nothing.
        waiting: a run has found their work and was interrupted before it.
        excused: the assignment does not count for them, with work or without.
    """

    nothing: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()


NOBODY: Final = WithoutMark()


def without_mark(book: Gradebook) -> WithoutMark:
    """Those without a mark in the assignment at hand."""
    absent = [(f"{one.student.name} ({one.student.ids[0]})", one) for one in book.absent()]
    waiting = {one.student.name: name for name, one in absent if one.is_waiting and not one.excused}
    known = {one.student.name for _, one in absent}
    waiting |= {name: name for name in book.ungraded() if name not in known}
    excused = [name for name, one in absent if one.excused]
    excused += [row.result.submission for row in book.each_result() if row.excused]
    nothing = tuple(name for name, one in absent if one.handed_in_nothing)
    return WithoutMark(nothing, tuple(sorted(waiting.values())), tuple(sorted(excused)))


def write_report(
    entries: Sequence[Entry],
    course: Course,
    out: Path,
    about: Sequence[str] = (),
    for_instructors: bool = False,
    others: WithoutMark = NOBODY,
) -> Path:
    """Writes the class page and a feedback page for each submission; returns the class page's path.

    Args:
        about: the class page's lines about the runs of these results.
        for_instructors: whether a feedback page links the class page and lists the layers of the sandbox. A page that
            goes to a student does neither.
        others: those without a mark.

    Raises:
        UserError: the folder cannot be written.
    """
    students = out / "students"
    links = {entry.result.submission: f"students/{page_name(entry.result.submission)}" for entry in entries}
    try:
        students.mkdir(parents=True, exist_ok=True)
        for entry, content in feedback_pages(entries, course, for_instructors):
            write_atomically(out / links[entry.result.submission], [content], durable=False)
        text = render_class(entries, course, links, about, others)
        write_atomically(out / "index.html", [text], durable=False)
        remove_other_pages(students, links.values())
    except OSError as problem:
        raise cannot_write(problem, out) from problem
    return out / "index.html"


def render_class(
    entries: Sequence[Entry],
    course: Course,
    links: Mapping[str, str],
    about: Sequence[str],
    others: WithoutMark,
    assignment: str = "",
) -> bytes:
    """The class page.

    Args:
        links: the feedback page of each submission.
        assignment: the title of the one that the page is of, which is not the only one of its report.
    """
    page = class_page(entries, course, links, others)
    template = environment_of().get_template("class.html")
    text = template.render(page=page, course=course, about=about, others=others, assignment=assignment)
    return text.encode("utf-8", "replace")


def remove_other_pages(folder: Path, links: Collection[str]) -> None:
    """Removes the feedback pages of submissions that an earlier report had, and that none of the links leads to.

    Raises:
        OSError: it cannot be done.
    """
    for file in folder.iterdir():
        is_page = _PAGE_NAME.fullmatch(file.name) and file.is_file() and not file.is_symlink()
        if is_page and f"students/{unicodedata.normalize('NFC', file.name)}" not in links:
            file.unlink()


def cannot_write(problem: OSError, out: Path) -> UserError:
    """The message that a folder of pages cannot be written."""
    fix = "the pages go beside the gradebook: copy it to a folder that you can write to, then --out THAT_FOLDER"
    return UserError(f"{problem.filename or out}: {problem.strerror}", fix)


def feedback_pages(entries: Sequence[Entry], course: Course, inside: bool = False) -> Iterator[tuple[Entry, bytes]]:
    """Each submission with its feedback page, one file that needs no other.

    Args:
        inside: whether the page stays with the instructors.
    """
    template = environment_of().get_template("feedback.html")
    page_bytes = bytes_of_page(len(entries))
    for entry in entries:
        page = feedback_page(entry, course, page_bytes)
        text = template.render(page=page, pages=[("", page)], course=course, inside=inside)
        yield entry, text.encode("utf-8", "replace")


def bytes_of_page(count: int) -> int:
    """About the largest size of a feedback page of a class of so many."""
    return _REPORT_BYTES // min(max(count, 30), 300)


def write_pictures(exercises: Sequence[ExerciseResult], course: Course, out: Path) -> None:
    """Writes a page with the pictures of these exercises.

    Raises:
        UserError: the file cannot be written.
    """
    page = environment_of().get_template("pictures.html").render(exercises=exercises, course=course)
    write_named_file(out, [page.encode("utf-8", "replace")], fix="name another file")


def page_name(submission: str) -> str:
    """The file name of a submission's page."""
    return f"{feedback.file_stem(submission)}.html"


@functools.cache
def environment_of(package: str = "grader.reports") -> jinja2.Environment:
    """The templates of a package, then those of the reports: each is compiled once, which takes longer than a page.

    Every value is escaped, and a missing one is an error.
    """
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (package, "grader.reports")])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = loader.get_source(environment, "table.js")[0].strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src"
    environment.globals.update(script=script, policy=f"{policy} 'sha256-{digest}'", version=__version__, points=points)
    environment.globals.update(feedback=feedback, by_hand=by_hand, heading_of=heading_of)
    environment.filters.update(clean=clean, one_line=one_line, code=_code, numbered=_numbered, figure=figure_of)
    return environment


def _code(text: str) -> Markup:
    """Text in which parts between backticks are shown as code; all of it is escaped."""
    parts = re.split(r"`([^`\n]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _numbered(lines: Iterable[Line]) -> Markup:
    """Lines with their numbers. Not in the template, because there they would take half the time of a report."""
    return Markup("".join(map(_line, lines)))


def _line(line: Line) -> str:
    if not line.number:
        return f'<span class="gap">⋯ {escape(line.text)}</span>\n'
    end = "<b> ◀ here</b>" if line.highlighted else ""
    kind = ' class="here"' if line.highlighted else ' class="said"' if line.comments else ""
    said = "".join(f"<em><b>Line {line.number}:</b> {escape(text)}</em>" for text in line.comments)
    return f"<span{kind}><i>{line.number}</i>{escape(line.text or ' ')}{end}</span>\n{said}"


class Finding(NamedTuple):
    """Something that a submission did not get right. It is counted, and the table can be filtered by it.

    Attributes:
        kind: an exercise or a check that it missed, a misconception that was recognised, or a failure in words.
        where: the exercise; for a failing import, the topic.
        what: the check's name, the misconception's explanation, or the failure's headline.
    """

    kind: Literal["exercise", "check", "misconception", "failure"]
    where: str
    what: str = ""


@dataclass(frozen=True)
class ExerciseRate:
    """One exercise of the heat map.

    Attributes:
        passed: the number of submissions that passed it.
        assessed: the number of submissions in which it could be assessed.
        rate: passed in percent of assessed; None if nobody was assessed.
        best: the rate among the third of the class with the most points; None if the class is too small to say.
        weakest: that among the third with the fewest.
    """

    name: str
    tag: str
    passed: int
    assessed: int
    rate: int | None
    best: int | None = None
    weakest: int | None = None

    @property
    def tells_apart(self) -> int | None:
        """By how many percentage points the best third is ahead of the weakest: low where an exercise tells little."""
        return None if self.best is None or self.weakest is None else self.best - self.weakest


@dataclass(frozen=True)
class TableRow:
    """One submission in the table.

    Attributes:
        page: the link to its feedback page.
        share: the percentage that it earned; None without a mark.
        tags: those of its findings.
        trouble: the exercises that crashed, took too long or could not be graded, in words.
        look: why a person should look at it.
    """

    entry: Entry
    page: str
    share: float | None
    tags: str
    trouble: str
    look: tuple[str, ...]


@dataclass(frozen=True)
class ClassPage:
    """The data of the page besides the lines about its runs, and those without a mark.

    Attributes:
        bars: the number of submissions in each tenth of the points.
        topics: the exercises of each, by its name.
        checks: of each exercise the checks that somebody did not pass.
        counts: the number of submissions with each finding.
        assessed: the number of submissions in which each check was assessed.
        tags: short names, by which the table is filtered.
        sandboxes: the layers, and the number of submissions with them.
    """

    facts: dict[str, Any]
    bars: tuple[int, ...]
    topics: dict[str, list[ExerciseRate]]
    misconceptions: list[Finding]
    failures: list[Finding]
    checks: dict[str, list[Finding]]
    counts: Mapping[Finding, int]
    assessed: Mapping[Finding, int]
    tags: Mapping[Finding, str]
    rows: tuple[TableRow, ...]
    sandboxes: list[tuple[str, int]]


def class_page(
    entries: Sequence[Entry], course: Course, pages: Mapping[str, str], others: WithoutMark = NOBODY
) -> ClassPage:
    """The page's data. The work of those who are excused is in its table only.

    Args:
        pages: the links to the feedback pages by submission.
        others: those without a mark.
    """
    counting = [entry for entry in entries if not entry.row.excused]
    names = [exercise.full_name for exercise in course.exercises]
    names = list(dict.fromkeys([*names, *(one.name for entry in entries for one in entry.result.exercises)]))
    found = [dict.fromkeys(() if entry.row.excused else _findings(entry)) for entry in entries]
    counts = Counter(finding for of_entry in found for finding in of_entry)
    by_count = [finding for finding, _ in counts.most_common()]
    misconceptions = [one for one in by_count if one.kind == "misconception"][:_MOST_COMMON]
    failures = [one for one in by_count if one.kind == "failure"][:_MOST_COMMON]
    checks = [finding for finding in counts if finding.kind == "check"]
    exercises = [Finding("exercise", name) for name in names]
    tagged = [*exercises, *checks, *misconceptions, *failures]
    tags = {finding: f"{finding.kind[0]}{number}" for number, finding in enumerate(tagged)}
    assessed = Counter(
        Finding("check", exercise.name, name)
        for entry in counting
        for exercise in entry.read
        for name in {check.name: 0 for check in exercise.checks if check.verdict not in NOT_ASSESSED}
    )
    of_exercise = {name: [one for one in assessed if one.where == name and counts[one]] for name in names}
    rows = tuple(
        TableRow(
            entry=entry,
            page=pages[entry.result.submission],
            share=None if entry.row.unread or entry.row.excused else entry.share,
            tags=" ".join(tags[finding] for finding in of_entry if finding in tags),
            trouble=_trouble(entry.result),
            look=tuple(one_line(what, 200) for what in feedback.to_look_at(entry.row)),
        )
        for entry, of_entry in zip(entries, found, strict=True)
    )
    tenths = Counter(min(int(row.share // 10), 9) for row in rows if row.share is not None)
    return ClassPage(
        facts=_facts(rows, others),
        bars=tuple(tenths[number] for number in range(10)),
        topics=_heat(counting, names, tags),
        misconceptions=misconceptions,
        failures=failures,
        checks={name: found for name, found in of_exercise.items() if found},
        counts=counts,
        assessed=assessed,
        tags=tags,
        rows=rows,
        sandboxes=Counter(", ".join(entry.result.sandbox) or "none" for entry in entries).most_common(),
    )


def _findings(entry: Entry) -> Iterator[Finding]:
    for exercise in entry.read:
        if entry.points_of(exercise)[1] > 0 and not entry.is_right(exercise):
            yield Finding("exercise", exercise.name)
        for check in exercise.checks:
            if check.verdict not in NOT_ASSESSED | {"passed"}:
                yield Finding("check", exercise.name, check.name)
        if exercise.misconception is not None:
            yield Finding("misconception", exercise.name, exercise.explanation or "")
        shared = feedback.one_cause(exercise)
        for check in exercise.checks if shared is None else [shared]:
            if check.verdict in feedback.FAILING:
                of_topic = check.cause is not None and check.cause.stage != "check"
                where = exercise.topic if of_topic else exercise.name
                yield Finding("failure", where, one_line(feedback.headline(check), 160))


def _facts(rows: Sequence[TableRow], others: WithoutMark) -> dict[str, Any]:
    """Numbers by their names; a text is shown whatever it is, a number unless it is 0."""
    results = [row.entry.result for row in rows]
    shares = [row.share for row in rows if row.share is not None]
    missing = max((total_points(one.not_assessed for one in result.left_out) for result in results), default=0)
    no_mark = [row for row in rows if row.share is None and not row.entry.row.excused]
    facts = {
        "submissions": str(len(rows)),
        "handed in nothing": len(others.nothing),
        "not graded yet": len(others.waiting),
        "excused": len(others.excused),
        "no mark yet": len(no_mark),
        "mean": f"{statistics.fmean(shares):.1f}%" if shares else 0,
        "median": f"{statistics.median(shares):.1f}%" if shares else 0,
        "full marks": str(sum(share >= 100 for share in shares)) if shares else 0,
        "crashed or too slow": str(sum(not {"crashed", "timeout"}.isdisjoint(one.verdicts) for one in results)),
        "flagged": sum(bool(result.flags) for result in results),
        "needs a look": sum(bool(row.look) for row in rows),
        "points not assessed": f"{missing:g}" if missing else 0,
        "not all marked yet": sum(bool(row.entry.row.unmarked) for row in rows),
        "faults of the grader": sum("error" in result.verdicts for result in results),
    }
    return {name: value for name, value in facts.items() if value != 0}


def _heat(entries: Sequence[Entry], names: Sequence[str], tags: Mapping[Finding, str]) -> dict[str, list[ExerciseRate]]:
    in_order = sorted((entry for entry in entries if not entry.row.unread), key=lambda entry: entry.share or 0.0)
    third = len(in_order) // 3 if len(in_order) >= _ENOUGH else 0
    thirds = [_is_right(part) for part in (in_order[-third:], in_order[:third])] if third else []
    everybody = _is_right(entries)
    seen = {exercise.name for entry in entries for exercise in entry.result.exercises}
    topics: dict[str, list[ExerciseRate]] = {}
    for name in (name for name in names if name in seen):
        topic, _, own_name = name.partition(".")
        right = everybody.get(name, [])
        of_thirds = [_rate(part.get(name, [])) for part in thirds]
        counts = sum(right), len(right), _rate(right)
        cell = ExerciseRate(own_name, tags[Finding("exercise", name)], *counts, *of_thirds)
        topics.setdefault(topic, []).append(cell)
    return topics


def _is_right(entries: Sequence[Entry]) -> dict[str, list[bool]]:
    """For each exercise, whether it has passed in each submission in which it could be assessed."""
    found: dict[str, list[bool]] = {}
    for entry in entries:
        for exercise in entry.read:
            if entry.points_of(exercise)[1] > 0:
                found.setdefault(exercise.name, []).append(entry.is_right(exercise))
    return found


def _rate(right: Sequence[bool]) -> int | None:
    """In percent, rounded; 100 only where all passed, and 0 only where none did."""
    if not right:
        return None
    rate = round(100 * sum(right) / len(right))
    return rate if all(right) or not any(right) else min(max(rate, 1), 99)


def _trouble(result: SubmissionResult) -> str:
    found = [(feedback.worst(exercise), exercise.name) for exercise in result.exercises]
    words = {"crashed": "crashed", "timeout": "took too long", "error": "fault of the grader"}
    named = {said: [name for verdict, name in found if verdict == kind] for kind, said in words.items()}
    return "; ".join(f"{said}: {listed(names, 3)}" for said, names in named.items() if names)
