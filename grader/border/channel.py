"""One check's exchanges with a student process: sends requests, keeps their record, and turns replies into values.

Nothing here runs submitted code, and of a reply only its plain data is used.
"""

import contextlib
import hashlib
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, NamedTuple

import torch

from grader.border import tables, wire
from grader.border.arena import ALIGNMENT, ARENA_BYTES, WORDS, Arena, Sent, Slots, tensors_of
from grader.border.bounds import Budget, WireError
from grader.border.failures import ArgumentChanged, BadReply, MissingName, TooMuchTogether, exception_of, one_line
from grader.border.frames import MAX_PAYLOAD
from grader.border.messages import FORGET, Digest, Exchange, Missing, Raised, Reply, Request, Returned, TooLarge
from grader.border.proxies import Call, Drawn, FarObject, Remote, RemoteFunction, drawn, is_iterator
from grader.border.situations import Cases
from grader.border.transport import Transport
from grader.border.wire import Tree
from grader.text import with_article

_SIMULATING: Final = "grader.testkit.devices"
"""The module whose functions simulate devices."""
CHECK_BUDGET: Final = 4
"""How many messages' worth of values one check may receive, and of bytes."""
MAX_RECEIVED_BYTES: Final = CHECK_BUDGET * MAX_PAYLOAD
MAX_KEPT_BYTES: Final = 1 << 20
"""Bytes of the longest reply that a record keeps; of a longer one it keeps the digest."""
MAX_RECORD_BYTES: Final = 8 << 20
"""Bytes of all replies that the record of a check keeps: those of a topic's checks are in memory at the same time."""
_MOST_RECENT: Final = 32
"""Calls that are kept, with their results, to show the one that is wrong."""
_LARGE: Final = 1 << 18
"""Bytes of a reply whose result is not kept for that."""
_READS: Final = ("getattr", "getitem", "next")
_MOST_WATCHED: Final = 1 << 16
"""Elements of a tensor of which it is noticed that the check changes its copy."""
_FORGET: Final = wire.pack(FORGET)

