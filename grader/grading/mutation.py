"""Grades the mutants of a course's solutions as submissions: which ones does no check fail?

A survivor is a hole in the checks, or it does the same as the solution. The latter is written down, with the reason, in
``equivalent_mutants.toml`` beside the solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from grader.course import Course, Exercise, Topic
from grader.errors import CourseError
from grader.grading.mutants import Mutant, mutants_of
from grader.machine import Devices

if TYPE_CHECKING:
    from grader.judge.judge import Judge

EQUIVALENTS: Final = "equivalent_mutants.toml"


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that does the same as the solution, or is as right.

    Attributes:
        definition: the function or class, after its topic: ``tensor_ops.gram``.
        line: the line of the solution that is changed, without its indentation; empty for a change of all values that
            come back, which the checks of the exercise need not notice.
        change: as `grader verify`, with or without `--mutants`, prints it.
        reason: why no check can tell.
    """

    definition: str
    line: str
    change: str
    reason: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mutant: tuple[Equivalent, ...] = ()


class Survivor(msgspec.Struct, frozen=True):
    """A mutant that passes every check of its exercise."""

    file: Path
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.file}:{self.mutant.line}: {self.mutant.definition}: no check fails {self.mutant.change}"


class Score(msgspec.Struct, frozen=True):
    """How many mutants there are, of which kind.

    Attributes:
        caught: those that a check fails.
        survived: those that no check fails, and that are not written down.
        equivalent: those that no check fails, and that are written down.
        outdated: mutants that are written down, but are caught or no longer made, among the
            definitions that were tried.
        definitions: of each function and class with mutants, how many are caught, and of how many.
    """

    caught: int
    survived: int
    equivalent: int
    outdated: tuple[Equivalent, ...]
    definitions: dict[str, tuple[int, int]]

    @property
    def share(self) -> float:
        """The share of mutants that are caught, without equivalent ones; 1 if there are none."""
        judged = self.caught + self.survived
        return self.caught / judged if judged else 1.0


def grade_mutants(
    course: Course,
    report: Callable[[Survivor], None],
    *,
    progress: Callable[[str], None] = lambda text: None,
    devices: Devices = "simulated",
    only: Sequence[str] = (),
    seed: int = 0,
) -> Score:
    """Grades every mutant of the solutions until a check does not pass.

    Args:
        report: called with each survivor that is not written down.
        progress: called with a line about the current topic or exercise.
        devices: the kind of devices for checks that want GPUs.
        only: names of topics and exercises; empty means the whole course.
        seed: of the generated inputs.

    Raises:
        CourseError: the file about equivalent mutants cannot be read, or a solution does not pass its checks.
        UserError: the checks cannot be collected.
    """
    import grader.testkit.probes
    import grader.testkit.recipes  # noqa: F401 - before the fork
    from grader.grading.worker import hidden_paths
    from grader.judge.judge import with_judge
    from grader.sandbox.limits import Limits
    from grader.student import engine
    from grader.testkit import devices as devices_kit

    known = equivalents_of(course)
    chosen = course.select(only)
    topics = [topic for topic in course.topics if any(one.full_name in chosen for one in topic.exercises)]
    host = engine.start()(Limits())
    complete = {one.name for one in topics if {each.full_name for each in one.exercises} <= set(chosen)}

    def _is_tried(definition: str) -> bool:
        """Whether all mutants of a definition are made."""
        return not only or definition in chosen or definition.partition(".")[0] in complete

    def grade(judge: Judge) -> Score:
        counts = [_grade_topic(judge, topic, set(chosen), known, report, progress) for topic in topics]
        used = {one for count in counts for one in count.equivalent}
        caught = sum(count.caught for count in counts)
        survived = sum(count.survived for count in counts)
        outdated = tuple(one for one in known.values() if one.line and one not in used and _is_tried(one.definition))
        definitions = {name: (each[0], each[1]) for count in counts for name, each in count.definitions.items()}
        return Score(caught, survived, len(used), outdated, definitions)

    try:
        host.prepare(hidden_paths(course), course.preload(topic.name for topic in topics), devices, course.kit)
        devices_kit.choose(devices)
        return with_judge(course, host, grade, exercises=chosen, seed=seed, names_misconceptions=False)
    finally:
        host.close()


Key = tuple[str, str, str]


def equivalents_of(course: Course) -> dict[Key, Equivalent]:
    """The mutants that are written down as equivalent, by definition, line and change.

    Raises:
        CourseError: it cannot be read.
    """
    file = course.solutions_dir / EQUIVALENTS
    if not file.is_file():
        return {}
    try:
        found = msgspec.toml.decode(file.read_bytes(), type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CourseError(file, None, str(error)) from error
    return {(one.definition, one.line, one.change): one for one in found.mutant}


class _Counts:
    def __init__(self) -> None:
        self.caught = 0
        self.survived = 0
        self.equivalent: set[Equivalent] = set()
        self.definitions: dict[str, list[int]] = {}


def _grade_topic(
    judge: Judge,
    topic: Topic,
    chosen: set[str],
    known: dict[Key, Equivalent],
    report: Callable[[Survivor], None],
    progress: Callable[[str], None],
) -> _Counts:
    """The mutants of one topic, of definitions that only exercises which were not chosen have are left out."""
    counts = _Counts()
    file = judge.course.solution_file(topic.name)
    files = {path.name: path.read_bytes() for path in file.parent.glob("*.py")}
    for one in topic.exercises:
        if one.full_name in chosen and _is_caught(judge, topic, [one], files):
            raise CourseError(
                file, None, f"`{one.name}` does not pass its own checks: run grader verify {one.full_name}"
            )
    names = {one.name for one in topic.exercises}
    mutants = mutants_of(file.read_text(encoding="utf-8"))
    for number, mutant in enumerate(mutants, 1):
        # A helper, or the second function of an exercise, may belong to any of them.
        tried = [
            one
            for one in topic.exercises
            if one.full_name in chosen and (mutant.definition not in names or one.name == mutant.definition)
        ]
        if not tried or (mutant.definition not in names and len(tried) < len(topic.exercises)):
            continue
        if number % 25 == 0:
            progress(f"{topic.name}: mutant {number} of {len(mutants)}")
        definition = f"{topic.name}.{mutant.definition}"
        of_definition = counts.definitions.setdefault(definition, [0, 0])
        if _is_caught(judge, topic, tried, {**files, file.name: mutant.text.encode()}):
            counts.caught += 1
            of_definition[0] += 1
        elif (key := (definition, mutant.source_line, mutant.change)) in known:
            counts.equivalent.add(known[key])
            continue
        else:
            counts.survived += 1
            report(Survivor(file, mutant))
        of_definition[1] += 1
    return counts


def _is_caught(judge: Judge, topic: Topic, exercises: Sequence[Exercise], files: dict[str, bytes]) -> bool:
    """Whether the mutant cannot be imported, or a check of one of the exercises does not pass on it."""
    with judge.desk(topic.name, files) as desk:
        if desk.why_not_imported():
            return True
        desk.shrinks_failures = False
        for exercise in exercises:
            if not judge.passes(exercise.full_name, desk):
                return True
    return False
