"""The output of `grader check`: a line for each exercise as it is known, the first failure in full, and the next step.

A student reads the end of it: the first exercise that fails is explained there, the others have one line. What is not
written yet, or fails for one reason in all of a topic, is one line for the topic. Decides nothing.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from grader.course import Course
from grader.pictures import Picture
from grader.reports.failure import show_failure
from grader.reports.feedback import (
    FAILING,
    STYLES,
    SYMBOLS,
    VERDICT_WORDS,
    about_manual,
    check_title,
    explanation_of,
    gist,
    left_out,
    not_passed,
    own_name,
    worst,
    worth_of,
)
from grader.reports.picture_text import ROWS, print_picture
from grader.reports.places import is_misplaced, is_program_with_its_bug, next_exercise
from grader.reports.terminal import print_wrapped
from grader.results import ALL_LAYERS, Cause, CheckResult, ExerciseResult, SubmissionResult
from grader.text import BY_HAND, clean, counted, percent, points, progress_bar

_SHORTEST_REASON = 16
"""Columns that a reason beside an exercise needs at least; with fewer it is left out."""


class _Fold(msgspec.Struct, frozen=True):
    """The verdict and words that the exercises of one line share.

    Attributes:
        verb: the words about them, e.g. ``not written yet``.
        is_of_topic: whether it is about the topic's file, not about its exercises.
    """

    symbol: str
    style: str
    verb: str
    is_of_topic: bool = False


class CheckReport:
    """Prints the results of one submission as they come.

    Args:
        place_of: where an exercise is, e.g. ``kata/tensor_ops.py:88``; empty when unknown.
        every_failure: every exercise that fails is shown in full, not only the first.
        every_check: every check is shown by its name, and every failing one in full.
    """

    def __init__(
        self,
        course: Course,
        console: Console,
        place_of: Callable[[str], str] = lambda name: "",
        *,
        every_failure: bool = False,
        every_check: bool = False,
    ) -> None:
        self._course = course
        self._console = console
        self._place_of = place_of
        self._every_failure = every_failure or every_check
        self._every_check = every_check
        self._seen: list[ExerciseResult] = []
        self._topic = ""
        self._has_heading = False
        self._folded: dict[_Fold, list[ExerciseResult]] = {}
        names = [len(exercise.name) for exercise in course.exercises]
        self._name_width = max(8, min(max(names, default=8), console.width - 12))

    # ---------------------------------------------------------------- as they come

    def add(self, exercise: ExerciseResult) -> None:
        """Prints the line of an exercise, at the end of its topic if it may share a line with others."""
        if any(one.name == exercise.name for one in self._seen):
            return
        self._seen.append(exercise)
        topic = exercise.name.partition(".")[0]
        if topic != self._topic:
            self._end_topic()
            self._topic, self._has_heading = topic, False
        fold = None if self._every_check else _fold_of(exercise)
        if exercise.manual is not None:
            self._flush()  # these come last in a topic
        if fold is None:
            self._line_of(exercise)
        else:
            self._folded.setdefault(fold, []).append(exercise)

    def interrupted(self) -> None:
        """Prints the exercises that were known when the student pressed Ctrl-C."""
        self._end_topic()
        passed = sum(worst(one) == "passed" for one in self._seen)
        self._console.print()
        print_wrapped(
            self._console, f"stopped: {counted(len(self._seen), 'exercise')} checked, {passed} passed", "bold"
        )

    def show_all(self, exercises: Collection[ExerciseResult]) -> None:
        """Prints the lines that are still missing."""
        for exercise in exercises:
            self.add(exercise)
        self._end_topic()

    def end(
        self,
        result: SubmissionResult,
        notes: Sequence[str] = (),
        missing_layers: Sequence[str] = (),
        next_lines: Sequence[str] = (),
    ) -> None:
        """Prints the rest: the first failure in full, notes, the total, and the next step.

        Args:
            next_lines: the next step; the last lines of all.
        """
        self.show_all(result.exercises)
        self._show_failures(result)
        self._console.print()
        for note in notes:
            print_wrapped(self._console, f"note: {clean(note)}", "yellow")
        if missing_layers:
            print_wrapped(self._console, _about_the_sandbox(missing_layers), "dim")
        self._total(result)
        for line in next_lines:
            print_wrapped(self._console, line, "bold" if line.startswith("next:") else "")

    # ---------------------------------------------------------------- lines

    def _heading(self) -> None:
        if self._has_heading:
            return
        self._has_heading = True
        title = next((topic.title for topic in self._course.topics if topic.name == self._topic), "")
        self._console.print()
        self._one_row(Text.assemble((self._topic, "bold"), f"  {title}"))

    def _line_of(self, exercise: ExerciseResult) -> None:
        self._heading()
        if exercise.manual is not None:
            self._row("  ", BY_HAND, "cyan", own_name(exercise), "–", about_manual(exercise))
            return
        verdict = worst(exercise)
        failures = not_passed(exercise)
        reason = "" if verdict == "passed" else _reason(exercise, failures[0])
        self._row("  ", SYMBOLS[verdict], STYLES[verdict], own_name(exercise), _score([exercise]), reason)
        if self._every_check:
            for check in exercise.checks:
                self._one_row(
                    Text.assemble(
                        "      ",
                        (SYMBOLS[check.verdict], STYLES[check.verdict]),
                        f" {check_title(check.name)}",
                        ("" if check.verdict == "passed" else f": {VERDICT_WORDS[check.verdict]}", "dim"),
                        (f"  {worth}" if (worth := worth_of(check)) else "", "dim"),
                    )
                )

    def _flush(self) -> None:
        """Prints the lines of the exercises that were kept back: one for a topic that is untouched as a whole."""
        folds, self._folded = self._folded, {}
        kept = [one for folded in folds.values() for one in folded]
        if not self._has_heading and len(kept) == self._size_of_topic() and folds:
            first = next(iter(folds))
            said = [f"{len(folded)} {fold.verb}" if len(folds) > 1 else fold.verb for fold, folded in folds.items()]
            count = "" if first.is_of_topic else f"{counted(len(kept), 'exercise')}: "
            self._row("", first.symbol, first.style, self._topic, _score(kept), count + ", ".join(said))
            return
        for fold, folded in folds.items():
            self._heading()
            names = ", ".join(map(own_name, folded))
            if len(folded) == 1:
                only = next((check.cause for check in folded[0].checks if check.cause is not None), None)
                self._row("  ", fold.symbol, fold.style, names, _score(folded), _gist_of(only) if only else fold.verb)
            else:
                left = counted(len(folded), "exercise")
                self._row("  ", fold.symbol, fold.style, left, _score(folded), f"{fold.verb}: {names}")

    def _size_of_topic(self) -> int:
        return sum(one.topic == self._topic for one in self._course.all_exercises)

    def _end_topic(self) -> None:
        """A small celebration when all exercises of a topic have passed."""
        if not self._topic:
            return
        self._flush()
        seen = [one for one in self._seen if one.name.startswith(f"{self._topic}.")]
        done = [one for one in seen if one.manual is None]
        if done and len(seen) == self._size_of_topic() and all(worst(one) == "passed" for one in done):
            print_wrapped(self._console, f"  ★ {self._topic} is done: {_score(done)} points", "bold green")
        self._topic = ""

    def _row(self, indent: str, symbol: str, style: str, name: str, score: str, reason: str) -> None:
        """A name, its points, and as much of a reason as fits on the line: points are never wrapped."""
        width = self._name_width + 2 - len(indent)
        name = name if len(name) <= width else f"{name[: width - 1]}…"
        line = Text.assemble(indent, (symbol, style), f" {name:<{width}} {score:>6}")
        room = self._console.width - len(line.plain) - 2
        reason = " ".join(clean(reason).split())
        if reason and room >= _SHORTEST_REASON:
            line.append(f"  {reason if len(reason) <= room else reason[: room - 1] + '…'}", "dim")
        self._one_row(line)

    def _one_row(self, line: Text) -> None:
        line.truncate(self._console.width, overflow="ellipsis")
        self._console.print(line, soft_wrap=True)

    # ---------------------------------------------------------------- the first failure

    def _show_failures(self, result: SubmissionResult) -> None:
        shown: set[tuple[str, _Fold]] = set()
        first = next_exercise(result.exercises)
        for exercise in result.exercises:
            fold = _fold_of(exercise)
            topic = exercise.name.partition(".")[0]
            is_told = fold is not None and (topic, fold) in shown
            is_untouched = fold is not None and (not fold.is_of_topic or fold.symbol == "·")
            if is_program_with_its_bug(exercise):  # its symptom is shown if it is the one to look at
                is_untouched = exercise is not first and not self._every_check
            if not ({check.verdict for check in exercise.checks} & FAILING) or is_told or is_untouched:
                continue
            shown |= {(topic, fold)} if fold else set()
            show_failure(exercise, self._course, self._console, self._place_of(exercise.name), self._every_check)
            if not self._every_failure:
                break
        faults = [check for exercise in result.exercises for check in exercise.checks if check.verdict == "error"]
        for text in dict.fromkeys(clean(check.message) for check in faults):  # the reason too: someone must mend it
            self._console.print()
            for line in text.split("\n")[:4]:
                print_wrapped(self._console, line, STYLES["error"], bar="  │ ")

    def _total(self, result: SubmissionResult) -> None:
        share = percent(result.score, result.max)
        checked = result.checked
        if share is None:
            print_wrapped(self._console, "nothing could be assessed" if checked else "nothing to check here", "bold")
        else:
            passed = sum(worst(exercise) == "passed" for exercise in checked)
            done = f"{passed} of {counted(len(checked), 'exercise')}"
            bar = progress_bar(result.score, result.max, min(20, self._console.width // 4))
            self._one_row(Text.assemble((bar, "green"), f"  {done}"))
            print_wrapped(self._console, f"{points(result.score, result.max)} points, {share:.1f}%", "bold")
        if missing := left_out(result):
            total = f"{result.score:g} of {result.max:g}, " if checked else ""
            print_wrapped(self._console, f"{total}{missing}", "yellow")
        if "error" in result.verdicts:
            text = "THE GRADER FAILED on the exercises marked `!`: tell your instructor; no points are lost"
            print_wrapped(self._console, text, STYLES["error"])
        is_handed_in = all(one.manual.state == "there" for one in result.to_mark if one.manual)
        if checked and is_handed_in and len(checked) == len(self._course.exercises) and result.verdicts <= {"passed"}:
            print_end(self._course, self._console, [one for exercise in result.exercises for one in exercise.pictures])
            self._celebrate()

    def _celebrate(self) -> None:
        stars = "★ " * max(4, min(30, self._console.width // 2 - 1))
        for line in (stars.strip(), f"You have finished {self._course.title}.", "Well done!", stars.strip()):
            print_wrapped(self._console, line, "bold green")


def _gist_of(cause: Cause) -> str:
    """A failure in words, from its cause alone."""
    return cause.advice or cause.reason


def _about_the_sandbox(missing: Sequence[str]) -> str:
    if ALL_LAYERS in missing:
        return "no sandbox on this system: your code runs with your rights (see: grader doctor)"
    return f"sandbox without: {', '.join(missing)} (see: grader doctor)"


def _score(exercises: Sequence[ExerciseResult]) -> str:
    maximum = sum(one.max for one in exercises)
    return points(sum(one.score for one in exercises), maximum) if maximum else "–"


def _reason(exercise: ExerciseResult, check: CheckResult) -> str:
    """The words beside an exercise that did not pass: what happened, as far as they fit."""
    if check.verdict == "skipped":
        whole = "not assessed: " if exercise.max == 0 else "in part not assessed: "
        return whole + gist(check)
    if check.verdict == "blocked":
        return f"blocked: {gist(check)}"
    return explanation_of(exercise) or gist(check)


def _fold_of(exercise: ExerciseResult) -> _Fold | None:
    """The reason for which an exercise may share a line; None if it has a line of its own."""
    checks = [check for check in exercise.checks if check.verdict != "skipped"]
    causes = [check.cause for check in checks]
    kinds = {cause.kind if cause else "" for cause in causes}
    first = causes[0] if causes else None
    if is_program_with_its_bug(exercise):
        return _Fold("·", "dim", "as handed out")
    if first is None or len(causes) < len(checks):
        return None
    if is_misplaced(first):
        return None
    if kinds == {"unwritten"}:
        return _Fold("·", "dim", "not written yet")
    if kinds == {"blocked"}:
        return _Fold(SYMBOLS["blocked"], STYLES["blocked"], "blocked until others pass")
    if kinds == {"missing"} and first.stage == "check":
        return _Fold("·", "dim", f"not defined in {first.file}")
    if all(cause == first for cause in causes) and first.stage in ("import", "topic"):
        verdict = worst(exercise)
        symbol = "·" if first.kind == "missing" else SYMBOLS[verdict]
        return _Fold(symbol, STYLES[verdict], clean(_gist_of(first)).partition("\n")[0], is_of_topic=True)
    return None


def print_end(course: Course, console: Console, pictures: Sequence[Picture] = (), rows: int = ROWS) -> None:
    """Prints what has been built and where to go on, for a student who has passed everything.

    Args:
        pictures: those to show, such as of the last exercise.
        rows: lines of text of each.
    """
    for picture in pictures:
        console.print()
        print_picture(picture, console, rows)
    console.print()
    print_wrapped(console, "What you have built:", "bold")
    for topic in course.topics:
        print_wrapped(console, f"  {topic.name}: {clean(topic.title)}", "")
    if course.finish:
        print_wrapped(console, "Where to go on:", "bold")
        for line in course.finish:
            print_wrapped(console, f"  {clean(line)}", "")
    console.print()
