"""`check`, `hint` and `show` of a notebook, and what its kernel keeps between them: a warm worker, cards, hint levels.

Everything is graded in another process, in the sandbox; that one imports torch, this one never does. Ends the worker
with the kernel. Runs no cell, and never takes a value out of the kernel: only the text of cells.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import queue
from collections.abc import Callable, Sequence
from typing import Any, Final

from grader.course import Course, pictured
from grader.course.home import Home, LastCheck
from grader.errors import UserError
from grader.grading.graders import Graded
from grader.grading.settings import GradingSettings, topics_of
from grader.grading.warm import WarmGrader
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.judge.marks import Place
from grader.machine import resolve_devices
from grader.notebook.card import Card, hint_html, pictures_html, pictures_text, waiting_html
from grader.notebook.cells import defined_topics, submission_of
from grader.reports.states import state_of
from grader.results import ExerciseResult, SubmissionResult
from grader.text import counted

Named = str | Callable[..., object]
"""The name of a topic or an exercise; or an exercise's function or class itself."""
_KEPT_CARDS: Final = 50


class NotebookError(UserError):
    """Something that the user of a notebook can put right. A notebook shows it as one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"error: {self}", *([f"  {self.fix}"] if self.fix else [])]


class CheckInterrupted(KeyboardInterrupt):
    """The student stopped a check."""

    def _render_traceback_(self) -> list[str]:
        return [f"stopped: {self}"]


def check(*names: Named) -> SubmissionResult:
    """Grades what the cells of this notebook define, and shows the result below the cell.

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
    return _desk().check([_name_of(one) for one in names])


def show(*names: Named) -> None:
    """Shows the pictures of exercises below the cell: what your code does, such as a loss while it trains.

    Args:
        names: as for `check`; of a topic, all pictures. None: those of the topics that the notebook has begun.

    Raises:
        NotebookError: there is no such name, there are no pictures of it, or it has not passed.
    """
    _desk().show([_name_of(one) for one in names])


def hint(name: Named, level: int | None = None) -> None:
    """Shows a hint for an exercise; each further call for the same one says more.

    Args:
        name: of the exercise.
        level: which hint, from 1. None: the next one.

    Raises:
        NotebookError: there is no such exercise or level.
    """
    _desk().hint(_name_of(name), level)


def _name_of(given: Named) -> str:
    """The name to look for; of a function, its own, whatever else it is."""
    return given if isinstance(given, str) else str(getattr(given, "__name__", given))


@functools.cache
def _desk() -> NotebookDesk:
    return NotebookDesk()


