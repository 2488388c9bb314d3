"""Lines about a class: of `grader status` and `grader diff`, of what people gave, and of what is not marked yet."""

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

import msgspec

from grader.course import Course
from grader.course.assignments import Assignment
from grader.course.due import moment
from grader.errors import UserError
from grader.gradebook import Comment, Excuse, Extension, Given, Gradebook, Mark, Override, Row, Run
from grader.reports.feedback import CHANGED, not_assessed, to_look_at
from grader.reports.term import State, state_of
from grader.sandbox import process_tree
from grader.text import counted, duration, listed, named, one_line, points

_MOST_NAMED = 10


def status_lines(
    out: Path, *, notes: bool, course: Course | None = None, assignment: str | None = None
) -> Iterator[str]:
    """Every run, the progress of the last one, and how everybody stands in each assignment.

    Args:
        course: as it is now; None, or another one: as it was at the last run.
        assignment: only this one; None means all that have runs.

    Raises:
        UserError: there is no gradebook or assignment, or it has no run.
    """
    with Gradebook.open_existing(out) as book:
        runs = list(book.runs())
        if not runs:
            raise UserError(f"no run in {book.path} yet", fix="grade something: grader grade PATH")
        if course is not None:
            book.use_plan(course.plan)
        for run in runs:
            of = f" of {run.expected}" if run.expected else ""
            trial = ", a trial" if run.trial else ""
            which = f" {run.assignment}" if run.assignment else ""
            state = f"at work (process {run.process})" if _is_alive(run) else "interrupted"
            state = "finished" if run.finished else state
            about = f"run {run.id}  {when(run.started)}  {run.course}{which}, seed {run.seed}{trial}"
            yield f"{about}: {run.done}{of} done, {state}"
        yield ""
        yield from _progress(runs[-1])
        yield f"seed of the next run: {book.seed} (keep it secret: who knows it knows every generated input)"
        if assignment is not None:
            book.choose(assignment)
        for name in book.assignments() if assignment is None else [assignment]:
            with book.within(name):
                if name:
                    yield ""
                    yield from _standing_lines(book)
                yield from _lines_of(book, runs, notes)
        yield f"gradebook: {book.path}"


def _standing_lines(book: Gradebook) -> Iterator[str]:
    """How many are in each state; who is in another state than marked, by name."""
    found = next(
        (one for one in book.plan.assignments if one.name == book.assignment), Assignment(name=book.assignment)
    )
    states: dict[str, list[str]] = {}
    for row in book.each_result():
        states.setdefault(state_of(row)[0], []).append(row.result.submission)
    for one in book.absent():
        states.setdefault(state_of(one)[0], []).append(one.student.name)
    yield f"assignment {found.name} ({found.title}): {found.late}" if found.title else f"assignment {found.name}"
    yield "  " + ", ".join(f"{len(states[state])} {state}" for state in get_args(State) if state in states)


def _lines_of(book: Gradebook, runs: Sequence[Run], notes: bool) -> Iterator[str]:
    """Submissions whose grading failed or that are late, and all that people gave, of the assignment at hand."""
    own = [run for run in runs if run.assignment == book.assignment]
    everybody = list(book.results())
    absent = book.absent()
    if nothing := [f"{one.student.name} ({one.student.ids[0]})" for one in absent if one.handed_in_nothing]:
        yield f"handed in nothing: {counted(len(nothing), 'student')}: {named(nothing, _MOST_NAMED)}"
    if waiting := book.ungraded():
        yield f"not graded yet: {counted(len(waiting), 'submission')}: {named(waiting, _MOST_NAMED)}"
    yield from _where_from(everybody, {run.id: run.course_hash for run in own})
    missing = {not_assessed(row.result, row.given) for row in everybody}
    yield from sorted(missing - {""})[:_MOST_NAMED]
    yield from Unmarked(everybody).lines()
    rows = list(book.results(own[-1].id)) if own and own[-1].failed else []
    failed = [row.result.submission for row in rows if "error" in row.result.verdicts]
    if failed:
        yield f"failed, by a fault of the grader's own: {named(failed, _MOST_NAMED)}"
    for row in everybody:
        yield from (f"needs a look: {row.result.submission}: {what}" for what in to_look_at(row))
        if less := worth_less(row):
            yield f"less than before: {row.result.submission}: {less}"
        if row.lates:
            yield f"late: {row.result.submission}: {row.late_words}; {marks(row)}"
        yield from (f"flag: {row.result.submission}: {flag}" for flag in row.result.flags)
        for given in row.overrides:
            yield f"override: {override_line(given, row)}"
        if notes:
            yield from (f"mark: {mark_line(one)}" for one in row.marks)
            yield from (f"comment: {comment_line(one)}" for one in row.comments)
            yield from (f"note: {row.result.submission}: {note}" for note in row.notes)
    course = runs[-1].course
    yield from (f"extension: {extension_line(one)}" for one in book.extensions(course))
    yield from (f"excused: {excuse_line(one)}" for one in book.excuses(course))
    by_hand = {one.student for one in book.excuses(course)}
    listed_excused = [one.student.name for one in absent if one.excused and one.student.name not in by_hand]
    listed_excused += [name for row in everybody if row.excused and (name := row.result.submission) not in by_hand]
    if listed_excused:
        yield f"excused by the class list: {named(sorted(listed_excused), _MOST_NAMED)}"
    marked, said = sum(len(row.marks) for row in everybody), sum(len(row.comments) for row in everybody)
    if (marked or said) and not notes:
        yield f"{counted(marked, 'mark')} and {counted(said, 'comment')} by hand (each: grader status --notes)"
    if claims := sum(row.claimed for row in everybody):
        those = counted(claims, "submission")
        yield f"in time: {those} by times of files or commits alone, which students can set (see: --roster)"
    yield from untimed(sum(row.untimed for row in everybody))


