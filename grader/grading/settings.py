"""The settings of `grader check` and `grader grade`, and what they mean for workers, for late work and for intake."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grader.course import Course
from grader.course.assignments import Assignment
from grader.course.definitions import defined_names, lines_in
from grader.course.due import LatePolicy, read_due, read_fraction, read_minutes, read_penalty
from grader.course.handout import handed_out_text
from grader.course.model import files_below
from grader.errors import UserError
from grader.gradebook import selection_key
from grader.grading.protocol import WorkerOptions
from grader.intake.topics import Topics, fingerprint
from grader.machine import Devices, resolve_devices
from grader.sandbox.limits import Limits
from grader.student import engine

NONE, COURSE, FILE_TIME, KNOWN = "none", "course", "file-time", "known"


class LateOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options about late work; None if an option was not given.

    Attributes:
        due: a time, ``none``, or ``course``: as course.toml says, and all that was kept is forgotten.
        per_day: fraction of the points that is lost a day.
        grace: minutes.
        cap: the largest fraction of the points that is lost.
        until: a time after which nothing counts, or ``none``.
        by: ``file-time``: the times of files say when work came; ``known``: they do not.
    """

    due: str | None = None
    per_day: float | None = None
    grace: float | None = None
    cap: float | None = None
    until: str | None = None
    by: str | None = None

    def after(self, kept: Mapping[str, Any]) -> "LateOptions":
        """The options from now on, to be kept for later runs: these, then those of earlier runs."""
        if self.due == COURSE:
            return msgspec.structs.replace(self, due=None)
        return msgspec.convert({**kept, **msgspec.to_builtins(self)}, LateOptions)

    def policy(self, course: LatePolicy) -> LatePolicy:
        """The course's policy, except for these options.

        Raises:
            UserError: a date or a number that is not valid.
        """
        try:
            policy = LatePolicy(
                due=_time(self.due, course.due),
                per_day=course.per_day if self.per_day is None else read_penalty(self.per_day),
                grace_minutes=course.grace_minutes if self.grace is None else read_minutes(self.grace),
                cap=course.cap if self.cap is None else read_fraction(self.cap),
                until=_time(self.until, course.until),
                by_file_time=course.by_file_time if self.by is None else self.by == FILE_TIME,
            )
            if self.by not in (None, KNOWN, FILE_TIME):
                raise ValueError(f"{self.by!r} is neither {KNOWN} nor {FILE_TIME}")
            if policy.due and policy.until and policy.until < policy.due:
                raise ValueError("the last date is before the due date")
        except ValueError as problem:
            example = "--due 2026-10-31T23:59 --late-penalty 0.1"
            raise UserError(f"late work: {problem}", fix=f"for example: {example}") from None
        return policy


class GradingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How submissions are graded.

    Attributes:
        names: topics or exercises; empty means all.
        seed: varies the generated inputs; None means 0 for one submission, and the gradebook's secret seed for a class.
        limits: of seconds and bytes for each submission.
        pictures: full names of the exercises whose pictures are made if they pass.
        devices: the kind of devices for checks that want GPUs.
        fail_under: percentage of the points below which the exit code is 1; None if any check that fails makes it 1.
        skipped_ok: whether points that are not assessed do not count as missing for that.
    """

    names: tuple[str, ...] = ()
    seed: int | None = None
    fail_under: float | None = None
    skipped_ok: bool = False
    limits: Limits = Limits()
    pictures: tuple[str, ...] = ()
    devices: Devices = "simulated"


class ClassSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which submissions of a class are graded, where, and with which options.

    Attributes:
        paths: submissions, folders of them, LMS downloads.
        out: the folder of gradebook and results.
        jobs: submissions at a time on this machine.
        dask: address of a Dask scheduler; then `jobs` does not count.
        again: whether unchanged submissions are graded again.
        trial: the results are kept as a run that no report shows.
        roster: a CSV file with names for ids.
        late: the command line's options about late work.
        no_sandbox: whether work of others may be graded if there is no sandbox at all.
        assignment: the name of the one that is graded; None: the only one that has what is graded.
    """

    paths: tuple[Path, ...]
    out: Path
    jobs: int
    dask: str | None = None
    again: bool = False
    trial: bool = False
    roster: Path | None = None
    late: LateOptions = LateOptions()
    no_sandbox: bool = False
    assignment: str | None = None


