"""What `grader grade` does: finds and reads submissions, gives them to `Graders`, records each result at once, reports.

Makes no verdict: every verdict comes from a worker. Never grades again what the gradebook has, unless asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from grader.course import Course, content_hash
from grader.course.due import LatePolicy, read_due, read_penalty
from grader.errors import UserError
from grader.gradebook import Gradebook, selection_key
from grader.grading.class_report import report_class
from grader.grading.exit_codes import INTERRUPTED
from grader.grading.graders import Graders
from grader.grading.interrupt import StopOnInterrupt
from grader.grading.local_workers import LocalWorkers
from grader.grading.sandbox_needed import require_sandbox
from grader.grading.settings import (
    ClassSettings,
    GradingSettings,
    exercises_by_topic,
    settings_that_matter,
    worker_options,
)
from grader.intake.find import find_submissions
from grader.intake.roster import Roster
from grader.intake.submission import LoadedSource, Source, digest
from grader.machine import versions
from grader.reports.notes import NoteList, print_note
from grader.reports.progress import progress
from grader.reports.terminal import make_console


def grade_class(class_settings: ClassSettings, settings: GradingSettings) -> int:
    """Grades every submission at the paths into the gradebook under `out`, prints the table, returns the exit code.

    Raises:
        UserError: no such course, names or submissions, or an unusable gradebook, roster or cluster.
    """
    return ClassGrading(class_settings, settings).run()


class ClassGrading:
    """One run over a class: `run` goes through its steps."""

    def __init__(self, class_settings: ClassSettings, settings: GradingSettings) -> None:
        """Loads the course and checks the settings against it.

        Raises:
            UserError: no such course or names, or a date or a fraction that is not valid.
        """
        self._class = class_settings
        self._fail_under = settings.fail_under
        self._seed = settings.seed
        self._skipped_ok = settings.skipped_ok
        self._course = Course.load(settings.course)
        self._course_hash = content_hash(self._course)
        self._options = worker_options(self._course, settings, settings.names)
        self._selection = selection_key(self._options.exercises, settings_that_matter(self._options))
        self._late = late_policy(self._course, class_settings.due, class_settings.late_penalty)

    def run(self) -> int:
        """Grades the class and returns the exit code.

        Raises:
            UserError: no such submissions, or an unusable gradebook, roster or cluster.
        """
        sources = self._find()
        self._require_sandbox(len(sources))
        with self._graders() as graders, self._open_gradebook() as book:
            self._options = msgspec.structs.replace(self._options, seed=self._seed_of(book))
            graders.use_seed(self._options.seed)
            run = self._start_run(book, expected=len(sources))
            if self._grade_new(sources, graders, book, run):
                done = sum(1 for _ in book.results(run))
                print_note(
                    f"interrupted: {done} of {len(sources)} are graded and kept; run the same command to continue"
                )
                return INTERRUPTED
            book.finish_run(run)
            return report_class(book, run, self._class, self._fail_under, self._skipped_ok)

    def _find(self) -> list[Source]:
        roster = None if self._class.roster is None else Roster.read(self._class.roster)
        notes = NoteList()
        sources = find_submissions(
            self._class.paths,
            exercises_by_topic(self._course),
            skip=self._class.out,
            roster=roster,
            note=notes.add,
        )
        notes.print()
        return sources

    def _require_sandbox(self, count: int) -> None:
        """Says that there is no sandbox, where there is none.

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

    def _open_gradebook(self) -> Gradebook:
        book = Gradebook.open(self._class.out / "gradebook.sqlite", keep_damaged_aside=True)
        if book.set_aside is not None:
            print_note(
                f"the gradebook was damaged; it is kept as {book.set_aside}, and a new one begins: all is graded again"
            )
        return book

    def _seed_of(self, book: Gradebook) -> int:
        """The gradebook's own seed, unless one was given. That of a trial is not kept: later runs are no trials."""
        if self._class.trial and self._seed is not None:
            return self._seed
        return book.keep_seed(self._seed)

    def _start_run(self, book: Gradebook, expected: int) -> int:
        return book.start_run(
            self._course.name,
            self._course_hash,
            self._options.seed,
            self._selection,
            versions(),
            expected=expected,
            late=self._late,
            trial=self._class.trial,
        )

    def _grade_new(self, sources: Sequence[Source], graders: Graders, book: Gradebook, run: int) -> bool:
        """Grades and records what the gradebook does not have yet; whether it was interrupted."""
        with StopOnInterrupt(graders.stop) as signals, progress(len(sources)) as advance:
            for graded in graders.grade_all(self._new(sources, graders, book, run, advance)):
                book.record(run, graded.result, graded.digest, graded.seconds)
                if graded.fault:
                    print_note(f"{graded.result.submission}: the grader itself failed: {graded.fault}")
                advance()
        return signals.interrupted

    def _new(
        self, sources: Sequence[Source], graders: Graders, book: Gradebook, run: int, advance: Callable[[], None]
    ) -> Iterator[Source]:
        """The submissions without a result that can be reused; calls `advance` for each of the others."""
        for source in sources:
            if graders.stopped:
                return
            try:
                submission = source.read()
            except Exception:  # The graders read it again and make it a result with the verdict `error`.
                yield source
                continue
            work = digest(submission)
            book.record_arrival(run, submission, work)
            if not self._class.again and self._reused(book, run, source.name, work):
                advance()
            else:
                yield LoadedSource(submission)

    def _reused(self, book: Gradebook, run: int, name: str, work: str) -> bool:
        """Whether the run takes over an earlier result of the same work."""
        earlier = book.lookup(name, work, self._course_hash, self._options.seed, self._selection, reuse_in=run)
        return earlier is not None


def late_policy(course: Course, due: str | None, penalty: float | None) -> LatePolicy:
    """The course's, unless the command line says otherwise.

    Raises:
        UserError: a date or a fraction that is not valid.
    """
    try:
        return LatePolicy(
            course.late.due if due is None else read_due(due),
            course.late.per_day if penalty is None else read_penalty(penalty),
        )
    except ValueError as problem:
        raise UserError(f"late work: {problem}", fix="for example: --due 2026-10-31T23:59 --late-penalty 0.1") from None
