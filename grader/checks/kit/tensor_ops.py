"""Probes for the checks of tensor_ops: a result after its input has changed, and how the cost of a call grows.

Runs in the student process. Must never hold an expected answer.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median_low
from types import FrameType
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.testkit import probes

# ---------------------------------------------------------------- memory


def result_and_later(
    function: Callable[..., Any], x: Tensor, later: Tensor, layout: str = "contiguous"
) -> tuple[Any, Any, list[int]]:
    """The result of ``function(x)``, the same after the memory of ``x`` got other numbers, and the shape of ``x``.

    Args:
        later: these other numbers, in the shape of ``x``.
        layout: of ``x`` in memory: "contiguous"; "transposed", its last two dims; "part", every other element.
    """
    if layout == "transposed":
        x = x.mT.contiguous().mT
    elif layout == "part":
        x = x.repeat_interleave(2, dim=-1)[..., ::2]
    else:
        x = x.clone()
    memory = x.view(x.shape)
    result = function(x)
    first = probes.copied(result)
    memory.copy_(later)
    return first, result, list(x.shape)


def copying(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its results copied: one may be a view of a table of rows by rows, which is too big to send."""
    return lambda *args: probes.copied(function(*args))


def result_and_itself(function: Callable[..., Any], x: Tensor, later: Tensor) -> tuple[Any, Any]:
    """The result of ``function(x)``, and the same after ``x`` got other numbers and another dimension in front."""
    x = x.clone()
    result = function(x)
    first = probes.copied(result)
    Tensor.copy_(probes.exact(x), later)
    Tensor.unsqueeze_(x, 0)
    return first, result


# ---------------------------------------------------------------- cost


_MOST_MEASURED: Final = 12
"""How often a cost that seems to grow is measured: the least time counts, because other work only adds to it."""
_LEAST_MEASURED: Final = 3
_SURELY: Final = 5
"""A cost that is this many times the limit after `_LEAST_MEASURED` is not measured again."""
_is_close, _threads, _use_threads = torch.allclose, torch.get_num_threads, torch.set_num_threads
try:
    import resource
except ImportError:  # Windows, where processor time is counted in steps of 16 ms
    _spent: Callable[[], int] = time.perf_counter_ns
