"""The lines that `grader status`, `diff` and `override` print. Only `override` writes to the gradebook."""

from __future__ import annotations

import contextlib
import datetime
import getpass
import platform
from collections.abc import Iterator
from pathlib import Path

from grader.course.due import moment
from grader.errors import UserError, did_you_mean
from grader.gradebook import Gradebook, Override, Row, Run, compare
from grader.reports.feedback import not_assessed
from grader.sandbox import process_tree
from grader.text import counted, points

_MOST_FAILED = 10


def status_lines(out: Path, *, notes: bool) -> Iterator[str]:
    """Every run, the progress of the last one, whose grading failed, who is late, and the overrides.

    Raises:
        UserError: there is no gradebook, or it has no run.
    """
    with Gradebook.open_existing(out) as book:
        runs = list(book.runs())
        if not runs:
            raise UserError(f"no run in {book.path} yet", fix="grade something: grader grade PATH")
        for run in runs:
            seed = f", seed {run.seed}"
            of = f" of {run.expected}" if run.expected else ""
            trial = ", a trial" if run.trial else ""
            yield f"run {run.id}  {_when(run.started)}  {run.course}{seed}{trial}: {run.done}{of} done, {_state(run)}"
        yield ""
        yield from _progress(runs[-1])
        yield f"seed of the next run: {book.seed} (keep it secret: who knows it knows every generated input)"
        missing = {not_assessed(row.result, {one.exercise for one in row.overrides}) for row in book.results()}
        yield from sorted(missing - {""})[:_MOST_FAILED]
        rows = list(book.results(runs[-1].id)) if runs[-1].failed else []
        failed = [row.result.submission for row in rows if "error" in row.result.verdicts]
        if failed:
            more = ", …" if failed[_MOST_FAILED:] else ""
            yield f"failed, by a fault of the grader's own: {', '.join(failed[:_MOST_FAILED])}{more}"
        for row in book.results():
            if row.late is not None:
                yield f"late: {row.result.submission}: {row.late}; {_marks(row)}"
            yield from (f"flag: {row.result.submission}: {flag}" for flag in row.result.flags)
            for given in row.overrides:
                yield f"override: {_override_line(given, row)}"
            if notes:
                yield from (f"note: {row.result.submission}: {note}" for note in row.notes)
        if claims := book.in_time_by_file_time():
            those = counted(len(claims), "submission")
            yield f"in time: {those} by file times alone, which students can set (see: --roster)"
        yield f"gradebook: {book.path}"


def diff_lines(out: Path, before: int, after: int) -> Iterator[str]:
    """Each exercise whose points differ between two runs, by submission, and how many submissions would change.

    Raises:
        UserError: there is no such run.
    """
    with Gradebook.open_existing(out) as book:
        known = {run.id: run for run in book.runs()}
        for run in (before, after):
            if run not in known:
                there = ", ".join(map(str, known)) or "none"
                raise UserError(f"no run {run} in {book.path}", fix=f"there are: {there} (see: grader status)")
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
        one, two = known[before], known[after]
        same = "the same course" if one.course_hash == two.course_hash else "another version of the course"
        seed = "" if one.seed == two.seed else f", seeds {one.seed} and {two.seed}"
        yield f"{counted(len(moved), 'submission')} would move; {same}{seed}"


def give_points(out: Path, student: str, exercise: str, text: str, why: str, who: str | None) -> Iterator[str]:
    """Records points that a person gives for an exercise of the last run, and returns lines that show them.

    Raises:
        UserError: no such student or exercise, points that it cannot have, or no reason.
    """
    with Gradebook.open_existing(out) as book:
        runs = [run for run in book.runs() if not run.trial]
        rows = list(book.results())
        row = _student(rows, student)
        most: dict[str, float] = {}
        for other in (row, *rows):
            for one in other.result.exercises:
                most[one.name] = max(one.max, one.not_assessed, most.get(one.name, 0.0))
        name = _exercise(list(most), exercise)
        given = Override(
            student=row.result.submission,
            exercise=name,
            points=_points(text, most[name], name),
            max=most[name],
            why=_reason(why),
            who=who or _user(),
            made=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        )
        book.override(runs[-1].course, given, row.digest)
        after = next(again for again in book.results() if again.result.submission == row.result.submission)
    yield _override_line(given, row)
    yield f"{row.result.submission}: {_marks(after)} (automatic: {points(row.result.score, row.result.max)})"


def _progress(run: Run) -> Iterator[str]:
    old = run.done - run.newly_graded
    graded = f"{run.newly_graded} graded, {old} taken over from earlier runs"
    yield f"run {run.id}: {graded}, {run.left} left, {run.failed} failed"
    if run.finished or not run.left:
        return
    if not _is_alive(run):
        yield "it was interrupted: run the same command to continue"
    elif run.newly_graded:
        took = (moment(run.last) - moment(run.started)).total_seconds()
        yield f"about {_duration(took / run.newly_graded * run.left)} to go"


def _state(run: Run) -> str:
    if run.finished:
        return "finished"
    return f"at work (process {run.process})" if _is_alive(run) else "interrupted"


def _is_alive(run: Run) -> bool:
    """Whether its process still runs; assumed for a run on another machine, where it cannot be seen."""
    if run.host != platform.node() or not run.process:
        return bool(run.process)
    return process_tree.is_alive(run.process)


def _student(rows: list[Row], name: str) -> Row:
    exact = [row for row in rows if row.result.submission == name]
    found = exact or [row for row in rows if row.arrival.student == name]
    if len(found) == 1:
        return found[0]
    known = [row.result.submission for row in rows]
    what = "several submissions" if found else "no submission"
    raise UserError(f"{what} of `{name}` in the last run" + did_you_mean(name, known), fix="see: grader status")


def _exercise(known: list[str], name: str) -> str:
    found = [full for full in known if name in (full, full.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"`{name}` could be {' or '.join(found)}", fix=f"name it in full: {found[0]}")
    raise UserError(f"no exercise `{name}` in the last run" + did_you_mean(name, known))


def _points(text: str, most: float, exercise: str) -> float | None:
    if text == "auto":
        return None
    with contextlib.suppress(ValueError):
        value = float(text)
        if 0 <= value <= most:
            return value
    raise UserError(f"{exercise} cannot have {text!r} points", fix=f"give a number from 0 to {most:g}, or `auto`")


def _reason(why: str) -> str:
    if not why.strip():
        raise UserError("no reason", fix='say why: --why "…"')
    return why.strip()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


def _override_line(given: Override, row: Row) -> str:
    automatic = next((one for one in row.result.exercises if one.name == given.exercise), None)
    auto = points(automatic.score, automatic.max) if automatic else "none"
    now = "automatic again" if given.points is None else points(given.points, given.max)
    stale = "; given for earlier work" if given.stale else ""
    return (
        f"{given.student}: {given.exercise}: {now} (automatic: {auto}) by {given.who}, {_when(given.made)}:"
        f" {given.why}{stale}"
    )


def _marks(row: Row) -> str:
    after = f", {points(round(row.final, 4), row.max)} with late penalty" if row.late and row.late.penalty else ""
    return f"{points(round(row.score, 4), row.max)}{after}"


def _when(iso: str) -> str:
    return f"{moment(iso):%Y-%m-%d %H:%M}"


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
