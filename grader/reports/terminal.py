"""What students and instructors read on the terminal: per exercise a line, per failure what to look at.

Prints text from submissions only through `clean` and never as markup; each of its lines stands behind a bar, so that no
print of a student's can pass for a line of the grader's or a command of the CI system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.course import Course, Exercise
from grader.gradebook import Row
from grader.reports.feedback import SYMBOLS, VERDICT_WORDS, alike, is_brief, one_cause, tell, worst
from grader.results import Cause, CheckResult, ExerciseResult, SubmissionResult
from grader.text import clean, counted, percent, points

WIDTH = 100
_MESSAGE_LINES = 60
_STYLES = {
    "passed": "green",
    "failed": "red",
    "timeout": "red",
    "crashed": "red",
    "blocked": "yellow",
    "skipped": "dim",
    "error": "bold magenta",
}


def make_console(*, stderr: bool = False) -> Console:
    """A console at most `WIDTH` wide; plain text when piped or when ``NO_COLOR`` is set."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    console.width = min(WIDTH, console.width) if console.is_terminal else WIDTH
    return console


def show_submission(
    result: SubmissionResult,
    course: Course,
    console: Console,
    notes: Sequence[str] = (),
    missing_layers: Sequence[str] = (),
) -> None:
    """Prints one submission's result for its student."""
    _Student(course, console).show(result, notes, missing_layers)


