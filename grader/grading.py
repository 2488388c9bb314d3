"""What `grader check` and `grader grade` do: read, have it graded, record, report, and say how it went as an exit code.

Decides nothing about a submission: every verdict comes from a worker.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType

import msgspec

from grader.course import Course, content_hash
from grader.errors import UserError
from grader.gradebook import Gradebook, Row, selection_key
from grader.intake.folder import FileSource, find_submissions, open_submission
from grader.intake.submission import Source, digest
from grader.isolation.protocol import WorkerOptions
from grader.isolation.sandbox import _full_set as full_set
from grader.pool import Crew, Graded, grade_all
from grader.reports import clean
from grader.reports.jsonl import write_jsonl
from grader.results import SubmissionResult, to_json
from grader.workers import Worker

PASSED, FAILED, INTERRUPTED, FAULT, USAGE = range(5)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the commands that grade were told; ``names`` are topics or exercises, none means all."""

    names: tuple[str, ...] = ()
    course: Path | None = None
    seed: int = 0
    fail_under: float | None = None
    limits: dict[str, float]


def check_one(worker: Worker, path: Path, settings: Settings, as_json: bool) -> int:
    """Grades the submission at `path` with a worker that is starting already, prints how it went, returns the code.

    Raises:
        UserError: no such course, names or submission.
    """
    course = Course.load(settings.course)
    source = open_submission(path, [topic.name for topic in course.topics])
    names = settings.names
    if isinstance(source, FileSource) and not names and source.topic:
        names = (source.topic,)
    crew = Crew(course, _options(course, settings, names), first=worker)
    try:
        if as_json:
            graded = crew.grade(source)
            print(to_json(graded.result).decode(), flush=True)
            for note in graded.notes:
                print(f"note: {clean(note)}", file=sys.stderr)
        else:
            with _importing_meanwhile():
                graded = crew.grade(source)
            _show(graded, course)
    except BaseException:
        crew.stop()
        raise
    finally:
        crew.close()
    return exit_code([graded.result], settings.fail_under)


def grade_class(paths: Sequence[Path], out: Path, jobs: int, again: bool, settings: Settings) -> int:
    """Grades every submission at `paths` into the gradebook under `out`, prints the table, returns the exit code.

    Raises:
        UserError: no such course, names or submissions, or an unusable gradebook.
    """
    from grader.reports.progress import progress
    from grader.reports.terminal import make_console, show_class

    course = Course.load(settings.course)
    options = _options(course, settings, settings.names)
    sources = find_submissions(paths, [topic.name for topic in course.topics], skip=out)
    hashed = content_hash(course)
    key = selection_key(options.exercises, {"limits": options.limits})
    with Gradebook.open(out / "gradebook.sqlite") as book:
        run = book.start_run(course.name, hashed, options.seed, key, _versions())
        crew = Crew(course, options)

        def unknown() -> Iterator[Source]:
            for source in sources:
                if not again:
                    submission = source.read()
                    if book.lookup(source.name, digest(submission), hashed, options.seed, key, reuse_in=run):
                        advance()
                        continue
                yield source

        with _interruptible(crew.stop) as interrupted, progress(len(sources)) as advance:
            for graded in grade_all(unknown(), crew, min(jobs, len(sources))):
                book.record(run, graded.result, graded.digest, graded.seconds)
                advance()
        if interrupted():
            done = sum(1 for _ in book.results(run))
            print(
                f"interrupted: {done} of {len(sources)} are graded and kept; the same command goes on", file=sys.stderr
            )
            return INTERRUPTED
        table = out / "results.jsonl"
        try:
            write_jsonl((row.result for row in book.results(run)), table)
        except OSError as problem:
            raise UserError(f"{table}: {problem.strerror}", fix="the results are safe in the gradebook") from problem
        verdict = _Tally(settings.fail_under)
        show_class(verdict.over(book.results(run)), make_console())
    if verdict.missing_layers:
        print(f"sandbox without: {', '.join(sorted(verdict.missing_layers))} (see: grader doctor)")
    print(f"gradebook: {book.path}\nresults:   {table}")
    return verdict.code


def exit_code(results: Iterable[SubmissionResult], fail_under: float | None) -> int:
    """0 all passed, 1 some failed (`fail_under`: only if a score is below that percentage), 3 a fault of the grader."""
    tally = _Tally(fail_under)
    for result in results:
        tally.add(result)
    return tally.code


class _Tally:
    """The exit code of results that pass by one after another."""

    def __init__(self, fail_under: float | None) -> None:
        self.code = PASSED
        self.missing_layers: set[str] = set()
        self._fail_under = fail_under

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self.add(row.result)
            yield row

    def add(self, result: SubmissionResult) -> None:
        if "error" in result.verdicts:
            self.code = FAULT
            return
        self.missing_layers.update(_missing_layers(result))
        if self.code != FAULT and self._fails(result):
            self.code = FAILED

    def _fails(self, result: SubmissionResult) -> bool:
        if self._fail_under is None:
            return not result.verdicts <= {"passed", "skipped"}
        # Nothing assessed is not known to be enough.
        return result.max <= 0 or 100 * result.score < self._fail_under * result.max - 1e-9


def _options(course: Course, settings: Settings, names: Sequence[str]) -> WorkerOptions:
    exercises = _with_needs(course, course.select(names)) if names else ()
    topics = dict.fromkeys(name.partition(".")[0] for name in exercises)
    return WorkerOptions(
        course=None if settings.course is None else str(course.root),
        exercises=exercises,
        seed=settings.seed,
        limits=settings.limits,
        topics=tuple(topics),
    )


def _with_needs(course: Course, wanted: Iterable[str]) -> tuple[str, ...]:
    """The exercises and all that they need, in course order."""
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += course.exercise(name).needs
    return tuple(exercise.full_name for exercise in course.exercises if exercise.full_name in found)


def _show(graded: Graded, course: Course) -> None:
    from grader.reports.terminal import make_console, show_submission

    show_submission(graded.result, course, make_console(), graded.notes, _missing_layers(graded.result))


def _missing_layers(result: SubmissionResult) -> list[str]:
    """The layers of a full sandbox that the submission was graded without."""
    full = full_set() or ("all layers",)
    return [layer for layer in full if layer not in result.sandbox]


@contextlib.contextmanager
def _importing_meanwhile() -> Iterator[None]:
    """Imports what printing needs while the worker is busy."""
    import threading

    thread = threading.Thread(target=lambda: __import__("grader.reports.terminal"), daemon=True)
    thread.start()
    yield
    thread.join()


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


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in ("torchkata", "torch", "hypothesis", "pytest"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
