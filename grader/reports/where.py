"""A student's progress: the lines of `grader`, `grader list` and `grader next`. Plain, because Rich is slow to load."""

import contextlib
import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from grader.course import Course, Exercise, Topic
from grader.course.assignments import Assignment
from grader.course.definitions import definition, lines_in
from grader.course.home import LastCheck, State
from grader.course.lessons import lesson_of
from grader.errors import CourseError
from grader.results import total_points
from grader.text import BY_HAND, counted, percent, points, progress_bar

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SYMBOLS: dict[State, str] = {"passed": "✓", "failing": "✗", "unwritten": "·", "blocked": "○", "left_out": "–"}


class Locations:
    """The file and line of each exercise of one submission.

    Args:
        path: the folder with the work, or one topic's file.
        files: the files of the submission by name, as they were read; None means as they are in the folder now.
    """

    def __init__(self, path: Path, files: Mapping[str, bytes] | None = None) -> None:
        self._path = path
        self._files = files

    def of(self, exercise: str) -> str:
        """``kata/tensor_ops.py:88`` as seen from the current folder; without a line if it is not defined.

        Of an exercise of a package, the file in it that defines it.
        """
        topic, _, name = exercise.partition(".")
        for file, content in self._files_of(topic):
            lines = lines_in(content)
            start, end = definition(lines, name)
            if start:
                return self.line(file, next(n for n in range(start, end + 1) if not lines[n - 1].startswith("@")))
        return self.line(f"{topic}.py", 0)

    def _files_of(self, topic: str) -> Iterator[tuple[str, bytes]]:
        """The file of a topic, or those of its package, with their contents."""
        if self._files is not None:
            names = [name for name in self._files if name == f"{topic}.py" or name.startswith(f"{topic}/")]
            yield from ((name, self._files[name]) for name in sorted(names) if name.endswith(".py"))
            return
        for folder in (self._path, self._path / "exercises"):
            for file in (folder / f"{topic}.py", *sorted((folder / topic).rglob("*.py"))):
                with contextlib.suppress(OSError):
                    yield file.relative_to(folder).as_posix(), file.read_bytes()

    def line(self, file: str, line: int) -> str:
        """A line of a topic's file, as seen from the current folder; a notebook has no such lines."""
        names = [f"{file.removesuffix('.py')}{end}" for end in (".py", ".ipynb", "/__init__.py")]
        folders = (self._path, self._path / "exercises")
        places = [self._path] if self._path.is_file() else [folder / name for name in names for folder in folders]
        found = next((place for place in places if place.is_file()), None)
        shown = file if found is None else str(found)
        if found is not None:
            with contextlib.suppress(OSError, ValueError):  # the current folder is gone, or on another drive
                shown = os.path.relpath(found) if found.resolve().is_relative_to(Path.cwd()) else shown
        return f"{shown}:{line}" if line and not shown.endswith(".ipynb") else shown


def where_lines(
    course: Course, folder: Path, progress: Mapping[str, LastCheck], width: int, others: Sequence[Assignment] = ()
) -> Iterator[str]:
    """A bar for each topic, the points, the next exercise with its place, and the few commands that matter.

    Args:
        course: the part of it that the folder has.
        others: assignments that were not handed out into the folder.
    """
    yield course.title
    yield ""
    names = max((len(topic.name) for topic in course.modules), default=0)
    bar = max(5, min(20, width - names - 16))
    for heading, topics in _in_parts(course, progress):
        yield from [heading] if heading else []
        for topic in topics:
            if topic.exercises:
                score, most = sums(topic.exercises, progress)
                star = "★" if score >= most else " "
                yield f"{star} {topic.name:<{names}}  {progress_bar(score, most, bar)}  {points(score, most):>7}"
            elif heading:
                yield from (f"{BY_HAND} {one.work_file}: a person marks {one.full_name}" for one in topic.manual)
        yield ""
    for one in others:
        yield f"{about(one)}: not here yet, get it with: grader init --assignment {one.name}"
    yield from [""] if others else []
    yield f"{done_line(course, progress)}, {_percent(*sums(course.exercises, progress))}"
    yield from _by_hand(course)
    found = next_of(course, progress)
    if found is None:
        yield "All is done: well done!"
        return
    yield f"next: {found.full_name}  {Locations(folder).of(found.full_name)}"
    yield from steps_lines(found)
    yield ""
    learn = [("grader learn", "the lesson of its topic")] if course.lesson_file(found.topic).is_file() else []
    for command, what in (
        *learn,
        (f"grader check {found.full_name}", "see how you did"),
        (f"grader hint {found.full_name}", "a hint"),
        ("grader list", "all exercises"),
    ):
        yield f"  {command:<{len(found.full_name) + 13}}  {what}"


