"""``grader report`` of a course with assignments: a page of the term, one of each assignment, and one of each student.

The page of the term has a table of students and assignments; a student's page has their feedback of every assignment,
is one file, and names nobody else. Shows what `reports.term` says and decides nothing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from grader.course import Course
from grader.course.assignments import Assignment
from grader.course.due import LatePolicy, moment
from grader.errors import UserError
from grader.files import write_atomically
from grader.gradebook import Gradebook, Row
from grader.gradebook.records import Late
from grader.reports import html
from grader.reports.entries import Entry, about, entries_of
from grader.reports.html_feedback import FeedbackPage, feedback_page
from grader.reports.term import Standing, State, TermStudent, Total, term_of, worth_of
from grader.text import counted, listed, one_line, points

_FIXED_BYTES: Final = 5_000
"""Of a feedback page, what is there once, however many assignments it has."""
_FOR_STUDENTS: Final[Mapping[State, str]] = {
    "needs a look": "no mark yet: your instructor looks at it",
    "unread": "no mark yet: your instructor looks at it",
    "marked": "nothing could be assessed",
    "excused": "excused: it does not count",
}
"""The states without a mark, in words for the student; the others say it themselves."""


@dataclass(frozen=True)
class Column:
    """One assignment that has runs.

    Attributes:
        link: its class page.
        worth: the most points, without a bonus.
        policy: when it was due, by its last run.
        dues: the later due dates of some students, by `People.key`.
        states: how many students are in each state, in words.
        mean: of the shares of those with a mark, in percent; None without any.
    """

    assignment: Assignment
    link: str
    worth: float
    policy: LatePolicy
    dues: Mapping[str, str]
    states: str
    mean: float | None


@dataclass(frozen=True)
class TermCell:
    """The cell of one student in one assignment.

    Attributes:
        text: the points that count, else the state.
        value: by which the table is sorted.
        notes: further facts, in few words.
        why: all of it, in words.
    """

    text: str
    value: float
    notes: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class StudentLine:
    """The part of a student's page about one assignment.

    Attributes:
        at: where its feedback is on the page; empty if there is none.
        due: when it was due for this student; empty if there is no date.
        mark: the points that count, else the state, in words for the student.
        late: how late it came; empty if it came in time.
        left: late days that are left after it.
    """

    at: str
    title: str
    due: str
    mark: str
    late: str
    left: int


@dataclass(frozen=True)
class TermRow:
    """One student.

    Attributes:
        label: the student's name, with the ids if another one has that name, too.
        page: the link to the student's page.
        cells: of the columns, in their order.
        share: what was earned of what has a mark, in percent with two decimals; empty if nothing has one.
        letter: empty while the student has no mark of the term.
        late_days: how many were taken.
        notable: further facts.
        is_open: whether the total may still change: something has no mark, or no run yet.
        aside: what the total leaves out, in words for the student.
        lines: of the student's page, in the order of due dates.
    """

    student: TermStudent
    label: str
    page: str
    cells: tuple[TermCell, ...]
    total: Total
    share: str
    letter: str
    late_days: int
    notable: str
    is_open: bool
    aside: str
    lines: tuple[StudentLine, ...]


def report_of(
    book: Gradebook, course: Course, run: int | None = None, assignment: str | None = None, inside: bool = False
) -> Path:
    """Writes the pages beside the gradebook: of the term, or of one assignment alone; returns the first one's path.

    Args:
        run: the pages of this run alone; None: the latest results.
        assignment: the pages of this one alone, in a folder of their own.
        inside: whether feedback pages link the class page and name the sandbox.

    Raises:
        UserError: no results, no such assignment, another course's gradebook, or a folder that cannot be written.
    """
    book.use_plan(course.plan)
    folder = book.path.parent / "report"
    if run is None and assignment is None and any(book.assignments()):
        book.require_course(course.name)
        return write_term(book, course, folder, inside)
    if run is None:
        book.choose(assignment)
    else:
        book.assignment = next((one.assignment for one in book.runs() if one.id == run), "")
    entries = entries_of(book, run, course.marks)
    if book.assignment:
        folder = folder.with_name(f"report-{book.assignment}")
    others = html.NOBODY if run else html.without_mark(book)
    return html.write_report(entries, course, folder, list(about(book, entries)), inside, others)


def write_term(book: Gradebook, course: Course, out: Path, inside: bool = False) -> Path:
    """Writes the pages of a term; returns the path of the first one.

    Args:
        inside: as in `report_of`.

    Raises:
        UserError: no results, or the folder cannot be written.
    """
    students = term_of(book, course)
    if not students:
        raise UserError(f"{book.path} has no results", fix="grade first: grader grade SUBMISSIONS")
    columns = _columns(book, course, students)
    rows = _rows(book, students, columns, course)
    notes = list(_notes(book, columns))
    try:
        (out / "students").mkdir(parents=True, exist_ok=True)
        for row, content in student_pages(rows, course, inside):
            write_atomically(out / row.page, [content], durable=False)
        for column in columns:
            with book.within(column.assignment.name):
                page = _class_page(book, course, column, rows)
            write_atomically(out / column.link, [page], durable=False)
        by_weight = any(one.weight is not None for one in course.plan.assignments)
        template = html.environment_of().get_template("term.html")
        text = template.render(course=course, columns=columns, rows=rows, notes=notes, by_weight=by_weight)
        write_atomically(out / "index.html", [text.encode("utf-8", "replace")], durable=False)
        html.remove_other_pages(out / "students", {row.page for row in rows})
    except OSError as problem:
        raise html.cannot_write(problem, out) from problem
    return out / "index.html"


def student_pages(rows: Sequence[TermRow], course: Course, inside: bool = False) -> Iterator[tuple[TermRow, bytes]]:
    """Each student with their page over the term, one file that needs no other."""
    template = html.environment_of().get_template("student.html")
    of_class = html.bytes_of_page(len(rows))
    for row in rows:
        work = {name: one.entry for name, one in row.student.standings.items() if one.entry is not None}
        page_bytes = (of_class - _FIXED_BYTES) // max(len(work), 1) + _FIXED_BYTES
        pages: list[tuple[str, FeedbackPage]] = []
        for line in row.lines:
            if line.at:
                pages.append((line.at, feedback_page(work[line.at], course, page_bytes)))
        # Where room is short for one, messages are short in all.
        page = min((one for _, one in pages), key=lambda one: one.message_lines, default=None)
        text = template.render(page=page, pages=pages, row=row, course=course, inside=inside)
        yield row, text.encode("utf-8", "replace")


def term_rows(book: Gradebook, course: Course) -> tuple[TermRow, ...]:
    """Every student of the term, in order of names."""
    students = term_of(book, course)
    return _rows(book, students, _columns(book, course, students), course)


def _columns(book: Gradebook, course: Course, students: Sequence[TermStudent]) -> list[Column]:
    """The assignments that have runs, in the order of the course."""
    worth, people, begun = worth_of(course), book.everybody(), book.assignments()
    last = {run.assignment: run.id for run in book.runs() if not run.trial and run.course == course.name}
    found = []
    for assignment in (one for one in course.plan.assignments if one.name in begun):
        name = assignment.name
        with book.within(name):
            dues = {people.key(one.name, one.ids[0]): one.extension for one in book.class_list(course.name)}
            for given in book.extensions(course.name):  # by name, or by id where no work was there yet
                dues |= {people.key(given.student, who): given.due for who in ("", given.student)}
        standings = [one.standings[name] for one in students if name in one.standings]
        counts = Counter(one.state for one in standings)
        shares = [float(100 * one.share) for one in standings if one.share is not None]
        found.append(
            Column(
                assignment=assignment,
                link=f"assignment-{name}.html",
                worth=worth[name],
                policy=book.policy(last[name]),
                dues={key: due for key, due in dues.items() if due},
                states=", ".join(f"{counts[state]} {state}" for state in get_args(State) if counts[state]),
                mean=statistics.fmean(shares) if shares else None,
            )
        )
    return found


def _rows(
    book: Gradebook, students: Sequence[TermStudent], columns: Sequence[Column], course: Course
) -> tuple[TermRow, ...]:
    plan, worth, people = course.plan, worth_of(course), book.everybody()
    count = Counter(one.name for one in students)
    in_order = [one for due in plan.by_due_date for one in columns if one.assignment.name == due.name]
    rows = []
    for student in students:
        key = people.key(student.name, next(iter(student.ids), ""))
        total = student.total(plan, worth)
        left, lines = plan.term.late_days, []
        for column in in_order:
            standing = student.standings.get(column.assignment.name)
            if standing is not None:
                left -= standing.entry.row.free_days if standing.entry else 0
                lines.append(_line(standing, column, key, left))
        of_name = f"{student.name} ({', '.join(student.ids)})" if count[student.name] > 1 else student.name
        rows.append(
            TermRow(
                student=student,
                label=of_name,
                page=f"students/{html.page_name(of_name)}",
                cells=tuple(_cell(student.standings.get(one.assignment.name), total) for one in columns),
                total=total,
                share="" if total.share is None else f"{float(100 * total.share):.2f}",
                letter=total.letter(plan.term.letters),
                late_days=plan.term.late_days - left,
                notable="; ".join(filter(None, ("left the class" if student.has_left else "", student.doubt))),
                is_open=not total.is_whole or bool(total.lacking) or len(columns) < len(plan.assignments),
                aside=_aside(total, course),
                lines=tuple(lines),
            )
        )
    return tuple(rows)


def _aside(total: Total, course: Course) -> str:
    titles = {one.name: one.title or one.name for one in course.plan.assignments}
    lacking = [titles[one.assignment.name] for one in total.lacking]
    parts = [f"without a mark: {listed(lacking, 20)}"] if lacking else []
    parts += [f"not counted, as it went worst: {titles[name]}" for name in total.dropped]
    return "; ".join(parts)


def _cell(standing: Standing | None, total: Total) -> TermCell:
    if standing is None:
        return TermCell("–", -1.0 - len(get_args(State)), why="not in the class list of this assignment")
    row = standing.entry.row if standing.entry else None
    late = row.late_words if row else ""
    why = "; ".join(filter(None, [one_line(str(standing), 300), late]))
    dropped = ["dropped"] if standing.assignment.name in total.dropped else []
    if standing.entry is None or not standing.has_mark:
        state = "nothing assessed" if standing.state == "marked" else standing.state
        return TermCell(state, -1.0 - get_args(State).index(standing.state), tuple(dropped), why)
    notes = [counted(row.free_days, "late day") if row.free_days else "late"] if row and late else []
    notes += [standing.state] if standing.state != "marked" else []
    notes += dropped
    final = standing.entry.final
    return TermCell(points(final, standing.entry.row.max), final, tuple(notes), why)


def _line(standing: Standing, column: Column, key: str, left: int) -> StudentLine:
    entry, due = standing.entry, column.policy.due
    if due is not None:
        theirs = (entry.row.due if entry else "") or column.dues.get(key, "")
        due = max(due, moment(theirs)) if theirs else due
    mark = _FOR_STUDENTS.get(standing.state, standing.state)
    if entry is not None and standing.has_mark:
        mark = points(entry.final, entry.row.max)
    return StudentLine(
        at=standing.assignment.name if entry else "",
        title=standing.assignment.title or standing.assignment.name,
        due=f"{due.astimezone():%Y-%m-%d %H:%M}" if due else "",
        mark=mark,
        late=_late_words(entry.row) if entry else "",
        left=left,
    )


def _late_words(row: Row) -> str:
    """How late it came, and the cost of that; empty if it came in time."""
    return "; ".join(map(_words_of, row.lates))


def _words_of(late: Late) -> str:
    words = [f"{listed(late.exercises, 3)}:"] if late.exercises else []
    words += [f"{counted(late.days, 'day')} late" if late.days else "late"]
    words += [f"{counted(late.free, 'late day')} taken"] if late.free else []
    words += ["after the last date"] if late.closed else []
    return ", ".join([*words, *([f"{100 * late.penalty:g} % off"] if late.penalty else [])])


def _class_page(book: Gradebook, course: Course, column: Column, rows: Sequence[TermRow]) -> bytes:
    """The class page of one assignment, whose links lead into the pages of the students."""
    name = column.assignment.name
    entries = [Entry(row, book.files, course.marks) for row in book.each_result()]
    people = book.everybody()
    of_key = {people.key(row.student.name, next(iter(row.student.ids), "")): row.page for row in rows}
    links = {
        one.result.submission: of_key.get(people.key(one.result.submission, one.row.arrival.student), "index.html")
        for one in entries
    }
    for row in rows:
        standing = row.student.standings.get(name)
        if standing is not None and standing.entry is not None:
            links[standing.entry.result.submission] = f"{row.page}#{name}"
    title = column.assignment.title or name
    return html.render_class(entries, course, links, list(about(book, entries)), html.without_mark(book), title)


def _notes(book: Gradebook, columns: Sequence[Column]) -> Iterator[str]:
    """The part that the page leaves out."""
    known = {one.assignment.name for one in columns}
    for name in book.assignments():
        if name not in known:
            with book.within(name):
                count = counted(len(book.results()), "student")
            of = f"the assignment `{name}`, which course.toml has not" if name else "runs before there were assignments"
            yield f"Not shown: the results of {count} of {of}."
