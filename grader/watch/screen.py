"""What `grader watch` shows: how far you are, what failed, and the keys; as plain lines if nothing can be cleared.

Shows failures as `grader check` does (`reports/check_report.py`). Decides nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from grader.course import Course, Exercise
from grader.course.assignments import Assignment
from grader.course.home import LastCheck
from grader.pictures import Picture
from grader.reports.check_report import PAGE_LINE, print_end, show_failure
from grader.reports.drawing import ROWS, print_picture
from grader.reports.feedback import FAILING, STYLES, SYMBOLS, gist, not_passed, worst
from grader.reports.states import is_unwritten
from grader.reports.terminal import print_line, print_wrapped
from grader.reports.where import assignment_of, done_line, lesson_line, list_lines, named_with_date, steps_lines, sums
from grader.results import ExerciseResult
from grader.text import clean, counted, points, progress_bar
from grader.watch.inputs import can_read_keys

_FEWEST_ROWS = 10
"""Of a picture, however low the window is."""
_MOST_MESSAGES: Final = 4
KEYS = {"h": "hint", "n": "next", "a": "all", "r": "run", "o": "open", "l": "list", "q": "quit"}
PREDICT: Final = "p"
"""The key that asks a topic's questions; it has a line of its own, and only before they were asked."""


class Screen:
    """Prints on a console.

    Args:
        progress: how each exercise went when it was last checked, by full name; it may change meanwhile.

    Attributes:
        has_keys: whether keys are read, so that they are worth a line.
        pictures: of the exercise that has passed since messages were last forgotten.
    """

    def __init__(self, course: Course, console: Console, progress: Mapping[str, LastCheck]) -> None:
        self.console = console
        self.has_keys = can_read_keys() and console.file.isatty()
        self.pictures: Sequence[Picture] = ()
        self._course = course
        self._progress = progress
        self._messages: list[str] = []
        self._clears = console.is_terminal and not console.is_dumb_terminal

    def say(self, message: str) -> None:
        """Keeps a message above the exercise; the last ones are shown."""
        self._messages = [*self._messages, message][-_MOST_MESSAGES:]

    def forget(self) -> None:
        """Shows no message and no picture any more."""
        self._messages, self.pictures = [], ()

    def clear(self) -> None:
        """An empty screen, if there is one; what scrolled away stays."""
        if self._clears:
            self.console.clear()
        else:
            self.console.print()

    def exercise(
        self, exercise: Exercise, result: ExerciseResult | None, place: str, hints: Sequence[int], questions: int = 0
    ) -> None:
        """The current exercise: how it went, or that it is not written yet.

        Args:
            place: its file and line.
            hints: the numbers of those that were asked for, from 1.
            questions: how many the topic has that were not asked yet.
        """
        with self.console:  # all of it at once
            self._begin(exercise.topic, assignment_of(self._course, exercise.full_name))
            for picture in self.pictures:
                print_picture(picture, self.console, self._rows)
            if result is None:
                print_wrapped(self.console, f"next: {exercise.full_name}  {place}", "bold")
                self._steps(exercise)
            else:
                self._result(result, place)
                if is_unwritten(result):
                    self._steps(exercise)
            for number in hints:
                hint = f"  hint {number} of {len(exercise.hints)}: {clean(exercise.hints[number - 1])}"
                print_wrapped(self.console, hint, "cyan")
            if hints and (line := lesson_line(self._course, exercise.full_name)):
                print_wrapped(self.console, f"  {clean(line)}", "dim")
            if questions and self.has_keys:
                self.line(f"p asks {counted(questions, 'question')} about {exercise.topic}, once", "dim")
            self.keys()

    def done(self, scope: Sequence[Exercise]) -> None:
        """All exercises that are watched have passed."""
        titles = list(dict.fromkeys(one.topic for one in scope))
        with self.console:
            self._begin()
            is_all = len(scope) == len(self._course.exercises) and self._course.is_whole
            if is_all:
                print_end(self._course, self.console, self.pictures, self._rows)
                titles = [self._course.title]
            else:
                for picture in self.pictures:
                    print_picture(picture, self.console, self._rows)
            are = "are" if len(titles) > 1 else "is"
            print_wrapped(self.console, f"★ {clean(', '.join(titles))} {are} done: well done!", "bold green")
            if is_all:
                print_wrapped(self.console, PAGE_LINE, "")
            self.keys()

    def list(self, page: int) -> None:
        """Every exercise, and how it went: as many lines as the window has, and the rest on the next pages."""
        lines = [clean(line) for line in list_lines(self._course, self._progress)]
        rows = max(5, self.console.height - 5) if self._clears else len(lines)
        pages = -(-len(lines) // rows)
        first = page % pages * rows
        with self.console:
            self.clear()
            for line in lines[first : first + rows]:
                print_line(self.console, Text(line))
            if pages > 1:
                print_line(self.console, Text(f"page {page % pages + 1} of {pages}: l shows the next", "dim"))
            self.keys()

    def doing(self, text: str) -> None:
        """Says that something runs, if no spinner can be drawn."""
        if not self._clears:
            self.line(f"{text} …", "dim")

    def line(self, text: str, style: str = "yellow") -> None:
        """One more line, below what is there."""
        print_wrapped(self.console, clean(text), style)

    def keys(self) -> None:
        """The line with the keys."""
        if not self.has_keys:
            return
        line = Text()
        for key, what in KEYS.items():
            line.append(" · " if line else "", "dim").append(key, "bold cyan").append(f" {what}")
        self.console.print()
        self.console.print(line)

    def _steps(self, exercise: Exercise) -> None:
        for line in steps_lines(exercise):
            self.line(line, "dim")

    def _begin(self, topic: str = "", assignment: Assignment | None = None) -> None:
        """An empty screen with the points of a topic, if it is one, and of all, the date, and the messages."""
        self.clear()
        if topic:
            score, most = sums(self._course.topic(topic).exercises, self._progress)
            bar = progress_bar(score, most, min(20, self.console.width // 4))
            print_line(self.console, Text.assemble((topic, "bold"), "  ", (bar, "green"), f"  {points(score, most)}"))
        print_line(self.console, Text(done_line(self._course, self._progress), "dim"))
        if assignment is not None:
            print_line(self.console, Text(named_with_date(assignment), "dim"))
        for text in self._messages:
            self.line(text, "bold green" if text.startswith(("✓", "★")) else "")

    @property
    def _rows(self) -> int:
        """Lines of text of a picture: half of the window, because the next exercise is shown below it."""
        return min(ROWS, max(_FEWEST_ROWS, self.console.height // 2))

    def _result(self, result: ExerciseResult, place: str) -> None:
        verdict = worst(result)
        if is_unwritten(result) and not any(check.cause and check.cause.kind == "missing" for check in result.checks):
            self.console.print()
            print_wrapped(self.console, f"· {result.name}  {place}", "bold")
            print_wrapped(self.console, "  not written yet: write it and save, and it is checked at once", "")
        elif verdict in FAILING:
            show_failure(result, self._course, self.console, place)
        else:
            self.console.print()
            failures = not_passed(result)
            reason = f": {clean(gist(failures[0]))}" if verdict != "passed" and failures else ""
            print_wrapped(self.console, f"{SYMBOLS[verdict]} {result.name}  {place}{reason}", STYLES[verdict])
            if verdict == "error":
                print_wrapped(self.console, "  the grader's own fault: no points are lost; tell your instructor", "")
