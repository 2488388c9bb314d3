"""The history of a student's mark: every result, and all that people gave, the oldest first. Only reads."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.gradebook import Comment, Excuse, Extension, Given, Gradebook, HistoryEvent, Mark, Override, Row
from grader.gradebook.records import Whose
from grader.intake.roster import Student
from grader.marking.keeping import exercise_called, open_book
from grader.marking.whom import Students
from grader.reports.feedback import VERDICT_WORDS, worst
from grader.reports.status import marks, when
from grader.results import SubmissionResult
from grader.text import listed, points

_MOST_NAMED: Final = 6
_INDENT: Final = 4


def history_lines(
    out: Path,
    student: str,
    exercise: str | None,
    width: int | None = None,
    assignment: str | None = None,
    course: Course | None = None,
) -> Iterator[str]:
    """A line for each result and for each thing that a person gave; the last one is the mark that counts.

    Args:
        exercise: only what is about this exercise; None means all.
        width: columns of the terminal, into which long lines are broken; None breaks none.
        assignment: only this one; None means each that the student is in.

    Raises:
        UserError: no such student, exercise or assignment.
    """
    with open_book(out, course) as book:
        if assignment is not None:
            book.choose(assignment)
        names = book.assignments() if assignment is None else [assignment]
        lines: list[str] = []
        for name in names:
            with book.within(name):
                students = Students(book, list(book.results()))
                found = students.find(student)
                if found is None and name == names[-1] and not lines:
                    found = students.row(student)  # says who is there
                if found is not None:
                    lines += [name] if len(names) > 1 else []
                    lines += _of_assignment(book, found, exercise)
    for line in lines:
        whole = line.replace("\n", " / ")
        indent = " " * _INDENT
        yield from [whole] if width is None else textwrap.wrap(whole, width, subsequent_indent=indent) or [""]


def _of_assignment(book: Gradebook, found: Row | Student, exercise: str | None) -> Iterator[str]:
    people = found.people if isinstance(found, Row) else (Whose(found.name, found.ids[0], ids=found.ids),)
    events = book.history(people)
    now = f"{found.label}: {marks(found)}" if isinstance(found, Row) else f"{found.name}: no work is graded yet"
    known = dict.fromkeys(one.name for event in events if event.result for one in event.result.exercises)
    name = None if exercise is None else exercise_called([*known], exercise)
    yield from _lines([event for event in events if _is_about(event, name)], name)
    yield f"now: {now}"


def _is_about(event: HistoryEvent, exercise: str | None) -> bool:
    if exercise is None:
        return True
    if event.result is not None:
        return any(one.name == exercise for one in event.result.exercises)
    return getattr(event.given, "exercise", exercise) == exercise  # an extension is about all exercises


def _lines(events: Sequence[HistoryEvent], exercise: str | None) -> Iterator[str]:
    before: HistoryEvent | None = None
    for event in _without_single_keys(events):
        made = when(event.made)
        if event.given is not None:
            yield f"{made}  {_given(event.given)}"
            continue
        if before is not None and event.number == before.number:
            text = f"run {event.run}: the same result as in run {before.run}, not graded again"
        else:
            text = f"run {event.run}: {_points(event.result, exercise)}{_moved(before, event, exercise)}"
        came = f", handed in {when(event.submitted)}" if event.submitted else ""
        yield f"{made}  {text}{came}{', a trial: counts nothing' if event.trial else ''}"
        before = before if event.trial else event


def _without_single_keys(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """The history with the last state of each mark that a person began, not with every key."""
    kept: list[HistoryEvent] = []
    later: set[tuple[str, str]] = set()
    for event in reversed(events):
        if isinstance(event.given, Mark):
            whose = event.given.exercise, event.given.who
            if not event.given.done and whose in later:
                continue
            later.add(whose)
        kept.append(event)
    return kept[::-1]


def _points(result: SubmissionResult | None, exercise: str | None) -> str:
    found = next((one for one in result.exercises if one.name == exercise), None) if result else None
    if result is None or found is None:
        return points(result.score, result.max) if result else ""
    if found.manual is not None:
        return f"{found.name}: a person marks it"
    verdict = worst(found)
    words = "" if verdict == "passed" else f", {VERDICT_WORDS[verdict]}"
    return f"{found.name}: {points(found.score, found.max)}{words}"


def _moved(before: HistoryEvent | None, event: HistoryEvent, exercise: str | None) -> str:
    """The exercises whose points are others than in the result before."""
    if exercise is not None or before is None or before.result is None or event.result is None:
        return ""
    old = {one.name: one.score for one in before.result.exercises}
    new = {one.name: one.score for one in event.result.exercises}
    moved = [f"{name} {old[name]:g} → {score:g}" for name, score in new.items() if old.get(name, score) != score]
    return f" ({listed(moved, _MOST_NAMED)})" if moved else ""


def _given(given: Given) -> str:
    """One entry of a person: kind, exercise, content, who and why."""
    by = f"by {given.who}"
    match given:
        case Override():
            worth = "the automatic points again" if given.points is None else points(given.points, given.max)
            then = "" if given.automatic is None else f" (automatic: {given.automatic:g})"
            return f"override: {given.exercise}: {worth}{then} {by}: {given.why}"
        case Mark(points=None):
            return f"mark: {given.exercise}: not marked any more, {by}"
        case Mark():
            items = ", ".join(str(n) for n, item in enumerate(given.items, start=1) if item.given) or "none"
            state = "" if given.done else ", only begun"
            return f"mark: {given.exercise}: {points(given.points or 0.0, given.max)} (items: {items}) {by}{state}"
        case Comment():
            return f"comment: {given.exercise}: {by}: {given.said if given.text else given.place + ' taken back'}"
        case Excuse():
            return f"{'excused' if given.excused else 'not excused any more'} {by}: {given.why}"
        case _:
            assert isinstance(given, Extension), "there is no other kind"
            return f"extension: {f'until {when(given.due)}' if given.due else 'none any more'} {by}: {given.why}"