def diff_lines(out: Path, before: int, after: int) -> Iterator[str]:
    """Each exercise whose points differ between two runs, by submission, and how many submissions would change.

    Raises:
        UserError: there is no such run, or they are of different assignments.
    """
    with Gradebook.open_existing(out) as book:
        known = {run.id: run for run in book.runs()}
        for run in (before, after):
            if run not in known:
                there = ", ".join(map(str, known)) or "none"
                raise UserError(f"no run {run} in {book.path}", fix=f"there are: {there} (see: grader status)")
        one, two = known[before], known[after]
        if one.assignment != two.assignment:
            of = (run.assignment or "no assignment" for run in (one, two))
            what = f"run {before} is of {next(of)}, run {after} of {next(of)}: no exercise of one is in the other"
            raise UserError(what, fix="compare two runs of one assignment (see: grader status)")
        moved: set[str] = set()
        for move in compare(book.results(before), book.results(after)):
            if move.before is None or move.after is None:
                missing = after if move.after is None else before
                only = move.after if move.before is None else move.before
                yield f"{move.submission}: {move.exercise}: not in run {missing} ({only:g} in the other)"
                continue
            moved.add(move.submission)
            work = " (other files were handed in)" if move.new_work else ""
            yield f"{move.submission}: {move.exercise}: {move.before:g} → {move.after:g}{work}"
        for row in book.results(after):
            for name in (mark.exercise for mark in row.marks if mark.stale):
                score, most = row.given[name]
                yield f"{row.result.submission}: {name}: marked {points(score, most)}; {CHANGED}"
        same = "the same course" if one.course_hash == two.course_hash else "another version of the course"
        seed = "" if one.seed == two.seed else f", seeds {one.seed} and {two.seed}"
        yield f"{counted(len(moved), 'submission')} would move; {same}{seed}"


def untimed(count: int) -> Iterator[str]:
    """A line about work with an unknown time although there is a due date; no line if there is no such work."""
    if count:
        who = f"{counted(count, 'submission')} without a known time of handing in"
        yield f"not late: {who} (--roster with times, such as Moodle's worksheet; or --late-by file-time)"


def _where_from(rows: Sequence[Row], version_of: Mapping[int, str]) -> Iterator[str]:
    """The runs of the results that reports show, if there are several; and whether they measure the same.

    Args:
        version_of: the hash of the course by the number of the run.
    """
    of_run = Counter(run for row in rows for run in row.runs)
    if len(of_run) > 1:
        those = ", ".join(f"{count} of run {run}" for run, count in sorted(of_run.items()))
        of = f"{counted(len(rows), 'student')}{', exercise by exercise' if any(row.older for row in rows) else ''}"
        yield f"reports show the latest result of each of {of}: {those} (--run N: one run's)"
    versions: dict[str, set[str]] = {}
    for part in (part for row in rows for part in row.parts):
        for name in part.exercises:
            versions.setdefault(name, set()).add(version_of.get(part.run, ""))
    if mixed := [name for name in versions if len(versions[name]) > 1]:
        yield f"graded by several versions of the course: {listed(mixed, _MOST_NAMED)}: grade all again to compare"
    if missing := dict.fromkeys(name for row in rows for name in row.missing):
        names = listed([*missing], _MOST_NAMED)
        yield f"not graded yet for {counted(sum(bool(row.missing) for row in rows), 'submission')}: {names}"
    of_exercises = Counter(frozenset(one.name for one in row.result.exercises) for row in rows)
    if len(of_exercises) > 1:
        those = ", ".join(f"{counted(n, 'student')} on {len(names)}" for names, n in of_exercises.most_common(4))
        yield f"not all were graded on the same exercises: {those} (see: grade --only)"


