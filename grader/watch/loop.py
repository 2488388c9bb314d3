"""The loop of `grader watch`: waits for a save, a key or a result, and does what follows from it.

All state belongs to the thread that runs it; watcher, keys and worker only put events into a queue. Decides no verdict.
"""

import contextlib
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Final

import msgspec

from grader.course import Course, Exercise
from grader.course.definitions import definition, lines_in
from grader.errors import UserError
from grader.grading.graders import Graded, GradingStopped
from grader.grading.settings import topics_of
from grader.grading.warm import WarmGrader
from grader.intake.find import open_submission
from grader.intake.submission import Submission, digest
from grader.pictures import Picture
from grader.reports.check_report import CheckReport
from grader.reports.feedback import FAILING, STYLES, explanation_of, hint_for, worst
from grader.reports.states import is_unwritten, next_exercise, next_lines
from grader.reports.terminal import Spinner, spinning
from grader.reports.where import Places
from grader.results import ExerciseResult
from grader.text import points
from grader.watch.changes import Changes
from grader.watch.editor import find_editor, open_in
from grader.watch.events import Began, Event, Events, Finished, Known, Pressed, Resized, Resumed, Saved, signals
from grader.watch.keys import QUIT, Keys
from grader.watch.progress import Progress
from grader.watch.screen import KEYS, Screen

_MOST_MESSAGES: Final = 4


class _Job(msgspec.Struct, frozen=True):
    """What is being graded: one exercise, or (None) all that are watched."""

    exercise: Exercise | None
    submission: Submission


