"""The settings of `grader check` and `grader grade`, and the part of them that workers get."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course import Course
from grader.grading.late_options import LateOptions
from grader.grading.protocol import WorkerOptions
from grader.intake.topics import Topics, fingerprint
from grader.machine import Devices, resolve_devices
from grader.sandbox.limits import Limits


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
        late: the command line's options about late work; see `grader.grading.late_options`.
        no_sandbox: whether work of others may be graded if there is no sandbox at all.
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


def topics_of(course: Course) -> Topics:
    """The names and definitions by which intake recognises the files of a course."""
    modules = course.modules
    exercises = {topic.name: frozenset(exercise.name for exercise in topic.exercises) for topic in modules}
    return Topics(
        frozenset(exercises),
        exercises,
        frozenset(one.file for one in course.manual if one.file),
        {topic.name: _content(course.stub_file(topic.name)) for topic in modules},
        frozenset(
            fingerprint(_content(file))
            for topic in modules
            for file in (course.solution_file(topic.name), course.misconceptions_file(topic.name))
        ),
    )


def _content(file: Path) -> bytes:
    """The bytes of a course's file; none if it was handed out without it."""
    return file.read_bytes() if file.is_file() else b""


def course_option(course: Course) -> str | None:
    """The course as a worker's options name it: another machine may have the shipped course in another place."""
    return None if course.is_shipped else str(course.root)


def worker_options(course: Course, settings: GradingSettings, names: Sequence[str]) -> WorkerOptions:
    """The options of workers that grade the exercises in `names` and those that they need; no names mean all.

    Raises:
        UnknownName: the course has no such topic or exercise.
        UserError: real devices are wanted and there are none.
    """
    exercises = course.with_needs(course.select(names)) if names else ()
    return WorkerOptions(
        course=course_option(course),
        exercises=exercises,
        seed=settings.seed or 0,
        limits=settings.limits,
        pictures=settings.pictures,
        devices=resolve_devices(settings.devices),
    )


def settings_that_matter(options: WorkerOptions) -> dict[str, object]:
    """The settings that a result depends on."""
    return {"limits": msgspec.to_builtins(options.limits), "devices": options.devices}
