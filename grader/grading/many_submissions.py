"""`grader grade`: finds and reads submissions, gives them to `Graders`, and records each result at once.

Makes no verdict: every verdict comes from a worker. Never grades the same work again, unless asked to.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any

import msgspec

from grader.course import Course, content_hash
from grader.course.due import LatePolicy
from grader.gradebook import Gradebook, gradebook_in, selection_key
from grader.grading.class_report import report_class
from grader.grading.exit_codes import INTERRUPTED
from grader.grading.graders import Graders, unread
from grader.grading.late_options import policy_of, together
from grader.grading.local_workers import LocalWorkers
from grader.grading.sandbox_needed import require_sandbox
from grader.grading.settings import ClassSettings, GradingSettings, settings_that_matter, topics_of, worker_options
from grader.intake.find import Source, find_submissions
from grader.intake.reader import Reader
from grader.intake.roster import Roster
from grader.intake.submission import Submission, Unreadable, digest
from grader.machine import versions
from grader.reports.terminal import NoteList, make_console, print_note, progress
from grader.results import ExerciseResult, SubmissionResult


def grade_class(course: Course, class_settings: ClassSettings, settings: GradingSettings) -> int:
    """Grades every submission at the paths into the gradebook under `out`, prints the table, returns the exit code.

    Raises:
        UserError: no such names or submissions, or an unusable gradebook, roster or cluster.
    """
    return ClassGrading(course, class_settings, settings).run()


class ClassGrading:
    """One run over a class: `run` goes through its steps."""

    def __init__(self, course: Course, class_settings: ClassSettings, settings: GradingSettings) -> None:
        """Checks the settings against the course.

        Raises:
            UserError: no such names, or a date or a fraction that is not valid.
        """
        self._class = class_settings
        self._fail_under = settings.fail_under
        self._seed = settings.seed
        self._skipped_ok = settings.skipped_ok
        self._course = course
        self._course_hash = content_hash(self._course)
        self._options = worker_options(self._course, settings, settings.names)
        self._selection = selection_key(self._options.exercises, settings_that_matter(self._options))
        policy_of(self._course.late, together({}, class_settings.late))
        self._late = self._course.late

    def run(self) -> int:
        """Grades the class and returns the exit code.

        Raises:
            UserError: no such submissions, or an unusable gradebook, roster or cluster.
        """
        with Reader() as reader:
            return self._run(reader)

    def _run(self, reader: Reader) -> int:
        roster = None if self._class.roster is None else Roster.read(self._class.roster)
        sources = self._find(roster)
        self._require_sandbox(len(sources))
        with self._graders() as graders, Gradebook.open(gradebook_in(self._class.out)) as book:
            self._options = msgspec.structs.replace(self._options, seed=self._seed_of(book))
            self._late = self._late_of(book)
            graders.use_seed(self._options.seed)
            run = self._start_run(book, len(sources), roster)
            if self._grade_new(reader, sources, graders, book, run):
                done = next(one.done for one in book.runs() if one.id == run)
                print_note(
                    f"interrupted: {done} of {len(sources)} are graded and kept; run the same command to continue"
                )
                return INTERRUPTED
            book.finish_run(run)
            return report_class(book, run, self._class, self._fail_under, self._skipped_ok)

    def _find(self, roster: Roster | None) -> list[Source]:
        notes = NoteList()
        known: dict[str, str] = {}
        if gradebook_in(self._class.out).is_file():
            with Gradebook.open_existing(self._class.out) as book:
                known = book.people(self._course.name)
                if roster is None and (students := book.class_list(self._course.name)):
                    roster = Roster(students, book.path)
        sources = find_submissions(
            self._class.paths,
            topics_of(self._course),
            skip=self._class.out,
            roster=roster,
            note=notes.add,
            known_people=known,
        )
        notes.print()
        return sources

    def _require_sandbox(self, count: int) -> None:
        """Prints that there is no sandbox, if there is none.

        Raises:
            UserError: it was not allowed to grade the work of others so.
        """
        if self._class.dask is not None or require_sandbox(count, no_sandbox=self._class.no_sandbox):
            return
        make_console(stderr=True).print(
            "no sandbox on this system: submissions run as your own programs do (see: grader doctor)", style="yellow"
        )

    def _graders(self) -> Graders:
        if self._class.dask is None:
            return LocalWorkers(self._course, self._options, self._class.jobs)
        from grader.grading.dask_cluster import Cluster

        return Cluster(self._class.dask, self._course, self._course_hash, self._options, print_note)

    def _seed_of(self, book: Gradebook) -> int:
        """The gradebook's own seed, unless one was given. That of a trial is not kept: later runs are no trials."""
        if self._class.trial and self._seed is not None:
            return self._seed
        return book.keep_seed(self._seed)

    def _late_of(self, book: Gradebook) -> LatePolicy:
        """The cost of late work. Options of the command line are kept for later runs, unless this one is a trial."""
        said, kept = self._class.late, book.late_given()
        given = together(kept, said)
        policy = policy_of(self._course.late, given)
        if given != kept and not self._class.trial:
            book.keep_late(given)
        if not said.are_said and policy != self._course.late:
            print_note(
                f"late work as in earlier runs: {policy} (--due none: nothing is late; --due course: course.toml)"
            )
        return policy

    def _start_run(self, book: Gradebook, expected: int, roster: Roster | None) -> int:
        return book.start_run(
            self._course.name,
            self._course_hash,
            self._options.seed,
            self._selection,
            versions(),
            expected=expected,
            late=self._late,
            trial=self._class.trial,
            exercises=[exercise.full_name for exercise in self._course.all_exercises],
            students=None if roster is None or self._class.trial else roster.students,
            resubmissions=self._course.marks.resubmissions,
        )

    def _grade_new(
        self, reader: Reader, sources: Sequence[Source], graders: Graders, book: Gradebook, run: int
    ) -> bool:
        """Grades and records the submissions that the gradebook does not have yet; whether it was interrupted."""
        with StopOnInterrupt(graders.stop) as signals, progress(len(sources)) as advance:
            for graded in graders.grade_all(self._new(map(reader.read, sources), graders, book, run, advance)):
                book.record(run, graded.result, graded.digest, graded.seconds)
                if graded.fault:
                    print_note(f"{graded.result.submission}: the grader itself failed: {graded.fault}")
                advance()
        return signals.interrupted

    def _new(
        self,
        found: Iterable[Submission | Unreadable],
        graders: Graders,
        book: Gradebook,
        run: int,
        advance: Callable[[], None],
    ) -> Iterator[Submission]:
        """The submissions without a result that can be reused; records the others, and calls `advance` for each."""
        for submission in found:
            if graders.stopped:
                return
            if isinstance(submission, Unreadable):
                failed = unread(self._course, self._options, submission)
                book.record(run, failed.result, failed.digest, failed.seconds)
                print_note(f"{submission.name}: the grader itself failed to read it: {submission.reason}")
                advance()
                continue
            granted = book.granted(self._course.name, submission.name, submission.arrival.student)
            submission = msgspec.structs.replace(submission, granted=granted)
            work = digest(submission)
            book.record_arrival(run, submission, work)
            if not self._class.again and self._reused(book, run, submission, work):
                advance()
            else:
                yield submission

    def _reused(self, book: Gradebook, run: int, submission: Submission, work: str) -> bool:
        """Whether the run takes over an earlier result of the same work."""
        same = (submission.name, work, self._course_hash, self._options.seed, self._selection)
        earlier = book.lookup(*same)
        if earlier is None or not still_holds(earlier, submission, self._course):
            return False
        return book.lookup(*same, reuse_in=run) is not None


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopOnInterrupt:
    """In its ``with`` block the first signal calls `stop` and goes on; a second one raises KeyboardInterrupt.

    Attributes:
        interrupted: whether a signal came.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self.interrupted = False
        self._stop = stop
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopOnInterrupt:
        self._previous = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in _SIGNALS:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        for again in _SIGNALS:
            signal.signal(again, signal.default_int_handler)
        self._stop()


_RAN = frozenset({"passed", "failed", "timeout", "crashed"})


def still_holds(result: SubmissionResult, submission: Submission, course: Course) -> bool:
    """Whether grading again would give the same result.

    It would not if other topics cannot be read now, or if a person has given or taken back points for exercises that
    others wait for.
    """
    graded = {exercise.name.partition(".")[0] for exercise in result.exercises}
    if {one.topic for one in result.unread} != {one.topic for one in submission.unread if one.topic in graded}:
        return False
    met = {exercise.name for exercise in result.exercises if exercise.meets_needs} | set(submission.granted)
    needs = {exercise.full_name: set(exercise.needs) for exercise in course.exercises}
    return all(_has_waited(exercise) == bool(needs.get(exercise.name, set()) - met) for exercise in _asked(result))


def _asked(result: SubmissionResult) -> list[ExerciseResult]:
    """The exercises that were asked, or would have been: not those of a topic without a file that can be imported."""
    return [exercise for exercise in result.exercises if _has_waited(exercise) or _ran(exercise)]


def _has_waited(exercise: ExerciseResult) -> bool:
    return any(check.verdict == "blocked" for check in exercise.checks)


def _ran(exercise: ExerciseResult) -> bool:
    causes = [check.cause for check in exercise.checks if check.verdict in _RAN]
    return any(cause is None or (cause.stage == "check" and cause.kind != "judge_ended") for cause in causes)
