"""Grading from Python: ``from grader import Course, grade``. Writes no file; for a gradebook there is `grader grade`.

Makes no verdict: every verdict comes from a worker, as for the commands.
"""

import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader.course import Course
from grader.gradebook.book import MAX_SEED
from grader.grading.local_workers import LocalWorkers
from grader.grading.settings import GradingSettings, find_sandbox, topics_of, worker_options
from grader.intake.find import find_submissions
from grader.intake.reader import Reader
from grader.machine import Devices, cores
from grader.reports.feedback import worst
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

AnyPath = str | os.PathLike[str]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The results of `grade`: iterate over them, or take one by its number or its submission's name.

    Attributes:
        submissions: one for each submission, in the order of their names.
        seed: the seed of the generated inputs; with the same one, the same work gets the same result.
        notes: why something of a submission was left out, by its name.
        faults: how the grader itself failed, by submission; empty, unless something is wrong with it or the course.
    """

    submissions: tuple[SubmissionResult, ...]
    seed: int
    notes: dict[str, tuple[str, ...]] = {}
    faults: dict[str, str] = {}

    def __iter__(self) -> Iterator[SubmissionResult]:
        return iter(self.submissions)

    def __len__(self) -> int:
        return len(self.submissions)

    def __getitem__(self, key: int | str) -> SubmissionResult:
        if isinstance(key, int):
            return self.submissions[key]
        return {one.submission: one for one in self.submissions}[key]

    def to_records(self, by: Literal["submission", "exercise", "check"] = "exercise") -> list[dict[str, Any]]:
        """Flat dicts, one for each submission, exercise or check: ``pandas.DataFrame(results.to_records())``.

        Raises:
            ValueError: there are no records of that kind.
        """
        if by not in ("submission", "exercise", "check"):
            raise ValueError(f'records are by "submission", "exercise" or "check", not by {by!r}')
        if by == "submission":
            return [
                {
                    "submission": result.submission,
                    "score": result.score,
                    "max": result.max,
                    "not_assessed": sum(exercise.not_assessed for exercise in result.exercises),
                    "flags": len(result.flags),
                    "notes": "\n".join(self.notes.get(result.submission, ())),
                }
                for result in self.submissions
            ]
        return [record for result in self.submissions for record in _of_exercises(result, by == "check")]


def _of_exercises(result: SubmissionResult, by_check: bool) -> Iterator[dict[str, Any]]:
    for exercise in result.exercises:
        topic, _, name = exercise.name.partition(".")
        where = {"submission": result.submission, "topic": topic, "exercise": name}
        if by_check:
            for check in exercise.checks:
                marks = {"check": check.name, "verdict": check.verdict, "score": check.score, "max": check.max}
                yield {**where, **marks, "is_bonus": check.is_bonus, "message": check.message}
        else:
            yield {
                **where,
                "verdict": worst(exercise),
                "score": exercise.score,
                "max": exercise.max,
                "bonus": exercise.bonus,
                "not_assessed": exercise.not_assessed,
                "to_mark": exercise.manual.points if exercise.manual else 0.0,
                "misconception": exercise.misconception,
            }


def grade(
    paths: AnyPath | Iterable[AnyPath],
    course: Course | AnyPath | None = None,
    *,
    only: Iterable[str] = (),
    seed: int | None = None,
    jobs: int = 0,
    limits: Limits | None = None,
    devices: Devices = "auto",
    no_sandbox: bool = False,
) -> Results:
    """Grades submissions, as `grader grade` does, and gives their results.

    Args:
        paths: submissions, folders of them, archives, downloads of an LMS.
        course: a course or its folder; None is the shipped course.
        only: topics or exercises, with those that they need; none of them means all.
        seed: varies the generated inputs; None draws a secret one, which you find in the results.
        jobs: submissions at a time; 0: one for each core.
        limits: of seconds and bytes for each submission; None means the usual ones.
        devices: the kind of devices for checks that want GPUs.
        no_sandbox: whether several submissions may be graded on a system without a sandbox.

    Raises:
        UserError: no such course, names or submissions, or no sandbox here.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    loaded = course if isinstance(course, Course) else Course.load(None if course is None else Path(course))
    chosen = secrets.randbelow(MAX_SEED) + 1 if seed is None else seed
    settings = GradingSettings(seed=chosen, limits=limits or Limits(), devices=devices)
    options = worker_options(loaded, settings, tuple(only))
    sources = find_submissions([Path(path) for path in paths], topics_of(loaded))
    find_sandbox(len(sources), no_sandbox=no_sandbox)
    with Reader() as reader, LocalWorkers(loaded, options, jobs or cores()) as workers:
        graded = sorted(workers.results_of(map(reader.read, sources)), key=lambda one: one.result.submission)
    return Results(
        submissions=tuple(one.result for one in graded),
        seed=chosen,
        notes={one.result.submission: one.notes for one in graded if one.notes},
        faults={one.result.submission: one.fault for one in graded if one.fault},
    )
