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
from grader.reports.entries import Entry
from grader.reports.feedback import SYMBOLS, VERDICT_WORDS
from grader.reports.html_feedback import Pages
from grader.reports.page_templates import environment_of
from grader.reports.picture_svg import figure_of
from grader.reports.picture_text import print_picture
from grader.reports.places import is_program_with_its_bug, is_unwritten, next_exercise
from grader.results import ExerciseResult
from grader.text import clean, one_line, points

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
        page = Pages(self._course, _PAGE_BYTES).page(Entry(Row(result, self._graded.digest, self._graded.seconds)))
        unwritten = [one.name for one in result.exercises if is_unwritten(one)]
        first = next_exercise(result.exercises)
        opened = self._wanted or (first.name if first and first.name not in unwritten else "")
        programs = [one.name for one in result.exercises if is_program_with_its_bug(one) and one.name != opened]
        names = {"wanted": self._wanted, "unwritten": unwritten, "programs": programs, "opened": opened}
        return html_of("card", page=page, **names)

    def text(self) -> str:
        """The same for a place without HTML, as `grader check` prints it."""
        console = _plain_console()
        CheckReport(self._course, console).end(self._graded.result)
        return f"{console.export_text().strip()}\n\n{pictures_text(self._graded.result.exercises)}".strip()


def _plain_console() -> Console:
    """A console that keeps the plain text that is printed on it."""
    return Console(
        file=io.StringIO(),
        record=True,
        width=_COLUMNS,
        highlight=False,
        markup=False,
        emoji=False,
        force_jupyter=False,  # a notebook would show each line as an output of its own
        force_terminal=False,
    )


def pictures_text(exercises: Sequence[ExerciseResult]) -> str:
    """The pictures of these exercises, which have passed, for a place without HTML."""
    console = _plain_console()
    for picture in (one for exercise in exercises for one in exercise.pictures):
        print_picture(picture, console)
    return console.export_text().strip()


def html_of(template: str, **values: object) -> str:
    """The HTML of a template beside this file, without its suffix."""
    return _environment().get_template(f"{template}.html").render(values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment, loader = environment_of("grader.notebook")
    environment.globals.update(
        style=loader.get_source(environment, "card.css")[0].strip(), symbols=SYMBOLS, words=VERDICT_WORDS, points=points
    )
    environment.filters.update(
        clean=clean, one_line=one_line, figure=figure_of, topic=lambda name: name.partition(".")[0]
    )
    return environment