def show_class(rows: Iterable[Row], console: Console) -> None:
    """Prints the instructor's table: a row per submission, and the mean."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("submission", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("notable", overflow="fold")
    table.add_column("seconds", justify="right", no_wrap=True)
    shares = []
    for row in rows:
        share = percent(row.result.score, row.result.max)
        shares += [] if share is None else [share]
        table.add_row(
            Text(clean(row.result.submission).replace("\n", "�")),
            points(row.result.score, row.result.max),
            "–" if share is None else f"{share:.1f}",
            Text(", ".join(_flags(row)), style="bold magenta" if "error" in row.result.verdicts else ""),
            f"{row.seconds:.2f}",
        )
    console.print(table)
    if shares:
        console.print(f"{table.row_count} submissions, mean {sum(shares) / len(shares):.1f}%")


def _flags(row: Row) -> list[str]:
    kinds = Counter(kind for e in row.result.exercises for kind in {check.verdict for check in e.checks})
    flags = ["GRADER FAULT"] if kinds["error"] else []
    flags += [f"{kinds[kind]} {kind}" for kind in ("crashed", "timeout", "skipped") if kinds[kind]]
    named = sum(exercise.misconception is not None for exercise in row.result.exercises)
    flags += [counted(named, "misconception")] if named else []
    return flags + (["unchanged"] if row.reused else [])


class _Student:
    def __init__(self, course: Course, console: Console) -> None:
        self.course = course
        self.console = console
        self._exercises = {exercise.full_name: exercise for exercise in course.exercises}
        self._last_shown: Cause | None = None

    def show(self, result: SubmissionResult, notes: Sequence[str], missing_layers: Sequence[str]) -> None:
        for note in notes:
            self._line(f"note: {clean(note)}", "yellow")
        last = None
        for exercise in result.exercises:
            topic = exercise.name.partition(".")[0]
            if topic != last:
                self._heading(topic)
            last = topic
            self._exercise(exercise)
        self._total(result)
        if missing_layers:
            self._line(f"sandbox without: {', '.join(missing_layers)} (see: grader doctor)", "dim")

    def _heading(self, name: str) -> None:
        title = next((topic.title for topic in self.course.topics if topic.name == name), "")
        self.console.print()
        self.console.print(Text.assemble((name, "bold"), f"  {title}"))

    def _exercise(self, exercise: ExerciseResult) -> None:
        kinds = {check.verdict for check in exercise.checks}
        shown = worst(exercise)
        mark, style = SYMBOLS[shown], _STYLES[shown]
        score = "not assessed" if exercise.max == 0 else points(exercise.score, exercise.max)
        name = exercise.name.partition(".")[2] or exercise.name
        self.console.print(Text.assemble("  ", (mark, style), f" {name:<40} {score:>12}"))
        not_passed = [check for check in exercise.checks if check.verdict != "passed"]
        if not not_passed:
            return
        cause = one_cause(exercise)
        if cause is not None:
            self._cause(cause)
            return
        for group in alike(not_passed):
            self._check(group)
        if kinds & {"failed", "timeout", "crashed"}:
            self._help(exercise)

    def _cause(self, check: CheckResult) -> None:
        """What stopped all checks alike, such as a module that cannot be imported: told once, and hints do not help."""
        if check.verdict in ("blocked", "skipped"):
            self._line(f"      {check.verdict}: {clean(check.message)}", "dim")
        elif check.verdict == "failed" and is_brief(check):
            self._line(f"      {clean(check.message)}", "dim")
        elif check.cause is not None and check.cause == self._last_shown:
            self._line(f"      {VERDICT_WORDS[check.verdict]}: the same as above", _STYLES[check.verdict])
        else:
            self._last_shown = check.cause
            self._line(f"      {VERDICT_WORDS[check.verdict]}", _STYLES[check.verdict])
            self._message(check.message)

    def _check(self, group: list[CheckResult]) -> None:
        first = group[0]
        if first.verdict in ("blocked", "skipped"):
            self._line(f"      {first.verdict}: {clean(first.message)}", "dim")
            return
        name = clean(first.name).replace("_", " ")
        self._line(f"      {name}: {VERDICT_WORDS[first.verdict]}", _STYLES[first.verdict])
        self._message(first.message)
        if len(group) > 1:
            self._line(f"      and {counted(len(group) - 1, 'more check')}: the same", "dim")

    def _message(self, message: str) -> None:
        lines = clean(message).rstrip().split("\n")
        for line in lines[:_MESSAGE_LINES]:
            self._line(line[:2000], "", bar="      │ ")
        if len(lines) > _MESSAGE_LINES:
            self._line(f"… and {len(lines) - _MESSAGE_LINES} more lines", "dim", bar="      │ ")

    def _help(self, exercise: ExerciseResult) -> None:
        known = self._exercises.get(exercise.name)
        told = tell(self.course, exercise)
        if told:
            self._line(f"      what happened: {told}", "cyan")
        elif known and known.hints:
            self._line(f"      hint: {known.hints[0]}", "cyan")
        if known and len(known.hints) > (0 if told else 1):
            self._line(f"      more: grader hint {known.full_name}{'' if told else ' --level 2'}", "dim")

    def _total(self, result: SubmissionResult) -> None:
        share = percent(result.score, result.max)
        self.console.print()
        if share is None:
            self._line("nothing could be assessed", "bold")
        else:
            self._line(f"{points(result.score, result.max)} points, {share:.1f}%", "bold")
        skipped = sum(self._points(e) for e in result.exercises if not e.max and e.checks)
        if skipped:
            self._line(f"{skipped:g} points could not be assessed here and are not in the total", "yellow")
        if "error" in result.verdicts:
            text = "THE GRADER FAILED on the exercises marked `!`: tell your instructor; no points are lost"
            self._line(text, _STYLES["error"])

    def _points(self, exercise: ExerciseResult) -> float:
        known: Exercise | None = self._exercises.get(exercise.name)
        return known.points if known else 0.0

    def _line(self, text: str, style: str, bar: str = "") -> None:
        """Prints lines folded to the width, each behind the bar or at the indentation that the text begins with."""
        lead = bar or " " * (len(text) - len(text.lstrip(" ")))
        body = text if bar else text.lstrip(" ")
        for piece in Text(body, style).wrap(self.console, self.console.width - len(lead), overflow="fold"):
            self.console.print(Text.assemble((lead, "dim"), piece), soft_wrap=True)
