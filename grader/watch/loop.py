"""The loop of `grader watch`: waits for a save, a key or a result, and does what follows from it.

All state belongs to the thread that runs it: other threads only put calls into its queue. Decides no verdict.
"""

import contextlib
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from grader.course import Exercise, Question
from grader.course.definitions import defined_names, lines_in, untouched_names
from grader.course.home import Home, LastCheck
from grader.course.record import Record
from grader.errors import UserError
from grader.grading.graders import Graded, News
from grader.grading.local_workers import LocalWorkers
from grader.grading.own_work import own_news
from grader.grading.protocol import Began, ExerciseDone
from grader.grading.questions import LineRun, ask_all
from grader.grading.settings import topics_of
from grader.intake.find import open_submission
from grader.intake.submission import Submission, digest
from grader.reports.check_report import CheckReport
from grader.reports.feedback import STYLES, help_for, hint_order, worst
from grader.reports.progress import keep_progress
from grader.reports.states import is_unwritten, last_checks, next_exercise, next_lines
from grader.reports.terminal import Spinner, fit, spinning
from grader.reports.where import Locations, is_done, next_of
from grader.results import ExerciseResult
from grader.text import points
from grader.watch.editor import find_editor, open_in
from grader.watch.inputs import QUIT, changes, keys, signals
from grader.watch.screen import PREDICT, Screen

_WAIT: Final = 0.5
"""Seconds after which a wait begins anew: a Ctrl-C that comes just before it, or on Windows, does not end it."""


class _Job(msgspec.Struct, frozen=True):
    """What is being graded: one exercise, or (None) all that are watched, with a report."""

    exercise: Exercise | None
    submission: Submission
    report: CheckReport | None
    spinner: Spinner

    def show(self, event: News) -> None:
        match event:
            case Began(place):
                self.spinner.doing = place.exercise or place.topic
            case ExerciseDone(exercise) if self.report is not None:
                self.report.add(exercise)


