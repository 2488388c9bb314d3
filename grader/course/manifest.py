"""Reads ``course.toml`` strictly: every refusal names the file and the line.

Never looks at any other file and never guesses: an unknown key is an error, not a comment.
"""

import ast
import json
import keyword
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from grader.course.assignments import Assignment, Term
from grader.course.due import LatePolicy, read_due, read_fraction, read_minutes, read_penalty
from grader.course.marks import MarkPolicy, Resubmissions, read_letters
from grader.course.questions import Ask
from grader.course.suite import Group, Suite
from grader.errors import CourseError, did_you_mean
from grader.results import total_points
from grader.text import counted, printable

Credit = Literal["all", "per-check"]
"""How an exercise earns points: all of them if every check passes, or those of each check that passes."""
ALWAYS: Final = "always"
"""Until when a check is hidden that is never shown."""
Level = Literal["easy", "medium", "hard"]
Kind = Literal["automatic", "manual"]
"""Who decides an exercise's points: its checks, or a person by a rubric."""
Key = tuple[str | int, ...]
"""Where a value is in the manifest: ``("topics", 0, "exercises", 2, "points")``."""

_MODULES: Final = sys.stdlib_module_names | {"grader", "torch"}
"""Names that a topic cannot have: its file would be found in the place of these modules."""
_MOST_ITEMS: Final = 9
"""Each item of a rubric has a digit as its key in `grader mark`."""
_MOST_TEXT: Final = 200
"""Characters of an item's text: it stands on one line."""
_MOST_WHY: Final = 76
"""Characters of an exercise's `why`, which stands on a line of a terminal of 80 columns."""
_OF_CHECKS: Final = ("needs", "credit", "hidden_until", "hints_for", "tests", "hidden_tests", "seconds")
_NOT_SHOWN: Final = (".ipynb", ".zip", ".tar", ".gz", ".tgz", ".rar", ".7z", ".bz2", ".xz", ".zst")
_OURS: Final = frozenset({"__pycache__", "__MACOSX", "solutions", "checks", "node_modules", "site-packages"})
_WORDS: Final[dict[type, str]] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.StrType: "text in quotes",
}
_LONGEST_VALUE: Final = 60
"""Characters of a wrong value that a message shows."""

