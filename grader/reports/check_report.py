"""The output of `grader check`: a line for each exercise as it is known, the first failure in full, and the next step.

A student reads the end of it: the first exercise that fails is explained there, the others have one line. What is not
written yet, or fails for one reason in all of a topic, is one line for the topic. A failure has advice first, then the
call, the returned and the expected value, in at most `MOST_ROWS` lines of the terminal, whatever a submission sent.
Prints text of submissions only behind a bar. Decides nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from grader.course import Course
from grader.course.home import LastCheck
from grader.pictures import Picture
from grader.reports import feedback, states
from grader.reports.comparing import compared_rows
from grader.reports.drawing import ROWS, print_picture
from grader.reports.feedback import FAILING, STYLES, SYMBOLS, check_title, explanation_of, gist, worst
from grader.reports.stair import stair_rows
from grader.reports.terminal import print_line, print_rows, print_wrapped, wrapped
from grader.results import ALL_LAYERS, CheckResult, ExerciseResult, SubmissionResult, total_points
from grader.text import BY_HAND, clean, counted, percent, points, progress_bar

_SHORTEST_REASON: Final = 16
"""Columns that a reason beside an exercise needs at least; with fewer it is left out."""
MOST_ROWS: Final = 25
"""Rows that one exercise takes."""
_ROWS_OF_A_LINE: Final = 4
"""Rows that one line of a message takes, such as a long call."""
_ROWS_OF_A_VALUE: Final = 2
"""Rows that a returned or an expected value takes: the first sentence says where they differ."""
_VALUES: Final = ("returned  ", "expected  ", "found     ")
_BAR: Final = "  │ "
PAGE_LINE: Final = "a page of it to keep and to share: grader finish"
"""The last line, once everything has passed."""


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


@dataclass
class CheckReport:
    """Prints the results of one submission as they come.

    Args:
        place_of: where an exercise is, e.g. ``kata/tensor_ops.py:88``; empty when unknown.
        every_failure: every exercise that fails is shown in full, not only the first.
        every_check: every check is shown by its name, and every failing one in full.
        is_alone: only one exercise was asked for: why it fails is said once, below its line.
        before: how exercises went when they were last checked; a topic may be done by these and the new ones together.
    """

    course: Course
    console: Console
    place_of: Callable[[str], str] = lambda name: ""
    _: KW_ONLY
    every_failure: bool = False
    every_check: bool = False
    is_alone: bool = False
    before: Mapping[str, LastCheck] = field(default_factory=dict)
    _seen: list[ExerciseResult] = field(default_factory=list, init=False)
    _topic: str = field(default="", init=False)
    _has_heading: bool = field(default=False, init=False)
    _folded: dict[_Fold, list[ExerciseResult]] = field(default_factory=dict, init=False)

    # ---------------------------------------------------------------- as they come

    def add(self, exercise: ExerciseResult) -> None:
        """Prints the line of an exercise, at the end of its topic if it may share a line with others."""
        if any(one.name == exercise.name for one in self._seen):
            return
        self._seen.append(exercise)
        if exercise.topic != self._topic:
            self._end_topic()
            self._topic, self._has_heading = exercise.topic, False
        if exercise.manual is not None:
            self._flush()  # these come last in a topic
        fold = None if self.every_check else _fold_of(exercise)
        if fold is None:
            self._line_of(exercise)
        else:
            self._folded.setdefault(fold, []).append(exercise)

    def interrupted(self) -> None:
        """Prints the exercises that were known when the student pressed Ctrl-C."""
        self._end_topic()
        passed = sum(worst(one) == "passed" for one in self._seen)
        self.console.print()
        self._print(f"stopped: {counted(len(self._seen), 'exercise')} checked, {passed} passed", "bold")

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
        self.console.print()
        for note in notes:
            self._print(f"note: {clean(note)}", "yellow")
        if ALL_LAYERS in missing_layers:
            self._print("no sandbox on this system: your code runs with your rights (see: grader doctor)", "dim")
        elif missing_layers:
            self._print(f"sandbox without: {', '.join(missing_layers)} (see: grader doctor)", "dim")
        self._total(result)
        for line in next_lines:
            self._print(line, "bold" if line.startswith("next:") else "")

    # ---------------------------------------------------------------- lines

    def _print(self, text: str, style: str) -> None:
        print_wrapped(self.console, text, style)

    def _heading(self) -> None:
        if not self._has_heading:
            self._has_heading = True
            title = next((topic.title for topic in self.course.topics if topic.name == self._topic), "")
            self.console.print()
            print_line(self.console, Text.assemble((self._topic, "bold"), f"  {title}"))

    def _line_of(self, exercise: ExerciseResult) -> None:
        self._heading()
        name = feedback.own_name(exercise)
        if exercise.manual is not None:
            self._row(_Fold(BY_HAND, "cyan", feedback.about_manual(exercise)), name, [exercise])
            return
        verdict = worst(exercise)
        others = [one for one in self._seen[:-1] if worst(one) in FAILING and not states.is_untouched(one)]
        is_below = self.is_alone and verdict in FAILING and not others
        reason = "" if verdict == "passed" or is_below else _reason(exercise, feedback.not_passed(exercise)[0])
        self._row(_Fold(SYMBOLS[verdict], STYLES[verdict], reason), name, [exercise])
        for check in exercise.checks if self.every_check else ():
            symbol, worth = (SYMBOLS[check.verdict], STYLES[check.verdict]), feedback.worth_of(check)
            said = "" if check.verdict == "passed" else f": {feedback.VERDICT_WORDS[check.verdict]}"
            said += f"  {worth}" if worth else ""
            print_line(self.console, Text.assemble("      ", symbol, f" {check_title(check.name)}", (said, "dim")))

    def _flush(self) -> None:
        """Prints the lines of the exercises that were kept back: one for a topic that is untouched as a whole."""
        folds, self._folded = self._folded, {}
        kept = [one for folded in folds.values() for one in folded]
        if not self._has_heading and len(kept) == self._size_of_topic() and folds:
            first = next(iter(folds))
            said = [f"{len(folded)} {fold.verb}" if len(folds) > 1 else fold.verb for fold, folded in folds.items()]
            count = "" if first.is_of_topic else f"{counted(len(kept), 'exercise')}: "
            self._row(replace(first, verb=count + ", ".join(said)), self._topic, kept, indent="")
            return
        for fold, folded in folds.items():
            self._heading()
            names = ", ".join(map(feedback.own_name, folded))
            if len(folded) == 1:
                cause = next((check.cause for check in folded[0].checks if check.cause is not None), None)
                reason = cause.advice or cause.reason if cause else fold.verb
                self._row(replace(fold, verb=reason), names, folded)
            else:
                self._row(replace(fold, verb=f"{fold.verb}: {names}"), counted(len(folded), "exercise"), folded)

    def _size_of_topic(self) -> int:
        return sum(one.topic == self._topic for one in self.course.all_exercises)

    def _end_topic(self) -> None:
        """A small celebration when all exercises of a topic have passed, now or before."""
        self._flush()
        of_topic = [one for one in self.course.exercises if one.topic == self._topic]
        latest = {**self.before, **states.last_checks(self._seen)}
        done = [latest[one.full_name] for one in of_topic if one.full_name in latest]
        if done and len(done) == len(of_topic) and all(one.state == "passed" for one in done):
            self._print(f"  ★ {self._topic} is done: {_score(done)} points", "bold green")
        self._topic = ""

    def _row(self, fold: _Fold, name: str, exercises: Sequence[ExerciseResult], indent: str = "  ") -> None:
        """A name, its points, and as much of a reason as fits on the line: points are never wrapped."""
        longest = max((len(exercise.name) for exercise in self.course.exercises), default=8)
        width = max(8, min(longest, self.console.width - 12)) + 2 - len(indent)
        name = name if len(name) <= width else f"{name[: width - 1]}…"
        line = Text.assemble(indent, (fold.symbol, fold.style), f" {name:<{width}} {_score(exercises):>6}")
        room = self.console.width - len(line.plain) - 2
        reason = " ".join(clean(fold.verb).split())
        if reason and room >= _SHORTEST_REASON:
            line.append(f"  {reason if len(reason) <= room else reason[: room - 1] + '…'}", "dim")
        print_line(self.console, line)

    # ---------------------------------------------------------------- the first failure, and the total

    def _show_failures(self, result: SubmissionResult) -> None:
        shown: set[tuple[str, _Fold]] = set()
        in_turn = states.at_hand_first(result.exercises, self.course)
        first = states.next_exercise(in_turn)
        for exercise in in_turn:
            fold = _fold_of(exercise)
            is_told = fold is not None and (exercise.topic, fold) in shown
            is_untouched = fold is not None and (not fold.is_of_topic or fold.symbol == "·")
            if states.is_program_with_its_bug(exercise):  # its symptom is shown if it is the one to look at
                is_untouched = exercise is not first and not self.every_check
            if not ({check.verdict for check in exercise.checks} & FAILING) or is_told or is_untouched:
                continue
            shown |= {(exercise.topic, fold)} if fold else set()
            show_failure(exercise, self.course, self.console, self.place_of(exercise.name), self.every_check)
            if not (self.every_failure or self.every_check):
                break
        faults = [check for exercise in result.exercises for check in exercise.checks if check.verdict == "error"]
        for text in dict.fromkeys(clean(check.message) for check in faults):  # the reason too: someone must mend it
            self.console.print()
            for line in text.split("\n")[:4]:
                print_wrapped(self.console, line, STYLES["error"], bar=_BAR)

    def _total(self, result: SubmissionResult) -> None:
        share = percent(result.score, result.max)
        checked = result.checked
        if share is None:
            self._print("nothing could be assessed" if checked else "nothing to check here", "bold")
        else:
            passed = sum(worst(exercise) == "passed" for exercise in checked)
            bar = progress_bar(result.score, result.max, min(20, self.console.width // 4))
            done = f"  {passed} of {counted(len(checked), 'exercise')}"
            print_line(self.console, Text.assemble((bar, "green"), done))
            self._print(f"{points(result.score, result.max)} points, {share:.1f}%", "bold")
        if missing := feedback.left_out(result):
            total = f"{result.score:g} of {result.max:g}, " if checked else ""
            self._print(f"{total}{missing}", "yellow")
        if "error" in result.verdicts:
            text = "THE GRADER FAILED on the exercises marked `!`: tell your instructor; no points are lost"
            self._print(text, STYLES["error"])
        is_handed_in = all(one.manual.state == "there" for one in result.to_mark if one.manual)
        has_all = self.course.is_whole and len(checked) == len(self.course.exercises)
        if checked and is_handed_in and has_all and result.verdicts <= {"passed"}:
            print_end(self.course, self.console, [one for exercise in result.exercises for one in exercise.pictures])
            stars = ("★ " * max(4, min(30, self.console.width // 2 - 1))).strip()
            for line in (stars, f"You have finished {self.course.title}.", "Well done!", stars):
                self._print(line, "bold green")
            self._print(PAGE_LINE, "")


def _score(exercises: Sequence[ExerciseResult | LastCheck]) -> str:
    maximum = total_points(one.max for one in exercises)
    return points(total_points(one.score for one in exercises), maximum) if maximum else "–"


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
    if states.is_program_with_its_bug(exercise):
        return _Fold("·", "dim", "as handed out")
    found = [check.cause for check in exercise.checks if check.verdict != "skipped"]
    causes = [cause for cause in found if cause is not None]
    if not causes or len(causes) < len(found) or states.is_misplaced(causes[0]):
        return None
    first, kinds = causes[0], {cause.kind for cause in causes}
    if kinds == {"unwritten"}:
        return _Fold("·", "dim", "not written yet")
    if kinds == {"blocked"}:
        return _Fold(SYMBOLS["blocked"], STYLES["blocked"], "blocked until others pass")
    if kinds == {"missing"} and first.stage == "check":
        return _Fold("·", "dim", f"not defined in {first.file}")
    if all(cause == first for cause in causes) and first.stage in ("import", "topic"):
        verdict = worst(exercise)
        symbol = "·" if first.kind == "missing" else SYMBOLS[verdict]
        said = clean(first.advice or first.reason).partition("\n")[0]
        return _Fold(symbol, STYLES[verdict], said, is_of_topic=True)
    return None


def show_failure(
    exercise: ExerciseResult, course: Course, console: Console, place: str, every_check: bool = False
) -> None:
    """Prints an exercise that does not pass.

    Args:
        place: where it is, e.g. ``kata/tensor_ops.py:88``.
        every_check: show every failing check in full, and nothing cut.
    """
    failing = [check for check in exercise.checks if check.verdict in FAILING]
    shared = failing[0].cause if all(check.cause == failing[0].cause for check in failing) else None
    verdict = worst(exercise)
    name = exercise.name
    is_of_topic = shared is not None and shared.stage in ("import", "topic")
    if shared is not None and is_of_topic:
        name, place = shared.file or exercise.topic, ""
    head = wrapped(console, f"{SYMBOLS[verdict]} {name}{f'  {place}' if place else ''}", f"bold {STYLES[verdict]}")
    groups = [failing[:1]] if is_of_topic else feedback.grouped(failing, feedback.likeness)
    explanation = explanation_of(exercise)
    top = wrapped(console, f"what happened: {clean(explanation)}", "cyan", bar=_BAR) if explanation else []
    foot = [] if every_check else _others(console, groups)
    if not is_of_topic:
        hint, command = feedback.help_for(exercise, course)
        if hint:
            foot += wrapped(console, f"  hint: {hint}", "cyan")
        if command and (hint or explanation):
            foot += wrapped(console, f"  more: {command}", "dim")
    console.print()
    if every_check:
        rows = [*head, *top]
        for group in groups:
            rows += wrapped(console, f"  {check_title(group[0].name)}", "bold")
            rows += [*_message(console, group[0], is_cut=False), *_drawn(console, group[0])]
            rows += _others(console, [group])
        print_rows(console, [*rows, *foot])
        return
    body = [*top, *_message(console, failing[0], is_cut=True)]
    room = max(MOST_ROWS - len(head) - min(len(foot), 9), 6)
    if len(body) > room:
        body = [*body[: room - 1], Text.assemble((_BAR, "dim"), ("… (more: --verbose)", "dim"))]
    drawn = _drawn(console, failing[0])
    if len(body) + len(drawn) <= room:
        body += drawn
    print_rows(console, [*head, *body, *foot][:MOST_ROWS])


def _message(console: Console, check: CheckResult, is_cut: bool) -> list[Text]:
    """The message behind a bar; if it is cut, each of its lines takes only a few rows."""
    rows: list[Text] = []
    for number, line in enumerate(feedback.bounded(check.message).split("\n")):
        pieces = wrapped(console, line, "bold" if number == 0 else "", bar=_BAR)
        most = _ROWS_OF_A_VALUE if line.startswith(_VALUES) else _ROWS_OF_A_LINE
        if is_cut and len(pieces) > most:
            pieces = [*pieces[: most - 1], Text.assemble((_BAR, "dim"), "…")]
        rows += pieces
    return rows


def _drawn(console: Console, check: CheckResult) -> list[Text]:
    """Matrices beside each other, or the stair of ranks, behind a bar; no rows if there is neither, or no room."""
    if check.cause is None:
        return []
    if check.cause.compared is not None:
        return compared_rows(check.cause.compared, console, _BAR)
    return [] if check.cause.stair is None else stair_rows(check.cause.stair, console, _BAR)


def _others(console: Console, groups: Sequence[Sequence[CheckResult]]) -> list[Text]:
    """How many checks fail like the one that is shown, and how many in another way."""
    alike, otherwise = len(groups[0]) - 1, sum(map(len, groups[1:]))
    rows: list[Text] = []
    if alike:
        rows += wrapped(console, f"  and {alike} more {'fails' if alike == 1 else 'fail'} alike", "dim")
    if otherwise:
        fail = f"{counted(otherwise, 'check')} {'fails' if otherwise == 1 else 'fail'}"
        rows += wrapped(console, f"  and {fail} in another way (--verbose shows all)", "dim")
    return rows


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
