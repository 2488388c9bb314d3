"""The data of one submission's feedback page: the same as ``grader check``, with the code beside each failure.

Makes data for the template; escapes nothing and forms no HTML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.course import Course
from grader.gradebook import Override
from grader.pictures import Picture
from grader.reports.entries import Entry
from grader.reports.excerpts import Excerpt, excerpt, whole
from grader.reports.feedback import (
    CHANGED,
    FAILING,
    about_manual,
    bounded,
    earned,
    equal_groups,
    explanation_of,
    hint_command,
    hint_for,
    is_brief,
    item_lines,
    left_out,
    likeness,
    lines_of,
    not_passed,
    one_cause,
    own_name,
    unread,
    worst,
    worth_of,
)
from grader.reports.picture_svg import svg
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind
from grader.text import clean, one_line, points

_LINES = 60
_FEW_LINES = 12


@dataclass(frozen=True)
class CheckGroup:
    """Checks with the same verdict and cause, shown once.

    Attributes:
        heading: the first check's name; empty if the cause is not about single checks.
        verdict: the verdict of all of them.
        message: the check's message to the student.
        is_brief: the message is only a reason of one line.
        others: the number of checks besides the first.
    """

    heading: str
    verdict: VerdictKind
    message: str
    is_brief: bool = False
    others: int = 0


@dataclass(frozen=True)
class ExercisePart:
    """One exercise on the page: the first failure is shown, and the others are folded away.

    Attributes:
        alike: the checks that fail like the first one.
        otherwise: all others that do not pass.
        explanation: of the misconception that was recognised.
        hint: the first hint, if there is no explanation.
        hint_command: the command that prints the next hint.
        code_left_out: the page would become too large with the code.
        by_hand: a person's points and the automatic ones; empty if the automatic ones count.
        pictures: of what passed, as far as there is room.
    """

    name: str
    verdict: VerdictKind
    score: str
    first: CheckGroup | None = None
    alike: tuple[CheckGroup, ...] = ()
    otherwise: tuple[CheckGroup, ...] = ()
    explanation: str | None = None
    hint: str | None = None
    hint_command: str | None = None
    code: tuple[Excerpt, ...] = ()
    code_left_out: bool = False
    by_hand: str = ""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class ManualPart:
    """An exercise that a person marks.

    Attributes:
        score: its points; in words if there are none yet.
        about: its file, and whether the work was there.
        items: of the rubric, a line each; none before it is marked.
        by_hand: points given above the mark.
        comment: a person's words; may have several lines.
        changed: that the work has changed; empty if it has not.
    """

    name: str
    score: str
    about: str
    items: tuple[str, ...] = ()
    by_hand: str = ""
    comment: str = ""
    changed: str = ""


@dataclass(frozen=True)
class TopicPart:
    """One topic on the page; ``cause`` is set if one cause stopped all of its exercises. It is empty without a mark.

    Attributes:
        comments: a person's words about exercises with checks: name and text.
    """

    name: str
    title: str
    score: float
    max: float
    passed: tuple[ExercisePart, ...]
    others: tuple[ExercisePart, ...]
    cause: CheckGroup | None = None
    manual: tuple[ManualPart, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FeedbackPage:
    """One submission's page.

    Attributes:
        entry: the submission, without hidden checks.
        not_assessed: the points that are left out of the total, in words.
        files: those that were graded, as far as there is room.
        other_files: those that are not text.
    """

    entry: Entry
    not_assessed: str
    overrides: tuple[str, ...]
    unread: tuple[str, ...]
    topics: tuple[TopicPart, ...]
    files: tuple[Excerpt, ...]
    files_left_out: int
    other_files: tuple[str, ...]


@dataclass
class _Room:
    """The room that a page still has for code, in bytes, and the most lines of a message on it."""

    code_bytes: int
    message_lines: int

    def take(self, size: int) -> bool:
        """Takes the bytes if there are enough, and returns whether there were."""
        if size > self.code_bytes:
            return False
        self.code_bytes -= size
        return True


class Pages:
    """Makes the feedback pages of a class.

    Args:
        page_bytes: about the largest size of a page; code that would make it larger is left out.
    """

    def __init__(self, course: Course, page_bytes: int) -> None:
        self._page_bytes = page_bytes
        self._exercises = {exercise.full_name: exercise for exercise in course.exercises}
        self._titles = {topic.name: topic.title for topic in course.topics}

    def page(self, entry: Entry) -> FeedbackPage:
        """The page of one submission, without hidden checks."""
        entry = entry.for_students()
        result, row, files = entry.result, entry.row, entry.files()
        code_bytes = self._page_bytes - _size_without_code(result)
        room = _Room(code_bytes, _LINES if code_bytes > 0 else _FEW_LINES)
        topics: dict[str, list[ExerciseResult]] = {}
        for exercise in result.exercises:
            topics.setdefault(exercise.name.partition(".")[0], []).append(exercise)
        parts = tuple(self._topic(name, exercises, entry, files, room) for name, exercises in topics.items())
        in_order = sorted(files, key=lambda path: (path.removesuffix(".py") not in topics, path))
        texts = [path for path in in_order if b"\0" not in files[path]]
        shown = [piece for path in texts if room.take((piece := whole(path, files[path])).size)]
        return FeedbackPage(
            entry=entry,
            not_assessed=left_out(result, row.given),
            overrides=tuple(_override(one) for one in row.overrides),
            unread=tuple(one_line(line, 300) for line in unread(row)),
            topics=parts,
            files=tuple(shown),
            files_left_out=len(texts) - len(shown),
            other_files=tuple(one_line(path) for path in in_order if path not in texts),
        )

    def _topic(
        self, name: str, exercises: Sequence[ExerciseResult], entry: Entry, files: Mapping[str, bytes], room: _Room
    ) -> TopicPart:
        if name in {one.topic for one in entry.row.unread}:
            return TopicPart(name=name, title=self._titles.get(name, ""), score=0.0, max=0.0, passed=(), others=())
        everything, exercises = exercises, [one for one in exercises if one.manual is None]
        cause = _shared_cause(exercises)
        if cause is None:
            parts = [self._exercise(exercise, files, room) for exercise in exercises]
        else:
            parts = [_without_details(exercise) for exercise in exercises]
        parts = [_as_given(part, exercise, entry) for part, exercise in zip(parts, exercises, strict=True)]
        earned = [entry.points_of(exercise) for exercise in everything]
        return TopicPart(
            name=name,
            title=self._titles.get(name, ""),
            score=sum(score for score, _ in earned),
            max=sum(most for _, most in earned),
            passed=tuple(part for part in parts if part.verdict == "passed" and not part.by_hand),
            others=tuple(part for part in parts if part.verdict != "passed" or part.by_hand),
            cause=cause,
            manual=tuple(_manual(exercise, entry) for exercise in everything if exercise.manual),
            comments=tuple((own_name(one), clean(said)) for one in exercises if (said := entry.said_of(one))),
        )

    def _exercise(self, exercise: ExerciseResult, files: Mapping[str, bytes], room: _Room) -> ExercisePart:
        part = _without_details(exercise)
        if part.verdict == "passed":
            drawn = (one for one in exercise.pictures if one.data is None or room.take(len(svg(one))))
            return replace(part, pictures=tuple(drawn))
        failures = not_passed(exercise)
        cause = one_cause(exercise)
        if cause is not None:
            part = replace(part, first=_group([cause], "", room.message_lines))
        else:
            folded: dict[bool, list[CheckGroup]] = {True: [], False: []}
            for checks in equal_groups(failures):
                group = _group(checks, _heading(checks[0]), room.message_lines)
                folded[likeness(checks[0]) == likeness(failures[0])].append(group)
            first, *alike = folded[True]
            part = replace(part, first=first, alike=tuple(alike), otherwise=tuple(folded[False]))
        if part.verdict in FAILING and (cause is None or cause.cause is None or cause.cause.stage == "check"):
            part = self._with_help(part, exercise)
        if part.verdict not in FAILING or _needs_no_code(cause):
            return part
        topic, _, name = exercise.name.partition(".")
        code = tuple(excerpt(files, topic, name, {mark for check in failures for mark in lines_of(check)}))
        if code and not room.take(sum(piece.size for piece in code)):
            return replace(part, code_left_out=True)
        return replace(part, code=code)

    def _with_help(self, part: ExercisePart, exercise: ExerciseResult) -> ExercisePart:
        """The part with the misconception's explanation, else with the hint that fits and the command for more."""
        known = self._exercises.get(exercise.name)
        explanation = explanation_of(exercise)
        failing = [check for check in exercise.checks if check.verdict in FAILING]
        hint = hint_for(known, failing[0]) if not explanation and known and failing else None
        return replace(part, explanation=explanation, hint=hint, hint_command=hint_command(known, hint))