class Watch:
    """Watches one student's work.

    Args:
        path: the folder with the work, or one topic's file.
        scope: the exercises that are watched, in order of learning.
        start: the exercise to begin with; None: the next one that is not done.
        titles: of the topics that are watched; none means the whole course.
    """

    def __init__(
        self,
        course: Course,
        path: Path,
        scope: Sequence[Exercise],
        grader: WarmGrader,
        screen: Screen,
        start: Exercise | None = None,
        titles: Sequence[str] = (),
    ) -> None:
        self._course = course
        self._topics = topics_of(course)
        self._path = path = path.absolute()  # the current folder may be moved away, and another take its place
        self._scope = scope
        self._titles = titles
        self._grader = grader
        self._screen = screen
        self._folder = path if path.is_dir() else path.parent
        self._progress = Progress(course, scope, self._folder)
        self._current = start or self._progress.first()
        self._events = Events()
        self._keys = Keys(lambda key: self._events.put(Pressed(key)), screen.has_keys)
        self._work = contextlib.ExitStack()
        self._spinner: Spinner | None = None
        self._job: _Job | None = None
        self._report: CheckReport | None = None
        self._is_stale = False
        self._waiting_key = ""
        self._has_started = False
        self._warmed: set[str] = set()
        self._last: Submission | None = None
        self._blocks: dict[str, str] = {}
        self._result: ExerciseResult | None = None
        self._messages: list[str] = []
        self._pictures: tuple[Picture, ...] = ()
        self._hints = 0
        self._list_page: int | None = None
        self._has_drawn = False

    def run(self) -> int:
        """Watches until the student quits; the exit code.

        Raises:
            UserError: there is no submission at the path.
            KeyboardInterrupt: Ctrl-C.
        """
        self._last = self._read()
        self._blocks = self._blocks_of(self._last)
        with Changes(self._folder, lambda: self._events.put(Saved())), self._keys, signals(self._events), self._work:
            self._grade_current()
            while True:
                event = self._events.next()
                if event == Pressed(QUIT):
                    self._work.close()
                    return 0
                self._handle(event)

    # ---------------------------------------------------------------- events

    def _handle(self, event: Event) -> None:
        match event:
            case Saved():
                self._saved()
            case Pressed(key) if key in KEYS:
                self._press(key)
            case Began(name) if self._spinner is not None:
                self._spinner.doing = name
            case Known(exercise) if self._report is not None:
                self._report.add(exercise)
            case Finished():
                self._finished(event)
            case Resumed():
                with self._keys.paused():
                    pass  # sets the terminal up again
                self._show()
            case Resized():
                self._resized()
            case _:
                pass

    def _resized(self) -> None:
        """Draws what is seen for the new width; the lines of all exercises stay as they were printed."""
        self._screen.fit()
        if self._report is None and self._has_drawn:
            self._show() if self._list_page is None else self._show_list()

    def _saved(self) -> None:
        if self._job is not None:
            self._is_stale = True
            return
        self._is_stale = False
        submission = self._read_or_say()
        if submission is None or (self._last is not None and digest(submission) == digest(self._last)):
            return
        self._last = submission
        self._forget_messages()
        self._go_where_it_was_written(submission)
        self._grade(self._current, submission)

    def _press(self, key: str) -> None:
        if self._job is not None and key != "n":
            self._waiting_key = key
            return
        match key:
            case "h":
                self._hint()
            case "n":
                self._forget_messages()
                self._go_to(self._progress.next_open(self._current), [])
            case "a":
                self._grade_all()
            case "r":
                self._forget_messages()
                self._grade_current()
            case "o":
                self._open()
            case "l":
                self._list_page = 0 if self._list_page is None else self._list_page + 1
                self._show_list()

    def _finished(self, event: Finished) -> None:
        job, self._job = self._job, None
        self._work.close()
        self._spinner = None
        report, self._report = self._report, None
        key, self._waiting_key = self._waiting_key, ""
        if event.problem:
            self._screen.line(f"the grader failed: {event.problem}", STYLES["error"])
        if job is not None and event.graded is not None:
            self._use_result(job, event.graded, report)
        if self._is_stale and self._job is None:
            self._saved()
        if key:
            self._press(key)

    def _use_result(self, job: _Job, graded: Graded, report: CheckReport | None) -> None:
        results = graded.result.exercises
        self._progress.note(results)
        if report is not None:
            places = Places(self._path, job.submission.files)
            report.end(graded.result, graded.notes, (), next_lines(results, self._course, places))
            self._screen.keys()
        elif job.exercise == self._current and job.exercise is not None:
            self._judge_current(job.exercise, results)
        else:
            self._grade_current()

    def _judge_current(self, exercise: Exercise, results: Sequence[ExerciseResult]) -> None:
        """Goes on where it has passed, goes back to what it needs, or shows why it has not."""
        self._result = next((one for one in results if one.name == exercise.full_name), None)
        verdict = worst(self._result) if self._result else "skipped"
        if verdict == "passed" and self._result is not None:
            score = points(self._result.score, self._result.max)
            self._pictures = self._result.pictures
            self._go_on(exercise, f"✓ {exercise.full_name} has passed: {score} points")
        elif verdict == "skipped":
            self._go_on(exercise, f"– {exercise.full_name} cannot be assessed on this machine")
        elif verdict == "blocked" and (first := next_exercise(results)) and first.name != exercise.full_name:
            needed = self._course.exercise(first.name)
            self._current, self._result, self._hints = needed, first, 0
            self._say(f"{exercise.full_name} needs {first.name}: that one first")
            self._show()
        else:
            self._show()
            if self._result is not None and is_unwritten(self._result):
                self._warm_up(exercise)

    def _warm_up(self, exercise: Exercise) -> None:
        """Lets the worker meet a wrong answer while the student writes: it has to learn what it says of the first."""
        if self._last is None or exercise.full_name in self._warmed:
            return
        self._warmed.add(exercise.full_name)
        file = f"{exercise.topic}.py"
        wrong = f"\n\n\ndef {exercise.name}(*args, **kwargs):\n    return None\n"
        files = {**self._last.files, file: self._last.files.get(file, b"") + wrong.encode()}
        self._grader.submit(Submission("warm-up", files), [exercise.full_name])

    def _go_on(self, exercise: Exercise, message: str) -> None:
        self._say(message)
        done = [one for one in self._course.topic(exercise.topic).exercises if self._progress.is_done(one)]
        if len(done) == len(self._course.topic(exercise.topic).exercises):
            self._say(f"★ {exercise.topic} is done")
        self._go_to(self._progress.next_open(exercise), self._messages)

    # ---------------------------------------------------------------- what is graded

    def _go_to(self, exercise: Exercise | None, messages: list[str]) -> None:
        """Makes another exercise the current one, and grades it; None: everything is done."""
        self._messages = messages
        is_new = exercise != self._current
        self._current, self._result = exercise, None
        self._hints = 0 if is_new else self._hints
        if exercise is not None and is_new:
            self._say(f"now: {exercise.full_name}")
        if self._job is None:
            if exercise is not None:
                self._show()  # what happened is seen at once
            self._grade_current()

    def _grade_current(self) -> None:
        submission = self._read_or_say()
        if submission is None:
            return
        self._last = submission
        self._blocks = self._blocks_of(submission)
        if self._current is None:
            self._show()
        else:
            self._grade(self._current, submission)

    def _grade_all(self) -> None:
        submission = self._read_or_say()
        if submission is None:
            return
        self._last = submission
        self._forget_messages()
        self._screen.clear()
        self._has_drawn = False
        places = Places(self._path, submission.files)
        self._grade(None, submission, CheckReport(self._course, self._screen.console, place_of=places.of))

    def _grade(self, exercise: Exercise | None, submission: Submission, report: CheckReport | None = None) -> None:
        """Begins to grade one exercise, or all that are watched."""
        if exercise is None and report is None:
            self._show()
            return
        self._job, self._report = _Job(exercise, submission), report
        doing = "checking" if self._has_started else "starting (importing torch)"
        self._has_started = True
        self._spinner = self._work.enter_context(spinning(self._screen.console, doing))
        if exercise is not None:
            self._screen.doing(f"{doing} {exercise.full_name}" if doing == "checking" else doing)
        wanted = [exercise.full_name] if exercise else [one.full_name for one in self._scope]
        future = self._grader.submit(submission, wanted, self._events)

        def finished(done: Any) -> None:
            try:
                self._events.put(Finished(done.result()))
            except (GradingStopped, CancelledError):
                self._events.put(Finished(None))
            except Exception as problem:
                self._events.put(Finished(None, f"{type(problem).__name__}: {problem}"))

        future.add_done_callback(finished)

    def _go_where_it_was_written(self, submission: Submission) -> None:
        """The exercise whose text has changed becomes the current one, unless the current one's has changed too."""
        blocks = self._blocks_of(submission)
        changed = [one for one in self._scope if blocks.get(one.full_name) != self._blocks.get(one.full_name)]
        self._blocks = blocks
        if changed and self._current not in changed and blocks.get(changed[0].full_name):
            self._current, self._result, self._hints = changed[0], None, 0
            self._say(f"now: {changed[0].full_name}, which you have changed")

    def _blocks_of(self, submission: Submission) -> dict[str, str]:
        """The text of each exercise by its full name; what is not defined is left out."""
        found: dict[str, str] = {}
        for topic in {one.topic for one in self._scope}:
            lines = lines_in(submission.files.get(f"{topic}.py", b""))
            for exercise in (one for one in self._scope if one.topic == topic):
                start, end = definition(lines, exercise.name)
                if start:
                    found[exercise.full_name] = "\n".join(lines[start - 1 : end])
        return found

    def _read(self) -> Submission:
        return open_submission(self._path, self._topics).read()

    def _read_or_say(self) -> Submission | None:
        """The work as it is now; None where there is none, which is said, and waited for."""
        try:
            return self._read()
        except (UserError, OSError) as problem:
            self._last = None
            self._screen.clear()
            self._screen.line(str(problem), "yellow")
            self._screen.line("waiting for it to come back")
            self._screen.keys()
            return None

    # ---------------------------------------------------------------- what is shown

    def _show_list(self) -> None:
        self._screen.list(self._progress.marks, self._list_page or 0)

    def _show(self) -> None:
        self._list_page, self._has_drawn = None, True
        if self._current is None:
            self._screen.done(self._titles, self._progress.marks, self._messages, self._pictures)
            return
        places = Places(self._path, self._last.files if self._last else {})
        hints = self._current.hints[: self._hints]
        marks = self._progress.marks
        self._screen.exercise(self._current, self._result, places, marks, self._messages, self._pictures, hints)

    def _forget_messages(self) -> None:
        self._messages, self._pictures = [], ()

    def _say(self, message: str) -> None:
        self._messages = [*self._messages, message][-_MOST_MESSAGES:]

    def _hint(self) -> None:
        if self._current is None:
            return
        hints = self._current.hints
        if self._hints >= len(hints):
            self._screen.line("there is no further hint" if hints else "there is no hint for it", "yellow")
            return
        self._hints = min(max(self._hints, self._hints_shown()) + 1, len(hints))
        self._show()

    def _hints_shown(self) -> int:
        """How many hints are there already because one fits the failure."""
        if self._current is None or self._result is None or explanation_of(self._result):
            return 0
        failing = [check for check in self._result.checks if check.verdict in FAILING]
        fits = hint_for(self._current, failing[0]) if failing else None
        return self._current.hints.index(fits) + 1 if fits else 0

    def _open(self) -> None:
        if self._current is None:
            return
        shown = Places(self._path, self._last.files if self._last else {}).of(self._current.full_name)
        file, _, line = shown.rpartition(":") if shown.rpartition(":")[2].isdigit() else (shown, "", "0")
        editor = find_editor(Path(file), int(line))
        if editor is None:
            self._screen.line("no editor was found: set $VISUAL or $EDITOR", "yellow")
            return
        with contextlib.nullcontext() if editor.has_window else self._keys.paused():
            problem = open_in(editor)
        if not editor.has_window:
            self._show()
        if problem:
            self._screen.line(problem, "yellow")