_SIGNED: Final = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""torch cannot compare all of the unsigned dtypes; their bits tell."""


class Channel:
    """Sends calls over a transport, keeps their record, and turns replies into values.

    Attributes:
        record: every exchange since `restart`, in order.
        last: the call to show when a check fails; None before the first.
        recent: the last calls of the running example that messages may show, in order.
        kit: the name of the course's kit, whose functions a check may pass; empty when it has none.
        variables: the names that stand for a value in the submission, not for a function or a class.
        arguments: the tensors that were passed to submitted code; they are seen if the transport shares memory with it.
        cases: the situations of the running example.
        simulates: whether the check has used simulated devices.
        before_call: is called before each call that messages may show.
        answered: how many such calls were answered since `restart`.
        longest: the seconds that the slowest of them took, by the clock.
    """

    def __init__(
        self, transport: Transport, kit: str = "", arena: Arena | None = None, variables: frozenset[str] = frozenset()
    ) -> None:
        self.transport = transport
        self.kit = kit
        self.variables = variables
        self.arguments = WatchedArguments(arena)
        self.before_call: Callable[[], object] | None = None
        self._asked_again: deque[tuple[bytes, bytes]] = deque()
        self._begin()

    def restart(self) -> None:
        """Starts a new record, with handles numbered from 0 again."""
        self.arguments.restart(self.transport.call(_FORGET))
        self._asked_again.clear()
        self._begin()

    def _begin(self) -> None:
        self.record: list[Exchange] = []
        self.last: Call | None = None
        self.recent: deque[Call] = deque(maxlen=_MOST_RECENT)
        self._copies: list[tuple[torch.Tensor, torch.Tensor, Call | None]] = []
        self.cases = Cases()
        self.simulates = False
        self._received = self._kept = 0
        self._budget = Budget(CHECK_BUDGET)
        self._began = self._asked_at = time.monotonic()
        self.answered, self.longest = 0, 0.0

    @property
    def asks_on_and_on(self) -> bool:
        """True if the check spends its time on one request after the other, not on waiting for a single reply."""
        return 2 * self._asked_at > self._began + time.monotonic()

    def show(self, call: Call) -> None:
        """From now on, messages show this call."""
        self.last = call
        self.recent.append(call)
        if self.before_call is not None:
            self.before_call()

    def request(
        self, operation: str, args: Sequence[Any], kwargs: dict[str, Any], shown: Call | None, outside: bool = False
    ) -> Any:
        """Performs one operation in the process that runs submitted code.

        Args:
            shown: the call as messages show it; its result is filled in.
            outside: whether the operation is performed in the process that never imports the submission.

        Raises:
            SubmissionRaised: submitted code raised.
            SubmissionCrashed: the process ended, or sent something that is not a reply.
            SubmissionTimeout: no reply came in time.
        """
        budget = Budget()
        call = Request(
            operation,
            [wire.encode(value, self._reference, budget) for value in args],
            [(name, wire.encode(value, self._reference, budget)) for name, value in kwargs.items()],
            tables.is_loaded(),
        )
        request = wire.pack(call)
        self._look_at_copies()
        if shown is not None:
            self.show(shown)
        if self._asked_again:
            asked, reply = self._asked_again.popleft()
            if asked != request:  # a check that draws by chance; no failure counts in such a run
                raise AssertionError("the check asks something else for the same replies")
        else:
            reply = self._exchange(request, call, shown, outside)
        try:
            value, error = self._answer(wire.unpack_untrusted(reply, Reply))
        except WireError as bad:
            raise BadReply(f"sent an answer that is not data ({bad})") from None
        except Exception as bad:  # whatever the bytes are, they cost this call and nothing more
            raise BadReply(f"sent an answer that cannot be read ({type(bad).__name__})") from bad
        if error is not None:
            raise error
        if shown is not None:
            shown.result, shown.answered = value, True
            if len(reply) > _LARGE and self.recent and self.recent[-1] is shown:
                self.recent.pop()  # many of these would fill the judge's memory
        if operation in _READS and isinstance(value, torch.Tensor) and value.numel() <= _MOST_WATCHED:
            self._copies.append((value, value.detach().clone(), shown))
        return value

    def _look_at_copies(self) -> None:
        """Notices a check that changes what an attribute gave, and forgets it: it means the object over there.

        Raises:
            TypeError: it does, as in ``layer.weight.data.normal_()``.
        """
        kept = []
        for value, before, shown in self._copies:
            is_kept = sys.getrefcount(value) > _REFERENCES_IN_A_LOOP + (shown is not None and shown.result is value)
            if is_kept:
                kept.append((value, before, shown))
            elif not torch.equal(before, value) and bool(_differs(before, value.detach()).any()):
                self._copies.clear()
                what = f"`{shown.name}`" if shown is not None and shown.is_read else "a tensor of it"
                raise TypeError(
                    f"{what} is a copy of what the object over there has, so to change it in place changes nothing: "
                    "load_weights(submission, module, {name: numbers}) writes parameters, a probe anything else"
                )
        self._copies[:] = kept

    def _exchange(self, payload: bytes, request: Request, shown: Call | None, outside: bool) -> bytes:
        """Sends a request; its reply."""
        passed = () if outside else self.arguments.pass_on(request, shown)
        self._asked_at = time.monotonic()
        reply = self.transport.call_outside(payload) if outside else self.transport.call(payload)
        is_kept = len(reply) <= MAX_KEPT_BYTES and self._kept + len(reply) <= MAX_RECORD_BYTES
        self._kept += len(reply) if is_kept else 0
        kept = reply if is_kept else Digest(hashlib.sha256(reply).digest())
        self.record.append(Exchange(payload, kept, outside))
        if shown is not None:
            self.answered += 1
            self.longest = max(self.longest, time.monotonic() - self._asked_at)
        self.arguments.look_at(passed)
        self.note_received(len(reply))
        return reply

    def note_received(self, size: int) -> None:
        """Counts bytes that have come from any process of the submission.

        Raises:
            BadReply: they are more than one check may receive.
        """
        self._received += size
        if self._received > MAX_RECEIVED_BYTES:
            kind = BadReply if 2 * size > MAX_RECEIVED_BYTES else TooMuchTogether
            raise kind(f"sent more than {MAX_RECEIVED_BYTES >> 20} MiB in one check")

    def decode(self, tree: Tree, other: wire.Other = wire.no_other) -> Any:
        """The value of a tree, as a part of all that one check may receive; see `wire.decode`."""
        budget = Budget(whole=self._budget)

        def unknown(part: list[Tree]) -> object:
            return tables.made_of(part, budget, may_import=False) if part[0] == tables.TAG else other(part)

        return wire.decode(tree, unknown, budget)

    def ask_again(self, payload: bytes, request: Request, outside: bool) -> bytes:
        """Sends a request that an earlier run has sent; its reply, which the same request of the check then gets."""
        reply = self._exchange(payload, request, None, outside)
        self._asked_again.append((payload, reply))
        return reply

    def forget_asked_again(self) -> None:
        """No request of the check will ask for these replies."""
        self._asked_again.clear()

    def _answer(self, reply: Reply) -> tuple[Any, BaseException | None]:
        """The value of a reply, or the exception to raise for it."""
        match reply:
            case Returned(tree):
                return self.decode(tree, self._object), None
            case Raised():
                return None, exception_of(reply, simulates=self.simulates)
            case Missing(name):
                return None, MissingName(one_line(name))
            case TooLarge(reason):
                return None, BadReply(f"returned something too big to look at ({one_line(reason)})")

    def _reference(self, value: object) -> Tree:
        if isinstance(value, FarObject):
            return ["h", value._number]
        if isinstance(value, RemoteFunction):
            return ["f", value._name]
        if type(value) is FunctionType:
            return self._function(value)
        if isinstance(value, Drawn) or is_iterator(value):
            items = drawn(value)
            assert isinstance(items, Drawn)
            return ["g", *wire.encode(items.items, self._reference)[1:]]
        if (tree := tables.tree_of(value, Budget(), has_pandas=True)) is not None:
            return tree
        return self._function(value)

    def _function(self, value: Any) -> Tree:
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if not callable(value) or not isinstance(module, str) or not self._runs_there(module):
            kind = with_article(type(value).__name__)
            kind += " of this size, or with such cells," if tables.is_value(value) else ""
            raise TypeError(f"a check cannot pass {kind} to a submission: use a value, a handle or a recipe")
        if name is None or "." in name:
            raise TypeError(f"`{name}` cannot be run there: it is not at the top of {module}")
        self.simulates = self.simulates or module == _SIMULATING
        return ["r", module, name]

    def _runs_there(self, module: str) -> bool:
        return module.startswith("grader.testkit.") or (self.kit != "" and module.partition(".")[0] == self.kit)

    def _object(self, tree: list[Tree]) -> object:
        match tree:
            case ["h", int(number), str(kind)]:
                return Remote(self, number, one_line(kind))
        raise WireError("an unknown tag")

    def begin_example(self, may_change: bool) -> None:
        """From now on, arguments that change are noted, unless it is the exercise's job to change them."""
        self.recent.clear()
        self.cases = Cases()
        self._copies.clear()
        self.arguments.begin_example(may_change)

    def check_arguments(self) -> None:
        """Looks again at all that was passed since the example began.

        Raises:
            ArgumentChanged: submitted code changed a tensor that it was given.
            TypeError: the check has changed a copy in place, and means the object over there.
        """
        self._look_at_copies()
        if (changed := self.arguments.first_change()) is not None:
            self.last = changed.call or self.last
            raise ArgumentChanged(changed.words)


