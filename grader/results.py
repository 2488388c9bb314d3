"""The results of grading a submission: plain, frozen data that every report and the gradebook share.

Never holds live objects: everything here can be written as JSON and read back equal.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, TypeVar, get_args

import msgspec

from grader.pictures import Compared, Picture, Stair

T = TypeVar("T")

SCHEMA: Final = 1
"""The version of the format of `SubmissionResult`; a change of the format raises it."""

MAX_TEXT: Final = 6_000
"""Characters of one text of a cause, and of a message without its prints; ordinary ones are much shorter."""

VerdictKind = Literal["passed", "failed", "blocked", "skipped", "timeout", "crashed", "error"]
MOST_FLAGS: Final = 40
"""Flags of one submission that are kept."""
NOT_ASSESSED: frozenset[str] = frozenset({"skipped", "error"})
"""Verdicts that take their check out of the total: they say nothing about the student."""

_POINT_DIGITS: Final = 6
"""Decimals of points. What an exercise is worth is split so that the parts add up, and every sum is exact again."""

ALL_LAYERS: Final = "all layers"
"""Stands for the layers of the sandbox where none was active."""

_Failed = Literal["assertion", "exception", "missing", "unwritten", "not_simulated"]
_Crashed = Literal["crash", "no_answer"]
_Skipped = Literal["not_assessed", "memory_short"]
CauseKind = Literal[_Failed, _Crashed, _Skipped, "timeout", "blocked", "grader_fault"]

Stage = Literal["check", "import", "topic", "submission"]
"""The subject of a cause: one check, importing the topic, the topic as a whole (its file, its time), or all of it."""

VERDICT_OF: Final[Mapping[CauseKind, VerdictKind]] = {
    **dict.fromkeys(get_args(_Failed), "failed"),
    **dict.fromkeys(get_args(_Crashed), "crashed"),
    **dict.fromkeys(get_args(_Skipped), "skipped"),
    "timeout": "timeout",
    "blocked": "blocked",
    "grader_fault": "error",
}
"""The verdict of a check that did not pass, by the kind of its cause."""


FlagKind = Literal["not_simulated", "source", "event", "renamed", "worker"]


class Flag(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that an instructor should look at. It changes no verdict. Its kinds:

    - ``not_simulated``: an exercise fails because simulated devices lack something; it may be right all the same
    - ``source``: the code names things that no exercise needs, such as the frames of its callers
    - ``event``: the code was seen doing so while it ran
    - ``renamed``: an exercise that is not written may be answered under another name
    - ``worker``: two of the grader's processes ended while they graded it

    Attributes:
        kind: the kind of flag.
        text: the reason to look, e.g. ``uses sys.modules``: one bounded line, safe to print.
        file: the file in the submission; empty when unknown.
        line: from 1; 0 when unknown.
    """

    kind: FlagKind
    text: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"line {self.line} of {self.file}" if self.line else self.file
        return f"look at {place}: {self.text}" if place else self.text


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of source in a traceback.

    Attributes:
        file: its path in the submission.
        line: from 1; 0 when unknown.
        function: the function that it is in; may be empty.
        text: the line itself, stripped; may be empty.
        place: its place in the student's notebook, if the file was made of one: ``In [5], line 3``; else empty.
    """

    file: str
    line: int
    function: str = ""
    text: str = ""
    place: str = ""


class SpentTime(msgspec.Struct, frozen=True, omit_defaults=True):
    """The time after which a submission was stopped.

    Attributes:
        limit: that of the check, or as much of it as the topic had left; of the topic if its time is used up (s).
        answered: the calls that were answered in this time, if all of them were slow and none hung; else 0.
        longest: the time that the slowest of these took, by the clock (s).
        used: if the topic's time is used up, or almost: the exercises that took most of it, and their seconds.
    """

    limit: float
    answered: int = 0
    longest: float = 0.0
    used: tuple[tuple[str, float], ...] = ()


class TooMuchMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The memory that a submission wanted, and the limit (bytes).

    Attributes:
        limit: the memory that a submission may use.
        held: the memory that its processes held, as measured; 0 if the process itself noticed the limit.
        asked: the memory that torch asked for in vain; 0 if it is not known.
    """

    limit: int
    held: int = 0
    asked: int = 0


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a check did not pass, as data: each fact by itself, bounded, and empty if there is none.

    Checks that did not run for the same reason have equal causes, so that reports can show the cause once. The kinds:

    - ``assertion``: the answer is wrong; ``exception``: the submission raised instead of answering
    - ``missing``: there is no such file or name; ``unwritten``: the exercise is still as it was handed out
    - ``timeout``: there was no answer in time; ``crash``: the process ended or went over a limit
    - ``no_answer``: the process sent something that is not an answer: not data, or too much of it
    - ``blocked``: another exercise must pass first
    - ``not_assessed``: the check cannot run here, e.g. without a GPU
    - ``memory_short``: the system ended the process because the machine's memory was short and others held most of it;
      graded again alone, it did so again
    - ``not_simulated``: the submission uses something that simulated devices do not offer, and fails: a person should
      look
    - ``grader_fault``: the check or the grader is wrong, or a process of the grader ended; nobody loses points

    Attributes:
        kind: the kind of cause.
        stage: its subject.
        advice: the failure in a sentence: the message begins with it.
        sentence: the check's own, from its docstring; empty if the cause is not about this one check.
        call: the call as a line that can be pasted.
        returned: the returned value, as text; with `looked_at`, what the check looked at afterwards instead.
        expected: the right value, as text; always empty for a hidden check.
        situation: the situation in which the exercise breaks, as ``only with a last batch that is shorter``; empty if
            the checks that fail and those that pass do not show one.
        reason: the reason in words; empty if the other fields are enough.
        exception_type: name of the exception's type, e.g. ``ValueError``.
        exception_message: the exception's text.
        frames: the student's own lines, outermost first: the traceback, or the line that an endless loop had reached.
        time: if it was too slow: how slow.
        memory: if it went over its limit of memory: by how much.
        prints: the beginning of the submission's output.
        printed: the number of characters that it printed in all.
        note: another fact to know, e.g. that the same call was right when it was made alone.
        names: exercises that must pass first, or the name that is missing.
        file: the topic's file, if the cause is about that file.
        check_line: the line of the check that is wrong, for a fault of the check.
        is_slip: whether `advice` is about a slip of the pen in the source, whose line it names.
        is_of_another_type: whether `returned` has another type or dtype than the right value.
        looked_at: whether `returned` is not what the call returned: the model afterwards, the results rank by rank.
        compared: the returned and the right matrix, to be drawn; always None for a hidden check.
        stair: how far each rank got, to be drawn, if a run of several did not end.
    """

    kind: CauseKind
    stage: Stage = "check"
    advice: str = ""
    sentence: str = ""
    call: str = ""
    returned: str = ""
    expected: str = ""
    situation: str = ""
    reason: str = ""
    exception_type: str = ""
    exception_message: str = ""
    frames: tuple[Frame, ...] = ()
    time: SpentTime | None = None
    memory: TooMuchMemory | None = None
    prints: str = ""
    printed: int = 0
    note: str = ""
    names: tuple[str, ...] = ()
    file: str = ""
    check_line: Frame | None = None
    looked_at: bool = False
    is_of_another_type: bool = False
    is_slip: bool = False
    compared: Compared | None = None
    stair: Stair | None = None


class CheckResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of one check. As JSON, the attributes after ``cause`` are left out if they say nothing.

    Attributes:
        name: the check's name, e.g. ``rows_dotted_with_rows``.
        verdict: one of the verdict kinds.
        message: the text for the student, made from the cause; empty when passed. Code prints it and never reads it.
        cause: why it did not pass; None when passed.
        score: the points that it earned, if checks have points of their own.
        max: the points that it could earn; 0 if only the exercise as a whole has points.
        is_bonus: whether its points come on top of those of the exercise.
        hidden_until: until when students do not see it: an ISO time with offset, or ``always``; empty if they do.
    """

    name: str
    verdict: VerdictKind
    message: str = msgspec.field(default_factory=str)  # made by a factory, a default is written all the same
    cause: Cause | None = msgspec.field(default_factory=lambda: None)
    score: float = 0.0
    max: float = 0.0
    is_bonus: bool = False
    hidden_until: str = ""


