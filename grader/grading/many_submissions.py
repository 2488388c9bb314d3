"""`grader grade` and `grader regrade`: gives submissions to `Graders`, and records each result at once.

Makes no verdict: every verdict comes from a worker. Never grades the same work again, unless asked to.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, Final

from msgspec import to_builtins
from msgspec.structs import replace

from grader.course import Course, content_hash, pictured
from grader.course.assignments import Assignment
from grader.course.due import LatePolicy, local_zone
from grader.errors import UserError
from grader.gradebook import Gradebook, Older, Row, gradebook_in, row_of
from grader.grading.class_report import report_class
from grader.grading.exit_codes import INTERRUPTED
from grader.grading.graders import Graded, Graders
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import (
    ClassSettings,
    GradingSettings,
    assignment_of,
    find_sandbox,
    read_selection,
    selection,
    topics_of,
    worker_options,
)
from grader.intake.find import find_submissions
from grader.intake.reader import Reader
from grader.intake.roster import Roster
from grader.intake.sources import Source
from grader.intake.submission import Note, Submission, Unreadable, digest
from grader.machine import Devices, versions
from grader.reports.status import Move, compare, marks
from grader.reports.terminal import NoteList, make_console, print_note, progress
from grader.results import SubmissionResult, Unread
from grader.text import listed, one_line

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_RAN: Final = frozenset({"passed", "failed", "timeout", "crashed"})


def grade_class(course: Course, class_settings: ClassSettings, settings: GradingSettings) -> int:
    """Grades every submission at the paths into the gradebook under `out`, prints the table, returns the exit code.

    Raises:
        UserError: no such names or submissions, or an unusable gradebook, roster or cluster.
    """
    assignment = assignment_of(course, class_settings.assignment, settings.names)
    names = settings.names or (assignment.exercises if assignment.name else ())
    options = worker_options(course, settings, names)
    class_settings.late.after({}).policy(assignment.late)  # refused before anything is read
    with Reader() as reader:
        sources, roster = _find(course, assignment, class_settings)
        if class_settings.dask is None and not find_sandbox(len(sources), no_sandbox=class_settings.no_sandbox):
            text = "no sandbox on this system: submissions run as your own programs do (see: grader doctor)"
            make_console(stderr=True).print(text, style="yellow")
        graders: Graders
        if class_settings.dask is None:
            graders = LocalWorkers(course, options, class_settings.jobs)
        else:
            from grader.grading.dask_cluster import Cluster

            graders = Cluster(class_settings.dask, course, options, print_note)
        with graders, Gradebook.open(gradebook_in(class_settings.out)) as book:
            book.use_plan(course.plan)
            book.assignment = assignment.name
            trial = class_settings.trial
            late, given = _late_of(assignment, class_settings, book)
            if not trial and not assignment.name:
                _require_one_assignment(book, course, options, late, roster)
            if not trial and given != book.late_given():
                book.keep_late(given)
            # The seed of a trial is not kept: later runs are no trials.
            is_of_trial = class_settings.trial and settings.seed is not None
            options = replace(options, seed=settings.seed if is_of_trial else book.keep_seed(settings.seed))
            graders.use_seed(options.seed)
            found = [(one.name, one.arrival.student) for one in sources]
            students = None if roster is None or trial else roster.students
            run = _start_run(book, course, assignment, options, found=found, late=late, trial=trial, students=students)
            grading = _ClassRun(course, assignment, options, graders, book, run, class_settings.again)
            if grading.record_new(reader, sources):
                done = next(one.done for one in book.runs() if one.id == run)
                kept = f"{done} of {len(sources)} are graded and kept"
                print_note(f"interrupted: {kept}; run the same command to continue")
                return INTERRUPTED
            book.finish_run(run)
            return report_class(book, run, class_settings, settings)


def _find(course: Course, assignment: Assignment, settings: ClassSettings) -> tuple[list[Source], Roster | None]:
    """The submissions, and the class list by which their owners were found: the given one, else a kept one."""
    if any(path.resolve() == course.root.resolve() for path in settings.paths):
        fix = "name the folder with the submissions; to grade its solutions: grader verify"
        raise UserError(f"{course.root} is the course, not work that was handed in", fix=fix)
    roster = None
    if settings.roster is not None:  # a column of the assignment's own marks may excuse from it
        roster = Roster.read(settings.roster, assignment.name, assignment.title if assignment.name else "")
    notes = NoteList()
    known: dict[str, str] = {}
    if gradebook_in(settings.out).is_file():
        with Gradebook.open_existing(settings.out) as book:
            known = book.people(course.name)
            book.assignment = assignment.name
            if roster is None and (students := book.newest_class_list(course.name)):
                roster = Roster(students, book.path)
    sources = find_submissions(
        settings.paths,
        topics_of(course),
        skip=settings.out,
        roster=roster,
        note=notes.add,
        known_people=known,
        assignment=assignment.name,
    )
    notes.print()
    return sources, roster


def _require_one_assignment(
    book: Gradebook, course: Course, options: WorkerOptions, late: LatePolicy, roster: Roster | None
) -> None:
    """Refuses to grade exercises with another due date, or other groups, than other exercises in the same folder have.

    Raises:
        UserError: these are two assignments, and the course declares none.
    """
    every = {exercise.full_name for exercise in course.all_exercises}
    graded: dict[str, LatePolicy] = {}
    for run in book.runs():
        if run.course == course.name and not run.trial and not run.assignment:
            policy = replace(book.policy(run.id), zone=late.zone)
            graded |= dict.fromkeys(book.exercises_of(run.id) or every, policy)
    others = {name: policy for name, policy in graded.items() if name not in (options.exercises or every)}
    if not others:
        return
    before = {student.name: student.group for student in book.class_list(course.name)}
    students = roster.students if roster else ()
    regrouped = [one.name for one in students if before.get(one.name, one.group) != one.group]
    name, policy = next(((name, one) for name, one in others.items() if one != late), ("", late))
    if name or regrouped:
        what = f"other groups (as of {one_line(regrouped[0])})" if not name else f"{late}, but {name} has: {policy}"
        fix = "declare [[assignments]] in course.toml (see docs/instructor.md), or name another folder: --out DIR"
        raise UserError(f"{book.path} holds other exercises, whose marks would change with it: {what}", fix=fix)


def _late_of(assignment: Assignment, settings: ClassSettings, book: Gradebook) -> tuple[LatePolicy, dict[str, Any]]:
    """The cost of late work, and the options of this and earlier command lines, to be kept for later runs."""
    options = settings.late.after(book.late_given())
    policy = options.policy(assignment.late)
    if not to_builtins(settings.late) and policy != assignment.late:
        print_note(f"late work as in earlier runs: {policy} (--due none: nothing is late; --due course: course.toml)")
    return replace(policy, zone=local_zone()), to_builtins(options)


def _start_run(
    book: Gradebook,
    course: Course,
    assignment: Assignment,
    options: WorkerOptions,
    *,
    found: Sequence[tuple[str, str]],
    **more: Any,
) -> int:
    """Records that a run begins; see `Gradebook.start_run`."""
    return book.start_run(
        course.name,
        content_hash(course),
        options.seed,
        selection(options),
        versions(),
        exercises=assignment.exercises,
        resubmissions=assignment.resubmissions,
        expected=len(found),
        found=found,
        plan=course.plan,
        **more,
    )


@dataclass(frozen=True)
class _ClassRun:
    """A run over a class, which has begun."""

    course: Course
    assignment: Assignment
    options: WorkerOptions
    graders: Graders
    book: Gradebook
    run: int
    is_again: bool

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The exercises of other assignments that these need: work that is not in this upload holds up nothing."""
        own = set(self.assignment.exercises)
        return tuple(name for name in self.options.exercises if self.assignment.name and name not in own)

    def _of_another(self, submission: Submission) -> Iterator[Unread]:
        """The topics of the assignment, if an upload to a platform has files of other assignments only: by a slip.

        A folder of one's own has the work of all weeks, and is none.
        """
        own = {name.partition(".")[0] for name in self.assignment.exercises}
        others = {f"{topic.name}.py" for topic in self.course.topics if topic.name not in own}
        if self.assignment.name and submission.arrival.lms and submission.files and others >= submission.files.keys():
            other = min(submission.files)
            known = {one.topic for one in submission.unread}
            for topic in sorted(own - known):
                yield Unread(topic, f"{topic}.py is not there, but {other} of another assignment is")

    def record_new(self, reader: Reader, sources: Sequence[Source]) -> bool:
        """Grades and records the submissions that the gradebook does not have yet; whether it was interrupted."""
        with _calling_on_interrupt(self.graders.stop), progress(len(sources)) as advance:
            for graded in self.graders.results_of(self._new(map(reader.read, sources), advance)):
                self.book.record(self.run, graded.result, graded.digest, graded.seconds)
                if graded.fault:
                    failed = "failed" if graded.was_read else "failed to read it"
                    print_note(f"{graded.result.submission}: the grader itself {failed}: {graded.fault}")
                advance()
            return self.graders.stopped

    def _new(
        self, found: Iterable[Submission | Unreadable], advance: Callable[[], None]
    ) -> Iterator[Submission | Unreadable]:
        """The submissions without a result that can be reused; takes that of the others, and calls `advance`."""
        course_hash = content_hash(self.course)
        for submission in found:
            if self.graders.stopped:
                return
            if isinstance(submission, Unreadable):
                yield submission
                continue
            granted = self.book.granted(self.course.name, submission.name, submission.arrival.student)
            unread = (*submission.unread, *self._of_another(submission))
            submission = replace(submission, granted=(*granted, *self.elsewhere), unread=unread)
            work = digest(submission)
            self.book.record_arrival(self.run, submission, work)
            same = (submission.name, work, course_hash, self.options.seed, selection(self.options))
            earlier = None if self.is_again else self.book.lookup(*same)
            is_reused = earlier is not None and still_holds(earlier, submission, self.course)
            if is_reused and self.book.lookup(*same, reuse_in=self.run) is not None:
                advance()
            else:
                yield submission