else:

    def _spent(usage: Callable[[int], Any] = resource.getrusage) -> int:
        """Processor time of this process and of children that it has waited for (ns).

        The clock of `time.process_time` has steps of 4 ms in a process whose processor time is limited.
        """
        used = [usage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return int(sum(one.ru_utime + one.ru_stime for one in used) * 1e9)


def cost_grows(function: Callable[..., Any], few: list[Tensor], many: list[Tensor]) -> tuple[Any, Any, bool]:
    """The results for tables of a few rows and of many, and whether the cost of a call grows as that of a loop does.

    The cost is the processor time of the whole process: all threads, Python, TorchScript and C alike. It is compared
    with two controls of the same sizes in the same run, one of whole tensors and one that loops over the rows: it grows
    as a loop's if it is nearer to the loop's, by ratio. A result that is another one if the rows come in another order
    counts as growth, and so do more calls of torch: a loop over large parts of the rows takes little time.
    """
    threads = _threads()
    _use_threads(1)  # threads of torch wait for each other by counting, which takes processor time
    try:
        function(*few)  # the work of a first call is no cost of the rows
        (first, calls), (second, more_calls) = _with_calls(function, few), _with_calls(function, many)
        if more_calls > calls + _SOME_CALLS:
            return first, second, True
        _whole_tensors(*many)
        less, more, whole, loop = ([] for _ in range(4))  # processor times (ns)
        for shift in range(1, _MOST_MEASURED + 1):
            # In another order each time, so that nothing is gained by keeping results.
            tables = [table.roll(shift, 0) for table in many]
            less.append(_cost(function, [table.roll(shift, 0) for table in few])[0])
            cost, again = _cost(function, tables)
            more.append(cost)
            if not _is_same(again, second, shift):
                break
            whole.append(_cost(_whole_tensors, tables)[0])
            loop.append(_cost(_one_by_one, tables)[0])
            if shift < _LEAST_MEASURED:
                continue
            growth, limit = min(more) - median_low(less), math.sqrt(min(whole) * min(loop))
            if growth <= limit:
                return first, second, False
            if growth > _SURELY * limit:
                break
        return first, second, True
    finally:
        _use_threads(threads)


def _cost(function: Callable[..., Any], tables: list[Tensor]) -> tuple[int, Any]:
    """Processor time of a call (ns), and its result."""
    before = _spent()
    result = function(*tables)
    return _spent() - before, result


def _is_same(again: Any, before: Any, shift: int) -> bool:
    """Whether it is the same table of distances, with rows and columns moved on."""
    if not (type(again) is type(before) is Tensor and again.shape == before.shape):
        return False
    return _is_close(again, before.roll((shift, shift), (0, 1)), rtol=1e-3, atol=1e-3)


def _whole_tensors(a: Tensor, b: Tensor) -> Tensor:
    """A control: something else that operations on whole tensors find for each pair of rows, not in the fastest way."""
    pairs = torch.arange(len(a) * len(b))
    return torch.maximum(a[pairs // len(b)], b[pairs % len(b)]).cos().prod(dim=1).view(len(a), len(b))


def _one_by_one(a: Tensor, b: Tensor) -> list[Any]:
    """A control: something else that a short loop over the pairs of rows finds."""
    return list(itertools.starmap(max, itertools.product(a.tolist(), b.tolist())))


def in_pieces(a: Tensor, b: Tensor) -> Tensor:
    """A loop over pieces of the longer table, each of a few rows: the growth of its cost must be noticed."""
    if len(a) > len(b):
        return torch.cat([(piece[:, None] - b).pow(2).sum(dim=2) for piece in a.split(10)])
    return torch.cat([(a[:, None] - piece).pow(2).sum(dim=2) for piece in b.split(10)], dim=1)


# ---------------------------------------------------------------- operations


class _NamedCalls(TorchFunctionMode):  # type: ignore[no-untyped-call]
    """Counts and names calls of torch's functions and of methods of tensors."""

    def __init__(self, names: set[str] | None = None) -> None:
        super().__init__()
        self.count = 0
        self.names = set() if names is None else names

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        self.names.add(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


def _with_calls(function: Callable[..., Any], tables: list[Tensor]) -> tuple[Any, int]:
    """The result of a call, and how many calls of torch it made."""
    with _NamedCalls() as calls:
        return function(*tables), calls.count


_SOME_CALLS: Final = 3
"""Calls more that are no loop, such as those of a branch."""


def with_default_float64(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a call while torch's default dtype is float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return function(*args)
    finally:
        torch.set_default_dtype(before)


class _NamedOperations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Names the operations that torch functions come to."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: else torch imports its compiler when the mode is first used, a second in every student process."""
        return False

    def __init__(self, names: set[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names = names

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.overloadpacket.__name__.removeprefix("_"))
        return func(*args, **(kwargs or {}))


@contextmanager
def _naming_operations() -> Iterator[set[str]]:
    """The names of torch's functions and operations in this thread and in those that it starts."""
    names: set[str] = set()
    with ExitStack() as stack:

        def begin_thread(frame: FrameType, event: str, argument: object) -> None:
            sys.setprofile(None)
            _NamedCalls(names).__enter__()  # a mode belongs to its thread, and ends with it
            _NamedOperations(names).__enter__()

        stack.callback(threading.setprofile, threading.getprofile())  # type: ignore[arg-type]
        threading.setprofile(begin_thread)
        stack.enter_context(_NamedCalls(names))
        stack.enter_context(_NamedOperations(names))
        yield names


def ready_made(function: Callable[..., Any], x: Tensor, dim: int) -> tuple[Any, list[str]]:
    """The result of ``function(x, dim=dim)``, and which operations of torch with a softmax inside it used."""
    with _naming_operations() as names:
        result = function(x, dim=dim)
    return result, sorted(name for name in names if any(part in name for part in ("softm", "attention")))


def from_torch(x: Tensor, dim: int) -> Tensor:
    """Torch's own softmax, which `ready_made` must notice."""
    return torch.softmax(x, dim)


def ready_made_rows(function: Callable[..., Any], labels: Tensor, num_classes: int) -> tuple[Any, bool]:
    """The result of ``function(labels, num_classes)``, and whether torch's own one_hot was called."""
    with _naming_operations() as names:
        result = function(labels, num_classes)
    return result, "one_hot" in names


def rows_from_torch(labels: Tensor, num_classes: int) -> Tensor:
    """Torch's own one_hot, which `ready_made_rows` must notice."""
    return torch.nn.functional.one_hot(labels, num_classes).float()


class _Copies(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Names the operations that read one of two tensors, without the other, and write it into other memory."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No, as in `_NamedOperations`."""
        return False

    def __init__(self, inputs: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.memories = [_memory(tensor) for tensor in inputs]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        read = {_memory(tensor) for tensor in _tensors_in((args, kwargs))} & set(self.memories)
        written = {_memory(tensor) for tensor in _tensors_in(result) if tensor.numel()}
        if len(read) == 1 and written - read:
            self.names.append(func.overloadpacket.__name__.removeprefix("_"))
        return result


def _memory(tensor: Tensor) -> int:
    return probes.memory_of(tensor).untyped_storage().data_ptr()


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors_in(one)
    elif isinstance(value, dict):
        yield from _tensors_in(list(value.values()))


def copies_of_one(
    function: Callable[..., Any], a: Tensor, b: Tensor, layout: str = "contiguous"
) -> tuple[Any, list[str]]:
    """The result of ``function(a, b)``, and which operations copied one of the two alone; `layout` is "transposed"
    for tensors that are not contiguous.
    """
    a, b = (one.mT.contiguous().mT if layout == "transposed" else one.clone() for one in (a, b))
    with _Copies([a, b]) as copies:
        result = function(a, b)
    return result, copies.names


def repeats_and_adds(a: Tensor, b: Tensor) -> Tensor:
    """A sum of which one input is copied first, which `copies_of_one` must notice."""
    return a.unsqueeze(-1).repeat(*[1] * a.dim(), b.shape[-1]) + b.unsqueeze(-2)