class Watch:
    """Watches one student's work.

    Args:
        path: the folder with the work, or one topic's file.
        scope: the exercises that are watched, in order of learning.
        workers: those that check the work; they are stopped at the end.
        counts_tries: whether the record of tries in the student's folder is kept.

    Raises:
        UserError: there is no submission at the path.
    """

    def __init__(
        self, path: Path, scope: Sequence[Exercise], workers: LocalWorkers, console: Console, *, counts_tries: bool
    ) -> None:
        self._counts_tries = counts_tries
        self._course = course = workers.course
        self._topics = topics_of(course)
        self._path = path = path.absolute()  # the current folder may be moved away, and another take its place
        self._folder = path if path.is_dir() else path.parent
        self._scope = scope
        self._workers = workers
        self._thread = ThreadPoolExecutor(max_workers=1)  # one submission after the other
        self._home = Home.find(self._folder)
        self._last_checks: dict[str, LastCheck] = self._home.progress() if self._home else {}
        self._screen = Screen(course, console, self._last_checks)
        first = next_of(course, self._last_checks)  # as `grader next` says, if that is watched
        self._current = first if first in scope else self._next_open(None)
        self._submission = self._read()
        self._is_lost = False
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._keys = contextlib.ExitStack()
        self._work = contextlib.ExitStack()
        self._job: _Job | None = None
        self._is_stale = False
        self._waiting_key = ""
        self._has_started = self._has_quit = False
        self._warmed: set[str] = set()
        self._result: ExerciseResult | None = None
        self._hints = 0
        self._list_page: int | None = None
        self._is_drawn = False

    def run(self, start: Exercise | None) -> int:
        """Watches until the student quits; the exit code.

        Args:
            start: the exercise to begin with; None: the next one that is not done.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        self._current = start or self._current
        put = self._calls.put
        at = {"SIGTERM": self._quit, "SIGHUP": self._quit, "SIGCONT": self._resumed, "SIGWINCH": self._resized}
        try:
            with changes(self._folder, lambda: put(self._saved)), self._keys, signals(at, put), self._work:
                self._read_keys()
                self._check_current()
                while not self._has_quit:
                    with contextlib.suppress(queue.Empty):
                        self._calls.get(timeout=_WAIT)()
        finally:
            self._workers.stop()
            self._thread.shutdown(cancel_futures=True)
        return 0

    # ---------------------------------------------------------------- calls from the queue

    def _quit(self) -> None:
        self._has_quit = True

    def _resumed(self) -> None:
        """The process was stopped by Ctrl-Z, and goes on."""
        self._keys.close()
        self._read_keys()  # sets the terminal up again
        self._show()

    def _resized(self) -> None:
        """Draws what is seen for the new width; the lines of all exercises stay as they were printed."""
        fit(self._screen.console)
        if self._is_drawn:
            self._show(self._list_page)

    def _saved(self) -> None:
        """Some file in the folder has changed."""
        self._is_stale = self._job is not None
        if self._is_stale:
            return
        before, was_lost = self._submission, self._is_lost
        if self._read_again() and (was_lost or digest(self._submission) != digest(before)):
            self._screen.forget()
            self._go_where_it_was_written(before)
            self._start(self._current)

    def _press(self, key: str) -> None:
        actions = {
            **{QUIT: self._quit, "h": self._hint, "n": self._skip, "a": self._check_all, "r": self._run_again},
            **{"o": self._open, PREDICT: self._predict, "l": self._list},
        }
        if self._job is not None and key in actions and key not in ("n", QUIT):
            self._waiting_key = key
        elif key in actions:
            actions[key]()

    def _skip(self) -> None:
        self._screen.forget()
        self._go_to(self._next_open(self._current))

    def _run_again(self) -> None:
        self._screen.forget()
        self._check_current()

    def _list(self) -> None:
        self._show(0 if self._list_page is None else self._list_page + 1)

    def _finished(self, done: Future[Graded]) -> None:
        job, self._job = self._job, None
        key, self._waiting_key = self._waiting_key, ""
        self._work.close()
        try:
            graded = done.result()
        except Exception as problem:
            self._screen.line(f"the grader failed: {type(problem).__name__}: {problem}", STYLES["error"])
        else:
            if job is not None:
                self._use_result(job, graded)
        if self._is_stale and self._job is None:
            self._saved()
        if key:
            self._press(key)

    # ---------------------------------------------------------------- how far the student is

    def _note(self, results: Sequence[ExerciseResult]) -> None:
        """Keeps how some exercises went, in the folder if it can be."""
        self._last_checks.update(last_checks(results))
        if note := keep_progress(self._home, results, counts_tries=self._counts_tries):
            self._screen.say(note)

    def _is_done(self, exercise: Exercise) -> bool:
        return is_done(exercise.full_name, self._last_checks)

    def _next_open(self, after: Exercise | None) -> Exercise | None:
        """The first exercise after one that is not done, and whose needs are; else the first that is not done."""
        at = self._scope.index(after) + 1 if after in self._scope else 0
        left = [one for one in [*self._scope[at:], *self._scope[:at]] if not self._is_done(one)]
        passed = {name for name, last in self._last_checks.items() if last.state == "passed"}
        ready = [one for one in left if set(one.needs) <= passed and one != after]
        return next(iter([*ready, *left]), None)

    # ---------------------------------------------------------------- what follows from a result

    def _use_result(self, job: _Job, graded: Graded) -> None:
        results = graded.result.exercises
        self._note(results)
        if job.report is not None:
            places = Locations(self._path, job.submission.files)
            job.report.end(graded.result, graded.notes, (), next_lines(results, self._course, places))
            self._screen.keys()
        elif job.exercise == self._current and job.exercise is not None:
            self._judge_current(job.exercise, results)
        else:
            self._check_current()

    def _judge_current(self, exercise: Exercise, results: Sequence[ExerciseResult]) -> None:
        """Goes on if it has passed, goes back to the one that it needs, or shows why it has not."""
        self._result = result = next((one for one in results if one.name == exercise.full_name), None)
        verdict = worst(result) if result else "skipped"
        if verdict == "passed" and result is not None:
            self._screen.pictures = result.pictures
            self._go_on(exercise, f"✓ {exercise.full_name} has passed: {points(result.score, result.max)} points")
        elif verdict == "skipped":
            self._go_on(exercise, f"– {exercise.full_name} cannot be assessed on this machine")
        elif verdict == "blocked" and (first := next_exercise(results)) and first.name != exercise.full_name:
            self._current, self._result, self._hints = self._course.exercise(first.name), first, 0
            self._screen.say(f"{exercise.full_name} needs {first.name}: that one first")
            self._show()
        else:
            for note in self._submission.notes_on(f"{exercise.topic}.py"):  # a cell that cannot be parsed, for example
                self._screen.say(f"note: {note}")
            self._show()
            if result is not None and is_unwritten(result):
                self._warm_up(exercise)

    def _warm_up(self, exercise: Exercise) -> None:
        """Lets the worker meet a wrong answer while the student writes: it has to learn what it says of the first."""
        if exercise.full_name not in self._warmed and not exercise.group:
            self._warmed.add(exercise.full_name)
            files, file = self._submission.files, f"{exercise.topic}.py"
            wrong = f"\n\n\ndef {exercise.name}(*args, **kwargs):\n    return None\n"
            files = {**files, file: files.get(file, b"") + wrong.encode()}
            self._thread.submit(self._check, Submission("warm-up", files), [exercise.full_name])

    def _go_on(self, exercise: Exercise, message: str) -> None:
        self._screen.say(message)
        if all(map(self._is_done, self._course.topic(exercise.topic).exercises)):
            self._screen.say(f"★ {exercise.topic} is done")
        self._go_to(self._next_open(exercise))

    def _go_to(self, exercise: Exercise | None) -> None:
        """Makes another exercise the current one, and grades it; None: everything is done."""
        is_new = exercise != self._current
        self._current, self._result = exercise, None
        self._hints = 0 if is_new else self._hints
        if exercise is not None and is_new:
            self._screen.say(f"now: {exercise.full_name}")
        if self._job is None:
            if exercise is not None:
                self._show()  # what happened is seen at once
            self._check_current()

    # ---------------------------------------------------------------- what is graded

    def _check_current(self) -> None:
        if self._read_again():
            self._start(self._current)

    def _check_all(self) -> None:
        if self._read_again():
            self._screen.forget()
            self._screen.clear()
            self._is_drawn = False
            places, before = self._places(), self._last_checks
            self._start(None, CheckReport(self._course, self._screen.console, place_of=places.of, before=before))

    def _start(self, exercise: Exercise | None, report: CheckReport | None = None) -> None:
        """Begins to grade an exercise, or all that are watched, with a report; with neither, everything is done."""
        if exercise is None and report is None:
            self._show()
            return
        doing = "checking" if self._has_started else "starting (importing torch)"
        spinner = self._work.enter_context(spinning(self._screen.console, doing))
        if exercise is not None:
            self._screen.doing(f"{doing} {exercise.full_name}" if self._has_started else doing)
        self._has_started = True
        self._job = _Job(exercise, self._submission, report, spinner)
        wanted = [exercise.full_name] if exercise else [one.full_name for one in self._scope]
        future = self._thread.submit(self._check, self._submission, wanted, self._job)
        future.add_done_callback(lambda done: self._calls.put(partial(self._finished, done)))

    def _check(self, submission: Submission, wanted: Sequence[str], job: _Job | None = None) -> Graded:
        """Grades exercises in another thread, which only puts calls into the queue: to show the news in a job."""
        for event in own_news(self._workers, submission, wanted):
            if job is not None:
                self._calls.put(partial(job.show, event))
        assert isinstance(event, Graded)
        return event

    def _go_where_it_was_written(self, before: Submission) -> None:
        """Switches to the exercise that was just edited, unless the current one was edited as well."""
        changed: list[Exercise] = []
        for topic in dict.fromkeys(one.topic for one in self._scope):
            old, new = (work.files.get(f"{topic}.py", b"") for work in (before, self._submission))
            if old != new:
                touched = set(defined_names(lines_in(new))) - untouched_names(new, old)
                changed += [one for one in self._scope if one.topic == topic and one.name in touched]
        if changed and self._current not in changed:
            self._current, self._result, self._hints = changed[0], None, 0
            self._screen.say(f"now: {changed[0].full_name}, which you have changed")

    def _read(self) -> Submission:
        return open_submission(self._path, self._topics).read()

    def _read_again(self) -> bool:
        """Reads the work as it is now; if there is none, that is said, and waited for."""
        try:
            self._submission = self._read()
        except (UserError, OSError) as problem:
            self._screen.clear()
            self._screen.line(str(problem))
            self._screen.line("waiting for it to come back")
            self._screen.keys()
            self._is_lost = True
            return False
        self._is_lost = False
        return True

    # ---------------------------------------------------------------- keys, and what is shown

    def _read_keys(self) -> None:
        if self._screen.has_keys:
            self._keys.enter_context(keys(lambda key: self._calls.put(partial(self._press, key))))

    def _places(self) -> Locations:
        return Locations(self._path, self._submission.files)

    def _show(self, list_page: int | None = None) -> None:
        """Draws the current exercise, or a page of the list of all."""
        self._list_page, self._is_drawn = list_page, True
        if list_page is not None:
            self._screen.list(list_page)
        elif self._current is None:
            self._screen.done(self._scope)
        else:
            place = self._places().of(self._current.full_name)
            numbers = hint_order(self._current, self._result)[: self._hints]
            questions = self._questions_of(self._current.topic)
            self._screen.exercise(self._current, self._result, place, numbers, len(questions))

    def _questions_of(self, topic: str) -> Sequence[Question]:
        """The questions of a topic, if they were not asked yet."""
        questions = self._course.topic(topic).questions
        return questions if questions and self._home and not Record(self._home).was_asked(topic) else ()

    def _predict(self) -> None:
        """Asks the questions of the topic at hand, with the terminal as it was."""
        topic = self._current.topic if self._current is not None else ""
        questions = self._questions_of(topic) if topic else ()
        if self._home is None or not questions:
            self._screen.line("there is no question that was not asked yet")
            return
        self._keys.close()
        self._screen.clear()
        with contextlib.closing(LineRun(questions)) as run:
            ask_all(self._course, topic, self._screen.console, run)
        Record(self._home).note_asked(topic)
        self._read_keys()
        self._screen.keys()

    def _hint(self) -> None:
        if self._current is None:
            return
        hints = self._current.hints
        if self._hints >= len(hints):
            self._screen.line("there is no further hint" if hints else "there is no hint for it")
            return
        if self._result is not None and help_for(self._result, self._course)[0]:  # a hint that fits is shown already
            self._hints = max(self._hints, 1)
        self._hints = min(self._hints + 1, len(hints))
        self._show()

    def _open(self) -> None:
        if self._current is None:
            return
        place = self._places().of(self._current.full_name)
        file, _, line = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "0")
        editor = find_editor(Path(file), int(line))
        if editor is None:
            self._screen.line("no editor was found: set $VISUAL or $EDITOR")
            return
        self._keys.close()
        problem = open_in(editor)
        self._read_keys()
        if not editor.has_window:
            self._show()
        if problem:
            self._screen.line(problem)