def _as_given(part: ExercisePart, exercise: ExerciseResult, entry: Entry) -> ExercisePart:
    """The part with the points that a person gave, if one did."""
    given = next((one for one in entry.row.overrides if one.exercise == exercise.name), None)
    if given is None:
        return part
    by_hand = one_line(f"{points(given.points or 0.0, given.max)} by {given.who}: {given.why}", 300)
    by_hand += f" (automatic: {earned(exercise)})"
    return replace(part, score=points(*entry.points_of(exercise)), by_hand=by_hand)


def _manual(exercise: ExerciseResult, entry: Entry) -> ManualPart:
    """An exercise that a person marks: the items of the rubric as given, or that it is not marked yet."""
    override = next((one for one in entry.row.overrides if one.exercise == exercise.name), None)
    mark = next((one for one in entry.row.marks if one.exercise == exercise.name), None)
    by_hand = ""
    if override is not None:
        by_hand = one_line(f"{points(override.points or 0.0, override.max)} by {override.who}: {override.why}", 300)
    is_marked = exercise.name in entry.row.given
    return ManualPart(
        name=own_name(exercise),
        score=points(*entry.points_of(exercise)) if is_marked else "not marked yet",
        about=one_line(about_manual(exercise), 300),
        items=tuple(clean(line) for line in item_lines(mark.items)) if mark else (),
        by_hand=by_hand,
        comment=clean(entry.said_of(exercise)),
        changed=CHANGED if mark and mark.stale else "",
    )


