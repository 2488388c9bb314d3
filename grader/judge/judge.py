"""One submission against the collected checks: verdicts, points and misconceptions.

The trusted side: it never imports submitted code. The replies of a student process are data, and are checked as such.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import msgspec

from grader import kit
from grader.course import Course, Exercise, Topic
from grader.course.definitions import block_of, lines_in, untouched_names
from grader.errors import CourseError
from grader.intake.submission import Submission
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check, Trace
from grader.judge.collected import CollectedChecks
from grader.judge.flags import flags_of_results, together
from grader.judge.marks import NotRun, Place
from grader.judge.misconceptions import MisconceptionRecords, Replacements, RunChecks, files_with_misconceptions
from grader.judge.near_names import with_near_names
from grader.judge.needs import Assessment
from grader.judge.points import manual_of, with_points
from grader.judge.scan import scan
from grader.judge.session import with_collected_checks
from grader.judge.slips import in_import, with_slips
from grader.judge.time_limit import TimeLimit
from grader.judge.topic_desk import TopicDesk
from grader.pictures import Picture
from grader.results import Cause, CheckResult, ExerciseResult, Flag, SubmissionResult
from grader.student import late_dynamo
from grader.student.student_process import Host

T = TypeVar("T")
_RIGHT: Final = ("passed", "skipped")
"""Verdicts after which the process goes on to the next exercise."""


def _is_unwritten(result: CheckResult) -> bool:
    return result.cause is not None and result.cause.kind == "unwritten"


@dataclass(frozen=True)
class _GradedSubmission:
    """A submission that is being graded.

    Attributes:
        modules: its Python files: nothing else of it comes near its processes.
        only: full names of the exercises that were asked for; empty means all.
        known: is called with the result of each exercise as soon as it is known.
    """

    submission: Submission
    modules: Mapping[str, bytes]
    only: Sequence[str]
    known: Callable[[ExerciseResult], None]


@dataclass(frozen=True)
class _GradedTopic:
    """A topic of a submission after it was graded.

    Attributes:
        flags: of actions of the submission's processes that no exercise needs.
        notes: about statements that were left out of the topic.
    """

    results: Sequence[ExerciseResult]
    flags: Iterable[Flag] = ()
    notes: Iterable[str] = ()


def with_judge(
    course: Course,
    host: Host,
    use: Callable[[Judge], T],
    *,
    exercises: Sequence[str] = (),
    seed: int = 0,
    names_misconceptions: bool = True,
    pictured: Collection[str] = (),
    limit: TimeLimit | None = None,
    began: Callable[[Place], None] = lambda place: None,
) -> T:
    """Collects a course's checks, waits until the host is ready, and returns ``use`` of a judge over them.

    Args:
        exercises: full names to grade; empty means all. The exercises that they need are graded too.
        seed: seed of the generated inputs.
        names_misconceptions: whether failures are compared with the course's misconceptions.
        pictured: full names of the exercises whose pictures are made if they pass.
        limit: of the judge's own time for a check; None means the default.
        began: is called with the place of each topic and check before it is run.

    Raises:
        UserError: when the checks cannot be collected, or the host cannot be made ready.
    """
    late_dynamo.install()
    wanted = set(course.with_needs(exercises))
    every = ([one for one in (*topic.exercises, *topic.manual) if one.full_name in wanted] for topic in course.topics)
    topics = [(topic, found) for topic, found in zip(course.topics, every, strict=True) if found]
    files = [course.check_file(topic.name) for topic, found in topics if _with_checks(found)]
    kit.load(course.kit)
    kit.let_checks_import(course.checks_dir)
    for file in files:
        kit.require_imported_names(file, course.kit)

    def use_judge(checks: CollectedChecks) -> T:
        host.finish_preparing()
        return use(Judge(course, host, checks, topics, names_misconceptions, pictured))

    return with_collected_checks(files, course.checks_dir, seed, use_judge, limit=limit, began=began)


class Judge:
    """Grades submissions one after the other against a course's checks; `with_judge` makes one.

    Args:
        topics: the topics to grade, and of each the exercises.
    """

    def __init__(
        self,
        course: Course,
        host: Host,
        checks: CollectedChecks,
        topics: Sequence[tuple[Topic, Sequence[Exercise]]],
        names_misconceptions: bool,
        pictured: Collection[str] = (),
    ) -> None:
        self.course = course
        self.host = host
        self.checks = checks
        self._topics = topics
        self._names_misconceptions = names_misconceptions
        self._pictured = frozenset(pictured)
        self._assessment = Assessment(course, checks, lambda: host.layers)
        self._modules = [topic.name for topic in course.modules]
        self.misconceptions = MisconceptionRecords(course, self._misconceptions_runner)

    def grade(
        self,
        submission: Submission,
        only: Sequence[str] = (),
        *,
        marks: Sequence[NotRun] = (),
        known: Callable[[ExerciseResult], None] | None = None,
    ) -> SubmissionResult:
        """All verdicts of one submission.

        Args:
            only: full names of the exercises to grade, with those that they need; empty means all.
            marks: checks that are not run, and why.
            known: is called with the result of each exercise as soon as it is known.

        Raises:
            HostGone: if the warm host has ended: the worker must be replaced.
        """
        modules = {path: content for path, content in submission.files.items() if path.endswith(".py")}
        work = _GradedSubmission(submission, modules, only, known or (lambda result: None))
        wanted = set(self.course.with_needs(only))
        every = ((topic, [one for one in found if one.full_name in wanted]) for topic, found in self._topics)
        chosen = [(topic, found) for topic, found in every if found]
        met = set(submission.granted)
        graded: list[_GradedTopic] = []
        with self.checks.leaving_out(marks):
            for topic, exercises in chosen:
                if checked := _with_checks(exercises):
                    graded.append(self._grade_topic(topic, checked, work, met))
                    met |= {result.name for result in graded[-1].results if result.meets_needs}
                graded.append(self._to_mark(exercises, work))
        results = [result for topic in graded for result in topic.results]
        names = {topic.name for topic, _ in chosen}
        others = {topic.name for topic in self.course.topics} - names
        read = scan(modules, self.course.kit.name if self.course.kit else "", others)
        seen = dict.fromkeys(flag for topic in graded for flag in topic.flags)
        return SubmissionResult(
            submission=submission.name,
            score=sum(result.score for result in results),
            max=sum(result.max for result in results),
            exercises=tuple(results),
            sandbox=self.host.layers,
            flags=together(read, seen, flags_of_results(results)),
            notes=tuple(note for topic in graded for note in topic.notes),
            unread=tuple(one for one in submission.unread if one.topic in names),
        )

    def _grade_topic(
        self, topic: Topic, exercises: Sequence[Exercise], work: _GradedSubmission, met: Collection[str]
    ) -> _GradedTopic:
        """Grades some exercises of a topic.

        Args:
            met: full names of the exercises of other topics that meet the needs of these.
        """
        file = f"{topic.name}.py"
        if file not in work.modules:
            note = next(iter(work.submission.notes_on(file)), "")
            return self._all_not_passed(exercises, causes.missing_file(topic.name, note), work)
        self.checks.began(Place(topic.name))
        if mark := self.checks.mark_on(Place(topic.name)):
            return self._all_not_passed(exercises, mark.cause, work)
        with self.desk(topic.name, work.modules) as desk, self.misconceptions.topic(topic.name):
            partial = desk.imported.partial
            notes = partial.notes(work.modules[file]) if partial is not None else ()
            graded = self._grade_exercises(topic, exercises, desk, work, met)
            # Last, so that no exercise pays for the time of a picture.
            graded = replace(graded, results=[self._with_pictures(one, desk, work) for one in graded.results])
        return replace(graded, flags=tuple(desk.flags), notes=notes)

    def _with_pictures(self, result: ExerciseResult, desk: TopicDesk, work: _GradedSubmission) -> ExerciseResult:
        is_wanted = result.name in self._pictured and (not work.only or result.name in work.only)
        if not is_wanted or not result.is_right:
            return result
        return msgspec.structs.replace(result, pictures=self.make_pictures(result.name, desk))

    def make_pictures(self, exercise: str, desk: TopicDesk) -> tuple[Picture, ...]:
        """The pictures of an exercise (full name), each asked for in a fresh student process."""

        def begin() -> TopicDesk:
            desk.begin_again()
            return desk

        return self.checks.make_pictures(exercise, begin)

    def _to_mark(self, exercises: Iterable[Exercise], work: _GradedSubmission) -> _GradedTopic:
        """The exercises that are left for a person to mark."""
        results = []
        for exercise in (one for one in exercises if one.kind == "manual"):
            manual = manual_of(exercise, work.submission.files, self.course.template_file(exercise))
            results.append(ExerciseResult(name=exercise.full_name, score=0.0, max=0.0, manual=manual))
            work.known(results[-1])
        return _GradedTopic(results)

    def _grade_exercises(
        self,
        topic: Topic,
        exercises: Sequence[Exercise],
        desk: TopicDesk,
        work: _GradedSubmission,
        met: Collection[str],
    ) -> _GradedTopic:
        cells = explain.CellPlaces(work.modules)
        file = f"{topic.name}.py"
        source = work.modules[file]
        partial = desk.imported.partial
        if desk.imported.failure is not None:
            failure, prints = desk.imported.failure, desk.imported.prints
            cause = causes.import_failed(topic.name, failure, prints, desk.memory_limit)
            return self._all_not_passed(exercises, in_import(cells.cause(cause), source, cells.line_in(file)), work)
        met = set(met)
        results: list[ExerciseResult] = []
        untouched = self._untouched_names(topic.name, source)
        for exercise in exercises:
            unmet = [need for need in exercise.needs if need not in met]
            if unmet:
                result = self._not_passed(exercise, causes.blocked(unmet))
            else:
                result = self._grade_exercise(exercise, desk, cells, is_untouched=exercise.name in untouched)
                result = with_near_names(result, source, [one.name for one in topic.exercises], self._modules)
                result = partial.explain_lost(result, source) if partial else result
                result = with_slips(result, source, cells.line_in(file))
            if result.meets_needs:
                met.add(result.name)
            results.append(result)
            work.known(result)
        return _GradedTopic(results)

    def _untouched_names(self, topic: str, source: bytes) -> frozenset[str]:
        try:
            return untouched_names(source, self.course.stub_file(topic).read_bytes())
        except OSError:
            return frozenset()

    def _is_program(self, exercise: str) -> bool:
        """Whether the stub of an exercise (full name) is a program with a bug to find: it does not raise."""
        topic, _, name = exercise.partition(".")
        stub = block_of(lines_in(self.course.stub_file(topic).read_bytes()), name)
        return not any("NotImplementedError" in line for line in stub)

    def _grade_exercise(
        self, exercise: Exercise, desk: TopicDesk, cells: explain.CellPlaces, *, is_untouched: bool
    ) -> ExerciseResult:
        ran, traces = self.run_checks(exercise.full_name, desk, is_untouched=is_untouched)
        found = [cells.in_result(check) for check in ran]
        misconception = None
        is_wrong = any(check.verdict in ("failed", "timeout", "crashed") for check in found)
        if self._names_misconceptions and is_wrong and not is_untouched:  # a bug that was handed out is not theirs
            with desk.time.paused():
                misconception = self.misconceptions.recognised(exercise, traces)
        checks = self.checks.of(exercise.full_name)
        return with_points(exercise, checks, found, misconception, as_handed_out=is_untouched)

    def run_checks(
        self,
        exercise: str,
        desk: TopicDesk,
        *,
        is_untouched: bool = False,
        did_run: Callable[[Check, CheckResult], None] = lambda check, result: None,
    ) -> tuple[list[CheckResult], dict[str, Trace]]:
        """Runs the checks of one exercise; the results of all, and by name the traces of those that were run.

        If one does not pass in a process that earlier exercises have used, all are run again in a fresh one.

        Args:
            is_untouched: whether the file has the stub as it was handed out. Then one check tells for all. If it is
                unwritten, that may be in a process that others have used, and the next exercise may use it, too.
            did_run: is called when a check has run, while the desk has the exchanges of its run.
        """
        desk.begin(exercise)
        found = self._run_in_order(exercise, desk, is_untouched, did_run)
        if found is None:
            desk.begin_again()
            found = self._run_in_order(exercise, desk, is_untouched, did_run)
            assert found is not None
        results, _ = found
        desk.finish(
            is_right=all(result.verdict in _RIGHT or (is_untouched and _is_unwritten(result)) for result in results)
        )
        return found

    def passes(self, exercise: str, desk: TopicDesk) -> bool:
        """Whether no check of an exercise fails; as soon as one does, no further one is run."""
        desk.begin_again()
        for check in self.checks.of(exercise):
            if not self._assessment.reason(check) and self.checks.run(check, desk)[0].verdict not in _RIGHT:
                desk.finish(is_right=False)
                return False
        desk.finish(is_right=True)
        return True

    def _run_in_order(
        self, exercise: str, desk: TopicDesk, is_untouched: bool, did_run: Callable[[Check, CheckResult], None]
    ) -> tuple[list[CheckResult], dict[str, Trace]] | None:
        """The results and traces; None once a check does not pass in a used process.

        After a timeout no further check is run, nor of what is as it was handed out: the others get the same cause.
        """
        results: list[CheckResult] = []
        traces: dict[str, Trace] = {}
        same_for_all: Cause | None = None
        for check in self.checks.of(exercise):
            if reason := self._assessment.reason(check, is_run=same_for_all is None):
                results.append(explain.result(check.name, causes.not_assessed(reason)))
                continue
            if same_for_all is None and desk.time.left() <= 0:
                same_for_all = causes.topic_timeout(desk.time.used_up())
            if same_for_all is not None:
                results.append(explain.result(check.name, same_for_all))
                continue
            result, traces[check.name] = self.checks.run(check, desk)
            did_run(check, result)
            is_unwritten = is_untouched and _is_unwritten(result)
            if result.verdict not in _RIGHT and not desk.is_final and not is_unwritten:
                return None
            results.append(result)
            is_handed_out = is_unwritten or (is_untouched and self._is_program(exercise))
            if result.verdict == "timeout" or (is_handed_out and result.verdict not in _RIGHT):
                same_for_all = result.cause
        return results, traces

    @contextlib.contextmanager
    def desk(
        self, topic: str, files: Mapping[str, bytes], *, is_own: bool = False, wants_trace_only: bool = False
    ) -> Iterator[TopicDesk]:
        """A desk for one topic of a submission with these files, whose processes are ended afterwards.

        Args:
            is_own: whether they are the course's own, with its misconceptions.
            wants_trace_only: whether runs of checks yield only their traces and no causes.
        """
        opened = TopicDesk(
            self.host, self.course, topic, files, is_own=is_own, wants_trace_only=is_own or wants_trace_only
        )
        with contextlib.closing(opened) as desk:
            yield desk

    @contextlib.contextmanager
    def misconceptions_desk(self, topic: str) -> Iterator[TopicDesk]:
        """A desk for the solutions with a topic's misconceptions beside them; runs of checks yield only traces.

        Raises:
            CourseError: if they cannot be imported.
        """
        with self.desk(topic, files_with_misconceptions(self.course, topic), is_own=True) as desk:
            if reason := desk.why_not_imported():
                raise CourseError(self.course.misconceptions_file(topic), None, reason)
            yield desk

    @contextlib.contextmanager
    def _misconceptions_runner(self, topic: str) -> Iterator[RunChecks]:
        with self.misconceptions_desk(topic) as desk:

            def run_checks(exercise: str, replacements: Replacements, only: str) -> Iterator[tuple[str, Trace]]:
                desk.replace_functions(replacements)
                desk.begin_again()
                for check in self.checks.of(exercise):
                    if only in ("", check.name):
                        yield check.name, self.checks.run(check, desk)[1]

            yield run_checks

    def _all_not_passed(self, exercises: Iterable[Exercise], cause: Cause, work: _GradedSubmission) -> _GradedTopic:
        results = [self._not_passed(exercise, cause) for exercise in exercises]
        for result in results:
            work.known(result)
        return _GradedTopic(results)

    def _not_passed(self, exercise: Exercise, cause: Cause) -> ExerciseResult:
        """The result of an exercise none of whose checks could run; those that are not assessed here stay so."""
        results = []
        for check in self.checks.of(exercise.full_name):
            reason = self._assessment.reason(check, is_run=False)
            results.append(explain.result(check.name, causes.not_assessed(reason) if reason else cause))
        return with_points(exercise, self.checks.of(exercise.full_name), results)


def _with_checks(exercises: Iterable[Exercise]) -> list[Exercise]:
    return [one for one in exercises if one.kind == "automatic"]
