"""The data of one submission's feedback page: the same as ``grader check``, with the code beside each failure.

Makes data for the template; escapes nothing, and its only HTML are drawings. Reads code as text only: submitted code
is never run, imported or parsed, as it may be broken or made to break a parser.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from markupsafe import Markup

from grader.course import Course
from grader.course.definitions import definition, docstrings, lines_in
from grader.gradebook import Comment, Override
from grader.intake.notebook import Cells
from grader.pictures import Picture
from grader.reports import feedback
from grader.reports.comparing import compared_tables
from grader.reports.drawing import figure_of
from grader.reports.entries import Entry
from grader.reports.stair import stair_block
from grader.results import CheckResult, ExerciseResult, VerdictKind, total_points
from grader.text import clean, counted, one_line, points

_LINES = 60
_FEW_LINES = 12
_WIDTH = 160
_MOST_READ = 4 * _WIDTH
"""Characters of a line that are read: escape sequences may take some of them."""
_CONTEXT = 3


class Line(msgspec.Struct, frozen=True):
    """One line of an excerpt, with its number in the file, or in the cell of a notebook.

    With ``number`` 0, `text` names a cell that begins here, or lines that were left out.

    Attributes:
        comments: of people who looked at it.
    """

    number: int
    text: str
    highlighted: bool = False
    comments: tuple[str, ...] = ()


class Excerpt(msgspec.Struct, frozen=True):
    """Some lines of one file."""

    file: str
    lines: tuple[Line, ...]

    @property
    def size(self) -> int:
        """About the number of characters that it adds to a page."""
        return 100 + sum(len(line.text) + 35 for line in self.lines)


class Said(msgspec.Struct, frozen=True):
    """A person's words about an exercise.

    Attributes:
        code: the lines of its file that have comments, with some lines around them.
        lines: comments at lines that cannot be shown there: place, the line as it was, and text.
        has_changed: whether some of these lines were in other work than the present one.
    """

    name: str
    text: str = ""
    code: tuple[Excerpt, ...] = ()
    lines: tuple[tuple[str, str, str], ...] = ()
    has_changed: bool = False

    def __bool__(self) -> bool:
        return bool(self.text or self.code or self.lines)


@dataclass(frozen=True)
class ExercisePart:
    """One exercise on the page: the first failure is shown, and the others are folded away.

    Attributes:
        by_hand: a person's points and the automatic ones; empty if the automatic ones count.
        cause: the first check, if one cause stopped all of them, which then is not about single checks.
        first: the checks that do not pass in the first way: with the same verdict and cause.
        drawing: matrices that the first one compared, or the stair of its ranks, if there is room.
        alike: the checks that fail like the first one.
        otherwise: all others that do not pass.
        explanation: of the misconception that was recognised.
        hint: the hint that fits, if there is no explanation.
        hint_command: the command that prints the next hint.
        code_left_out: the page would become too large with the code.
        pictures: of what passed, as far as there is room.
        steps: of what did not, how hard it is and its purpose; empty if there is no room.
    """

    name: str
    verdict: VerdictKind
    score: str
    by_hand: str
    cause: CheckResult | None = None
    first: list[CheckResult] | None = None
    drawing: Markup | None = None
    alike: tuple[list[CheckResult], ...] = ()
    otherwise: tuple[list[CheckResult], ...] = ()
    explanation: str | None = None
    hint: str | None = None
    hint_command: str | None = None
    code: tuple[Excerpt, ...] = ()
    code_left_out: bool = False
    pictures: tuple[Picture, ...] = ()
    steps: str = ""


@dataclass(frozen=True)
class TopicPart:
    """One topic on the page; ``cause`` is set if one cause stopped all of its exercises. It is empty without a mark.

    Attributes:
        manual: the exercises that a person marks, and the comments on each.
        comments: those on exercises with checks.
    """

    name: str
    title: str
    score: float = 0.0
    max: float = 0.0
    passed: tuple[ExercisePart, ...] = ()
    others: tuple[ExercisePart, ...] = ()
    cause: CheckResult | None = None
    manual: tuple[tuple[ExerciseResult, Said], ...] = ()
    comments: tuple[Said, ...] = ()


@dataclass(frozen=True)
class FeedbackPage:
    """One submission's page.

    Attributes:
        entry: the submission, without hidden checks.
        message_lines: the most lines of a message.
        files: those that were graded, as far as there is room.
        other_files: those that are not text.
    """

    entry: Entry
    message_lines: int
    topics: tuple[TopicPart, ...]
    files: tuple[Excerpt, ...]
    files_left_out: int
    other_files: tuple[str, ...]


def feedback_page(entry: Entry, course: Course, page_bytes: int) -> FeedbackPage:
    """The page of one submission, without hidden checks.

    Args:
        page_bytes: about the largest size of the page; code that would make it larger is left out.
    """
    entry = entry.for_students()
    maker = _Maker(entry, course, page_bytes)
    message_lines = _LINES if maker.code_bytes > 0 else _FEW_LINES
    topics: dict[str, list[ExerciseResult]] = {}
    for exercise in entry.result.exercises:
        topics.setdefault(exercise.topic, []).append(exercise)
    parts = tuple(maker.topic(name, exercises) for name, exercises in topics.items())
    in_order = sorted(maker.files, key=lambda path: (path.removesuffix(".py") not in topics, path))
    texts = [path for path in in_order if b"\0" not in maker.files[path]]
    at_lines = [one for one in entry.row.comments if one.line and not one.stale]
    pieces = (whole(path, maker.files[path], [one for one in at_lines if maker.file_of(one) == path]) for path in texts)
    shown = [piece for piece in pieces if maker.has_room(piece.size)]
    return FeedbackPage(
        entry=entry,
        message_lines=message_lines,
        topics=parts,
        files=tuple(shown),
        files_left_out=len(texts) - len(shown),
        other_files=tuple(one_line(path) for path in in_order if path not in texts),
    )


def heading_of(check: CheckResult) -> str:
    """The name of a check, and its points if it has points of its own."""
    worth = feedback.worth_of(check)
    return one_line(f"{check.name} ({worth})" if worth else check.name).replace("_", " ")


def by_hand(one: Override) -> str:
    """The points that a person gave, who, and why, on one line."""
    return one_line(f"{points(one.points or 0.0, one.max)} by {one.who}: {one.why}", 300)


class _Maker:
    """Makes the parts of one page, with code as long as there is room for it."""

    def __init__(self, entry: Entry, course: Course, page_bytes: int) -> None:
        self._entry = entry
        self._course = course
        self.files = {} if entry.row.differing else entry.files()
        self.code_bytes = page_bytes - 5_000
        for exercise in entry.result.exercises:
            messages = {check.message for check in exercise.checks} - {""}
            size = 420 + sum(80 + int(1.1 * len(message)) for message in messages) if messages else 90
            self.code_bytes -= size

    def has_room(self, size: int) -> bool:
        """Takes that much of the room for code (bytes), if there is enough."""
        has_room = size <= self.code_bytes
        self.code_bytes -= size if has_room else 0
        return has_room

    def topic(self, name: str, exercises: Sequence[ExerciseResult]) -> TopicPart:
        entry = self._entry
        title = next((topic.title for topic in self._course.topics if topic.name == name), "")
        comments = tuple(said for one in exercises if one.manual is None and (said := self._said(one)))
        if name in {one.topic for one in entry.row.unread}:
            return TopicPart(name, title, comments=comments)
        earned = [entry.points_of(exercise) for exercise in exercises]
        checked = [one for one in exercises if one.manual is None]
        checks = [check for exercise in checked for check in exercise.checks]
        is_stopped = len(checked) > 1 and checks and checks[0].verdict != "passed"
        cause = checks[0] if is_stopped and len(feedback.equal_groups(checks)) == 1 else None
        parts = [self._part(one) if cause else self._exercise(one) for one in checked]
        return TopicPart(
            name,
            title,
            score=total_points(score for score, _ in earned),
            max=total_points(most for _, most in earned),
            passed=tuple(part for part in parts if part.verdict == "passed" and not part.by_hand),
            others=tuple(part for part in parts if part.verdict != "passed" or part.by_hand),
            cause=cause,
            manual=tuple((one, self._said(one)) for one in exercises if one.manual),
            comments=comments,
        )

    def file_of(self, comment: Comment) -> str:
        """The file that a comment is about."""
        exercises = self._entry.result.exercises
        return next((feedback.work_file(one) for one in exercises if one.name == comment.exercise), "")

    def _said(self, exercise: ExerciseResult) -> Said:
        comments = [one for one in self._entry.row.comments if one.exercise == exercise.name]
        file = feedback.work_file(exercise)
        code, aside = commented(file, self.files.get(file, b""), [one for one in comments if one.line])
        if code is not None and not self.has_room(code.size):
            code, aside = None, [one for one in comments if one.line]
        return Said(
            feedback.own_name(exercise),
            "\n".join(clean(one.text) for one in comments if not one.line),
            () if code is None else (code,),
            tuple((one.place, one_line(one.code, _WIDTH), clean(one.text)) for one in aside),
            has_changed=any(one.stale for one in aside),
        )

    def _part(self, exercise: ExerciseResult) -> ExercisePart:
        """An exercise's name, verdict and points only."""
        earned, given = feedback.earned(exercise), self._entry.override_of(exercise)
        score = points(*self._entry.points_of(exercise)) if given else earned
        said = f"{by_hand(given)} (automatic: {earned})" if given else ""
        return ExercisePart(feedback.own_name(exercise), feedback.worst(exercise), score, said)

    def _exercise(self, exercise: ExerciseResult) -> ExercisePart:
        part = self._part(exercise)
        if part.verdict == "passed":
            drawn = (one for one in exercise.pictures if one.data is None or self.has_room(len(figure_of(one))))
            return replace(part, pictures=tuple(drawn))
        steps = feedback.steps_of(self._course, exercise.name)
        part = replace(part, steps=steps if steps and self.has_room(len(steps) + 30) else "")
        failures = feedback.not_passed(exercise)
        cause = feedback.one_cause(exercise)
        if cause is not None:
            part = replace(part, cause=cause)
        else:
            first, *others = feedback.equal_groups(failures)
            alike = [one for one in others if feedback.likeness(one[0]) == feedback.likeness(first[0])]
            otherwise = tuple(one for one in others if one not in alike)
            part = replace(part, first=first, alike=tuple(alike), otherwise=otherwise)
        if part.verdict not in feedback.FAILING:
            return part
        drawing = _drawing(cause or failures[0])
        if drawing and self.has_room(len(drawing)):
            part = replace(part, drawing=drawing)
        if cause is None or cause.cause is None or cause.cause.stage == "check":
            hint, command = feedback.help_for(exercise, self._course)
            part = replace(part, explanation=feedback.explanation_of(exercise), hint=hint, hint_command=command)
        if cause is not None and cause.verdict == "failed" and feedback.is_brief(cause):
            return part  # a message of one line needs no code beside it
        lines = dict.fromkeys(line for check in failures for line in feedback.lines_of(check))
        code = tuple(excerpt(self.files, exercise.name, lines))
        if code and not self.has_room(sum(piece.size for piece in code)):
            return replace(part, code_left_out=True)
        return replace(part, code=code)