def assignment_of(course: Course, name: str | None, only: Sequence[str]) -> Assignment:
    """The assignment that is graded: the named one, else the only one that has the exercises in `only`.

    Raises:
        UserError: there is no such assignment, none or several have these exercises, or the named one has not.
    """
    if name is None:
        return course.assignment_with(only)
    plan, found = course.plan, course.plan.named(name)
    for one in course.select(only) if only else ():
        if one not in found.exercises:
            there = ", ".join(of.name for of in plan.of([one])) or "none"
            raise UserError(f"{one} is not in the assignment `{name}`", fix=f"it is in: {there}")
    return found


def topics_of(course: Course) -> Topics:
    """The names and definitions by which intake recognises the files of a course."""

    def content(file: Path) -> bytes:
        """The bytes of a course's file; none if it was handed out without it."""
        return file.read_bytes() if file.is_file() else b""

    suite = course.suite
    modules = [topic for topic in course.modules if not topic.is_package]
    exercises = {topic.name: frozenset(exercise.name for exercise in topic.exercises) for topic in modules}
    stubs = {name: content(course.stub_file(name)) for name in exercises}
    packages: frozenset[str] = frozenset()
    if suite is not None:  # an exercise may be a group of tests, which no file defines
        exercises = {name: own & {*defined_names(lines_in(stubs[name]))} for name, own in exercises.items()}
        packages = frozenset(filter(suite.is_package, suite.names))
        beside = {name: course.exercises_dir / f"{name}.py" for name in suite.names if name not in packages}
        stubs |= {name: content(file) for name, file in beside.items() if file.is_file()}
        for name in packages:
            stubs |= {label: content(file) for label, file in files_below(course.exercises_dir / name, name)}
    answers = [file(name) for name in exercises for file in (course.solution_file, course.misconceptions_file)]
    return Topics(
        frozenset(exercises),
        exercises,
        frozenset(one.file for one in course.manual if one.file),
        stubs,
        frozenset(fingerprint(content(file)) for file in answers),
        frozenset(one.work_file for one in course.manual if not one.file),
        {one.file: content(course.template_file(one)) for one in course.manual if one.file},
        tuple(handed_out_text(course, topic) for topic in course.modules) if course.manual else (),
        packages=packages,
        homes={f"{own.rpartition('.')[2]}.py": f"{own.replace('.', '/')}.py" for own in suite.modules} if suite else {},
    )


def worker_options(course: Course, settings: GradingSettings, names: Sequence[str]) -> WorkerOptions:
    """The options of workers that grade the exercises in `names` and those that they need; no names mean all.

    Raises:
        UnknownName: the course has no such topic or exercise.
        UserError: real devices are wanted and there are none.
    """
    asked = course.select(names) if names else ()
    exercises = course.with_needs(asked) if names else ()
    return WorkerOptions(
        course=None if course.is_shipped else str(course.root),  # another machine may have that in another place
        exercises=exercises,
        needed=tuple(name for name in exercises if name not in asked),
        seed=settings.seed or 0,
        limits=settings.limits,
        pictures=settings.pictures,
        devices=resolve_devices(settings.devices),
    )


def selection(options: WorkerOptions) -> str:
    """A text that is equal for two runs with the same exercises and the same settings that results depend on."""
    settings = {"limits": msgspec.to_builtins(options.limits), "devices": options.devices}
    settings |= {"needed": options.needed} if options.needed else {}
    return selection_key(options.exercises, settings)


class Selection(msgspec.Struct, frozen=True):
    """What `selection` says of a run."""

    exercises: tuple[str, ...]
    limits: Limits
    devices: Devices


def read_selection(text: str) -> Selection:
    """The settings of a run, as its gradebook keeps them."""
    return msgspec.json.decode(text, type=Selection)


def find_sandbox(count: int, *, no_sandbox: bool) -> bool:
    """Whether there is a sandbox here.

    Args:
        count: how many submissions are to be graded; one alone may be one's own.
        no_sandbox: whether several may be graded without.

    Raises:
        UserError: there is none, and grading the work of others without one was not allowed.
    """
    if engine.choose().engine == "forked":
        return True
    if count > 1 and not no_sandbox:
        fix = "grade on Linux; or, if you would run all of this code yourself, add --no-sandbox"
        raise UserError("there is no sandbox on this system: submissions could read and change your files", fix=fix)
    return False


def _time(text: str | None, otherwise: Any) -> Any:
    return otherwise if text is None else None if text == NONE else read_due(text)