def channel_of(function: RemoteFunction | Remote) -> Channel:
    """The channel that calls of a function or an object go through, for the testkit's own requests."""
    channel: Channel = function._channel
    return channel


def packed_values(channel: Channel, *values: object) -> list[Tree]:
    """Trees of values and functions for a request to any process of the submission: so no handles are among them."""
    return [wire.encode(value, channel._reference) for value in values]


# ---------------------------------------------------------------- arguments that are changed in place


class ChangedArgument(NamedTuple):
    """An argument that was changed: in words, and the call that was given it."""

    words: str
    call: Call | None


class WatchedArguments:
    """The tensors that the calls of one check pass to submitted code; none are seen without memory to see them in."""

    def __init__(self, arena: Arena | None) -> None:
        self._arena = arena
        self._slots = Slots()
        self._is_refused = False
        self._may_change = False
        self._passed: list[tuple[Sent, Call | None]] = []
        self._change: ChangedArgument | None = None

    def restart(self, reply: bytes) -> None:
        """Begins a new check; `reply` is the student process's to `FORGET`, with the place of its first tensor.

        A tensor lies behind those that the submission may have kept, so not beyond the last one that was sent; and
        there must be room. Any other start is refused: the arguments count as changed.
        """
        start: object = None
        with contextlib.suppress(WireError):
            start = wire.unpack_untrusted(reply, Returned).value
        last = min(self._slots.next, ARENA_BYTES // 2)
        self._is_refused = type(start) is not int or not 0 <= start <= last or start % ALIGNMENT != 0
        self._slots.next = start if type(start) is int and not self._is_refused else 0
        self.begin_example(self._may_change)

    def begin_example(self, may_change: bool) -> None:
        """From now on changes count for a new example."""
        self._may_change = may_change
        self._passed.clear()
        self._change = None

    def pass_on(self, call: Request, shown: Call | None) -> list[tuple[Sent, Call | None]]:
        """The tensors of a request that is about to be sent."""
        return [] if self._arena is None else [(sent, shown) for sent in tensors_of(call, self._slots)]

    def look_at(self, passed: Sequence[tuple[Sent, Call | None]]) -> None:
        """Notes the first change of these tensors, now that the reply to their request has come."""
        if self._may_change or self._change is not None:
            return
        self._passed += passed
        for sent, call in passed:
            assert self._arena is not None
            words = f"changed the place of {sent.name} in memory" if self._is_refused else _change(sent, self._arena)
            if words:
                self._change = ChangedArgument(words, call)
                return

    def first_change(self) -> ChangedArgument | None:
        """The first change since the example began, whether noted after its call or come later."""
        passed, self._passed = self._passed, []
        self.look_at(passed)
        return self._change


def _change(sent: Sent, arena: Arena) -> str:
    """The change, in words; empty if the values are still equal: 0.0 and -0.0, one NaN and another.

    Tensors that are not in the arena count as equal.
    """
    data: bytes = sent.tree[4]
    if sent.offset is None:
        return ""
    now = arena.read(sent.offset, len(data) + 1)
    said = f"changed {sent.name} in place"
    if len(now) != len(data) + 1:
        return said
    if code := now[-1]:
        return f"{said}: {WORDS[code] if code < len(WORDS) else 'more than its values'}"
    if now.startswith(data):
        return ""
    head = ["T", *sent.tree[1:4]]
    try:
        before, after = (wire.decode([*head, part, False, 0, None]) for part in (data, now[:-1]))
    except WireError:  # a bool that is neither 0 nor 1
        return said
    assert isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)
    differs = _differs(before, after)
    if not bool(differs.any()):
        return ""
    place = tuple(int(index) for index in differs.nonzero()[0])
    element = f"element {list(place)}" if place else "its value"
    old, new = before[place].item(), after[place].item()
    shown = [f"{value:.6g}" if isinstance(value, float) else repr(value) for value in (old, new)]
    if shown[0] == shown[1]:  # they differ in later digits
        shown = [repr(old), repr(new)]
    return f"{said}: {element} was {shown[0]} and is {shown[1]}"


def _differs(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """A mask of the elements in which two tensors of one dtype differ."""
    if before.dtype in _SIGNED:
        before, after = before.view(_SIGNED[before.dtype]), after.view(_SIGNED[after.dtype])
    return (before != after) & ~((before != before) & (after != after))


def _references_in_a_loop() -> int:
    """The references to an object that only a tuple in a list holds, as a loop counts them: in Python 3.14 one less."""
    number = 0
    for value, _ in [(object(), None)]:
        number = sys.getrefcount(value)
    return number


_REFERENCES_IN_A_LOOP: Final = _references_in_a_loop()
