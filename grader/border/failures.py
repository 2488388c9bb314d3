"""The exceptions that a check gets instead of a value: submitted code raised, or returned nothing at all.

Makes them from the message about an exception, of which only plain data is used.
"""

import builtins
import contextlib
import functools
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from grader.border.messages import MAX_MESSAGE, Exchange, Raised, SentLine
from grader.pictures import Stair
from grader.results import Frame

OUT_OF_MEMORY: Final = "used more memory than it may"
"""The same words whether the process noticed it first, or the host that watches it."""

MEMORY_TAKEN: Final = "took most of the memory that the machine had left"
MEMORY_SHORT: Final = "the machine's memory was short, and the system ended the process"

MAX_SOURCE_LINES: Final = 16
"""Lines of a traceback that are kept."""
BUILT_IN_EXCEPTIONS: Final = {
    name: value for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
}
"""Python's own exceptions, by name."""
_LINE_NUMBERS: Final = range(1, 10_000_000)
_OF_A_FOLDER: Final = re.compile(r"(?<=') \((?:/|[A-Z]:\\)[^()\n]{1,500}\)$")
"""The file at the end of ``cannot import name 'x' from 'y'``: it is in a folder of this run alone."""
_ASKED: Final = re.compile(r"tried to allocate (\d{1,18}) bytes")


class SubmissionRaised(Exception):
    """Submitted code raised; also an instance of the same built-in exception type.

    Attributes:
        kind: the exception's type name.
        exact: whether that is the built-in type itself, not one of the same name.
        message: the exception's text, at most 2,000 characters.
        frames: the student's own lines, outermost first.
    """

    kind: str = "Exception"
    exact: bool = False
    message: str = ""
    frames: tuple[Frame, ...] = ()


class MissingName(SubmissionRaised):
    """The submission does not define the name.

    Attributes:
        file: the one that lacks it, if it is not the topic's own.
    """

    kind = "missing"

    def __init__(self, name: str, file: str = "") -> None:
        super().__init__(name)
        self.message = name
        self.file = file


class UnwrittenValue(SubmissionRaised):
    """A variable of the submission is still the ``...`` that was handed out."""


class NotSimulatedHere(SubmissionRaised):
    """Submitted code used something that simulated devices do not have, in a check that simulates devices."""


class ArgumentChanged(AssertionError):
    """Submitted code changed a tensor that it was given, in a check that does not allow it."""


class NoAnswer(BaseException):
    """Submitted code gave no answer. Not an `Exception`, so that no check swallows it.

    Its text, if any, is the message to the student.

    Attributes:
        examples: the exchanges up to that point; set only if the process itself still runs and reports the failure.
    """

    examples: tuple[tuple[Exchange, ...], ...] = ()


class SubmissionTimeout(NoAnswer):
    """Submitted code did not answer in time.

    Attributes:
        stair: how far each rank got, if there are several.
    """

    stair: Stair | None = None


class SubmissionCrashed(NoAnswer):
    """The student process ended, broke the protocol, or went over a limit."""


class OutOfMemory(SubmissionCrashed):
    """Submitted code went over its limit of memory, or took most of what the machine had left.

    Attributes:
        held: the memory that its processes held, as measured (bytes); 0 if the process itself noticed the limit.
        asked: the memory that torch asked for in vain (bytes); 0 if it is not known.
        frames: the student's own lines at which the process noticed it, outermost first.
    """

    def __init__(
        self, held: int = 0, asked: int = 0, frames: tuple[Frame, ...] = (), reason: str = OUT_OF_MEMORY
    ) -> None:
        super().__init__(reason)
        self.held = held
        self.asked = asked
        self.frames = frames


class KilledBySystem(SubmissionCrashed):
    """The system ended the student process because memory was short, and others held most of it: nobody's fault."""


class BadReply(SubmissionCrashed):
    """The student process sent something that is not an answer: not data, or too much of it."""


class TooMuchTogether(BadReply):
    """All replies to one check are too much together, and no single one is: perhaps the check asks for too much."""


def out_of_memory(raised: Raised) -> OutOfMemory | None:
    """The crash if an exception says that Python or torch got no more memory; None for another exception."""
    if raised.kind != "MemoryError" and "can't allocate memory" not in raised.message:
        return None
    asked = _ASKED.search(raised.message[:MAX_MESSAGE])
    return OutOfMemory(asked=int(asked[1]) if asked else 0, frames=source_lines(raised.frames))


ImportFailure: TypeAlias = SubmissionRaised | NoAnswer
"""Why a topic cannot be imported: the exception that a call would raise. The words of a crash complete "importing
tensor_ops.py …"."""


def exception_of(raised: Raised, *, simulates: bool = False) -> BaseException:
    """The exception that the judge raises for one of submitted code: a `SubmissionRaised`, or a crash.

    Args:
        simulates: whether the check has used simulated devices.
    """
    if raised.kind in ("SystemExit", "KeyboardInterrupt", "GeneratorExit") and raised.is_built_in:
        return SubmissionCrashed(f"ended the process with {raised.kind}({raised.message[:200]})")
    return out_of_memory(raised) or raised_error(
        raised, NotSimulatedHere if simulates and raised.kind == "NotSimulated" else None
    )


def raised_error(raised: Raised, kind: type[SubmissionRaised] | None = None) -> SubmissionRaised:
    """The exception of submitted code itself, whatever it is; of the class that fits it unless one is given."""
    message = _OF_A_FOLDER.sub("", raised.message[:MAX_MESSAGE])
    if kind is None and raised.is_built_in and raised.kind in BUILT_IN_EXCEPTIONS:
        kind = kind_of(raised.kind)
    error = (kind or SubmissionRaised)(message)
    error.kind, error.exact, error.message = one_line(raised.kind), raised.is_built_in, message
    error.frames = source_lines(raised.frames)
    return error


def source_lines(frames: Sequence[SentLine]) -> tuple[Frame, ...]:
    """The lines of a traceback fit to be shown: bounded, and without control characters; a line that cannot be is 0."""
    return tuple(
        Frame(
            one_line(at.file), at.line if at.line in _LINE_NUMBERS else 0, one_line(at.function), one_line(at.text, 200)
        )
        for at in frames[:MAX_SOURCE_LINES]
    )


def one_line(text: str, limit: int = 100) -> str:
    """A name or a line of source as it was sent: without control characters, and no longer than real code needs."""
    text = text[:limit]
    return text if text.isprintable() else "".join(c if c.isprintable() else "�" for c in text)


def is_exception(name: str) -> bool:
    """Whether Python itself has an exception of this name."""
    return name in BUILT_IN_EXCEPTIONS


@functools.cache
def kind_of(name: str) -> type[SubmissionRaised]:
    """The class that is both a `SubmissionRaised` and the built-in exception of that name."""
    return raised_as(BUILT_IN_EXCEPTIONS[name])


def raised_as(base: type[BaseException]) -> type[SubmissionRaised]:
    """A class that is both a `SubmissionRaised` and some exception, or the nearest one that mixes."""
    if issubclass(base, SubmissionRaised):
        return base
    needs_more = {"__init__": lambda self, *args: Exception.__init__(self, *args)}
    for one in base.__mro__[:-2]:
        for members in ({}, {} if one.__module__ == "builtins" else needs_more):
            with contextlib.suppress(TypeError):  # its memory layout does not mix, or it needs more than a message
                kind = type(f"Submission{one.__name__}", (SubmissionRaised, one), members)
                kind("x")
                return kind
    return SubmissionRaised