_HEADER = re.compile(r"^\s*(\[\[?)\s*([\w.\s-]+?)\s*\]\]?\s*(#.*)?$")
_ENTRY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")
_SYNTAX_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.+?)`")
_LATE: Final[dict[str, Callable[[object], Any]]] = {
    "due": read_due,
    "late_penalty_per_day": read_penalty,
    "late_grace_minutes": read_minutes,
    "late_cap": read_fraction,
    "late_until": read_due,
}
"""The keys of ``[course]`` about late work, in the order of `LatePolicy`, and how each is read."""
_KEYS_OF_MARKS: Final = frozenset([*_LATE, "resubmissions", "letters"])
"""The keys of ``[course]`` that change marks, and no result."""
_OF_LEARNING: Final = frozenset({"minutes", "level", "why", "after"})
"""The keys of exercises that say when to do them and why, and change no result."""
_OF_LESSONS: Final = frozenset({"lessons", "colab", "install", "finish_pictures"})
"""The keys of ``[course]`` about lessons, notebooks and the page at the end, which change none either."""
_MOST_QUESTIONS: Final = 5
_MOST_QUESTION_LINES: Final = 6
_ADDRESS: Final = re.compile(r"https://[\w.~:/?=&%+#-]+")
_INSTALLED: Final = re.compile(r"\w[\w.,=@:/\[\]+% -]*")  # no sign of a shell
_ASSIGNMENT_NAME = re.compile(r"[^\W_][\w-]*")


class RubricItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a person looks for: one ``[[topics.exercises.rubric]]`` table.

    Attributes:
        text: the requirement, in words.
        points: for meeting it.
    """

    text: str
    points: float


class Exercise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One function or class to write, or work that a person marks: one ``[[topics.exercises]]`` table.

    Attributes:
        points: for all of it; with a rubric, the sum of its items.
        hints_for: names of checks, each with the number (from 1) of the hint that is for it; such a hint is shown
            beside no other check.
        credit: how it earns its points; None in the table: as its topic, or the course, says.
        hidden_until: until when checks with ``hidden="all"`` are hidden from students: a date in the table, an ISO time
            with offset or `ALWAYS` here.
        topic: the topic's name; no key of the table, so that it has a name there which no key has.
        needs: exercises that must pass first; full names; the table may leave out the topic.
        kind: who decides its points.
        rubric: the items that a person looks for; only of a manual exercise.
        file: the file of the submission that a person looks at; empty means the topic's module.
        transcript: how `verify` runs the commands after ``$`` in its docstring; None: it does not.
        minutes: how long it takes about; None: not said.
        level: how hard it is.
        why: its purpose, in one line.
        after: the exercise (full name) after which it is proposed; empty: in its own topic.
        tests: the tests of the suite that it consists of, by node ids; then no function of its name is needed.
        hidden_tests: those of them that students do not see.
        seconds: for each of these tests; 0: as long as any check may take.
    """

    name: str
    points: float = 0.0
    hints: tuple[str, ...] = ()
    hints_for: dict[str, int] = {}
    needs: tuple[str, ...] = ()
    credit: Credit | None = None
    hidden_until: Any = None
    topic: str = msgspec.field(default="", name="<topic>")
    kind: Kind = "automatic"
    rubric: tuple[RubricItem, ...] = ()
    file: str = ""
    transcript: Literal["torchrun"] | None = None
    minutes: int | None = None
    level: Level | None = None
    why: str = ""
    after: str = ""
    tests: tuple[str, ...] = ()
    hidden_tests: tuple[str, ...] = ()
    seconds: float = 0.0

    def __hash__(self) -> int:
        return hash((self.topic, self.name))  # a table cannot be hashed

    @property
    def full_name(self) -> str:
        """``topic.name``, unique in the course."""
        return full_name(self.topic, self.name)

    @property
    def group(self) -> Group | None:
        """The tests of a suite that it consists of; None for one function or class to write."""
        if not self.tests and not self.hidden_tests:
            return None
        return Group(self.full_name, self.tests, self.hidden_tests, self.seconds)

    @property
    def effort(self) -> str:
        """How hard it is and how long it takes: ``easy, about 5 minutes``; empty if the course does not say."""
        time = f"about {counted(self.minutes, 'minute')}" if self.minutes else ""
        return ", ".join(filter(None, [self.level, time]))

    @property
    def work_file(self) -> str:
        """The file of a submission that the exercise is in."""
        return self.file or f"{self.topic}.py"


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to predict before it runs: one ``[[topics.questions]]`` table. Its answer is found by running it.

    Attributes:
        code: lines of Python, of which the last one is an expression; they know ``torch``, ``nn`` and ``F``.
        ask: what of its value is asked for.
        idea: the title of the part of the lesson that explains it.
    """

    code: str
    ask: Ask
    idea: str = ""


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stub module and its exercises, in order of learning: one ``[[topics]]`` table.

    Attributes:
        preload: installed modules that are slow to import and that its exercises use: loaded once, before grading.
        credit: how its exercises earn their points; None: as the course says.
        weight: how much it counts beside the other topics; None: 1 if another one has a weight, else by its points.
        exercises: those that have checks. A topic without any has no module.
        questions: asked once, by `grader learn` and `grader watch`.
        manual: those that a person marks; no key of the table either.
        is_package: whether its module is a folder, with `__init__.py` in it; no key either.
    """

    name: str
    title: str
    summary: str = ""
    reading: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    credit: Credit | None = None
    weight: float | None = None
    exercises: tuple[Exercise, ...] = ()
    questions: tuple[Question, ...] = ()
    manual: tuple[Exercise, ...] = msgspec.field(default=(), name="<manual>")
    is_package: bool = msgspec.field(default=False, name="<package>")

    @property
    def file(self) -> str:
        """The file of its module in a submission."""
        return f"{self.name}/__init__.py" if self.is_package else f"{self.name}.py"


def full_name(topic: str, exercise: str) -> str:
    """``topic.exercise``; a name that is full already stays as it is."""
    return exercise if "." in exercise else f"{topic}.{exercise}"


class CourseEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[course]`` table.

    Attributes:
        lessons: whether every topic must have a lesson.
        colab: the address under which its notebooks are in Colab, without their names; empty: they are not.
        install: what a notebook installs where the grader is missing.
        finish: where to go on, for who has passed everything.
        finish_pictures: the exercises (full names) whose pictures the page of `grader finish` shows.
    """

    name: str
    title: str
    kit: str | None = None
    show_solutions: Literal["never", "after_passing"] = "never"
    strict_import: bool = False
    examples: bool = True
    lessons: bool = False
    colab: str = ""
    install: str = "torchkata"
    finish: tuple[str, ...] = ()
    finish_pictures: tuple[str, ...] = ()
    credit: Credit = "all"
    hidden_until: Any = None
    due: Any = None
    late_penalty_per_day: Any = 0.0
    late_grace_minutes: Any = 0.0
    late_cap: Any = 1.0
    late_until: Any = None
    resubmissions: Resubmissions = "latest"
    letters: Any = None


class AssignmentEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ``[[assignments]]`` table; keys that it lacks are those of ``[course]``.

    Attributes:
        exercises: names of topics and exercises.
        hidden_until: until when checks of its exercises with ``hidden="all"`` are hidden, unless an exercise says.
    """

    name: str
    exercises: tuple[str, ...]
    title: str = ""
    due: Any = None
    late_penalty_per_day: Any = None
    late_grace_minutes: Any = None
    late_cap: Any = None
    late_until: Any = None
    hidden_until: Any = None
    resubmissions: Resubmissions | None = None
    weight: float | None = None


class TermEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[term]`` table."""

    drop_lowest: int = 0
    late_days: int = 0
    letters: Any = None


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of ``course.toml``."""

    course: CourseEntry
    topics: tuple[Topic, ...] = ()
    assignments: tuple[AssignmentEntry, ...] = ()
    term: TermEntry = TermEntry()
    suite: Suite = Suite()


class Manifest:
    """A manifest as data, and the line of each of its entries.

    Attributes:
        course: the table ``[course]`` as it is written.
        topics: complete: exercises know their topics, and those that a person marks are apart.
        late: when work is due, and the cost of late work.
        marks: how points make a mark.
        assignments: with the exercises' full names, in course order; none if it declares none.
        term: the rule that makes one mark of them.
        suite: somebody else's tests in the place of checks; None if there are none.
    """

    def __init__(self, file: Path) -> None:
        """Read and convert `file`.

        Raises:
            CourseError: if it is missing or not TOML, has an unknown key or a value of the wrong type, a name that is
                not valid in Python or not unique, points that are not above 0, or needs that cannot be met.
        """
        self.file = file
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CourseError(file, None, "there is no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise CourseError(file, None, f"cannot be read: {error}") from error
        self._lines = _lines_of(text)
        try:
            tables: Any = msgspec.toml.decode(text)
        except msgspec.DecodeError as error:
            found = _SYNTAX_LINE.search(str(error))
            line = int(found[1]) if found else max(1, len(text.splitlines()))
            message = _SYNTAX_LINE.sub("", str(error)).replace(" (at end of document)", " at the end of the file")
            raise CourseError(file, line, f"not valid TOML: {message}") from None
        try:
            entry = msgspec.convert(tables, ManifestEntry)
        except msgspec.ValidationError as error:
            raise self._wrong_entry(str(error), tables) from None
        if not entry.topics:
            raise self.error("a course needs at least one [[topics]]")
        self.course = entry.course
        self.suite = entry.suite if "suite" in tables else None
        self._keys: dict[str, Key] = {}
        until = self._read(entry.course.hidden_until, read_due, "course", "hidden_until")
        self._hidden_until = until.isoformat() if until else ALWAYS
        members = [self._members(one, entry.topics, number) for number, one in enumerate(entry.assignments)]
        self._hidden_until_of = self._hidden_by_assignment(entry.assignments, members)
        self.topics = tuple(
            self._topic(topic, tables["topics"][number], ("topics", number))
            for number, topic in enumerate(entry.topics)
        )
        self._require_needs()
        self._require_places()
        self._require_tests()
        for key, form, words in (("colab", _ADDRESS, "an https address"), ("install", _INSTALLED, "names of packages")):
            value = getattr(self.course, key)
            if value and not form.fullmatch(value):
                raise self.error(f"{key}: `{printable(value)}` must be {words}", "course", key)
        self.late = self._late(entry.course, LatePolicy(), "course")
        weights = tuple((topic.name, topic.weight) for topic in self.topics if topic.weight is not None)
        letters = self._read(self.course.letters, read_letters, "course", "letters") or ()
        self.marks = MarkPolicy(self.course.resubmissions, weights, letters)
        every = [one.full_name for topic in self.topics for one in (*topic.exercises, *topic.manual)]
        self.assignments = tuple(
            self._assignment(one, [name for name in every if name in members[number]], number)
            for number, one in enumerate(entry.assignments)
        )
        if self.assignments and all(one.weight == 0 for one in self.assignments):
            raise self.error("weight: every assignment has 0, so that the term has no mark", "assignments", 0, "weight")
        if "term" in tables and not self.assignments:
            raise self.error("[term] is for a course with [[assignments]]", "term")
        self.term = self._term(entry.term)

    def line(self, *key: str | int) -> int:
        """The line of `key`, or of the nearest table that would contain it; 1 if there is none."""
        while key and key not in self._lines:
            key = key[:-1]
        return self._lines.get(key, 1)

    def error(self, message: str, *key: str | int) -> CourseError:
        """A `CourseError` at the line of `key`."""
        return CourseError(self.file, self.line(*key), message)

    def error_of(self, name: str, key: str, message: str) -> CourseError:
        """A `CourseError` about a key of a topic, or of an exercise (full name)."""
        return self.error(message, *self._keys[name], key)

    def _read(self, value: Any, read: Callable[[Any], Any], *key: str | int) -> Any:
        """The meaning of a value; None if there is none."""
        try:
            return None if value is None else read(value)
        except (ValueError, OverflowError) as problem:
            raise self.error(f"{key[-1]}: {problem}", *key) from None

    def _late(self, table: Any, otherwise: LatePolicy, *key: str | int) -> LatePolicy:
        """When work is due by the keys of a table; those that it lacks are as in another policy."""
        written = [self._read(getattr(table, name), read, *key, name) for name, read in _LATE.items()]
        inherited = msgspec.structs.astuple(otherwise)[: len(written)]  # `by_file_time` has no key
        late = LatePolicy(*[old if new is None else new for new, old in zip(written, inherited, strict=True)])
        if late.due and late.until and late.until < late.due:
            raise self.error("late_until: the last date is before the due date", *key, "late_until")
        return late

    def _members(self, entry: AssignmentEntry, topics: tuple[Topic, ...], number: int) -> set[str]:
        """The full names of an assignment's exercises."""
        key = ("assignments", number)
        if not _ASSIGNMENT_NAME.fullmatch(entry.name):
            message = f"`name`: `{printable(entry.name)}` must be letters and digits, with - and _ between them"
            raise self.error(message, *key, "name")
        of_topics = {topic.name: {full_name(topic.name, one.name) for one in topic.exercises} for topic in topics}
        every = set().union(*of_topics.values())
        if entry.name in of_topics or entry.name in {one.partition(".")[2] for one in every}:
            raise self.error(f"`name`: a topic or an exercise is called `{entry.name}` already", *key, "name")
        found: set[str] = set()
        for name in entry.exercises:
            alike = of_topics.get(name) or {one for one in every if name in (one, one.partition(".")[2])}
            if len(alike) > 1 and name not in of_topics:
                raise self.error(f"exercises: `{name}` could be {' or '.join(sorted(alike))}", *key, "exercises")
            if not alike:
                known = did_you_mean(name, [*of_topics, *every])
                raise self.error(f"exercises: no topic or exercise `{name}` in this course{known}", *key, "exercises")
            found |= alike
        if not found:
            raise self.error(f"assignment `{entry.name}` has no exercises", *key, "exercises")
        return found

    def _hidden_by_assignment(self, entries: tuple[AssignmentEntry, ...], members: list[set[str]]) -> dict[str, str]:
        """Until when checks of exercises are hidden by their assignments; refuses an exercise that is in two."""
        taken: dict[str, str] = {}
        hidden: dict[str, str] = {}
        for number, (entry, names) in enumerate(zip(entries, members, strict=True)):
            key = ("assignments", number)
            # Names are those of files, and on some systems capitals do not tell files apart.
            for before, other in enumerate(entries[:number]):
                if other.name.lower() == entry.name.lower():
                    line = self.line("assignments", before, "name")
                    said = f"line {line} has the assignment `{other.name}` already"
                    raise self.error(f"`name` is taken: {said}", *key, "name")
            if both := sorted(names & taken.keys()):
                message = f"exercises: `{both[0]}` is in the assignment `{taken[both[0]]}` already"
                raise self.error(message, *key, "exercises")
            taken |= dict.fromkeys(names, entry.name)
            if until := self._read(entry.hidden_until, read_due, *key, "hidden_until"):
                hidden |= dict.fromkeys(names, until.isoformat())
        return hidden

    def _assignment(self, entry: AssignmentEntry, exercises: list[str], number: int) -> Assignment:
        key = ("assignments", number)
        if entry.weight is not None and not 0 <= entry.weight < math.inf:
            raise self.error(f"weight must be a number from 0 on, not {entry.weight}", *key, "weight")
        return Assignment(
            name=entry.name,
            title=entry.title or entry.name,
            exercises=tuple(exercises),
            late=self._late(entry, self.late, *key),
            resubmissions=entry.resubmissions or self.course.resubmissions,
            weight=entry.weight,
        )

    def _term(self, entry: TermEntry) -> Term:
        for name, value, most in (
            ("drop_lowest", entry.drop_lowest, max(0, len(self.assignments) - 1)),
            ("late_days", entry.late_days, 366),
        ):
            if not 0 <= value <= most:
                raise self.error(f"{name} must be a number from 0 to {most}, not {value}", "term", name)
        letters = self._read(entry.letters, read_letters, "term", "letters")
        return Term(
            drop_lowest=entry.drop_lowest,
            late_days=entry.late_days,
            letters=self.marks.letters if letters is None else letters,
        )

    def _topic(self, topic: Topic, table: Mapping[str, Any], key: Key) -> Topic:
        self._add_name("topic", topic.name, topic.name, key)
        if topic.name in _MODULES:
            message = f"`name`: Python has a module `{topic.name}`; give the topic another name"
            raise self.error(message, *key, "name")
        for module in topic.preload:
            if not all(part.isidentifier() for part in module.split(".")):
                raise self.error(f"`{module}` cannot be the name of a module", *key, "preload")
        if topic.weight is not None and not 0 <= topic.weight < math.inf:
            raise self.error(f"weight must be a number from 0 on, not {topic.weight}", *key, "weight")
        if not topic.exercises:
            raise self.error(f"topic `{topic.name}` has no [[topics.exercises]]", *key)
        if len(topic.questions) > _MOST_QUESTIONS:
            message = f"a topic has at most {_MOST_QUESTIONS} questions, not {len(topic.questions)}"
            raise self.error(message, *key, "questions", _MOST_QUESTIONS)
        for number, question in enumerate(topic.questions):
            if problem := _why_no_question(question):
                raise self.error(f"code of a question {problem}", *key, "questions", number, "code")
        every = [
            self._exercise(topic, exercise, table["exercises"][number], (*key, "exercises", number))
            for number, exercise in enumerate(topic.exercises)
        ]
        automatic = tuple(one for one in every if one.kind == "automatic")
        manual = tuple(one for one in every if one.kind == "manual")
        is_package = self.suite is not None and self.suite.is_package(topic.name)
        return replace(topic, exercises=automatic, manual=manual, is_package=is_package)

    def _exercise(self, topic: Topic, exercise: Exercise, table: Mapping[str, Any], key: Key) -> Exercise:
        until = self._read(exercise.hidden_until, read_due, *key, "hidden_until")
        name = full_name(topic.name, exercise.name)
        found = replace(
            exercise,
            topic=topic.name,
            needs=tuple(full_name(topic.name, need) for need in exercise.needs),
            after=full_name(topic.name, exercise.after) if exercise.after else "",
            credit=exercise.credit or topic.credit or self.course.credit,
            hidden_until=until.isoformat() if until else self._hidden_until_of.get(name, self._hidden_until),
        )
        self._add_name("exercise", found.name, found.full_name, key)
        if found.minutes is not None and found.minutes < 1:
            raise self.error(f"minutes must be a number from 1 on, not {found.minutes}", *key, "minutes")
        if printable(found.why) != found.why or "\n" in found.why or "\t" in found.why:
            raise self.error("why must be one line of plain text", *key, "why")
        if len(found.why) > _MOST_WHY:
            raise self.error(f"why has at most {_MOST_WHY} characters, not {len(found.why)}", *key, "why")
        for check, number in found.hints_for.items():
            if not 1 <= number <= len(found.hints):
                message = f"hints_for: `{check}` wants hint {number} of {len(found.hints)}"
                raise self.error(message, *key, "hints_for")
        if found.kind == "manual":
            for message, place in _faults_of_manual(found, topic, table):
                raise self.error(message, *key, *place)
            return replace(found, points=_sum_of_items(found))
        if "points" not in table:
            raise self.error("missing key `points`", *key)
        for name in ("rubric", "file"):
            if name in table:
                message = f'`{name}` is for what a person marks: it needs `kind = "manual"`'
                raise self.error(message, *key, name)
        if not 0 < found.points < math.inf:
            raise self.error(f"points must be a number above 0, not {found.points}", *key, "points")
        return found

    def _add_name(self, kind: str, name: str, full: str, key: Key) -> None:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise self.error(f"`name`: `{name}` cannot be a name in Python", *key, "name")
        for known, place in self._keys.items():
            # Topics are files, and on some systems capitals do not tell files apart.
            if known == full or (kind == "topic" and known.lower() == full.lower()):
                taken = f"line {self.line(*place, 'name')} has the {kind} `{known}` already"
                raise self.error(f"`name` is taken: {taken}", *key, "name")
        self._keys[full] = key

    def _require_needs(self) -> None:
        needs = {one.full_name: one.needs for topic in self.topics for one in topic.exercises}
        by_hand = {one.full_name for topic in self.topics for one in topic.manual}
        for name, wanted in needs.items():
            for need in wanted:
                if need in by_hand:
                    raise self.error_of(name, "needs", f"`{name}` needs `{need}`, which a person marks")
                if need not in needs:
                    message = f"`{name}` needs `{need}`, which is not an exercise of this course"
                    raise self.error_of(name, "needs", message + did_you_mean(need, needs))
        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            name = next(name for name in needs if name in error.args[1])
            raise self.error_of(name, "needs", f"`{name}` needs itself, directly or through others") from None

    def _require_places(self) -> None:
        """Refuses `after` where it names no exercise, or where such exercises would wait for each other."""
        every = {one.full_name: one for topic in self.topics for one in (*topic.exercises, *topic.manual)}
        for name, one in every.items():
            if one.after and one.after not in every:
                message = f"after: `{one.after}` is not an exercise of this course{did_you_mean(one.after, every)}"
                raise self.error_of(name, "after", message)
        after = {name: (one.after,) for name, one in every.items() if one.after}
        try:
            TopologicalSorter(after).prepare()
        except CycleError as error:
            name = next(name for name in after if name in error.args[1])
            raise self.error_of(name, "after", f"`{name}` comes after itself, directly or through others") from None

    def _require_tests(self) -> None:
        """Refuses exercises without tests in a course with a suite, and tests without one."""
        if self.suite is None:
            for topic in self.topics:
                for one in topic.exercises:
                    if one.group:
                        raise self.error_of(one.full_name, "tests", "`tests` needs a [suite] that they are in")
            return
        suite = self.suite
        if not suite.names:
            raise self.error("[suite] needs `modules` or `packages`: the names of what students write", "suite")
        for name in (suite.path, *suite.modules, *suite.packages):
            if not all(part.isidentifier() for part in name.split(".")):
                raise self.error(f"[suite]: `{name}` cannot be a folder or a module", "suite")
        for topic in self.topics:
            if topic.exercises and topic.name not in suite.names:
                known = did_you_mean(topic.name, suite.names)
                message = f"topic `{topic.name}` is none of [suite]'s modules and packages{known}"
                raise self.error_of(topic.name, "name", message)
            for one in topic.exercises:
                if one.group is None:
                    message = f"exercise `{one.full_name}` names no `tests` of the suite"
                    raise self.error_of(one.full_name, "name", message)
                if not 0 <= one.seconds < math.inf:
                    raise self.error_of(one.full_name, "seconds", "seconds must be a number above 0")

    def _wrong_entry(self, message: str, tables: Any) -> CourseError:
        """The error for a message of msgspec: which keys or values are allowed, in the words of an author."""
        message, _, path = message.partition(" - at ")
        key: Key = tuple(int(part) if part.isdigit() else part for part in re.findall(r"\w+", path))
        if message.startswith("Object missing required field"):
            return self.error(message.replace("Object missing required field", "missing key"), *key)
        kind: Any = inspect.type_info(ManifestEntry)
        found, name = tables, ""
        for part in key:
            found = found[part]
            name = f"an entry of `{name}`" if isinstance(part, int) else part
            if isinstance(kind, inspect.StructType):
                kind = next(field.type for field in kind.fields if field.encode_name == part)
            else:
                kind = kind.item_type
        if unknown := _UNKNOWN.match(message):
            known = [field.encode_name for field in kind.fields if field.encode_name.isidentifier()]
            return self.error(f"unknown key `{unknown[1]}`{did_you_mean(unknown[1], known)}", *key, unknown[1])
        if isinstance(kind, inspect.DictType) and isinstance(found, dict):
            name, kind = f"each value of `{name}`", kind.value_type
        shown = json.dumps(found, default=str, ensure_ascii=False)
        shown = shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"
        return self.error(f"{name if ' ' in name else f'`{name}`'} must be {_words(kind)}, not {shown}", *key)


def _words(kind: Any) -> str:
    """The values that a type allows."""
    if isinstance(kind, inspect.UnionType):
        return " or ".join(_words(one) for one in kind.types if not isinstance(one, inspect.NoneType))
    if isinstance(kind, inspect.LiteralType):
        *first, last = (json.dumps(value) for value in kind.values)
        return f"{', '.join(first)} or {last}" if first else last
    if isinstance(kind, inspect.VarTupleType):
        one = _words(kind.item_type)
        return "one or more tables" if one == "a table" else f"a list of {one}"
    return _WORDS.get(type(kind), "a table")


def _faults_of_manual(exercise: Exercise, topic: Topic, table: Mapping[str, Any]) -> Iterator[tuple[str, Key]]:
    """The faults of an exercise that a person marks, each with the key in its table that it is about."""
    name, rubric = exercise.full_name, exercise.rubric
    for key in _OF_CHECKS:
        if key in table:
            yield f"`{key}` is for exercises with checks, and a person marks `{name}`", (key,)
    if not rubric:
        yield f"`{name}` has no [[topics.exercises.rubric]]: a person would have nothing to mark by", ()
    if len(rubric) > _MOST_ITEMS:
        message = f"a rubric has at most {_MOST_ITEMS} items, not {len(rubric)}: each has a key"
        yield message, ("rubric", _MOST_ITEMS)
    for number, (text, points) in enumerate((item.text, item.points) for item in rubric):
        if not 0 < points < math.inf:
            yield f"points of an item must be a number above 0, not {points:g}", ("rubric", number, "points")
        of_text = ("rubric", number, "text")
        if not text.strip() or "\n" in text or "\t" in text or printable(text) != text:
            yield "text of an item must be one line of plain text", of_text
        if len(text) > _MOST_TEXT:
            yield f"text of an item has at most {_MOST_TEXT} characters, not {len(text)}", of_text
        if text in (item.text for item in rubric[:number]):
            yield f"two items have the text `{text}`", of_text
    total = _sum_of_items(exercise)
    if "points" in table and not math.isclose(exercise.points, total, abs_tol=1e-9):
        yield f"points: {exercise.points:g}, but the items of the rubric make {total:g}", ("points",)
    if "file" in table and (reason := _why_no_file(exercise.file)):
        yield f"file: `{printable(exercise.file)}` {reason}", ("file",)
    if "file" not in table and all(one.kind == "manual" for one in topic.exercises):
        yield f"`{name}` needs a `file`: no exercise of its topic has checks, so it has no module", ()


def _sum_of_items(exercise: Exercise) -> float:
    """The points of an exercise that a person marks; tenths make up a whole."""
    return total_points(item.points for item in exercise.rubric)


def _why_no_question(question: Question) -> str:
    """Why the code of a question is none; empty if it is some."""
    code = question.code.strip("\n")
    if not code.strip() or printable(code) != code or code.count("\n") >= _MOST_QUESTION_LINES:
        return f"must be one to {_MOST_QUESTION_LINES} lines of plain text"
    try:
        ast.parse(code)
        ast.parse(code.rpartition("\n")[2], mode="eval")
    except SyntaxError as error:
        return f"must be Python, and its last line an expression: {error.msg}"
    return ""


def _why_no_file(file: str) -> str:
    """Why this cannot be a file that a student hands in; empty if it can."""
    parts = file.split("/")
    if file.startswith("/") or "\\" in file or ":" in file or any(part in ("", ".", "..") for part in parts):
        return "must be a path below the folder with the work, with / between its parts"
    if any(part.startswith(".") or part in _OURS for part in parts) or printable(file) != file:
        return "is no name of a student's file"
    if PurePosixPath(file).suffix.lower() in _NOT_SHOWN:
        return "cannot be looked at: name a text, a picture, a PDF or a Python file"
    return ""


def of_results(manifest: bytes) -> bytes:
    """The part of a manifest that results depend on.

    Not late work, marks, assignments, the term, lessons, questions, the order in which exercises are proposed, and
    comments.

    Of an assignment, it is until when checks are hidden.
    """
    tables: Any = msgspec.toml.decode(manifest)
    hiding = [one for one in tables.pop("assignments", ()) if "hidden_until" in one]
    tables.pop("term", None)
    without = _KEYS_OF_MARKS | _OF_LESSONS
    tables["course"] = {key: value for key, value in tables["course"].items() if key not in without}
    tables["topics"] = [
        {key: value for key, value in one.items() if key not in ("weight", "questions")} for one in tables["topics"]
    ]
    for topic in tables["topics"]:
        topic["exercises"] = [
            {key: value for key, value in one.items() if key not in _OF_LEARNING} for one in topic["exercises"]
        ]
    if hiding:
        tables["hidden_until"] = [(one["exercises"], one["hidden_until"]) for one in hiding]
    return msgspec.json.encode(tables, order="sorted")


def _lines_of(text: str) -> dict[Key, int]:
    """The line of every table and key; array tables are numbered in order of appearance."""
    lines: dict[Key, int] = {}
    count: dict[Key, int] = {}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = ()
            *parents, last = (part.strip() for part in header[2].split("."))
            for name in parents:
                table = (*table, name)
                if table in count:
                    table = (*table, count[table])
            table = (*table, last)
            if header[1] == "[[":
                count[table] = count.get(table, -1) + 1
                table = (*table, count[table])
            lines.setdefault(table, number)
        elif entry := _ENTRY.match(line):
            lines.setdefault((*table, entry[1]), number)
    return lines