def _progress(run: Run) -> Iterator[str]:
    graded = f"{run.newly_graded} graded, {run.done - run.newly_graded} taken over from earlier runs"
    yield f"run {run.id}: {graded}, {run.left} left, {run.failed} failed"
    if run.finished or not run.left:
        return
    if not _is_alive(run):
        yield "it was interrupted: run the same command to continue"
    elif run.newly_graded > 2:
        took = (moment(run.last) - moment(run.first)).total_seconds()
        yield f"about {duration(took / (run.newly_graded - 1) * run.left)} to go"


def _is_alive(run: Run) -> bool:
    """Whether its process still runs; assumed for a run on another machine, because it cannot be seen from here."""
    is_elsewhere = run.host != platform.node()
    return bool(run.process) and (is_elsewhere or process_tree.is_alive(run.process))


class Move(msgspec.Struct, frozen=True):
    """An exercise of a submission whose points differ; None if that run does not have it."""

    submission: str
    exercise: str
    before: float | None
    after: float | None
    new_work: bool = False


def compare(before: Iterable[Row], after: Iterable[Row]) -> Iterator[Move]:
    """Every exercise whose automatic points differ, in order of names; ``new_work``: other files were handed in."""
    old = {row.result.submission: (row.digest, _points(row)) for row in before}
    new = {row.result.submission: (row.digest, _points(row)) for row in after}
    for name in sorted(old.keys() | new.keys()):
        digest_before, left = old.get(name, ("", {}))
        digest_after, right = new.get(name, ("", {}))
        changed = bool(digest_before and digest_after and digest_before != digest_after)
        for exercise in dict.fromkeys([*left, *right]):
            if left.get(exercise) != right.get(exercise):
                yield Move(name, exercise, left.get(exercise), right.get(exercise), changed)


def _points(row: Row) -> dict[str, float]:
    return {exercise.name: exercise.score for exercise in row.result.exercises}


def when(iso: str) -> str:
    """An ISO time as people read it."""
    return f"{moment(iso):%Y-%m-%d %H:%M}"


def marks(row: Row) -> str:
    """Points, before and after the penalty for lateness."""
    if row.differing and row.unread:
        return "no mark yet"
    after = f", {points(row.final, row.max)} with late penalty" if row.penalty else ""
    return f"{points(row.score, row.max)}{after}"


def override_line(given: Override, row: Row) -> str:
    automatic = next((one for one in row.result.exercises if one.name == given.exercise), None)
    auto = points(automatic.score, automatic.max) if automatic else "none"
    now = "automatic again" if given.points is None else points(given.points, given.max)
    stale = f"; {CHANGED}" if given.stale else ""
    by = f"by {given.who}, {when(given.made)}: {given.why}{stale}"
    return f"{given.student}: {given.exercise}: {now} (automatic: {auto}) {by}"


def extension_line(given: Extension) -> str:
    """An extension with who, when and why."""
    until = f"until {when(given.due)}" if given.due else "no extension any more"
    return f"{given.student}: {until}, by {given.who}, {when(given.made)}: {given.why}"


def excuse_line(given: Excuse) -> str:
    """An excuse with who, when and why."""
    what = "excused" if given.excused else "not excused any more"
    return f"{given.student}: {what}, by {given.who}, {when(given.made)}: {given.why}"


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
    place = f"{comment.place}: " if comment.line else ""
    return f"{comment.student}: {comment.exercise}: {place}{text} (by {comment.who}, {when(comment.made)}{stale})"


def given_line(given: Given) -> str:
    """Anything that a person gave, with who and when."""
    if isinstance(given, Mark):
        return f"{mark_line(given)}{'' if given.done else ', only begun'}"
    if isinstance(given, Comment):
        return comment_line(given)
    if isinstance(given, Extension):
        return extension_line(given)
    if isinstance(given, Excuse):
        return excuse_line(given)
    assert isinstance(given, Override), "there is no other kind"
    now = "automatic again" if given.points is None else f"{points(given.points, given.max)} by hand"
    return f"{given.student}: {given.exercise}: {now} by {given.who}, {when(given.made)}: {given.why}"


class Unmarked:
    """How many submissions of a class are not marked yet; rows can be added one at a time."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._of: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Counts one more submission."""
        left = {one.name for one in row.unmarked}
        self._of.update(one.name for one in row.result.to_mark)
        self._left.update(left)
        self._begun.update(left & set(row.begun))

    def lines(self) -> Iterator[str]:
        """A line for each exercise that is not marked for everybody."""
        for name in (name for name in self._of if self._left[name]):
            more = f", {self._begun[name]} begun" if self._begun[name] else ""
            of = counted(self._of[name], "submission")
            yield f"not marked yet: {name}: {self._left[name]} of {of}{more} (see: grader mark)"


def worth_less(row: Row) -> str:
    """That the work before was worth more, in words; empty if it was not."""
    if row.before is None:
        return ""
    most = row.result.max
    return f"the new work has {points(row.result.score, most)}, the work before it had {points(row.before, most)}"
