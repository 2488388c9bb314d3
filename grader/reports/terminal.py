"""What students and instructors read on the terminal: per exercise a line, per failure what to look at.

Prints text from submissions only through `clean` and never as markup. A bar begins each line of such text, so that
nothing that a student prints looks like a line of the grader or a command of the CI system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.course import Course
from grader.gradebook import Row
from grader.reports.feedback import (
    FAILING,
    SYMBOLS,
    VERDICT_WORDS,
    bounded,
    equal_groups,
    explanation_of,
    hint_command,
    is_brief,
    not_assessed,
    not_passed,
    one_cause,
    worst,
)
from grader.results import Cause, CheckResult, ExerciseResult, SubmissionResult
from grader.text import clean, counted, percent, points

WIDTH = 100
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
    """Prints the instructor's table: one row per submission, and the mean score."""
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
        console.print(f"{counted(table.row_count, 'submission')}, mean {sum(shares) / len(shares):.1f}%")


def _flags(row: Row) -> list[str]:
    kinds = Counter(kind for e in row.result.exercises for kind in {check.verdict for check in e.checks})
    flags = ["GRADER FAULT"] if kinds["error"] else []
    flags += [f"{kinds[kind]} {kind}" for kind in ("crashed", "timeout", "skipped") if kinds[kind]]
    named = sum(exercise.misconception is not None for exercise in row.result.exercises)
    flags += [counted(named, "misconception")] if named else []
    flags += [counted(len(row.result.flags), "flag")] if row.result.flags else []
    flags += ["unchanged"] if row.reused else []
    missing = not_assessed(row.result, {given.exercise for given in row.overrides})
    return flags + ([missing] if missing else [])


class _Student:
    def __init__(self, course: Course, console: Console) -> None:
        self.course = course
        self.console = console
        self._exercises = {exercise.full_name: exercise for exercise in course.exercises}
        self._last_shown: Cause | None = None

    def show(self, result: SubmissionResult, notes: Sequence[str], missing_layers: Sequence[str]) -> None:
        for note in notes:
            self._line(f"note: {clean(note)}", "yellow")
        last_topic = None
        for exercise in result.exercises:
            topic = exercise.name.partition(".")[0]
            if topic != last_topic:
                self._heading(topic)
            last_topic = topic
            self._exercise(exercise)
        self._total(result)
        if missing_layers:
            self._line(f"sandbox without: {', '.join(missing_layers)} (see: grader doctor)", "dim")

    def _heading(self, name: str) -> None:
        title = next((topic.title for topic in self.course.topics if topic.name == name), "")
        self.console.print()
        self.console.print(Text.assemble((name, "bold"), f"  {title}"))

    def _exercise(self, exercise: ExerciseResult) -> None:
        verdict = worst(exercise)
        symbol, style = SYMBOLS[verdict], _STYLES[verdict]
        score = "not assessed" if exercise.max == 0 else points(exercise.score, exercise.max)
        name = exercise.name.partition(".")[2] or exercise.name
        self.console.print(Text.assemble("  ", (symbol, style), f" {name:<40} {score:>12}"))
        failures = not_passed(exercise)
        if not failures:
            return
        cause = one_cause(exercise)
        if cause is not None:
            self._cause(cause)
            return
        for group in equal_groups(failures):
            self._check(group)
        if FAILING & {check.verdict for check in failures}:
            self._help(exercise)

    def _cause(self, check: CheckResult) -> None:
        """Prints once what stopped all checks, such as a module that cannot be imported; hints would not help there."""
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
        for line in bounded(message).split("\n"):
            self._line(line, "", bar="      │ ")

    def _help(self, exercise: ExerciseResult) -> None:
        known = self._exercises.get(exercise.name)
        explanation = explanation_of(self.course, exercise)
        if explanation:
            self._line(f"      what happened: {explanation}", "cyan")
        elif known and known.hints:
            self._line(f"      hint: {known.hints[0]}", "cyan")
        command = hint_command(known, is_first_shown=not explanation)
        if command:
            self._line(f"      more: {command}", "dim")

    def _total(self, result: SubmissionResult) -> None:
        share = percent(result.score, result.max)
        self.console.print()
        if share is None:
            self._line("nothing could be assessed", "bold")
        else:
            self._line(f"{points(result.score, result.max)} points, {share:.1f}%", "bold")
        if missing := not_assessed(result):
            self._line(f"{result.score:g} of {result.max:g}, {missing}", "yellow")
        if "error" in result.verdicts:
            text = "THE GRADER FAILED on the exercises marked `!`: tell your instructor; no points are lost"
            self._line(text, _STYLES["error"])

    def _line(self, text: str, style: str, bar: str = "") -> None:
        """Prints text wrapped to the width; each line begins with the bar, or with the indentation of the text."""
        indent = bar or " " * (len(text) - len(text.lstrip(" ")))
        body = text if bar else text.lstrip(" ")
        for piece in Text(body, style).wrap(self.console, self.console.width - len(indent), overflow="fold"):
            self.console.print(Text.assemble((indent, "dim"), piece), soft_wrap=True)
