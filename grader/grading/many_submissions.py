"""What `grader grade` does: find, read, have graded, record at once, report.

Decides nothing about a submission: every verdict comes from a worker. Never grades again what the gradebook has.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec

from grader.course import Course, content_hash
from grader.course.due import LatePolicy, read_due, read_penalty
from grader.errors import UserError
from grader.gradebook import Gradebook, Row, selection_key
from grader.grading.local_workers import Crew, Graded, grade_all
from grader.grading.one_submission import INTERRUPTED, Settings, Tally, exercises_of, worker_options
from grader.grading.protocol import WorkerOptions
from grader.intake.find import find_submissions
from grader.intake.roster import Roster
from grader.intake.submission import Ready, Source, digest
from grader.machine import versions
from grader.reports.jsonl import write_jsonl
from grader.text import clean, points

_LINES = 20


class ClassSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What `grader grade` was told besides.

    Attributes:
        dask: address of a Dask scheduler; then `jobs` does not count.
        trial: the results are kept as a run that no report shows.
    """

    paths: tuple[Path, ...]
    out: Path
    jobs: int
    dask: str | None = None
    again: bool = False
    trial: bool = False
    roster: Path | None = None
    due: str | None = None
    late_penalty: float | None = None


def grade_class(told: ClassSettings, settings: Settings) -> int:
    """Grades every submission at the paths into the gradebook under `out`, prints the table, returns the exit code.

    Raises:
        UserError: no such course, names or submissions, or an unusable gradebook, roster or cluster.
    """
    from grader.reports.progress import progress

    course = Course.load(settings.course)
    options = worker_options(course, settings, settings.names)
    policy = late_policy(course, told.due, told.late_penalty)
    roster = None if told.roster is None else Roster.read(told.roster)
    asides = Asides()
    sources = find_submissions(told.paths, exercises_of(course), skip=told.out, roster=roster, tell=asides.say)
    asides.end()
    hashed = content_hash(course)
    key = selection_key(options.exercises, _told_apart(options))
    with contextlib.ExitStack() as ending:
        graders = ending.enter_context(_graders(told, course, hashed, options))
        book = ending.enter_context(Gradebook.open(told.out / "gradebook.sqlite", keep_damaged_aside=True))
        if book.set_aside is not None:
            _warn(
                f"the gradebook was damaged; it is kept as {book.set_aside}, and a new one begins: all is graded again"
            )
        run = book.start_run(
            *(course.name, hashed, options.seed, key, versions()),
            expected=len(sources),
            late=policy,
            trial=told.trial,
        )

        def unknown() -> Iterator[Source]:
            for source in sources:
                if graders.stopped:
                    return
                try:
                    submission = source.read()
                except Exception:  # The crew makes an `error` of it, loudly.
                    yield source
                    continue
                content = digest(submission)
                book.arrive(run, submission, content)
                if not told.again and book.lookup(source.name, content, hashed, options.seed, key, reuse_in=run):
                    advance()
                    continue
                yield Ready(submission)

        with _interruptible(graders.stop) as interrupted, progress(len(sources)) as advance:
            for graded in graders.grade_all(unknown()):
                book.record(run, graded.result, graded.digest, graded.seconds)
                advance()
        if interrupted():
            done = sum(1 for _ in book.results(run))
            _warn(f"interrupted: {done} of {len(sources)} are graded and kept; the same command goes on")
            return INTERRUPTED
        book.finish_run(run)
        return _report(book, run, told, settings)


def _told_apart(options: WorkerOptions) -> dict[str, object]:
    """The settings that make it another grading; simulated devices are not named, as in older gradebooks."""
    devices = {} if options.devices == "simulated" else {"devices": options.devices}
    return {"limits": options.limits, **devices}


class _Graders(Protocol):
    """Who grades: processes of this machine, or a cluster."""

    stopped: bool

    def stop(self) -> None: ...

    def grade_all(self, sources: Iterable[Source]) -> Iterator[Graded]: ...


