"""The messages of a student process, each a struct: its control messages, and the calls that it answers.

A message is decoded by its type, strictly: a student process sends data of exactly these shapes, or its message is
refused. Must never hold an expected answer. `Raised` and `SentLine` repeat the submission, and are not to be believed.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec

from grader.border.bounds import MAX_LISTED

T = TypeVar("T")

MAX_MESSAGE: Final = 2_000
"""Characters of an exception's text."""


_Bounded = Annotated[T, msgspec.Meta(max_length=MAX_LISTED)]
"""A list of which the receiver takes no more than this: else what it does with each costs it time."""


class _Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A message is sent as an array: its tag, if it has one, then its fields in order."""


# ---------------------------------------------------------------- calls and their replies


class Request(_Message, frozen=True):
    """One call: an operation of `Service`, its arguments as trees of the wire format.

    Attributes:
        has_pandas: whether the judge makes tables of pandas, if the result has some.
    """

    operation: str
    args: list[Any]
    kwargs: list[tuple[str, Any]]
    has_pandas: bool = False


FORGET: Final = Request("forget", [], [])
"""Drops all handles; its reply is `Returned` with the place of the next tensor in the arena."""
RUN_OF_RANKS: Final = "ranks"
"""The operation that stands for a whole run of ranks in a check's record; no process is ever sent it."""


class Returned(_Message, frozen=True, tag="ok"):
    """A call's value, as a tree of the wire format."""

    value: Any


class SentLine(_Message, frozen=True):
    """One line of a traceback, as it was sent; `failures.source_lines` makes a `Frame` of it that can be shown."""

    file: str
    line: int
    function: str
    text: str


class Raised(_Message, frozen=True, tag="raise"):
    """A call, or an import, raised: the name of the exception's type, and whether that is the built-in one."""

    kind: str
    is_built_in: bool
    message: str
    frames: _Bounded[tuple[SentLine, ...]]


class Missing(_Message, frozen=True, tag="missing"):
    """The submission does not define the name that was called."""

    name: str


class TooLarge(_Message, frozen=True, tag="large"):
    """The call's value goes over the limits of the wire format."""

    reason: str


Reply: TypeAlias = Returned | Raised | Missing | TooLarge


class RunFailed(_Message, frozen=True, tag="run-failed"):
    """In a record, in place of a reply: not all ranks of a run have returned. No process sends it.

    Attributes:
        summary: the part that two submissions with the same mistake share.
    """

    summary: str


class Digest(msgspec.Struct, frozen=True):
    """Stands for a reply that is too long to be kept.

    Attributes:
        sha256: of all its bytes.
    """

    sha256: bytes


class Exchange(msgspec.Struct, frozen=True):
    """One call that crossed the border: kept for messages to students, for plans, and to recognise misconceptions."""

    request: bytes
    reply: bytes | Digest
    outside: bool = False


# ---------------------------------------------------------------- control of a topic's leader


class SetUp(_Message, frozen=True, tag="set-up"):
    """First message to a leader: the topic, and the submission's files by name.

    Attributes:
        own_shared_memory: whether /dev/shm is the sandbox's alone, so that all in it can be removed.
    """

    topic: str
    files: dict[str, bytes]
    own_shared_memory: bool


StatementPlace: TypeAlias = tuple[str, int]
"""A statement at the top level of a file: the file's name in the submission, and the statement's number, from 0."""


class LoadOrder(_Message, frozen=True):
    """How the files of a submission are loaded: statement by statement.

    Attributes:
        exercises: names that are asked for; without any of them, the import has failed.
        seconds: processor time that all statements may use; each may use a third of it. 0 means no limit, as the first
            process has found out which statements take too long.
        without: the statements that are not run.
    """

    exercises: list[str]
    seconds: float = 0.0
    without: list[StatementPlace] = []


Bindings: TypeAlias = Sequence[tuple[str, str]] | None
"""For the course's own wrong answers: which name is answered by which of them; None for a submission."""


class Start(_Message, frozen=True, tag="start"):
    """Asks for a student process under a number that the judge chose; its descriptors come along.

    Answers: `Forked`, `CannotFork`.

    Attributes:
        imports: whether it imports the topic, or never does.
        afresh: whether the work folder is made new before.
        load: how the topic is loaded; None to import it as a whole, or not at all.
    """

    number: int
    imports: bool = True
    afresh: bool = False
    bindings: Bindings = None
    load: LoadOrder | None = None


class HowEnded(_Message, frozen=True, tag="how-ended"):
    """Asks how a student process has ended; the leader waits for its end, at most so long (s). Answer: `Ended`."""

    number: int
    seconds: float


class EndAll(_Message, frozen=True, tag="end-all"):
    """Ends every process of the sandbox but the leader. Answer: `AllEnded`."""


class Tidy(_Message, frozen=True, tag="tidy"):
    """Removes the files that calls have left in the work folder. Answer: `Tidied`."""


Order: TypeAlias = Start | HowEnded | EndAll | Tidy


class Forked(_Message, frozen=True, tag="forked"):
    """A student process has been forked; ``process`` is its id in the sandbox."""

    process: int


class CannotFork(_Message, frozen=True, tag="cannot-fork"):
    """No student process could be forked: the submission has used up its limit of processes."""


class AllEnded(_Message, frozen=True, tag="all-ended"):
    """All processes have ended, and none of them counts for a limit any more."""


class Ended(_Message, frozen=True, tag="ended"):
    """The exit code of a student process, or minus the signal that ended it; None if it has not ended."""

    code: int | None


class Tidied(_Message, frozen=True, tag="tidied"):
    """The work folder has been tidied."""


FromLeader: TypeAlias = Forked | CannotFork | Ended | AllEnded | Tidied


MOST_FAILED: Final = 20
"""Statements that were left out which are sent."""
MOST_LOST: Final = 200
"""Names without a value that are sent."""
MOST_SKIPPED: Final = 100
"""Statements that need not be run again which are sent."""
_MOST_NAME: Final = 1_000


NOTHING_LOADED: Final = Raised("NothingLoaded", False, "", ())
"""In place of the first exception, if none of the exercises is defined because a statement took too long."""


class FailedStatement(_Message, frozen=True):
    """A statement at the top level that was left out.

    Attributes:
        first, last: its lines, from 1.
        raised: its exception; None if it used its time, or was not to be run.
    """

    place: StatementPlace
    first: int
    last: int
    raised: Raised | None


class Imported(_Message, frozen=True, tag="imported"):
    """First message of a student process, on its own socket: calls may come. The other one is `Raised`.

    Attributes:
        failed: the statements that were left out.
        lost: names that have no value now, each with the number of the failed statement that it needs.
        skipped: statements that later processes do not run: they took too long, or took long and nothing needs them.
    """

    failed: Annotated[list[FailedStatement], msgspec.Meta(max_length=MOST_FAILED)] = []
    lost: Annotated[
        list[tuple[Annotated[str, msgspec.Meta(max_length=_MOST_NAME)], int]], msgspec.Meta(max_length=MOST_LOST)
    ] = []
    skipped: Annotated[list[StatementPlace], msgspec.Meta(max_length=MOST_SKIPPED)] = []