def _override(one: Override) -> str:
    stale = f" ({CHANGED})" if one.stale else ""
    return one_line(f"{one.exercise}: {points(one.points or 0.0, one.max)} by {one.who}: {one.why}{stale}", 400)


def _size_without_code(result: SubmissionResult) -> int:
    """About the size of a page without code, in bytes."""
    size = 5_000
    for exercise in result.exercises:
        messages = {check.message for check in exercise.checks} - {""}
        size += 420 + sum(80 + int(1.1 * len(message)) for message in messages) if messages else 90
    return size


def _shared_cause(exercises: Sequence[ExerciseResult]) -> CheckGroup | None:
    """The one cause that stopped every exercise of a topic, such as a module that cannot be imported; else None."""
    checks = [check for exercise in exercises for check in exercise.checks]
    if len(exercises) > 1 and checks and checks[0].verdict != "passed" and len(equal_groups(checks)) == 1:
        return _group(checks[:1], "")
    return None


def _heading(check: CheckResult) -> str:
    worth = worth_of(check)
    return f"{check.name} ({worth})" if worth else check.name


def _group(checks: Sequence[CheckResult], name: str, lines: int = _LINES) -> CheckGroup:
    first = checks[0]
    heading = one_line(name).replace("_", " ")
    message = bounded(first.message, lines)
    return CheckGroup(heading, first.verdict, message, is_brief=is_brief(first), others=len(checks) - 1)


def _without_details(exercise: ExerciseResult) -> ExercisePart:
    """An exercise's name, verdict and score only."""
    return ExercisePart(own_name(exercise), worst(exercise), earned(exercise))


def _needs_no_code(check: CheckResult | None) -> bool:
    """Whether a message of one line is enough, so that the student's code need not be shown beside it."""
    return check is not None and check.verdict == "failed" and is_brief(check)
