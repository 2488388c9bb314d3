"""`check`, `hint`, `show` and `ask` of a notebook, and the state of its kernel: a warm worker, cards, hint levels.

Everything is graded in another process, in the sandbox; that one imports torch, this one never does. Ends the worker
with the state. Runs no cell, and never takes a value out of the kernel: only the text of cells. A card says what the
feedback page says (`reports/html_feedback.py`); its template escapes everything.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import jinja2
from rich.console import Console

from grader.course import Course, Exercise, pictured
from grader.course.home import Home
from grader.course.record import Record
from grader.errors import UserError
from grader.gradebook import Row
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.own_work import own_news, own_workers
from grader.grading.protocol import Began, ExerciseDone
from grader.grading.settings import GradingSettings, topics_of, worker_options
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.notebook.cells import defined_topics, submission_of
from grader.reports.check_report import CheckReport
from grader.reports.drawing import print_picture
from grader.reports.entries import Entry
from grader.reports.feedback import hint_order
from grader.reports.html import environment_of
from grader.reports.html_feedback import feedback_page
from grader.reports.progress import keep_progress
from grader.reports.states import is_program_with_its_bug, is_unwritten, next_exercise
from grader.results import ExerciseResult, SubmissionResult
from grader.text import counted

Named = str | Callable[..., object]
"""The name of a topic or an exercise; or an exercise's function or class itself."""
_KEPT_CARDS: Final = 50
_PAGE_BYTES: Final = 200_000
_COLUMNS: Final = 100