def steps_lines(exercise: Exercise) -> list[str]:
    """How hard an exercise is, and its purpose, as lines below its name; none if its course says nothing."""
    return [f"  {text}" for text in (exercise.effort, exercise.why) if text]


def list_lines(course: Course, progress: Mapping[str, LastCheck], names: Sequence[str] = ()) -> Iterator[str]:
    """The exercises with their points, and how each went when it was last checked.

    All of a course are listed as they are proposed: one that comes after another topic's exercise is there, too.

    Args:
        names: full names of the exercises that are listed; none means all.
    """
    wanted = set(names) or {one.full_name for one in course.all_exercises}
    has_all = len(wanted) == len(course.all_exercises)
    if has_all:
        score, most = sums(course.exercises, progress)
        done = f", {score:g} done, {_percent(score, most)}" if progress else ""
        yield f"{course.title}: {counted(most, 'point')}{done}"
        yield from _by_hand(course)
    here = {one.full_name: one.topic for one in course.path}
    can_move = has_all and not course.assignments
    moved = [one for one in course.path if can_move and here.get(one.after, one.topic) != one.topic]
    has_steps = any(one.minutes or one.level for one in course.all_exercises)
    width = max([*(len(one.full_name) for one in course.all_exercises), 30]) if has_steps else 40
    for heading, topics in _in_parts(course, progress):
        shown = [topic for topic in topics if any(one.full_name in wanted for one in (*topic.exercises, *topic.manual))]
        if heading and shown:
            yield from [""] if has_all else []
            yield heading
        for topic in shown:
            earned, worth = sums(topic.exercises, progress)
            if has_all:
                yield ""
            how_far = f"  {points(earned, worth)}, {_percent(earned, worth)}" if progress and topic.exercises else ""
            yield f"{topic.name}  {topic.title}{how_far}"
            named = [one for one in (*topic.exercises, *topic.manual) if one.full_name in wanted]
            own = [one for one in (*course.path, *topic.manual) if one in named and one not in moved]
            if topic.exercises and not own:
                yield "    its exercises are listed where they are met"
            for exercise in _with_followers(own, moved):
                last = progress.get(exercise.full_name)
                symbol = BY_HAND if exercise in topic.manual else SYMBOLS[last.state] if last else " "
                more = f"   needs {', '.join(exercise.needs)}" if exercise.needs else ""
                more = f"   a person marks {exercise.work_file}:" if exercise in topic.manual else more
                about = f"  {exercise.level or '':<6} {f'{exercise.minutes} min' if exercise.minutes else '':>6}"
                about = about.rstrip() if has_steps else ""
                start = f"  {symbol} " if progress else "  "
                yield f"{start}{exercise.full_name:<{width}} {exercise.points:>3g}{about}{more}"
                yield from [f"      {exercise.why}"] if exercise.why and not has_all else []
                yield from (f"      {item.points:g}  {item.text}" for item in exercise.rubric)


def _with_followers(exercises: Sequence[Exercise], moved: Sequence[Exercise]) -> Iterator[Exercise]:
    """The exercises, each with those of other topics that come after it."""
    for one in exercises:
        yield one
        yield from _with_followers([other for other in moved if other.after == one.full_name], moved)


def _by_hand(course: Course) -> Iterator[str]:
    """The exercises that a person marks; no line if there are none."""
    if course.manual:
        worth = counted(sum(one.points for one in course.manual), "point")
        yield f"and {worth} that a person marks: {', '.join(one.full_name for one in course.manual)}"


def next_of(course: Course, progress: Mapping[str, LastCheck]) -> Exercise | None:
    """The exercise to go on with: the first that fails, else the first that can be written; None when all is done.

    Those of the assignment at hand come first, with what they need of others.
    """
    states = {name: last.state for name, last in progress.items()}
    parts = [course.with_needs(one.exercises) for one in in_order(course.assignments, progress)]
    for part in [*parts, [one.full_name for one in course.exercises]]:
        left = [one for one in course.path if one.full_name in part and not is_done(one.full_name, progress)]
        failing = [one for one in left if states.get(one.full_name) == "failing"]
        ready = [one for one in left if all(states.get(need) == "passed" for need in one.needs)]
        if left:
            return next(iter([*failing, *ready, *left]))
    return None


def in_order(
    assignments: Sequence[Assignment], progress: Mapping[str, LastCheck], now: datetime.datetime | None = None
) -> list[Assignment]:
    """The assignments in the order in which a student does them; the first is the one at hand.

    By their due dates; then those whose date has passed, the newest first; last those that count nothing any more. In
    each case those that are done come behind those that are not.
    """
    now = now or datetime.datetime.now().astimezone()
    last = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)

    def key(one: Assignment) -> tuple[bool, bool, bool, float]:
        until, due = one.late.until or last, one.late.due or last
        is_over = due < now
        are_done = all(is_done(name, progress) for name in one.exercises)
        return are_done, until < now, is_over, -due.timestamp() if is_over else due.timestamp()

    return sorted(assignments, key=key)


