"""What the far side has of one check, above all the twins: tensors that both sides have."""

import asyncio
import contextvars
import copy
import logging
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

from grader.testkit.draws import Moment, Seeds
from grader.testkit.far.files import Beside
from grader.testkit.generators import Generators

if TYPE_CHECKING:
    from grader.testkit.far.callbacks import Thread

_equal, _clone = torch.equal, torch.Tensor.clone
_SAME: Final = "same"
"""Stands for numbers, or a gradient, that have not changed."""
_FOLDER: Final = "suite_files"


class Log(logging.Handler):
    """Keeps the records of loggers since the last reply."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[tuple[str, int, str]] = []
        self._root = logging.getLogger()
        self._level = self._root.level
        self._root.addHandler(self)
        self._root.setLevel(1)

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append((record.name, record.levelno, record.getMessage()))

    def take(self) -> list[tuple[str, int, str]]:
        taken, self._records = self._records, []
        return taken

    def remove(self) -> None:
        self._root.removeHandler(self)
        self._root.setLevel(self._level)


class FarSide:
    """All that this side has of one check.

    Attributes:
        twins: tensors that both sides have, by key; those that were made here have keys below 0.
        last: data, gradient and `requires_grad` of each as both sides last had them.
        graphs: results whose graph is here.
        objects: those that both sides know, by a number: of the test, and those below 0 of the submission.
        modules: of these modules, what they had when both sides last had the same.
        optimizers: these optimizers, with their state as both sides last had it.
        early: states of those that are yet to be made.
        paths: those that the test has passed, by its number for them.
        files: the files at each, as both sides last had them.
        beside: the current folder.
        kinds: of each class that was sent its number, and how many names it had then.
        read: of each class the attributes that the test has read of its objects, and whether they are plain ones.
        named_tuples: classes of named tuples that have crossed, by their whole names; those of the test by their own.
        homes: the namespaces of test modules whose classes were sent, by the module's name.
        contents: of those that both sides may change, and of variables that classes of the test may, by their numbers:
            the object, or the namespace or class and the name, and the content as both sides last had it.
        sent: the statements that were run in each.
        replaced: attributes of modules that the test has set, and their values before.
        differentiating: whether it is the test that differentiates, in a thread.
        waiting: the calls that wait for a function of the test to answer; the innermost is the last.
        log: the records of loggers, if the test wants to see it.
        seeds: the seeds of random generators that the submission sets.
        moment: these generators as both sides last had them.
        generators: those that the test has passed.
        raised: the last exception.
        done: the effects of the operation that raised it.
        complaints: the text written to `sys.stderr`, if the test reads it.
        warned: the classes and the text of each warning that the test may see.
        modes: torch's default dtype, and whether it notes gradients, if the last operation has set one.
    """

    def __init__(self, log: "Log | None") -> None:
        self.twins: dict[int, torch.Tensor] = {}
        self.last: dict[int, tuple[Any, Any, bool]] = {}
        self.graphs: dict[int, torch.Tensor] = {}
        self.objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self.modules: dict[int, dict[str, dict[Any, Any]]] = {}
        self.optimizers: dict[int, tuple[Any, Any]] = {}
        self.early: dict[int, Any] = {}
        self.paths: dict[int, Path] = {}
        self.files: dict[int, dict[str, object]] = {}
        self.kinds: dict[type, tuple[int, list[int]]] = {}
        self.read: dict[type, dict[str, bool]] = {}
        self.named_tuples: dict[str, Any] = {}
        self.homes: dict[str, dict[str, Any]] = {}
        self.contents: dict[int, tuple[Any, str, Any]] = {}
        self.sent: dict[str, set[str]] = {}
        self.replaced: list[tuple[object, str, object]] = []
        self.beside = Beside()
        self.differentiating = threading.local()
        self.waiting: list[Thread] = []
        self._context = contextvars.copy_context()
        self.log = log
        self.seeds = Seeds()
        self.moment = Moment()
        self.generators = Generators()
        self.raised: BaseException | None = None
        self.done: tuple[Any, ...] = ()
        self.complaints = StringIO()
        self.warned: list[tuple[list[str], str]] = []
        self.modes: tuple[Any, ...] = ()
        self._folder: Path | None = None
        self._loops: list[asyncio.AbstractEventLoop] = []

    def know(self, number: int, value: Any) -> Any:
        """Notes the number of an object."""
        self.objects[number], self._numbers[id(value)] = value, number
        return value

    def number_of(self, value: Any) -> int | None:
        """The number of an object; None if the other side does not know it."""
        number = self._numbers.get(id(value), 0)
        return number if self.objects.get(number) is value else None

    def folder(self) -> Path:
        """For files of the test, until the next check begins: none of them is in the current folder."""
        if self._folder is None:
            made = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
            self._folder = Path(made, _FOLDER)
        return self._folder

    def context(self) -> contextvars.Context:
        """The values of context variables: those of the call that waits for an answer, or those of the check."""
        return self.waiting[-1].inner if self.waiting else self._context

    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop that nobody else runs: that of the check, unless a coroutine waits in it for an answer."""
        if not self._loops or self._loops[-1].is_running():
            self._loops.append(asyncio.new_event_loop())
        return self._loops[-1]

    def end(self) -> None:
        for loop in self._loops:
            if not loop.is_running():
                loop.close()
        if self.log is not None:
            self.log.remove()
        for thread in self.waiting:
            thread.answers.put(None)
        self.seeds.end()
        while self.replaced:
            self.put_back(*self.replaced[-1][:2])

    def put_back(self, owner: object, name: str) -> bool:
        """Undoes what the test last did to an attribute; whether it did anything."""
        for at in reversed(range(len(self.replaced))):
            if self.replaced[at][0] is owner and self.replaced[at][1] == name:
                value = self.replaced.pop(at)[2]
                if value is FarSide:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)
                return True
        return False


