"""A result as a notebook shows it: a card of HTML that suits light and dark pages, and plain text beside it.

Says what the feedback page says (`reports/html_feedback.py`); its template escapes everything. Decides nothing.
"""

import functools
import io
from collections.abc import Sequence

import jinja2
from rich.console import Console

from grader.course import Course
from grader.gradebook import Row
from grader.grading.graders import Graded
from grader.reports.check_report import CheckReport
from grader.reports.drawing import print_picture
from grader.reports.entries import Entry
from grader.reports.html import environment_of
from grader.reports.html_feedback import feedback_page
from grader.reports.states import is_program_with_its_bug, is_unwritten, next_exercise
from grader.results import ExerciseResult

_PAGE_BYTES = 200_000
_COLUMNS = 100


class Card:
    """What is shown of a result, in the two forms that notebooks choose from.

    Args:
        wanted: the exercise that was asked for; empty where several were.
    """

    def __init__(self, graded: Graded, course: Course, wanted: str = "") -> None:
        self._graded = graded
        self._course = course
        self._wanted = wanted

    def html(self) -> str:
        """The card."""
        result = self._graded.result
        entry = Entry(Row(result, self._graded.digest, self._graded.seconds))
        page = feedback_page(entry, self._course, _PAGE_BYTES)
        unwritten = [one.name for one in result.exercises if is_unwritten(one)]
        first = next_exercise(result.exercises)
        opened = self._wanted or (first.name if first and first.name not in unwritten else "")
        programs = [one.name for one in result.exercises if is_program_with_its_bug(one) and one.name != opened]
        template = _environment().get_template("card.html")
        return template.render(page=page, wanted=self._wanted, unwritten=unwritten, programs=programs, opened=opened)

    def text(self) -> str:
        """The same for a place without HTML, as `grader check` prints it."""
        stream, console = _plain_console()
        CheckReport(self._course, console).end(self._graded.result)
        return f"{stream.getvalue().strip()}\n\n{pictures_text(self._graded.result.exercises)}".strip()


def _plain_console() -> tuple[io.StringIO, Console]:
    """A console for plain text, and what is printed on it."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=_COLUMNS,
        highlight=False,
        markup=False,
        emoji=False,
        force_jupyter=False,  # a notebook would show each line as an output of its own
        force_terminal=False,
    )
    return stream, console


def pictures_html(exercises: Sequence[ExerciseResult]) -> str:
    """The pictures of these exercises, which have passed."""
    return _environment().get_template("pictures.html").render(exercises=exercises)


def pictures_text(exercises: Sequence[ExerciseResult]) -> str:
    """The same for a place without HTML."""
    stream, console = _plain_console()
    for picture in (one for exercise in exercises for one in exercise.pictures):
        print_picture(picture, console)
    return stream.getvalue().strip()


def waiting_html(doing: str, done: int, count: int) -> str:
    """What is shown while a result is on its way."""
    return _environment().get_template("waiting.html").render(doing=doing, done=done, count=count)


def hint_html(exercise: str, level: int, count: int, text: str) -> str:
    """A hint as a card."""
    return _environment().get_template("hint.html").render(exercise=exercise, level=level, count=count, text=text)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = environment_of("grader.notebook")
    environment.filters["topic"] = lambda name: name.partition(".")[0]
    return environment