class NotebookError(UserError):
    """Something that the user of a notebook can put right. A notebook shows it as one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"error: {self}", *([f"  {self.fix}"] if self.fix else [])]


class CheckInterrupted(KeyboardInterrupt):
    """The student stopped a check."""

    def _render_traceback_(self) -> list[str]:
        return [f"stopped: {self}"]


def check(*names: Named) -> SubmissionResult:
    """Grades the definitions in the cells of this notebook, and shows the result below the cell.

    Definitions and imports of all cells that were run are taken; of two definitions of one name the last counts, and
    a cell that failed does no harm.

    Args:
        names: topics or exercises, such as ``"tensor_ops.gram"`` or ``"gram"``, which are graded with what they need;
            an exercise's function itself will do. None: all of the topics that the notebook has begun.

    Returns:
        The result, as in ``results.jsonl``.

    Raises:
        NotebookError: there is no such name, or nothing to grade, or no notebook.
    """
    state = _state()
    exercises = state.exercises(names)
    graded = state.result_of(exercises)
    result = graded.result
    if note := keep_progress(state.home, result.exercises):
        print(f"note: {note}")
    card = Card(graded, state.course, exercises[0] if len(exercises) == 1 else "")
    state.cards.append((result, card, state.cell))
    state.output.show(card.html(), card.text())
    return result


def show(*names: Named) -> None:
    """Shows the pictures of exercises below the cell: what your code does, such as a loss while it trains.

    Args:
        names: as for `check`; of a topic, all pictures. None: those of the topics that the notebook has begun.

    Raises:
        NotebookError: there is no such name, there are no pictures of it, or it has not passed.
    """
    state = _state()
    known = pictured(state.course)
    exercises = [name for name in state.exercises(names) if name in known]
    if not exercises:
        raise NotebookError("there are no pictures of that", f"these have some: {', '.join(known)}")
    results = [one for one in state.result_of(exercises).result.exercises if one.name in exercises]
    shown = [one for one in results if one.pictures]
    if not shown:
        state.output.show("", "")
        first = results[0].name
        raise NotebookError(f"{first} has not passed yet, so it has no picture", f'see why: check("{first}")')
    state.output.show(_html_of("pictures", exercises=shown), _pictures_text(shown))


def hint(name: Named, level: int | None = None) -> None:
    """Shows a hint for an exercise; each further call for the same one says more.

    Args:
        name: of the exercise.
        level: which hint, from 1. None: the next one.

    Raises:
        NotebookError: there is no such exercise or level.
    """
    state = _state()
    names = state.exercises([name])
    if len(names) != 1:
        raise NotebookError(f"`{name}` is a topic", f'name one exercise, for example: hint("{names[0]}")')
    exercise = state.course.exercise(names[0])
    count = len(exercise.hints)
    if not count:
        raise NotebookError(f"{names[0]} has no hints")
    wanted = level or state.next_hint(exercise)
    if not 1 <= wanted <= count:
        raise NotebookError(f"{names[0]} has no level {wanted}", f"levels go from 1 to {count}")
    state.hints.setdefault(names[0], []).append(wanted)
    text = exercise.hints[wanted - 1]
    _Output().show(_html_of("hint", exercise=names[0], level=wanted, count=count, text=text), text)


def ask(topic: str) -> None:
    """Asks the questions of a topic, once: what will a line give? Enter skips one.

    Where nothing can be typed, as when a notebook is run as a whole by a program, nothing is asked.

    Args:
        topic: its name.

    Raises:
        NotebookError: there is no such topic.
    """
    state = _state()
    try:
        questions = state.course.topic(topic).questions
    except UserError as error:
        raise NotebookError(str(error), error.fix) from None
    record = Record(state.home) if state.home is not None else None
    was_asked = topic in state.asked or (record is not None and record.is_on and record.was_asked(topic))
    if was_asked or not questions:
        print(f"the questions about {topic} were asked already" if questions else f"{topic} asks no question")
        return
    from grader.grading.questions import LineRun, ask_all

    with contextlib.closing(LineRun(questions)) as run:
        try:
            ask_all(state.course, topic, _plain_console(None), run, _typed)
        except _NothingTyped:
            print("nothing can be typed here; the same in a terminal: grader learn " + topic)
            return
    state.asked.add(topic)
    if record is not None:
        record.note_asked(topic)


class _NothingTyped(Exception):
    """This notebook has no input. Remedy: none is needed, nothing is asked then."""


def _typed(prompt: str) -> str:
    try:
        return input(prompt)
    except NotImplementedError:  # as Jupyter's kernel says it
        raise _NothingTyped from None


@functools.cache
def _state() -> KernelState:
    return KernelState()


class KernelState:
    """The state of the kernel.

    Attributes:
        home: the folder that the notebook is in, if `grader init` made it.
        course: the course of that folder, or the shipped one.
        output: the output of the cell that is checked.
        hints: the levels of the hints that were shown, by exercise.
        asked: the topics whose questions were asked in this kernel.
        cards: the last results, their cards, and the number of the cell that showed each.

    Raises:
        NotebookError: Python runs here without a notebook.
    """

    def __init__(self) -> None:
        try:
            from IPython import get_ipython

            self._shell: Any = get_ipython()
        except ImportError:
            self._shell = None
        if self._shell is None:
            raise NotebookError("there is no notebook here", "in a terminal, use: grader check")
        self.home = Home.find()
        self.course = Course.load(self.home.course if self.home else None)
        self._workers: LocalWorkers | None = None
        self.output = _Output()
        self.hints: dict[str, list[int]] = {}
        self.asked: set[str] = set()
        self.cards: deque[tuple[SubmissionResult, Card, int]] = deque(maxlen=_KEPT_CARDS)
        formatter = self._shell.display_formatter.ipython_display_formatter
        formatter.for_type(SubmissionResult, self._display_result)
        atexit.register(self.close)

    @property
    def cell(self) -> int:
        """The number of the cell that runs now."""
        return int(self._shell.execution_count)

    def close(self) -> None:
        """Ends the workers."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.stop()
            workers.close()

    def _cells(self) -> list[str]:
        return [str(source) for source in self._shell.history_manager.input_hist_raw[1:]]

    def exercises(self, given: Sequence[Named]) -> list[str]:
        """The full names of the exercises that are meant; without names, those of the topics that cells define."""
        names = [one if isinstance(one, str) else str(getattr(one, "__name__", one)) for one in given]
        chosen = names or defined_topics(self._cells(), self.course)
        if not chosen:
            raise NotebookError("no cell has defined an exercise yet", "run the cells with your functions first")
        try:
            return self.course.select(chosen)
        except UserError as error:
            raise NotebookError(str(error), error.fix) from None

    def next_hint(self, exercise: Exercise) -> int:
        """The level of the hint that comes next: at first that for the check that failed when it was last checked."""
        results = [one for result, _, _ in self.cards for one in result.exercises if one.name == exercise.full_name]
        order = hint_order(exercise, results[-1] if results else None)
        shown = self.hints.get(exercise.full_name, [])
        return next((level for level in order if level not in shown), order[-1])

    def result_of(self, exercises: list[str]) -> Graded:
        """Grades the definitions in the cells, and shows meanwhile how far it is.

        Raises:
            CheckInterrupted: the kernel was interrupted.
        """
        self.output = _Output()
        count, known = len(self.course.with_needs(exercises)), 0

        def show_progress(doing: str) -> None:
            self.output.show(_html_of("waiting", doing=doing, done=known, count=count), doing)

        try:
            submission = self._submission(exercises)
            doing = "checking"
            if self._workers is None or self._workers.stopped:
                self.close()
                doing = "starting the grader (importing torch)"
                settings = GradingSettings(devices="auto", pictures=pictured(self.course))
                self._workers = own_workers(self.course, worker_options(self.course, settings, ()))
            show_progress(doing)
            with contextlib.closing(own_news(self._workers, submission, exercises)) as news:
                for event in news:
                    match event:
                        case Began(place) if not place.check:  # the output below the cell names exercises only
                            doing = f"checking {place.exercise or place.topic}"
                            show_progress(doing)
                        case ExerciseDone():
                            known += 1
                            show_progress(doing)
            assert isinstance(event, Graded)
            return event
        except KeyboardInterrupt:
            text = f"{counted(known, 'exercise')} checked"
            show_progress(f"stopped: {text}")
            raise CheckInterrupted(text) from None

    def _submission(self, exercises: list[str]) -> Submission:
        """What the cells define; topics that are not in the notebook are taken from the folder that it is in."""
        others = None
        if self.home is not None:
            with contextlib.suppress(UserError, OSError):
                others = open_submission(self.home.folder, topics_of(self.course)).read()
        topics = {name.partition(".")[0] for name in exercises}
        return submission_of(self._cells(), self.course, topics, others)

    def _display_result(self, result: SubmissionResult) -> None:
        """Shows a result that a cell ends with, unless that very cell has shown it already."""
        found = next((kept for kept in self.cards if kept[0] is result), None)
        if found is None:
            print(repr(result))
        elif found[2] != self.cell:
            _Output().show(found[1].html(), found[1].text())