class NotebookDesk:
    """What the kernel keeps.

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
        self._home = Home.find()
        self._course = Course.load(self._home.course if self._home else None)
        self._grader: WarmGrader | None = None
        self._handle = _Handle()
        self._levels: dict[str, int] = {}
        self._cards: dict[int, tuple[SubmissionResult, Card, int]] = {}
        formatter = self._shell.display_formatter.ipython_display_formatter
        formatter.for_type(SubmissionResult, self._display_result)
        atexit.register(self.close)

    def check(self, names: Sequence[str]) -> SubmissionResult:
        """See `grader.notebook.desk.check`."""
        exercises = self._exercises(names)
        graded = self._grade(exercises)
        result = graded.result
        if self._home is not None:
            self._home.note({one.name: LastCheck(state_of(one), one.score, one.max) for one in result.exercises})
        card = Card(graded, self._course, exercises[0] if len(exercises) == 1 else "")
        self._cards[id(result)] = (result, card, self._shell.execution_count)
        while len(self._cards) > _KEPT_CARDS:
            del self._cards[next(iter(self._cards))]
        self._handle.show(card.html(), card.text())
        return result

    def show(self, names: Sequence[str]) -> None:
        """See `grader.notebook.desk.show`."""
        known = pictured(self._course)
        exercises = [name for name in self._exercises(names) if name in known]
        if not exercises:
            raise NotebookError("there are no pictures of that", f"these have some: {', '.join(known)}")
        results = [one for one in self._grade(exercises).result.exercises if one.name in exercises]
        shown = [one for one in results if one.pictures]
        if not shown:
            self._handle.show("", "")
            first = results[0].name
            raise NotebookError(f"{first} has not passed yet, so it has no picture", f'see why: check("{first}")')
        self._handle.show(pictures_html(shown), pictures_text(shown))

    def hint(self, name: str, level: int | None) -> None:
        """See `grader.notebook.desk.hint`."""
        exercise = self._course.exercise(self._one(name))
        count = len(exercise.hints)
        if not count:
            raise NotebookError(f"{exercise.full_name} has no hints")
        wanted = level or min(self._levels.get(exercise.full_name, 0) + 1, count)
        if not 1 <= wanted <= count:
            raise NotebookError(f"{exercise.full_name} has no level {wanted}", f"levels go from 1 to {count}")
        self._levels[exercise.full_name] = wanted
        text = exercise.hints[wanted - 1]
        _Handle().show(hint_html(exercise.full_name, wanted, count, text), text)

    def close(self) -> None:
        """Ends the worker."""
        if self._grader is not None:
            self._grader.close()
            self._grader = None

    # ---------------------------------------------------------------- what is graded

    def _cells(self) -> list[str]:
        return [str(source) for source in self._shell.history_manager.input_hist_raw[1:]]

    def _exercises(self, names: Sequence[str]) -> list[str]:
        if names:
            return self._select(names)
        topics = defined_topics(self._cells(), self._course)
        if not topics:
            raise NotebookError("no cell has defined an exercise yet", "run the cells with your functions first")
        return self._select(topics)

    def _select(self, names: Sequence[str]) -> list[str]:
        try:
            return self._course.select(names)
        except UserError as error:
            raise NotebookError(str(error), error.fix) from None

    def _one(self, name: str) -> str:
        found = self._select([name])
        if len(found) != 1:
            raise NotebookError(f"`{name}` is a topic", f'name one exercise, for example: hint("{found[0]}")')
        return found[0]

    def _folder(self) -> Submission | None:
        """The work in the folder that the notebook is in, for topics that are not in the notebook itself."""
        if self._home is None:
            return None
        with contextlib.suppress(UserError, OSError):
            return open_submission(self._home.folder, topics_of(self._course)).read()
        return None

    def _grade(self, exercises: list[str]) -> Graded:
        """Grades what the cells define, and shows meanwhile how far it is.

        Raises:
            CheckInterrupted: the kernel was interrupted.
        """
        topics = {name.partition(".")[0] for name in exercises}
        submission = submission_of(self._cells(), self._course, topics, self._folder())
        events = _Events()
        self._handle = _Handle()
        doing = "starting the grader (importing torch)" if self._grader is None else "checking"
        if self._grader is None:
            settings = GradingSettings(devices=resolve_devices("auto"), pictures=pictured(self._course))
            self._grader = WarmGrader(self._course, settings)
        count, known = len(self._course.with_needs(exercises)), 0
        self._handle.show(waiting_html(doing, 0, count), doing)
        future = self._grader.submit(submission, exercises, events)
        future.add_done_callback(lambda done: events.queue.put(None))
        try:
            while (event := events.queue.get()) is not None:
                if isinstance(event, Place):
                    doing = f"checking {event.exercise or event.topic}"
                else:
                    known += 1
                self._handle.show(waiting_html(doing, known, count), doing)
            return future.result()
        except KeyboardInterrupt:
            self._grader.stop()
            text = f"{counted(known, 'exercise')} checked"
            self._handle.show(waiting_html(f"stopped: {text}", known, count), f"stopped: {text}")
            raise CheckInterrupted(text) from None

    def _display_result(self, result: SubmissionResult) -> None:
        """Shows a result that a cell ends with, unless that very cell has shown it already."""
        found = self._cards.get(id(result))
        if found is None:
            print(repr(result))
            return
        _, card, number = found
        if number != self._shell.execution_count:
            _Handle().show(card.html(), card.text())


class _Events:
    """What is known while a submission is graded; the thread that asked takes it from the queue."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Place | ExerciseResult | None] = queue.SimpleQueue()

    def began(self, place: Place) -> None:
        if not place.check:
            self.queue.put(place)

    def known(self, exercise: ExerciseResult) -> None:
        self.queue.put(exercise)


class _Handle:
    """One output below a cell, which is replaced by what is shown later."""

    def __init__(self) -> None:
        self._display: Any = None

    def show(self, html: str, text: str) -> None:
        from IPython.display import display

        data = {"text/html": html, "text/plain": text}
        if self._display is None:
            self._display = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._display.update(data, raw=True)