@contextlib.contextmanager
def _calling_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """While it lasts, the first signal calls `stop` and goes on; a second one raises KeyboardInterrupt."""

    def handle(number: int, frame: FrameType | None) -> None:
        for again in _SIGNALS:
            signal.signal(again, signal.default_int_handler)
        stop()

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


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
    for exercise in result.exercises:
        has_waited = any(check.verdict == "blocked" for check in exercise.checks)
        causes = [check.cause for check in exercise.checks if check.verdict in _RAN]
        has_run = any(cause is None or cause.stage == "check" for cause in causes)
        # Of a topic without a file that can be imported, nothing was asked.
        if (has_waited or has_run) and has_waited != bool(needs.get(exercise.name, set()) - met):
            return False
    return True


def regrade(
    course: Course,
    out: Path,
    student: str,
    names: Sequence[str],
    agreed: Callable[[], bool],
    changed_limits: Mapping[str, Any] = MappingProxyType({}),
    devices: Devices | None = None,
    assignment: str | None = None,
) -> Iterator[str]:
    """Grades the kept work of one student again: yields the difference, and if the result counts, the marks.

    Each exercise is graded with the work that it was graded with.

    Args:
        names: topics or exercises; empty means all that are graded.
        agreed: asks whether the new result counts; called only if there is a difference. If so, it is recorded.
        changed_limits: fields of `Limits` that differ from those of the run that is repeated.
        devices: None means those of that run.
        assignment: the one whose work it is; None: the only one.

    Raises:
        UserError: no such student, exercise or assignment, work that is not kept, or differing work of a group.
    """
    with Gradebook.open_existing(out) as book:
        book.require_course(course.name)
        book.use_plan(course.plan)
        book.choose(assignment)
        if course.assignments and not book.assignment:
            fix = "grade once more by assignment: grader grade PATH --assignment NAME"
            raise UserError(f"{book.path} is from before the course declared assignments", fix=fix)
        row = row_of(list(book.results()), student)
        if row.differing:
            fix = "decide whose work counts, and grade that upload again: grader grade PATH"
            raise UserError(row.differing, fix=fix)
        find_sandbox(1, no_sandbox=False)
        graded = {one.name for one in row.result.exercises}
        wanted = graded.intersection(course.with_needs(course.select(names))) if names else graded
        if not wanted:
            raise UserError(f"nothing of {', '.join(names)} is graded for {student}", fix="grade it: grader grade PATH")
        again = [
            _grade_again(book, course, row, part, wanted, changed_limits, devices)
            for part in reversed(row.parts)
            if wanted.intersection(part.exercises)
        ]
        changes: list[Move] = []
        for one in again:
            names_of_it = {exercise.name for exercise in one.graded.result.exercises}
            before = replace(row, result=row.result.of_exercises(names_of_it))
            changes += compare([before], [replace(row, result=one.graded.result)])
        if not changes:
            yield f"{row.result.submission}: the same points as before: {marks(row)}"
            return
        for move in changes:
            points = ("not graded" if value is None else f"{value:g}" for value in (move.before, move.after))
            yield f"{move.exercise}: {' → '.join(points)}"
        if not agreed():
            yield "nothing was changed"
            return
        every = course.plan.assignments
        whole = next((one for one in every if one.name == book.assignment), every[0])
        runs = []
        for one in again:  # the newest work last: it says when the work came
            found = [(one.submission.name, one.submission.arrival.student)]
            late = book.policy(one.part.run)
            runs.append(_start_run(book, course, whole, one.options, found=found, late=late))
            book.record_arrival(runs[-1], one.submission, one.part.digest)
            book.record(runs[-1], one.graded.result, one.part.digest, one.graded.seconds)
            book.finish_run(runs[-1])
        after = row_of(list(book.results()), student)
        made = f"run {listed([str(run) for run in runs], len(runs))}"
        yield f"{row.result.submission}: {marks(row)} before, {marks(after)} now ({made})"