def places_in_term(course: Course, progress: Mapping[str, LastCheck]) -> dict[str, int]:
    """The place of each exercise's assignment in the order in which they are done; empty without assignments."""
    parts = in_order(course.assignments, progress)
    return {name: place for place, one in enumerate(parts) for name in one.exercises}


def due_words(assignment: Assignment, now: datetime.datetime | None = None) -> str:
    """When an assignment is due, in local time: ``due Fri 6 Nov 23:59, in 3 days``; empty if it has no date."""
    if assignment.late.due is None:
        return ""
    now = (now or datetime.datetime.now()).astimezone()
    due = assignment.late.due.astimezone()
    year = "" if due.year == now.year else f" {due.year}"
    date = f"{_DAYS[due.weekday()]} {due.day} {_MONTHS[due.month - 1]}{year} {due:%H:%M}"
    if due < now:
        return f"was due {date}"
    days = (due.date() - now.date()).days
    return f"due {date}, " + ("today" if days == 0 else "tomorrow" if days == 1 else f"in {days} days")


def day_words(day: datetime.date) -> str:
    """A day: ``26 Nov 2026``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def about(assignment: Assignment, now: datetime.datetime | None = None) -> str:
    """Name and title of an assignment, and when it is due."""
    title = "" if assignment.title == assignment.name else f"  {assignment.title}"
    due = due_words(assignment, now)
    return f"{assignment.name}{title}" + (f"  ({due})" if due else "")


def named_with_date(assignment: Assignment, now: datetime.datetime | None = None) -> str:
    """The name of an assignment, and when it is due: ``week2, due Fri 6 Nov 23:59, in 3 days``."""
    return ", ".join(filter(None, [assignment.name, due_words(assignment, now)]))


def assignment_of(course: Course, exercise: str) -> Assignment | None:
    """The assignment of an exercise (full name), if it is in one."""
    return next((one for one in course.assignments if exercise in one.exercises), None)


def lesson_line(course: Course, exercise: str) -> str:
    """Where the lesson of a topic is about an exercise (full name); empty if there is no lesson that can be read."""
    with contextlib.suppress(CourseError):
        if lesson := lesson_of(course, exercise.partition(".")[0]):
            return f'lesson: "{lesson.idea_of(exercise).title}", grader learn {exercise}'
    return ""


def _in_parts(course: Course, progress: Mapping[str, LastCheck]) -> Iterator[tuple[str, list[Topic]]]:
    """For each assignment, the one at hand first, a heading and its part of each topic; last what is in none."""
    if not course.assignments:
        yield "", list(course.topics)
        return
    at_hand, *_ = in_order(course.assignments, progress)
    others = [one for one in course.plan.by_due_date if one != at_hand]
    parts = [(about(one), set(one.exercises)) for one in (at_hand, *others)]
    rest = {one.full_name for one in course.all_exercises}.difference(*(names for _, names in parts))
    for heading, names in [*parts, ("in no assignment", rest)]:
        topics = (topic.among(names) for topic in course.topics)
        if found := [topic for topic in topics if topic.exercises or topic.manual]:
            yield heading, found


def is_done(name: str, progress: Mapping[str, LastCheck]) -> bool:
    """Whether an exercise (full name) needs no more work."""
    last = progress.get(name)
    return last is not None and last.state in ("passed", "left_out")


def has_passed_all(course: Course, progress: Mapping[str, LastCheck]) -> bool:
    """Whether every exercise that has checks had passed when it was last checked."""
    names = [one.full_name for one in course.exercises]
    return bool(names) and all(name in progress and progress[name].state == "passed" for name in names)


def sums(exercises: Sequence[Exercise], progress: Mapping[str, LastCheck]) -> tuple[float, float]:
    """Points that were earned, and those that can be."""
    scores = (progress[one.full_name].score for one in exercises if one.full_name in progress)
    return total_points(scores), total_points(one.points for one in exercises)


def done_line(course: Course, progress: Mapping[str, LastCheck]) -> str:
    """How many exercises have passed, and the points: ``3 of 91 exercises, 4/180 points``."""
    names = [one.full_name for one in course.exercises]
    passed = sum(progress[name].state == "passed" for name in names if name in progress)
    return f"{passed} of {counted(len(names), 'exercise')}, {points(*sums(course.exercises, progress))} points"


def _percent(score: float, maximum: float) -> str:
    return f"{percent(score, maximum) or 0.0:.1f}%"
