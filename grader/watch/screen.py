"""What `grader watch` shows: how far you are, what failed, and the keys; as plain lines where nothing can be cleared.

Shows failures as `grader check` does (`reports/check_report.py`). Decides nothing.
"""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from grader.course import Course, Exercise
from grader.course.home import LastCheck
from grader.pictures import Picture
from grader.reports.check_report import print_end, show_failure
from grader.reports.drawing import ROWS, print_picture
from grader.reports.feedback import FAILING, STYLES, SYMBOLS, gist, not_passed, worst
from grader.reports.states import is_unwritten
from grader.reports.terminal import fit, print_line, print_wrapped
from grader.reports.where import Places, list_lines, sums
from grader.results import ExerciseResult
from grader.text import clean, counted, points, progress_bar

_FEWEST_ROWS = 10
"""Of a picture, however low the window is."""
KEYS = {"h": "hint", "n": "next", "a": "all", "r": "run", "o": "open", "l": "list", "q": "quit"}


class Screen:
    """Prints on a console.

    Args:
        has_keys: whether keys are read, so that they are worth a line.
    """

    def __init__(self, course: Course, console: Console, has_keys: bool) -> None:
        self.console = console
        self._course = course
        self.has_keys = has_keys
        self._clears = console.is_terminal and not console.is_dumb_terminal

    def fit(self) -> None:
        """Takes the width of the window as it is now."""
        fit(self.console)

    def clear(self) -> None:
        """An empty screen, where there is one; what scrolled away stays."""
        if self._clears:
            self.console.clear()
        else:
            self.console.print()

    def exercise(
        self,
        exercise: Exercise,
        result: ExerciseResult | None,
        places: Places,
        marks: Mapping[str, LastCheck],
        messages: Sequence[str] = (),
        pictures: Sequence[Picture] = (),
        hints: Sequence[str] = (),
    ) -> None:
        """The exercise at hand: how it went, or that it is not written yet.

        Args:
            messages: what happened since the last time.
            pictures: of the exercise that has passed meanwhile.
            hints: those that were asked for.
        """
        with self.console:  # all of it at once
            self.clear()
            self._progress(exercise.topic, marks)
            self._messages(messages)
            self._draw(pictures)
            place = places.of(exercise.full_name)
            if result is None:
                print_wrapped(self.console, f"next: {exercise.full_name}  {place}", "bold")
            else:
                self._result(result, place)
            for number, hint in enumerate(hints, start=1):
                print_wrapped(self.console, f"  hint {number} of {len(exercise.hints)}: {clean(hint)}", "cyan")
            self.keys()

    def done(
        self,
        titles: Sequence[str],
        marks: Mapping[str, LastCheck],
        messages: Sequence[str],
        pictures: Sequence[Picture] = (),
    ) -> None:
        """Everything that is watched has passed.

        Args:
            titles: of the topics; none means the whole course.
            pictures: of the exercise that has passed last.
        """
        with self.console:
            self.clear()
            self._progress("", marks)
            self._messages(messages)
            if titles:
                self._draw(pictures)
            else:
                print_end(self._course, self.console, pictures, self._rows)
            what = ", ".join(titles) + (" is" if len(titles) == 1 else " are") if titles else f"{self._course.title} is"
            print_wrapped(self.console, f"★ {clean(what)} done: well done!", "bold green")
            self.keys()

    def list(self, marks: Mapping[str, LastCheck], page: int = 0) -> None:
        """Every exercise, and how it went: as many lines as the window has, and the rest on the next pages."""
        lines = [clean(line) for line in list_lines(self._course, marks)]
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

    def line(self, text: str, style: str = "") -> None:
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

    def _progress(self, topic: str, marks: Mapping[str, LastCheck]) -> None:
        exercises = self._course.exercises
        of_topic = [one for one in exercises if one.topic == topic]
        width = min(20, self.console.width // 4)
        if topic:
            score, most = sums(of_topic, marks)
            bar = progress_bar(score, most, width)
            print_line(self.console, Text.assemble((topic, "bold"), "  ", (bar, "green"), f"  {points(score, most)}"))
        score, most = sums(exercises, marks)
        passed = sum(one.full_name in marks and marks[one.full_name].state == "passed" for one in exercises)
        print_line(
            self.console,
            Text(f"{passed} of {counted(len(exercises), 'exercise')}, {points(score, most)} points", "dim"),
        )

    def _messages(self, messages: Sequence[str]) -> None:
        for text in messages:
            style = "bold green" if text.startswith(("✓", "★")) else ""
            print_wrapped(self.console, clean(text), style)

    @property
    def _rows(self) -> int:
        """Lines of text of a picture: half of the window, because the next exercise is shown below it."""
        return min(ROWS, max(_FEWEST_ROWS, self.console.height // 2))

    def _draw(self, pictures: Sequence[Picture]) -> None:
        for picture in pictures:
            print_picture(picture, self.console, self._rows)

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
            text = f"{SYMBOLS[verdict]} {result.name}  {place}{reason}"
            print_wrapped(self.console, text, STYLES[verdict])
            if verdict == "error":
                print_wrapped(self.console, "  the grader's own fault: no points are lost; tell your instructor", "")
