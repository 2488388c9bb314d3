"""Grades the mutants of a course's solutions as submissions: which ones does no check fail?

A survivor is a hole in the checks, or it does the same as the solution. The latter is written down, with the reason, in
``equivalent_mutants.toml`` beside the solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

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


@dataclass
class Score:
    """How many mutants there are, of which kind.

    Attributes:
        survived: those that no check fails, and that are not written down.
        equivalent: those that no check fails, and that are written down.
        outdated: mutants that are written down, but are caught or no longer made, among the
            definitions that were tried.
        definitions: of each function and class with mutants, how many are caught, and of how many.
    """

    survived: int = 0
    equivalent: set[Equivalent] = field(default_factory=set)
    outdated: list[Equivalent] = field(default_factory=list)
    definitions: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def caught(self) -> int:
        """Those that a check fails."""
        return sum(caught for caught, _ in self.definitions.values())

    @property
    def share(self) -> float:
        """The share of mutants that are caught, without equivalent ones; 1 if there are none."""
        judged = self.caught + self.survived
        return self.caught / judged if judged else 1.0


def grade_mutants(
    course: Course,
    report: Callable[[str], None],
    *,
    progress: Callable[[str], None] = lambda text: None,
    devices: Devices = "simulated",
    only: Sequence[str] = (),
    seed: int = 0,
) -> Score:
    """Grades every mutant of the solutions until a check does not pass.

    Args:
        report: called with a line for each mutant that no check fails, and that is not written down.
        progress: called with a line about the current topic or exercise.
        devices: the kind of devices for checks that want GPUs.
        only: names of topics and exercises; empty means the whole course.
        seed: of the generated inputs.

    Raises:
        CourseError: the file about equivalent mutants cannot be read, or a solution does not pass its checks.
        UserError: the checks cannot be collected.
    """
    from grader.grading.worker import host_for_author
    from grader.judge.judge import with_judge

    known = equivalents_of(course)
    chosen = course.select(only)
    topics = [topic for topic in course.topics if any(one.full_name in chosen for one in topic.exercises)]
    complete = {topic.name for topic in topics if {one.full_name for one in topic.exercises} <= set(chosen)}
    score = Score()

    def grade(judge: Judge) -> Score:
        for topic in topics:
            mutants = _mutants_to_try(judge, topic, chosen)
            for number, (mutant, exercises) in enumerate(mutants, 1):
                if number % 25 == 0:
                    progress(f"{topic.name}: mutant {number} of {len(mutants)}")
                definition = f"{topic.name}.{mutant.definition}"
                caught, judged = score.definitions.get(definition, (0, 0))
                if _is_caught(judge, topic, exercises, mutant.text):
                    caught, judged = caught + 1, judged + 1
                elif equivalent := known.get((definition, mutant.source_line, mutant.change)):
                    score.equivalent.add(equivalent)
                else:
                    judged += 1
                    score.survived += 1
                    place = f"{course.solution_file(topic.name)}:{mutant.line}: {mutant.definition}"
                    report(f"{place}: no check fails {mutant.change}")
                score.definitions[definition] = (caught, judged)
        for one in known.values():
            is_tried = not only or one.definition in chosen or one.definition.partition(".")[0] in complete
            if one.line and is_tried and one not in score.equivalent:
                score.outdated.append(one)
        return score

    with host_for_author(course, topics, devices) as host:
        return with_judge(course, host, grade, exercises=chosen, seed=seed, names_misconceptions=False)


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
        found = msgspec.toml.decode(file.read_bytes(), type=dict[Literal["mutant"], tuple[Equivalent, ...]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CourseError(file, None, str(error)) from error
    return {(one.definition, one.line, one.change): one for one in found.get("mutant", ())}


def _mutants_to_try(judge: Judge, topic: Topic, chosen: Sequence[str]) -> list[tuple[Mutant, list[Exercise]]]:
    """The mutants of a topic's solution, each with the exercises whose checks may fail it.

    Those of definitions that only exercises which were not chosen have are left out.

    Raises:
        CourseError: the solution does not pass its own checks.
    """
    file = judge.course.solution_file(topic.name)
    source = file.read_text(encoding="utf-8")
    exercises = [one for one in topic.exercises if one.full_name in chosen]
    for one in exercises:
        if _is_caught(judge, topic, [one], source):
            text = f"`{one.name}` does not pass its own checks: run grader verify {one.full_name}"
            raise CourseError(file, None, text)
    found = []
    for mutant in mutants_of(source):
        own = [one for one in topic.exercises if one.name == mutant.definition]
        if not own and len(exercises) == len(topic.exercises):
            found.append((mutant, exercises))  # A helper, or the second function of an exercise, may belong to any.
        elif own and own[0] in exercises:
            found.append((mutant, own))
    return found


def _is_caught(judge: Judge, topic: Topic, exercises: Iterable[Exercise], text: str) -> bool:
    """Whether this solution cannot be imported, or a check of one of the exercises does not pass on it."""
    file = judge.course.solution_file(topic.name)
    files = {path.name: path.read_bytes() for path in file.parent.glob("*.py")}
    with judge.desk(topic.name, {**files, file.name: text.encode()}) as desk:
        if desk.why_not_imported():
            return True
        desk.shrinks_failures = False
        return not all(judge.passes(exercise.full_name, desk) for exercise in exercises)