class _Local(Crew):
    def __init__(self, course: Course, options: WorkerOptions, jobs: int) -> None:
        super().__init__(course, options)
        self._jobs = jobs

    def grade_all(self, sources: Iterable[Source]) -> Iterator[Graded]:
        return grade_all(sources, self, self._jobs)


@contextlib.contextmanager
def _graders(told: ClassSettings, course: Course, hashed: str, options: WorkerOptions) -> Iterator[_Graders]:
    if told.dask is None:
        yield _Local(course, options, told.jobs)
        return
    from grader.grading.dask_cluster import Cluster

    with Cluster(told.dask, course, hashed, options, _warn) as cluster:
        yield cluster


def late_policy(course: Course, due: str | None, penalty: float | None) -> LatePolicy:
    """The course's, unless the command line says otherwise.

    Raises:
        UserError: a date or a fraction that is none.
    """
    try:
        return LatePolicy(
            course.late.due if due is None else read_due(due),
            course.late.per_day if penalty is None else read_penalty(penalty),
        )
    except ValueError as problem:
        raise UserError(f"late work: {problem}", fix="for example: --due 2026-10-31T23:59 --late-penalty 0.1") from None


def _report(book: Gradebook, run: int, told: ClassSettings, settings: Settings) -> int:
    from grader.reports.terminal import make_console, show_class

    table = told.out / "results.jsonl"
    if not told.trial:
        try:
            write_jsonl((row.result for row in book.results(run)), table)
        except OSError as problem:
            raise UserError(f"{table}: {problem.strerror}", fix="the results are safe in the gradebook") from problem
    tally = Tally(settings.fail_under)
    asides = Asides("; all of them: grader status --notes")
    show_class(_noting(tally.over(book.results(run)), asides), make_console())
    sys.stdout.flush()
    asides.end()
    if tally.missing_layers:
        print(f"sandbox without: {', '.join(sorted(tally.missing_layers))} (see: grader doctor)")
    print(f"gradebook: {book.path}")
    if told.trial:
        print(
            f"run {run} was a trial: no report or export shows it; compare it: grader diff RUN {run} --out {told.out}"
        )
    else:
        print(f"results:   {table}")
    return tally.code


def _noting(rows: Iterable[Row], asides: Asides) -> Iterator[Row]:
    for row in rows:
        for note in row.notes:
            asides.say(f"{row.result.submission}: {note}", urgent=row.result.score == 0)
        for exercise in row.result.exercises:
            # It takes the points from the total, and a submission can bring it about: somebody has to look at it.
            if any(check.cause and check.cause.kind == "not_simulated" for check in exercise.checks):
                line = f"{row.result.submission}: {exercise.name} was skipped for what it uses: have a look at the code"
                asides.say(f"{line}, or grade it where there is a GPU", urgent=True)
        if row.late is not None:
            marks = f"{points(row.score, row.max)} before, {points(round(row.final, 4), row.max)} after"
            asides.say(f"{row.result.submission}: {row.late}; {marks}")
        yield row


class Asides:
    """Lines for stderr: the urgent ones first, then as many as there is room for, of the rest only the number."""

    def __init__(self, rest: str = "") -> None:
        self._rest = rest
        self._urgent: list[str] = []
        self._others: list[str] = []
        self._count = 0

    def say(self, line: str, urgent: bool = False) -> None:
        """Keeps a line until the end."""
        self._count += 1
        kept = self._urgent if urgent else self._others
        if len(kept) < _LINES:
            kept.append(line)

    def end(self) -> None:
        """Prints them."""
        shown = [*self._urgent, *self._others][:_LINES]
        for line in shown:
            _warn(line)
        if self._count > len(shown):
            _warn(f"{self._count - len(shown)} more like these{self._rest}")


def _warn(line: str) -> None:
    print(f"note: {clean(line)}".replace("\n", " "), file=sys.stderr)


@contextlib.contextmanager
def _interruptible(stop: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Ctrl-C or SIGTERM calls `stop`, so that what is done is kept; a second one interrupts at once."""
    seen: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        for again in before:
            signal.signal(again, signal.default_int_handler)
        stop()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, handle)
    try:
        yield lambda: bool(seen)
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