class Manual(msgspec.Struct, frozen=True):
    """Work that a person marks; it has no checks.

    Attributes:
        points: its points: no part of the total before it is marked.
        file: the file that the work is in.
        state: whether it is ``there``, ``missing``, or ``untouched``: as it was handed out.
        instead: the files in which it is instead of `file`: in another format, or by another name.
    """

    points: float
    file: str
    state: Literal["there", "missing", "untouched"] = "there"
    instead: tuple[str, ...] = ()

    @property
    def work(self) -> str:
        """The file that a person looks at."""
        return self.instead[0] if self.instead else self.file


class ExerciseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one exercise.

    Attributes:
        name: its full name, ``topic.exercise``.
        score: the points that it earned, with its bonus.
        max: the points that it could earn without a bonus; 0 when none of its checks could be assessed.
        misconception: the name of the misconception that was recognised.
        explanation: the sentences of that misconception for students, in one line.
        checks: the outcome of each check.
        not_assessed: the points that left the total, because none of its checks could be assessed; if checks have
            points of their own, those of the checks that could not.
        bonus: the part of the score that comes on top.
        manual: the work that a person marks: then it has no checks, and no points here; None if its checks decide.
        as_handed_out: whether its text is the one that students get. It may still run: a program with a bug to find.
        pictures: what its answer looks like, if it has passed and pictures were asked for; they decide nothing.
    """

    name: str
    score: float
    max: float
    misconception: str | None = None
    explanation: str | None = None
    checks: tuple[CheckResult, ...] = ()
    not_assessed: float = 0.0
    bonus: float = 0.0
    manual: Manual | None = None
    as_handed_out: bool = False
    pictures: tuple[Picture, ...] = ()

    @property
    def topic(self) -> str:
        """The name of its topic."""
        return self.name.partition(".")[0]

    @property
    def is_right(self) -> bool:
        """Whether it has all the points that could be earned, whatever the bonus."""
        return self.max > 0 and self.score - self.bonus >= self.max - 1e-9

    @property
    def meets_needs(self) -> bool:
        """Whether exercises that need this one may be graded: it has all its points, or only faulty checks.

        One that is not assessed here unlocks nothing: exercises that need it leave the total too.
        """
        return self.is_right if self.max > 0 else any(check.verdict == "error" for check in self.checks)

    @property
    def parts(self) -> tuple[CheckResult, ...]:
        """Its checks without those that give a bonus."""
        return tuple(check for check in self.checks if not check.is_bonus)


class Unread(msgspec.Struct, frozen=True):
    """A topic whose work was handed in, and could not be read. Its points are 0, and are no mark: a person has to look.

    Attributes:
        topic: its name.
        reason: why, in one line.
    """

    topic: str
    reason: str


class SubmissionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one submission: one line of ``results.jsonl``.

    Attributes:
        schema: the version of this format.
        submission: its name.
        score: the points that it earned, with every bonus.
        max: the points of all exercises that could be assessed, without a bonus.
        exercises: in the course's order.
        sandbox: the layers of the sandbox that were active.
        flags: code that an instructor should look at.
        unread: topics whose work could not be read.
        notes: why parts of the work could not be graded as handed in: for the student and the instructor.
    """

    schema: Literal[1] = SCHEMA
    submission: str
    score: float
    max: float
    exercises: tuple[ExerciseResult, ...] = ()
    sandbox: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def checked(self) -> tuple[ExerciseResult, ...]:
        """The exercises that have checks."""
        return tuple(one for one in self.exercises if one.manual is None)

    @property
    def to_mark(self) -> tuple[ExerciseResult, ...]:
        """The exercises that a person marks."""
        return tuple(one for one in self.exercises if one.manual is not None)

    @property
    def left_out(self) -> tuple[ExerciseResult, ...]:
        """The exercises that are not in the total, or only in part, because checks of them could not be assessed."""
        return tuple(one for one in self.exercises if one.checks and (one.max == 0 or one.not_assessed > 0))

    def of_exercises(self, names: Collection[str]) -> "SubmissionResult":
        """The same with these exercises alone, and the topics among them that could not be read."""
        exercises = tuple(one for one in self.exercises if one.name in names)
        topics = {name.partition(".")[0] for name in names}
        return msgspec.structs.replace(
            self,
            exercises=exercises,
            score=total_points(one.score for one in exercises),
            max=total_points(one.max for one in exercises),
            unread=tuple(one for one in self.unread if one.topic in topics),
        )

    @property
    def verdicts(self) -> set[str]:
        """The verdict kinds that occur; a bonus that was not earned does not count."""
        return {
            check.verdict
            for exercise in self.exercises
            for check in exercise.checks
            if not check.is_bonus or check.verdict == "error"
        }


def total_points(points: Iterable[float]) -> float:
    """The sum of some points, as exact as points are: a multiple of a millionth."""
    return round(math.fsum(points), _POINT_DIGITS)


def each_once(values: Iterable[Iterable[T]]) -> tuple[T, ...]:
    """The items of several collections, such as the notes of a result's parts, each once and in their order."""
    return tuple(dict.fromkeys(item for value in values for item in value))


def to_json(result: SubmissionResult) -> bytes:
    """One line of JSON, without the line end."""
    return msgspec.json.encode(result)


def from_json(line: bytes | str) -> SubmissionResult:
    """The inverse of `to_json`.

    Raises:
        msgspec.ValidationError: if the line is not such an object, or one of another schema.
    """
    return msgspec.json.decode(line, type=SubmissionResult)
