"""The data of one submission's feedback page: the same as ``grader check``, with the code beside each failure.

Makes data for the template; escapes nothing and forms no HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.course import Course
from grader.gradebook import Override
from grader.reports.entries import Entry
from grader.reports.excerpts import excerpt, whole
from grader.reports.feedback import (
    CHANGED,
    FAILING,
    VERDICT_WORDS,
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
from grader.reports.feedback_page import CheckGroup, ExercisePart, FeedbackPage, ManualPart, TopicPart
from grader.reports.picture_svg import svg
from grader.results import CheckResult, ExerciseResult, SubmissionResult
from grader.text import clean, one_line, points

_LINES = 60
_FEW_LINES = 12


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
        self._course = course
        self._page_bytes = page_bytes
        self._exercises = {exercise.full_name: exercise for exercise in course.exercises}
        self._titles = {topic.name: topic.title for topic in course.topics}
        self._explanations: dict[tuple[str, str | None], str | None] = {}

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
            name=one_line(result.submission),
            score=points(row.score, row.max),
            share=entry.share,
            letter=entry.letter,
            late=str(row.late) if row.late else "",
            final=points(entry.final, row.max),
            overrides=tuple(_override(one) for one in row.overrides),
            fault="error" in result.verdicts,
            not_assessed=left_out(result, row.given),
            unread=tuple(one_line(line, 300) for line in unread(row)),
            notes=tuple(one_line(note, 400) for note in row.notes),
            sandbox=result.sandbox,
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
            if FAILING & {check.verdict for check in failures}:
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
        explanation = self._explanation(exercise)
        failing = [check for check in exercise.checks if check.verdict in FAILING]
        hint = hint_for(known, failing[0]) if not explanation and known and failing else None
        command = hint_command(known, hint)
        return replace(part, explanation=explanation, hint=hint, hint_command=command)

    def _explanation(self, exercise: ExerciseResult) -> str | None:
        key = (exercise.name, exercise.misconception)
        if key not in self._explanations:
            self._explanations[key] = explanation_of(self._course, exercise)
        return self._explanations[key]


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
    words = VERDICT_WORDS[first.verdict]
    return CheckGroup(heading, first.verdict, words, message, is_brief=is_brief(first), others=len(checks) - 1)


def _without_details(exercise: ExerciseResult) -> ExercisePart:
    """An exercise's name, verdict and score only."""
    return ExercisePart(own_name(exercise), worst(exercise), earned(exercise))


def _needs_no_code(check: CheckResult | None) -> bool:
    """Whether a message of one line is enough, so that the student's code need not be shown beside it."""
    return check is not None and check.verdict == "failed" and is_brief(check)
