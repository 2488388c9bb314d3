"""A clock of our own for `time_matmul`: by it, each product takes a known time, and a GPU works while Python goes on.

Runs in the student process. Must never hold an expected answer, wait for real time to pass, or import anything but
torch, the standard library and the testkit.
"""

from __future__ import annotations

import time
import timeit
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from grader.testkit import devices

_CLOCKS: Final = ("perf_counter", "monotonic", "time", "perf_counter_ns", "monotonic_ns", "time_ns")
_PROCESSOR: Final = ("process_time", "thread_time", "process_time_ns", "thread_time_ns")
_PRODUCTS: Final = frozenset({"matmul", "mm", "__matmul__", "__rmatmul__", "einsum", "linear", "addmm", "bmm"})
_COSTS: Final = (90.0, 5.0, 3.0, 4.0, 2.0, 6.0, 1.0, 7.0, 8.0)
_MAKING: Final = 40.0
_LAUNCH: Final = 0.001


class _TimedWork(TorchFunctionMode):
    """Says how long each torch function takes: the first product is slow, the next ones differ, making a matrix is
    slow too. On a GPU Python waits for none of that before it synchronises with that GPU."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.now = 1000.0
        self.reads = 0
        self.costs: list[float] = []
        self.places: set[str] = set()
        self._pending: Counter[str] = Counter()
        self._syncs = len(_waits())

    def read(self) -> float:
        """The time for Python."""
        self.reads += 1
        self._settle()
        self.now += 1e-6
        return self.now

    def read_on(self, device: str) -> float:
        """The time when a device will have done all that it was asked to."""
        self.reads += 1
        self._settle()
        return self.now + self._pending[device]

    def read_processor(self) -> float:
        """The processor time of this process, which is not the time of a clock on the wall."""
        return self.read() / 8

    def _settle(self) -> None:
        waits = _waits()
        for device in waits[self._syncs :]:
            self.now += self._pending.pop(device, 0.0)
        self._syncs = len(waits)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if isinstance(result, Tensor) and result.shape == (self.n, self.n) and name not in ("__get__", "__set__"):
            cost, place = _MAKING, devices.device_of(result)
            if name in _PRODUCTS:
                cost = _COSTS[min(len(self.costs), len(_COSTS) - 1)]
                self.costs.append(cost)
                self.places.add(place)
            self._settle()
            if place == "cpu":
                self.now += cost
            else:
                self.now += _LAUNCH
                self._pending[place] += cost
        return result


def _waits() -> list[str]:
    """The devices that Python has waited for, in order."""
    return [event["device"] for event in devices.events() if event["kind"] == "sync"]


def timed(time_matmul: Callable[..., Any], n: int, device: torch.device, *args: int) -> dict[str, Any]:
    """Calls ``time_matmul(n, device, *args)`` while a clock of our own runs.

    Returns:
        Its result as ``seconds``; ``products``, how long each product of n x n matrices took by that clock (s), in
        order; ``places``, the devices of these products; how many ``reads`` of the clock there were, and how many
        ``waits`` for each device.
    """
    work = _TimedWork(n)
    devices.keep_time(work.read_on)
    with _clocks(work.read, work.read_processor, getattr(time_matmul, "__globals__", {})), work:
        result = time_matmul(n, device, *args)
    return {
        "seconds": result,
        "products": work.costs,
        "places": sorted(work.places),
        "reads": work.reads,
        "waits": dict(sorted(Counter(_waits()).items())),
    }


@contextmanager
def _clocks(read: Callable[[], float], read_processor: Callable[[], float], names: dict[str, Any]) -> Iterator[None]:
    """Puts clocks in the place of those of `time`, also in modules that have imported them by name."""

    def clock(name: str) -> Any:
        seconds = read_processor if name in _PROCESSOR else read
        return (lambda: round(seconds() * 1e9)) if name.endswith("_ns") else seconds

    every = [name for name in (*_CLOCKS, *_PROCESSOR) if hasattr(time, name)]
    real = {name: getattr(time, name) for name in every}
    mine = {name: clock(name) for name in every}
    taken = {own: name for own, value in names.items() for name in every if value is real[name]}
    timers: list[Any] = [timeit.Timer.__init__, timeit.timeit, timeit.repeat]
    defaults, default = [timer.__defaults__ for timer in timers], timeit.default_timer
    try:
        for name in every:
            setattr(time, name, mine[name])
        for own, name in taken.items():
            names[own] = mine[name]
        for timer in timers:
            timer.__defaults__ = tuple(read if value is default else value for value in timer.__defaults__)
        timeit.default_timer = read
        yield
    finally:
        for name in every:
            setattr(time, name, real[name])
        for own, name in taken.items():
            names[own] = real[name]
        for timer, before in zip(timers, defaults, strict=True):
            timer.__defaults__ = before
        timeit.default_timer = default
