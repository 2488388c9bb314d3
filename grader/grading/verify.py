"""Proves that a course keeps its promises (`promises.py`): grades its own modules, which run as submissions run.

So do the mutants of its solutions: if no check fails one, that is a hole in the checks, or the mutant is as right.
"""

import contextlib
import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Course, Exercise, Topic
from grader.course.answers import handed_out
from grader.course.definitions import untouched_names
from grader.course.handout import write
from grader.course.model import checking_files
from grader.errors import CourseError
from grader.files import python_files
from grader.grading.evidence import ExerciseSummary, SecondResults, TopicEvidence
from grader.grading.local_workers import LocalWorkers, solution_of
from grader.grading.mutants import Equivalent, Mutant, equivalents_of, mutants_of
from grader.grading.promises import PROMISES, Defect, Promise
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import GradingSettings, worker_options
from grader.grading.worker import host_for_author
from grader.judge.judge import Judge, open_judge
from grader.judge.listener import NotRun, place_of
from grader.judge.time_limit import JUDGE_SECONDS, TimeLimit
from grader.kit import forbidden_imports
from grader.machine import Devices
from grader.results import SubmissionResult
from grader.suites.honesty import places_in

_HASH_SEED: Final = 1
"""Of the second run of the solutions: another order of sets. A result that differs then depends on chance."""

_NOT_AT_FAULT: Final = ("passed", "skipped", "blocked")
"""Verdicts of a check that does not fail a right answer itself."""


def verify_course(
    course: Course,
    report: Callable[[Defect], None],
    *,
    progress: Callable[[str], None] = lambda text: None,
    devices: Devices = "simulated",
    only: Sequence[str] = (),
    seed: int = 0,
    judge_seconds: float = JUDGE_SECONDS,
    is_quick: bool = False,
) -> list[ExerciseSummary]:
    """Looks for every defect of a course, topic by topic; what was looked at, for each exercise.

    Args:
        report: called with each defect as soon as it is found.
        progress: called with a line about the current topic and promise.
        devices: the kind of devices for checks that want GPUs.
        only: names of topics and exercises; empty means the whole course.
        seed: of the generated inputs; a class is graded with one of its own.
        judge_seconds: see `TimeLimit`.
        is_quick: whether the second run of the solutions, in another process, and pictures for pages are left out.

    Raises:
        UserError: the checks cannot be collected.
    """
    # A student process loads the kit, and students can read it; nothing can be graded with one that is refused.
    refused = [] if course.kit is None else list(forbidden_imports(course.kit))
    for found in refused:
        report(Defect(found.file, found.line, found.message))
    if refused:
        return []
    chosen = course.select(only)
    topics = [
        msgspec.structs.replace(topic, exercises=exercises)
        for topic in course.topics
        if (exercises := tuple(one for one in topic.exercises if one.full_name in chosen))
    ]
    limit = TimeLimit(judge_seconds)
    options = worker_options(course, GradingSettings(seed=seed, devices=devices), chosen)
    options = msgspec.structs.replace(options, judge_seconds=judge_seconds, misconceptions=False)

    summaries: list[ExerciseSummary] = []
    with host_for_author(course, topics, devices) as host, contextlib.ExitStack() as stack:
        workers = None if is_quick else stack.enter_context(LocalWorkers(course, options, hash_seed=_HASH_SEED))
        theirs = None if is_quick else stack.enter_context(_as_handed_out(course, options))
        second = workers.submit(solution_of(course)) if workers else None
        with open_judge(course, host, exercises=chosen, seed=seed, limit=limit) as judge:
            gc.freeze()
            gc.enable()
            graded = second.result().result.exercises if second else ()
            if workers:
                workers.end_idle()
            at_home = theirs.submit(solution_of(course)) if theirs else None
            results = {(exercise.name, check.name): check for exercise in graded for check in exercise.checks}
            with judge.checks.leaving_out(_not_to_run(results)), limit.ticking():
                for topic in topics:
                    evidence = TopicEvidence(course, topic, judge, results if second else None)
                    for defect in _defects(evidence, progress):
                        report(defect)
                    summaries += evidence.summaries()
            for defect in _not_as_handed_out(course, at_home.result().result, results) if at_home else ():
                report(defect)
    if course.suite is not None:
        for place in places_in(course.checks_dir, course.suite.names):
            report(Defect(place.file, place.line, place.text, is_note=True))
    return summaries


@contextlib.contextmanager
def _as_handed_out(course: Course, options: WorkerOptions) -> Iterator[LocalWorkers | None]:
    """Workers with the course as `init` gives it to students; None if their checks have all that these have."""
    files = dict(handed_out(course))
    own = {name: file.read_bytes() for name, file in checking_files(course)}
    has_more = any(files.get(name) != data or b"solutions" in data for name, data in own.items())
    if course.is_shipped or not (has_more or course.suite):  # a suite is collected with its solution's names
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            write(Path(folder, name), content)
        theirs = Course.load(Path(folder), complete=False)
        with LocalWorkers(theirs, msgspec.structs.replace(options, course=folder), hash_seed=_HASH_SEED) as workers:
            yield workers