def _drawing(check: CheckResult) -> Markup | None:
    """The drawing of a check's cause; None if there is none."""
    if check.cause is None:
        return None
    if check.cause.compared is not None:
        return compared_tables(check.cause.compared)
    return None if check.cause.stair is None else stair_block(check.cause.stair)


def excerpt(
    files: Mapping[str, bytes], exercise: str, highlighted: Collection[tuple[str, int]], most: int = 60
) -> list[Excerpt]:
    """The definition of an exercise, without docstrings, and the lines around highlighted lines elsewhere.

    Args:
        files: the submission's files, by path.
        exercise: its full name.
        highlighted: file and line number of the lines to highlight.
        most: the most lines of one excerpt.
    """
    found = []
    topic, _, name = exercise.partition(".")
    own = f"{topic}.py"
    wanted = dict.fromkeys([own, *(path for path, _ in highlighted)])
    lines = {path: lines_in(files[path]) for path in wanted if path in files}
    elsewhere = {path: [n for other, n in highlighted if other == path and 0 < n <= len(lines[path])] for path in lines}
    start, end = definition(lines[own], name) if own in lines else (0, 0)
    if start:
        left_out = docstrings(lines[own], start, end)
        numbers = [number for number in range(start, end + 1) if number not in left_out]
        found.append(_shown(own, files[own], numbers, elsewhere[own], most))
        elsewhere[own] = [number for number in elsewhere[own] if not start <= number <= end]
    for path in dict.fromkeys(path for path, _ in highlighted if elsewhere.get(path)):
        near = {n + step for n in elsewhere[path] for step in range(-_CONTEXT, _CONTEXT + 1)}
        around = sorted(near & set(range(1, len(lines[path]) + 1)))
        found.append(_shown(path, files[path], around, elsewhere[path], most))
    return found