@dataclass(frozen=True)
class _GradedAgain:
    """A work that was graded again."""

    part: Older
    options: WorkerOptions
    submission: Submission
    graded: Graded


def _grade_again(
    book: Gradebook,
    course: Course,
    row: Row,
    part: Older,
    wanted: Collection[str],
    changed_limits: Mapping[str, Any],
    devices: Devices | None,
) -> _GradedAgain:
    """Grades the exercises of one work again, those of other works aside.

    Raises:
        UserError: its files are not kept, or the grader itself failed.
    """
    name = row.result.submission
    files, said = book.kept_work(part.digest)
    if not files and not said:
        raise UserError(f"{book.path} has no files of {name}", fix="grade the upload again: grader grade PATH")
    kept = read_selection(book.selection(part.run))
    exercises = tuple(one for one in part.exercises if one in wanted)
    settings = GradingSettings(
        seed=book.keep_seed(),
        limits=replace(kept.limits, **changed_limits),
        pictures=pictured(course),
        devices=devices or kept.devices,
    )
    options = worker_options(course, settings, exercises)
    met = {one.name for one in row.result.exercises if one.meets_needs and one.name not in part.exercises}
    own = {one.name for one in row.result.exercises}
    beside = met.union(name for name in options.exercises if name not in own) if book.assignment else met
    notes = tuple(Note(*line.split(": ", 1)) if ": " in line else Note("./", line) for line in said)
    granted = (*book.granted(course.name, name, row.arrival.student), *sorted(beside))
    arrival = replace(part.arrival, student=row.arrival.student)
    submission = Submission(name, files, notes, arrival, row.result.unread, granted)
    with LocalWorkers(course, options) as workers:
        graded = workers.grade(submission)
    if graded.fault:
        raise UserError(f"the grader itself failed: {graded.fault}", fix="nothing was changed")
    result = graded.result.of_exercises(part.exercises)
    return _GradedAgain(part, options, submission, replace(graded, result=result))
