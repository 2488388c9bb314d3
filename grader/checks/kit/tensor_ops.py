"""What the checks of tensor_ops need: what a result becomes when its input changes, and how the cost of a call grows.

Runs in the student process. Must never hold an expected answer.
"""

from __future__ import annotations

import os
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

# ---------------------------------------------------------------- memory


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def result_and_later(function: Callable[..., Any], x: Tensor, later: Tensor) -> tuple[Any, Any, list[int]]:
    """What ``function(x)`` gives, what that holds after the memory of ``x`` got other numbers, and the shape of ``x``.

    Args:
        later: these other numbers, in the shape of ``x``.
    """
    x = x.clone()
    memory = x.view(x.shape)
    result = function(x)
    first = _copy(result)
    memory.copy_(later)
    return first, result, list(x.shape)


def result_and_itself(function: Callable[..., Any], x: Tensor, later: Tensor) -> tuple[Any, Any]:
    """What ``function(x)`` gives, and what that is after ``x`` got other numbers and another dimension in front."""
    x = x.clone()
    result = function(x)
    first = _copy(result)
    x.copy_(later)
    x.unsqueeze_(0)
    return first, result


# ---------------------------------------------------------------- cost


class _Calls(TorchFunctionMode):
    """Counts torch calls."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def _steps(function: Callable[..., Any], a: Tensor, b: Tensor) -> tuple[Any, list[int]]:
    """The result of a call, and what it took: torch calls; lines of Python, those in new threads too; and processor
    time of threads whose lines cannot be seen (ns): older ones, and those not started by ``threading``."""
    lines = 0
    here = threading.get_ident()
    seen: dict[int, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if event == "call" and frame.f_code.co_filename.startswith(_WAITING):
            return None  # how many steps it takes to wait for each other is not the same each time
        lines += event == "line"
        if (thread := threading.get_ident()) != here:
            if thread not in seen:
                _use_threads(1)  # each thread has its own number; those that torch starts run no Python
            seen[thread] = _thread_time()
        return trace

    before, before_in_threads = sys.gettrace(), threading.gettrace()
    calls = _Calls()
    threading.settrace(trace)
    others = _other_threads_time()
    sys.settrace(trace)
    try:
        with calls:
            result = function(a, b)
    finally:
        sys.settrace(before)
        threading.settrace(before_in_threads)  # type: ignore[arg-type]
    return result, [calls.count, lines, _other_threads_time() - others - sum(seen.values())]


_process_time, _thread_time = time.process_time_ns, time.thread_time_ns
_is_close, _use_threads = torch.allclose, torch.set_num_threads


_MOST_MEASURED: Final = 6
"""How often a cost that seems to grow is measured: the system's own work is more or less each time."""
_LIBRARY: Final = os.path.dirname(threading.__file__)
_WAITING: Final = tuple(os.path.join(_LIBRARY, name) for name in ("threading.py", "queue.py", "concurrent" + os.sep))
"""The library's own code of threads and pools."""
_ROW_NS: Final = 1_500
"""Processor time of other threads that is less than what a row costs a loop (ns)."""


def _other_threads_time() -> int:
    return _process_time() - _thread_time()


def cost_grows(function: Callable[..., Any], few: list[Tensor], many: list[Tensor]) -> tuple[Any, Any, list[bool]]:
    """The results for tables of a few rows and of many; whether torch calls, and lines of Python, grow with the rows.

    They grow when there is at least one more for every second row that there is more; both do when it is the work of
    other threads that grows. A result that is another when the rows come in another order counts as growth.
    """
    function(*few)  # what a first call prepares is no cost of the rows
    first, cost = _steps(function, *few)
    less = [cost, *(_steps(function, *few)[1] for _ in range(2))]
    second, cost = _steps(function, *many)
    more = [cost]
    rows = max(len(one) - len(other) for one, other in zip(many, few, strict=True))
    for shift in range(1, _MOST_MEASURED):
        if not any(_grows(less, more, rows)):
            break
        # In another order, so that nothing is gained by keeping results.
        less.append(_steps(function, *[table.roll(shift, 0) for table in few])[1])
        again, cost = _steps(function, *[table.roll(shift, 0) for table in many])
        more.append(cost)
        if not _is_same(again, second, shift):
            return first, second, [True, True]
    return first, second, _grows(less, more, rows)


def _grows(less: list[list[int]], more: list[list[int]], rows: int) -> list[bool]:
    """Whether calls and lines grow, by the medians of all that was measured: the system adds time, or misses some."""
    few, many = ([median_low(costs) for costs in zip(*measured, strict=True)] for measured in (less, more))
    calls, lines, unseen = (big - small for small, big in zip(few, many, strict=True))
    in_threads = unseen > _ROW_NS * rows
    return [2 * calls >= rows or in_threads, 2 * lines >= rows or in_threads]


def _is_same(again: Any, before: Any, shift: int) -> bool:
    """Whether it is the same table of distances, with rows and columns moved on."""
    if not (type(again) is type(before) is Tensor and again.shape == before.shape):
        return False
    return _is_close(again, before.roll((shift, shift), (0, 1)), rtol=1e-3, atol=1e-3)


def row_by_row(a: Tensor, b: Tensor) -> Tensor:
    """A loop over the rows of the longer table: what `cost_grows` must notice."""
    if len(a) > len(b):
        return torch.stack([(row - b).pow(2).sum(dim=1) for row in a])
    return torch.stack([(a - row).pow(2).sum(dim=1) for row in b], dim=1)


# ---------------------------------------------------------------- operations


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
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
    """The names of the operations in this thread and in those that it starts."""
    names: set[str] = set()
    with ExitStack() as stack:

        def begin_thread(frame: FrameType, event: str, argument: object) -> None:
            sys.setprofile(None)
            _Operations(names).__enter__()  # a mode belongs to its thread, and ends with it

        stack.callback(threading.setprofile, threading.getprofile())  # type: ignore[arg-type]
        threading.setprofile(begin_thread)
        stack.enter_context(_Operations(names))
        yield names


def ready_made(function: Callable[..., Any], x: Tensor, dim: int) -> tuple[Any, list[str]]:
    """The result of ``function(x, dim=dim)``, and which operations of torch with a softmax inside it used."""
    with _naming_operations() as names:
        result = function(x, dim=dim)
    return result, sorted(name for name in names if any(part in name for part in ("softm", "attention")))


def from_torch(x: Tensor, dim: int) -> Tensor:
    """Torch's own softmax: what `ready_made` must notice."""
    return torch.softmax(x, dim)
