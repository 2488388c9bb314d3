"""One submission against the collected checks: verdicts, points and misconceptions.

The trusted side: it never imports submitted code. The replies of a student process are data, and are checked as such.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from grader import kit
from grader.border.failures import one_line
from grader.course import Course, Exercise, Topic, misconceptions_of
from grader.course.definitions import block_of, defined_names, lines_in, untouched_names
from grader.course.slips import matchers_of
from grader.course.source import variables_in
from grader.errors import CourseError, UserError
from grader.intake.by_hand import works_of
from grader.intake.submission import Submission
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.assessment import Assessment
from grader.judge.attempt import Attempt
from grader.judge.check import Trace
from grader.judge.docstrings import written_examples
from grader.judge.hints import Hints
from grader.judge.listener import Listener, NotRun, Place
from grader.judge.misconceptions import MisconceptionRecords, files_with_misconceptions
from grader.judge.points import manual_of, named, wanted_by_hand, with_points
from grader.judge.run import CollectedChecks
from grader.judge.scan import scan
from grader.judge.session import collected_checks
from grader.judge.situations import RIGHT
from grader.judge.suite import collected_suite
from grader.judge.time_limit import TimeLimit
from grader.judge.topic_desk import TopicDesk
from grader.results import MOST_FLAGS, Cause, ExerciseResult, Flag, Frame, SubmissionResult, total_points
from grader.student import late_dynamo
from grader.student.student_process import Host
from grader.text import without_addresses

MOST_NOTES: Final = 5
"""How many files that could not be written are named for each topic."""


@contextlib.contextmanager
def open_judge(
    course: Course,
    host: Host,
    *,
    exercises: Sequence[str] = (),
    seed: int = 0,
    names_misconceptions: bool = True,
    pictured: Collection[str] = (),
    limit: TimeLimit | None = None,
    listener: Listener | None = None,
) -> Iterator[Judge]:
    """Collects a course's checks, and yields a judge that can grade while the context lasts.

    Args:
        host: one that is ready.
        exercises: full names to grade; empty means all. The exercises that they need are graded too.
        seed: seed of the generated inputs.
        names_misconceptions: whether failures are compared with the course's misconceptions.
        pictured: full names of the exercises whose pictures are made if they pass.
        limit: of the judge's own time for a check; None means the default.
        listener: gets each topic and check before it is run, and each exercise whose result is known.

    Raises:
        UserError: when the checks cannot be collected.
    """
    late_dynamo.install()
    topics = _chosen(course.topics, course.with_needs(exercises))
    if course.suite is not None:
        names = [one.full_name for topic in topics for one in topic.exercises]
        with collected_suite(course, names, limit, listener) as checks:
            yield Judge(course, host, checks, topics, names_misconceptions, pictured)
        return
    files = [course.check_file(topic.name) for topic in topics if topic.exercises]
    examples = {one.full_name: written_examples(course, one) for topic in topics for one in topic.exercises}
    kit.load(course.kit)
    kit.let_checks_import(course.checks_dir)
    with contextlib.ExitStack() as stack:
        try:
            checks = stack.enter_context(
                collected_checks(files, course.checks_dir, seed, limit=limit, listener=listener, examples=examples)
            )
        except UserError:
            for file in files:
                kit.require_imported_names(file, course.kit)  # says it better
            raise
        yield Judge(course, host, checks, topics, names_misconceptions, pictured)


@dataclass
class Judge:
    """Grades submissions one after the other against a course's checks; `open_judge` makes one.

    Attributes:
        topics: the topics to grade, with the exercises to grade.
        assessment: decides which checks are not assessed on this machine.
        misconceptions: the records of the course's misconceptions.
    """

    course: Course
    host: Host
    checks: CollectedChecks
    topics: Sequence[Topic]
    names_misconceptions: bool
    pictured: Collection[str]

    def __post_init__(self) -> None:
        self.assessment = Assessment(self.course, self.checks, lambda: self.host.layers)
        self.misconceptions = MisconceptionRecords(self.course, self.checks, self.misconceptions_desk)

    def grade(
        self,
        submission: Submission,
        only: Sequence[str] = (),
        *,
        not_run: Sequence[NotRun] = (),
        elsewhere: Mapping[str, bool] = {},
    ) -> SubmissionResult:
        """All verdicts of one submission.

        Args:
            only: full names of the exercises to grade, with those that they need; empty means all.
            not_run: checks that are not run, and why.
            elsewhere: those of them that are graded elsewhere, and whether they pass, for those that need them.

        Raises:
            HostGone: if the warm host has ended: the worker must be replaced.
        """
        grading = _Grading(self, submission, only, {name for name, passes in elsewhere.items() if passes})
        topics = _chosen(self.topics, set(self.course.with_needs(only)) - elsewhere.keys())
        with self.checks.leaving_out(not_run):
            for topic in topics:
                grading.grade_topic(topic)
                self.checks.listener.began(Place(topic.name))  # no check is at fault for what follows
        names = {topic.name for topic in topics}
        others = {topic.name for topic in self.course.topics} - names
        read = scan(grading.modules, self.course.kit.name if self.course.kit else "", others)
        return SubmissionResult(
            submission=submission.name,
            score=total_points(result.score for result in grading.results),
            max=total_points(result.max for result in grading.results),
            exercises=grading.results,
            sandbox=self.host.layers,
            flags=_flags(grading.results, read, grading.flags),
            notes=tuple(map(without_addresses, grading.notes)),
            unread=tuple(one for one in submission.unread if one.topic in names),
        )

    def is_program(self, exercise: str) -> bool:
        """Whether the stub of an exercise (full name) is a program with a bug to find: it does not raise."""
        topic, _, name = exercise.partition(".")
        file = self.course.stub_file(topic)
        stub = block_of(lines_in(file.read_bytes()), name)
        return name not in variables_in(file) and not any("NotImplementedError" in line for line in stub)

    def passes(self, exercise: str, desk: TopicDesk) -> bool:
        """Whether no check of an exercise fails in a fresh process; as soon as one does, no further one is run."""
        desk.use_fresh_process()
        assessed = [check for check in self.checks.of(exercise) if not self.assessment.reason(check)]
        example = self.checks.example_of(exercise) if assessed else None
        asked = [*assessed, example] if example else assessed
        return all(self.checks.run(check, desk)[0].verdict in RIGHT for check in asked)

    def not_passed(self, exercise: Exercise, cause: Cause) -> ExerciseResult:
        """The result of an exercise none of whose checks could run; those that are not assessed here stay so."""
        checks = self.checks.of(exercise.full_name)
        reasons = [self.assessment.reason(check, is_run=False) for check in checks]
        found = [causes.not_assessed(reason) if reason else cause for reason in reasons]
        results = [explain.result(check.name, one) for check, one in zip(checks, found, strict=True)]
        return with_points(exercise, checks, results, as_handed_out=cause.kind == "unwritten")

    def desk(
        self, topic: str, files: Mapping[str, bytes], *, is_own: bool = False
    ) -> contextlib.AbstractContextManager[TopicDesk]:
        """A desk for one topic of a submission with these files, whose processes are ended afterwards.

        Args:
            is_own: whether they are the course's own, with its misconceptions.
        """
        return contextlib.closing(TopicDesk(self.host, self.course, topic, files, is_own=is_own))

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


class _Grading:
    """One submission while it is graded.

    Args:
        only: full names of the exercises that were asked for; empty means all.
        met: those that pass elsewhere.

    Attributes:
        modules: its Python files: its processes get nothing else.
        flags: of actions of its processes that no exercise needs.
        notes: about statements that were left out.
    """

    def __init__(self, judge: Judge, submission: Submission, only: Sequence[str], met: Collection[str]) -> None:
        self._judge = judge
        self._submission = submission
        self._only = only
        self._met = {*submission.granted, *met}
        self.modules = {path: content for path, content in submission.files.items() if path.endswith(".py")}
        self._cells = explain.CellPlaces(self.modules)
        self._by_hand = works_of(submission.files, *wanted_by_hand(judge.course))
        self._results: dict[str, ExerciseResult] = {}
        self.flags: dict[Flag, None] = {}
        self.notes: list[str] = []

    @property
    def results(self) -> tuple[ExerciseResult, ...]:
        """The results up to now, in the course's order."""
        return tuple(self._results.values())

    def grade_topic(self, topic: Topic) -> None:
        """Grades the exercises of a topic; those that a person marks come last."""
        file = topic.file
        if topic.exercises and file not in self.modules:
            missing = causes.missing_file(file, next(iter(self._submission.notes_on(file)), ""))
            for exercise in topic.exercises:
                self._not_passed(exercise, missing)
        elif topic.exercises:
            self._judge.checks.listener.began(Place(topic.name))
            if self._is_stub(topic):
                for exercise in topic.exercises:
                    self._not_passed(exercise, self._blocked(exercise) or causes.not_written(exercise.name))
            else:
                self._grade_module(topic)
        for exercise in topic.manual:
            template = self._judge.course.template_file(exercise)
            instead = self._by_hand.get(exercise.work_file, ())
            manual = manual_of(exercise, self._submission.files, template, instead)
            self._add(ExerciseResult(name=exercise.full_name, score=0.0, max=0.0, manual=manual))

    def _is_stub(self, topic: Topic) -> bool:
        """Whether the file is the stub as it was handed out, and no exercise in it is a program with a bug to find.

        `verify` has proven what that earns, so no process is needed.
        """
        stub = self._judge.course.stub_file(topic.name)
        if self._judge.course.suite or not stub.is_file():  # of a suite, the work may be in other files
            return False
        if lines_in(self.modules[topic.file]) != lines_in(stub.read_bytes()):
            return False
        return not any(self._judge.is_program(one.full_name) for one in topic.exercises)

    def _blocked(self, exercise: Exercise) -> Cause | None:
        unmet = [need for need in exercise.needs if need not in self._met]
        return causes.blocked(unmet) if unmet else None

    def _add(self, result: ExerciseResult) -> None:
        self._keep(result)
        self._judge.checks.listener.known(result)

    def _keep(self, result: ExerciseResult) -> None:
        self._results[result.name] = result
        if result.meets_needs:
            self._met.add(result.name)

    def _not_passed(self, exercise: Exercise, cause: Cause) -> None:
        self._add(self._judge.not_passed(exercise, cause))

    def _grade_module(self, topic: Topic) -> None:
        """Grades the exercises of a topic whose file is there, in processes of its own.

        Misconceptions are looked for when those have ended, because solutions then lie in the same work folder. Only
        the results that may get a name are reported that late.
        """
        judge, file = self._judge, topic.file
        source = self.modules[file]
        to_name: list[tuple[Exercise, Mapping[str, Trace]]] = []
        with judge.desk(topic.name, self.modules) as desk:
            left_out = desk.left_out
            names = [one.name for one in judge.course.topic(topic.name).exercises]
            modules = [*(one.name for one in judge.course.modules), *judge.course.own_modules]
            known = misconceptions_of(judge.course, topic.name) if judge.names_misconceptions else ()
            own = matchers_of(judge.course) if known else {}
            hints = Hints(source, self._cells.line_in(file), names, modules, left_out, known, own)
            if desk.import_failure and left_out is None:
                failure = hints.explain_import(self._cells.cause(desk.import_failure))
                for exercise in topic.exercises:
                    self._not_passed(exercise, failure)
            else:
                stub = judge.course.stub_file(topic.name)
                is_known = stub.is_file() and not judge.course.suite
                untouched = untouched_names(source, stub.read_bytes()) if is_known else ()
                for exercise in topic.exercises:
                    if blocked := self._blocked(exercise):
                        self._not_passed(exercise, blocked)
                        continue
                    is_untouched = exercise.name in untouched
                    result, traces = self._grade_exercise(exercise, desk, is_untouched)
                    # What was handed out is not theirs, and without the records of some checks nothing is certain.
                    was_cut = any(check.cause and check.cause.stage == "topic" for check in result.checks)
                    may_be_named = judge.names_misconceptions and not is_untouched and not was_cut
                    if may_be_named and judge.misconceptions.may_name(exercise, traces):
                        to_name.append((exercise, traces))
                        self._keep(result)
                    else:
                        self._add(hints.explain(result))
                handed_out = defined_names(lines_in(stub.read_bytes())) if is_known else []
                for exercise in topic.exercises if is_known else ():
                    if flag := self._renamed(exercise, hints, handed_out, untouched):
                        self.flags[flag] = None
                # Last, so that no exercise pays for the time of a picture.
                for result in [self._results[one.full_name] for one in topic.exercises]:
                    self._keep(self._with_pictures(result, desk))
        for exercise, misconception in judge.misconceptions.recognised(topic.name, to_name):
            self._add(hints.explain(named(self._results[exercise.full_name], misconception)))
        self.flags |= desk.flags
        not_written = [f"{one_line(path)}: {reason}" for path, reason in desk.not_written.items()]
        self.notes += [note for note in not_written[:MOST_NOTES] if note not in self.notes]
        self.notes += left_out.notes() if left_out else ()

    def _renamed(
        self, exercise: Exercise, hints: Hints, handed_out: Collection[str], untouched: Collection[str]
    ) -> Flag | None:
        """The flag of an exercise that is not written, if something of a similar name is."""
        kinds = {check.cause.kind for check in self._results[exercise.full_name].checks if check.cause}
        is_waiting = "blocked" in kinds and not hints.defines(exercise.name)
        if exercise.name not in untouched and not is_waiting and kinds.isdisjoint(("missing", "unwritten")):
            return None
        if self._results[exercise.full_name].is_right or (found := hints.renamed(exercise.name, handed_out)) is None:
            return None
        name, line = found
        text = f"`{one_line(name)[:60]}` may be the answer to {exercise.full_name}, which is not written"
        return Flag("renamed", text, f"{exercise.topic}.py", line)

    def _grade_exercise(
        self, exercise: Exercise, desk: TopicDesk, is_untouched: bool
    ) -> tuple[ExerciseResult, dict[str, Trace]]:
        name = exercise.full_name
        is_program = is_untouched and self._judge.is_program(name)
        attempt = Attempt(
            name,
            desk,
            self._judge.assessment,
            is_untouched=is_untouched,
            is_program=is_program,
            is_shared=exercise.credit == "per-check",
        )
        attempt.run()
        found = map(self._cells.in_result, attempt.results)
        return with_points(exercise, attempt.checks, found, as_handed_out=is_untouched), attempt.traces

    def _with_pictures(self, result: ExerciseResult, desk: TopicDesk) -> ExerciseResult:
        is_wanted = result.name in self._judge.pictured and (not self._only or result.name in self._only)
        if not is_wanted or not result.is_right:
            return result
        return replace(result, pictures=tuple(self._judge.checks.make_pictures(result.name, desk)))


def _chosen(topics: Iterable[Topic], wanted: Collection[str]) -> list[Topic]:
    """The topics with only those exercises that have these full names; none without any."""
    found = (topic.among(wanted) for topic in topics)
    return [topic for topic in found if topic.exercises or topic.manual]


def _flags(results: Iterable[ExerciseResult], read: Sequence[Flag], seen: Iterable[Flag]) -> tuple[Flag, ...]:
    """All flags of a submission, each once; if a line was flagged as it was read, events of that line are left out.

    An exercise that fails because simulated devices lack something may be right all the same.
    """
    flags = []
    for result in results:
        causes_of = (check.cause for check in result.checks if check.cause)
        cause = next((cause for cause in causes_of if cause.kind == "not_simulated"), None)
        if cause is not None:
            frame = cause.frames[-1] if cause.frames else Frame("", 0)
            text = f"{result.name} fails, as {cause.exception_message[:100]}: it may be right on a real GPU"
            flags.append(Flag("not_simulated", text, frame.file, frame.line))
    lines = {(flag.file, flag.line) for flag in read}
    rest = (flag for flag in seen if not flag.line or (flag.file, flag.line) not in lines)
    return tuple(dict.fromkeys([*flags, *read, *rest]))[:MOST_FLAGS]
