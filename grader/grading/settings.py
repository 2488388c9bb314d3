"""The settings of `grader check` and `grader grade`, and the part of them that workers get."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course import Course
from grader.grading.late_options import LateOptions
from grader.grading.protocol import WorkerOptions
from grader.intake.topics import Topics
from grader.machine import Devices, resolve_devices
from grader.sandbox.limits import Limits


class GradingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How submissions are graded.

    Attributes:
        names: topics or exercises; none means all.
        seed: varies the generated inputs; None: 0 for one submission, for a class its gradebook's own, secret one.
        limits: what each submission may use: seconds and bytes.
        devices: what checks that want GPUs get.
        fail_under: percentage of the points below which the exit code is 1; None: any check that fails makes it 1.
        skipped_ok: whether points that are not assessed do not count as missing for that.
    """

    names: tuple[str, ...] = ()
    seed: int | None = None
    fail_under: float | None = None
    skipped_ok: bool = False
    limits: Limits = Limits()
    devices: Devices = "simulated"


class ClassSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which submissions are graded, where, and what else belongs to a class.

    Attributes:
        paths: submissions, folders of them, LMS downloads.
        out: the folder of gradebook and results.
        jobs: submissions at a time on this machine.
        dask: address of a Dask scheduler; then `jobs` does not count.
        again: grade also what the gradebook has already.
        trial: the results are kept as a run that no report shows.
        roster: a CSV file with names for ids.
        late: what the command line says about late work; see `grader.grading.late_options`.
        no_sandbox: whether work of others may be graded where there is no sandbox at all.
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
    """What intake recognises the files of a course by."""
    modules = course.modules
    exercises = {topic.name: frozenset(exercise.name for exercise in topic.exercises) for topic in modules}
    return Topics(frozenset(exercises), exercises, frozenset(one.file for one in course.manual if one.file))


def course_option(course: Course) -> str | None:
    """The course as a worker's options name it: another machine may have the shipped course in another place."""
    return None if course.is_shipped else str(course.root)


def worker_options(course: Course, settings: GradingSettings, names: Sequence[str]) -> WorkerOptions:
    """The options of workers that grade the exercises in `names` and what these need; no names mean all.

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
        devices=resolve_devices(settings.devices),
    )


def settings_that_matter(options: WorkerOptions) -> dict[str, object]:
    """The settings that a result depends on."""
    return {"limits": msgspec.to_builtins(options.limits), "devices": options.devices}