class Card(NamedTuple):
    """A result as it is shown, in the two forms that notebooks choose from.

    Attributes:
        wanted: the exercise that was asked for; empty if several were.
    """

    graded: Graded
    course: Course
    wanted: str = ""

    def html(self) -> str:
        """The card."""
        result = self.graded.result
        entry = Entry(Row(result, self.graded.digest, self.graded.seconds))
        page = feedback_page(entry, self.course, _PAGE_BYTES)
        unwritten = [one.name for one in result.exercises if is_unwritten(one)]
        first = next_exercise(result.exercises)
        opened = self.wanted or (first.name if first and first.name not in unwritten else "")
        programs = [one.name for one in result.exercises if is_program_with_its_bug(one) and one.name != opened]
        names = {"wanted": self.wanted, "unwritten": unwritten, "programs": programs, "opened": opened}
        return _html_of("card", page=page, **names)

    def text(self) -> str:
        """The same for a place without HTML, as `grader check` prints it."""
        console = _plain_console(io.StringIO())
        CheckReport(self.course, console).end(self.graded.result)
        return f"{console.export_text().strip()}\n\n{_pictures_text(self.graded.result.exercises)}".strip()


def _plain_console(file: io.StringIO | None) -> Console:
    """A console of plain text: that of the cell, or a file, whose text it keeps."""
    plain: dict[str, Any] = dict.fromkeys(("highlight", "markup", "emoji", "force_terminal"), False)
    # A notebook would show each line as an output of its own.
    return Console(file=file, record=file is not None, width=_COLUMNS, force_jupyter=False, **plain)


def _pictures_text(exercises: Sequence[ExerciseResult]) -> str:
    """The pictures of these exercises, which have passed, for a place without HTML."""
    console = _plain_console(io.StringIO())
    for picture in (one for exercise in exercises for one in exercise.pictures):
        print_picture(picture, console)
    return console.export_text().strip()


def _html_of(template: str, **values: object) -> str:
    """The HTML of a template, by its name without the suffix."""
    return _environment().get_template(f"{template}.html").render(values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = environment_of("grader.notebook")
    environment.filters["topic"] = lambda name: name.partition(".")[0]
    return environment


class _Output:
    """One output below a cell, which a later one replaces."""

    def __init__(self) -> None:
        self._display: Any = None

    def show(self, html: str, text: str) -> None:
        from IPython.display import display

        data = {"text/html": html, "text/plain": text}
        if self._display is None:
            self._display = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._display.update(data, raw=True)