sides: Final[list[FarSide]] = []


def here() -> FarSide:
    """The far side of the check that runs."""
    return sides[-1]


def detached(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """A copy of a tensor's numbers."""
    return None if tensor is None else _clone(tensor.detach())


def is_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether numbers of one can be copied into the other."""
    return (one.shape, one.dtype, one.device) == (other.shape, other.dtype, other.device)


def is_same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    """Whether both have the same numbers, shape, dtype and device; NaN is NaN."""
    if one is None or other is None:
        return one is other
    if not is_alike(one, other):
        return False
    return _equal(one, other) or (one.is_floating_point() and _equal(one.nan_to_num(0.5), other.nan_to_num(0.5)))


def is_same_state(one: Any, other: Any) -> bool:
    """Whether two states of an optimizer are the same."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return is_same(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_state(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same_state, one, other))
    return bool(one == other)


def changes(tensor: torch.Tensor, last: tuple[Any, Any, bool]) -> tuple[tuple[Any, Any, bool], tuple[Any, ...]] | None:
    """A twin as both sides have it from now on, and its changes as they are sent; None if there are none.

    Args:
        last: data, gradient and `requires_grad` as both sides last had them.
    """
    data, grad, requires_grad = last
    own = tensor.grad if tensor.is_leaf else None
    has_data, has_grad = not is_same(tensor.detach(), data), not is_same(own, grad)
    if not has_data and not has_grad and tensor.requires_grad == requires_grad:
        return None
    now = detached(tensor) if has_data else data, detached(own) if has_grad else grad, tensor.requires_grad
    return now, (now[0] if has_data else _SAME, now[1] if has_grad else _SAME, now[2])


def is_sent(part: object) -> bool:
    """Whether numbers, or a gradient, have come because they have changed."""
    return type(part) is not str


def now_both_have(last: tuple[Any, Any, bool], twin: torch.Tensor, data: Any, grad: Any) -> tuple[Any, Any, bool]:
    """Data, gradient and `requires_grad` of a twin after these changes have come."""
    new_data = detached(twin) if is_sent(data) else last[0]
    return new_data, detached(grad) if is_sent(grad) else last[1], twin.requires_grad


def take(pushes: Iterable[Any]) -> None:
    """Makes twins be as they are on the other side."""
    for key, data, grad, requires_grad, is_parameter in pushes:
        if data is None:
            take_state(key, grad)
            continue
        twin = here().twins.get(key)
        if twin is None:
            twin = nn.Parameter(data, requires_grad) if is_parameter else data.requires_grad_(requires_grad)
            here().twins[key], here().last[key] = twin, (None, None, requires_grad)
        elif is_sent(data) and is_alike(twin, data):
            twin.data.copy_(data)  # a graph that needs it does not notice, as with the test's own `x.data`
        elif is_sent(data):
            twin.data = data
        if twin.is_leaf:
            twin.requires_grad_(requires_grad)
        if is_sent(grad):
            twin.grad = grad
        here().last[key] = now_both_have(here().last[key], twin, data, grad)


def take_state(key: int, state: Any) -> None:
    if key not in here().optimizers:
        here().early[key] = state
        return
    made, _ = here().optimizers[key]
    made.load_state_dict(state)
    here().optimizers[key] = made, copy.deepcopy(state)


def pulls() -> list[tuple[int, Any, Any, bool]]:
    """The twins that have changed here, and the optimizers' states, which have no data."""
    found: list[tuple[int, Any, Any, bool]] = []
    for key, (optimizer, last) in here().optimizers.items():
        state = optimizer.state_dict()
        if not is_same_state(state, last):
            here().optimizers[key] = optimizer, copy.deepcopy(state)
            found.append((key, None, state, False))
    for key, twin in here().twins.items():
        if (changed := changes(twin, here().last[key])) is not None:
            here().last[key] = changed[0]
            found.append((key, *changed[1]))
    return found