def _not_as_handed_out(course: Course, at_home: SubmissionResult, results: SecondResults) -> Iterator[Defect]:
    """The checks that the solution does not pass with the files that students get, but does pass with all."""
    for exercise in at_home.exercises:
        file = course.check_file(exercise.name.partition(".")[0])
        for check in exercise.checks:
            whole = results.get((exercise.name, check.name), check)
            cannot_start = check.cause is not None and "cannot be collected" in check.cause.reason
            if cannot_start or (whole.verdict == "passed" and check.verdict not in _NOT_AT_FAULT):
                found = (check.cause.reason if cannot_start and check.cause else check.message).splitlines()
                about = "a check" if cannot_start else f"`{exercise.name}`, check {check.name}"
                text = f"{about} fails a right answer with the files that students get: {' | '.join(found)}"
                text += "; they have neither solutions/ nor checks/reference/"
                yield Defect(file, None, text, is_note=cannot_start and course.suite is not None)
                if cannot_start:
                    return


def _not_to_run(results: SecondResults) -> tuple[NotRun, ...]:
    """The checks at which a judge ended or did not come to an end, which nothing could end in this process."""
    return tuple(
        NotRun(place_of(exercise, name), check.cause)
        for (exercise, name), check in results.items()
        if check.cause and check.cause.kind == "grader_fault" and check.cause.check_line
        if not check.cause.exception_type
    )


def _defects(evidence: TopicEvidence, progress: Callable[[str], None]) -> Iterator[Defect]:
    """The defects of one topic, each once: one defect may break several promises."""
    seen: set[Defect] = set()
    for title, promises in PROMISES.items():
        progress(f"{evidence.topic.name}: {title}")
        for promise in promises:
            for defect in _broken(promise, evidence):
                if defect not in seen:
                    seen.add(defect)
                    yield defect


def _broken(promise: Promise, evidence: TopicEvidence) -> Iterator[Defect]:
    try:
        yield from promise(evidence)
    except CourseError as error:
        yield Defect(error.file, error.line, error.message)


@dataclass
class Score:
    """How many mutants there are, of which kind.

    Attributes:
        caught: those that a check fails.
        survived: those that no check fails, and that are not written down.
        equivalent: those that no check fails, and that are written down.
        outdated: mutants that are written down, but are caught or no longer made, among the
            definitions that were tried.
        definitions: of each function and class with mutants, how many are caught, and of how many.
    """

    caught: int = 0
    survived: int = 0
    equivalent: set[Equivalent] = field(default_factory=set)
    outdated: list[Equivalent] = field(default_factory=list)
    definitions: dict[str, tuple[int, int]] = field(default_factory=dict)


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
    known = equivalents_of(course)
    chosen = course.select(only)
    topics = [topic for topic in course.topics if any(one.full_name in chosen for one in topic.exercises)]
    complete = {topic.name for topic in topics if {one.full_name for one in topic.exercises} <= set(chosen)}
    score = Score()
    with (
        host_for_author(course, topics, devices) as host,
        open_judge(course, host, exercises=chosen, seed=seed, names_misconceptions=False) as judge,
    ):
        for topic in topics:
            mutants = _mutants_to_try(judge, topic, chosen)
            for number, (mutant, exercises) in enumerate(mutants, 1):
                if number % 25 == 0:
                    progress(f"{topic.name}: mutant {number} of {len(mutants)}")
                definition = f"{topic.name}.{mutant.definition}"
                caught, judged = score.definitions.get(definition, (0, 0))
                if _is_caught(judge, topic, exercises, mutant.text):
                    score.caught += 1
                    caught, judged = caught + 1, judged + 1
                elif equivalent := known.get((definition, mutant.source_line, mutant.change)):
                    score.equivalent.add(equivalent)
                else:
                    score.survived += 1
                    judged += 1
                    place = f"{course.solution_file(topic.name)}:{mutant.line}: {mutant.definition}"
                    report(f"{place}: no check fails {mutant.change}")
                score.definitions[definition] = (caught, judged)
        for one in known.values():
            is_tried = not only or one.definition in chosen or one.definition.partition(".")[0] in complete
            if one.line and is_tried and one not in score.equivalent:
                score.outdated.append(one)
    return score


def _mutants_to_try(judge: Judge, topic: Topic, chosen: Sequence[str]) -> list[tuple[Mutant, list[Exercise]]]:
    """The mutants of a topic's solution, each with the exercises whose checks may fail it.

    Those of definitions that are handed out as they are, or that only exercises which were not chosen have, are left
    out.

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
    stub = judge.course.stub_file(topic.name)
    given = untouched_names(source.encode(), stub.read_bytes()) if stub.is_file() else frozenset()
    found = []
    for mutant in mutants_of(source):
        if mutant.definition in given:
            continue  # students get it as it is
        own = [one for one in topic.exercises if one.name == mutant.definition]
        if not own and len(exercises) == len(topic.exercises):
            found.append((mutant, exercises))  # A helper, or the second function of an exercise, may belong to any.
        elif own and own[0] in exercises:
            found.append((mutant, own))
    return found


def _is_caught(judge: Judge, topic: Topic, exercises: Iterable[Exercise], text: str) -> bool:
    """Whether this solution cannot be imported, or a check of one of the exercises does not pass on it."""
    files = python_files(judge.course.solutions_dir)
    with judge.desk(topic.name, {**files, topic.file: text.encode()}) as desk:
        if desk.why_not_imported():
            return True
        desk.explains_failures = False
        return not all(judge.passes(exercise.full_name, desk) for exercise in exercises)
