"""What the checks of tensor_ops need: what a result becomes when its input changes, and how the cost of a call grows.

Runs in the student process. Must never hold an expected answer.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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


def _steps(function: Callable[..., Any], a: Tensor, b: Tensor) -> tuple[Any, tuple[int, int], int]:
    """The result of a call; how many torch calls and lines of Python it took, the lines in new threads too; and the
    processor time of threads whose lines cannot be seen (ns): older ones, and those not started by ``threading``."""
    lines = 0
    here = threading.get_ident()
    seen: dict[int, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        if (thread := threading.get_ident()) != here:
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
    return result, (calls.count, lines), max(0, _other_threads_time() - others - sum(seen.values()))


_process_time, _thread_time, _is_equal = time.process_time_ns, time.thread_time_ns, torch.equal


_SMALL_NS: Final = 60_000
"""Processor time of other threads that is no loop over rows (ns)."""


def _other_threads_time() -> int:
    return _process_time() - _thread_time()


def cost_grows(function: Callable[..., Any], few: list[Tensor], many: list[Tensor]) -> tuple[Any, Any, list[bool]]:
    """The results for tables of a few rows and of many; whether torch calls, and lines of Python, grow with the rows.

    They grow when there is at least one more for every second row that there is more; both do when it is the work of
    other threads that grows.
    """
    function(*few)  # what a first call prepares is no cost of the rows
    first, few_steps, few_unseen = _steps(function, *few)
    second, many_steps, many_unseen = _steps(function, *many)
    if many_unseen > _SMALL_NS:
        # Again, as the time for one call may be any.
        few_unseen = min(few_unseen, *(_steps(function, *few)[2] for _ in range(3)))
        again, _, many_unseen_again = _steps(function, *many)
        is_same = type(again) is type(second) is Tensor and _is_equal(again, second)
        if not is_same or min(many_unseen, many_unseen_again) > 1.5 * few_unseen + _SMALL_NS:
            return first, second, [True, True]
    more_rows = max(len(one) - len(other) for one, other in zip(many, few, strict=True))
    return first, second, [2 * (more - less) >= more_rows for less, more in zip(few_steps, many_steps, strict=True)]


def row_by_row(a: Tensor, b: Tensor) -> Tensor:
    """A loop over the rows of both tables: what `cost_grows` must notice."""
    return torch.stack([torch.stack([(row - other).pow(2).sum() for other in b]) for row in a])


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