def commented(file: str, content: bytes, comments: Sequence[Comment]) -> tuple[Excerpt | None, list[Comment]]:
    """The lines around those that have comments, and the comments whose lines are not in this file any more."""
    lines = feedback.lines_by_place(content)
    there = [one for one in comments if not one.stale and (one.cell, one.line) in lines]
    near = {(one.cell, one.line + step) for one in there for step in range(-_CONTEXT, _CONTEXT + 1)}
    around = [number for place, (number, _) in lines.items() if place in near]
    code = _shown(file, content, around, (), len(around), there) if there else None
    return code, [one for one in comments if one not in there]


def whole(file: str, content: bytes, comments: Sequence[Comment] = ()) -> Excerpt:
    """A file with all of its lines, numbered as in the file, or in the cells of the notebook that it was made of."""
    # Made harmless at once: line by line it would take most of the time of a report.
    lines = clean("\n".join(line[:_MOST_READ] for line in lines_in(content))).split("\n")
    if not comments and not Cells(content):
        return Excerpt(clean(file), tuple(Line(number, _narrow(line)) for number, line in enumerate(lines, start=1)))
    return _shown(file, content, list(range(1, len(lines) + 1)), (), len(lines), comments)


def _shown(
    file: str,
    content: bytes,
    numbers: list[int],
    highlighted: Collection[int],
    most: int,
    comments: Sequence[Comment] = (),
) -> Excerpt:
    """Lines of a file; if it was made of a notebook, each cell begins with its name, and its lines at 1.

    Of very many lines, it shows the first, or those around the first highlighted one if that would be cut off.
    """
    lines, cells = lines_in(content), Cells(content)
    at = next((index for index, number in enumerate(numbers) if number in highlighted), 0)
    first = max(0, at - most // 2) if at >= most else 0
    said: dict[tuple[int, int], tuple[str, ...]] = {}
    for one in comments:
        place = one.cell, one.line
        said[place] = (*said.get(place, ()), clean(one.text))
    shown: list[Line] = []
    last, cell = 0, 0
    for number in numbers[first : first + most]:
        here, in_cell = cells.find(number) if cells else (0, number)
        if here != cell:
            shown.append(Line(0, cells.named(here)))
        elif last and number > last + 1:
            shown.append(Line(0, f"{counted(number - last - 1, 'line')} left out"))
        last, cell = number, here
        if in_cell or not cells:
            text = clean(lines[number - 1][:_MOST_READ]).replace("\n", "\ufffd")
            shown.append(Line(in_cell, _narrow(text), number in highlighted, said.get((here, in_cell), ())))
    return Excerpt(clean(file), tuple(shown))


def _narrow(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
