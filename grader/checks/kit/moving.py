"""What the checks of devices need over there: nested batches, trainers with a part replaced, and a clock of our own.

Recipes are also called locally by a check; the same arguments give the same bits. Must never hold an expected answer,
wait for real time to pass, or import anything but torch, the standard library and the testkit.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from grader.testkit import devices, recipes

# ---------------------------------------------------------------- batches


class Pair(NamedTuple):
    """A batch with names."""

    features: Any
    labels: Any


_NESTS: Final[dict[str, Callable[[Tensor, Tensor], Any]]] = {
    "tensor": lambda x, y: x,
    "list": lambda x, y: [x, y],
    "tuple": lambda x, y: (x, y),
    "dict": lambda x, y: {"x": x, "y": y, 3: x},
    "named tuple": lambda x, y: Pair(x, y),
    "deep": lambda x, y: {"a": [x, {"b": (y, Pair([x], None))}], "c": Pair(y, {"d": x})},
    "others": lambda x, y: {"x": x, "ids": ["one", 2, 3.5, None], "flag": True, "none": [], "empty": ({}, ())},
    "nothing": lambda x, y: ["text", 7, None],
}
NESTS: Final = tuple(_NESTS)


def nest(kind: str, device: str = "cpu") -> Any:
    """A batch of that kind (one of `NESTS`) whose tensors are on a device."""
    return _NESTS[kind](recipes.normal((3, 2), 1).to(device), recipes.labels(3, seed=2).to(device))


class Held:
    """An object that stays where it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


def held_nest(kind: str, device: str = "cpu") -> Held:
    """The batch of `nest`, over there."""
    return Held(nest(kind, device))


def moved(to_device: Callable[..., Any], batch: Held, device: torch.device, **kwargs: Any) -> Any:
    """What ``to_device(batch, device)`` gives, by `unfolded`."""
    return unfolded(to_device(batch.value, device, **kwargs))


def unfolded(value: Any) -> Any:
    """The same as plain data: a named tuple says what it is."""
    if isinstance(value, dict):
        return {key: unfolded(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {f"named tuple {type(value).__name__}": {name: unfolded(getattr(value, name)) for name in value._fields}}
    if type(value) in (list, tuple):
        return type(value)(map(unfolded, value))
    return value


def returned_itself(to_device: Callable[..., Any], batch: Held, device: torch.device) -> list[bool]:
    """For each tensor in what ``to_device(batch, device)`` gives: whether it is one of the batch, not a copy."""
    given = list(_tensors(batch.value))
    return [any(tensor is one for one in given) for tensor in _tensors(to_device(batch.value, device))]


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


# ---------------------------------------------------------------- modules and optimizers


def kept_tensors(module: nn.Module) -> dict[str, Any]:
    """How a module keeps its tensors: how many entries its ``state_dict`` has, how many parameters there are, how many
    tensors are attributes like any other, and the devices of what is in the ``state_dict``."""
    return {
        "entries": len(module.state_dict()),
        "parameters": len(list(module.parameters())),
        "plain": sum(isinstance(value, Tensor) for value in vars(module).values()),
        "devices": sorted({devices.device_of(tensor) for tensor in module.state_dict().values()}),
    }


def covers(optimizer: Any, model: nn.Module) -> bool:
    """Whether an optimizer has the very parameters of a model, each once, and no others."""
    held = [id(param) for group in optimizer.param_groups for param in group["params"]]
    return sorted(held) == sorted(id(param) for param in model.parameters())


def with_grads(model: nn.Module, seed: int = 0) -> nn.Module:
    """`recipes.with_stale_grads`, with each gradient where its parameter is."""
    for index, param in enumerate(model.parameters()):
        if param.requires_grad:
            param.grad = recipes.normal(param.shape, seed + index, param.dtype).to(param.device)
    return model


def learning_rates(optimizer: Any) -> list[float]:
    """The learning rates of its groups, each once."""
    return sorted({group["lr"] for group in optimizer.param_groups})


# ---------------------------------------------------------------- trainers


def stretching(trainer: Any, device: torch.device) -> Any:
    """A trainer of a subclass whose batches come as dicts, and whose features are doubled."""

    class Stretching(trainer):  # type: ignore[misc]
        def prepare_batch(self, batch: Any) -> Any:
            features, labels = super().prepare_batch((batch["x"], batch["y"]))
            return 2 * features, labels

    return Stretching(device)


def rescaling(trainer: Any, device: torch.device) -> Any:
    """A trainer of a subclass whose models get a scale on top of their logits."""

    class Rescaling(trainer):  # type: ignore[misc]
        def prepare_model(self, model: nn.Module) -> Any:
            return Rescaled(super().prepare_model(model))

    return Rescaling(device)


class Rescaled(nn.Module):
    """A model whose logits are three times as large."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Any:
        """Three times the model's logits."""
        return 3 * self.model(x)


# ---------------------------------------------------------------- a clock of our own

_CLOCKS: Final = ("perf_counter", "monotonic", "time", "perf_counter_ns", "monotonic_ns", "time_ns")
_PRODUCTS: Final = frozenset({"matmul", "mm", "__matmul__", "__rmatmul__", "einsum", "linear", "addmm", "bmm"})
_COSTS: Final = (90.0, 5.0, 3.0, 4.0, 2.0, 6.0, 1.0, 7.0, 8.0)
_MAKING: Final = 40.0
_LAUNCH: Final = 0.001


class _Work(TorchFunctionMode):
    """Says how long each torch function takes: the first product is slow, the next ones differ, making a matrix is
    slow too. On a GPU Python waits for none of that before it synchronises."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.now = 1000.0
        self.reads = 0
        self.costs: list[float] = []
        self.places: set[str] = set()
        self._pending = 0.0
        self.syncs_before = self._syncs = len(devices.syncs())

    def read(self) -> float:
        self.reads += 1
        self._settle()
        self.now += 1e-6
        return self.now

    def _settle(self) -> None:
        syncs = len(devices.syncs())
        if syncs > self._syncs:
            self.now += self._pending
            self._syncs, self._pending = syncs, 0.0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if isinstance(result, Tensor) and result.shape == (self.n, self.n) and name not in ("__get__", "__set__"):
            cost = _MAKING
            if name in _PRODUCTS:
                cost = _COSTS[min(len(self.costs), len(_COSTS) - 1)]
                self.costs.append(cost)
                self.places.add(devices.device_of(result))
            self._settle()
            if devices.device_of(result) == "cpu":
                self.now += cost
            else:
                self.now += _LAUNCH
                self._pending += cost
        return result


def timed(time_matmul: Callable[..., Any], n: int, device: torch.device, *args: int) -> dict[str, Any]:
    """Calls ``time_matmul(n, device, *args)`` while a clock of our own runs.

    Returns:
        Its result as ``seconds``; ``products``, how long each product of n x n matrices took by that clock (s), in
        order; ``places``, the devices of these products; and how many ``reads`` of the clock and ``syncs`` there were.
    """
    work = _Work(n)
    with _clocks(work.read, getattr(time_matmul, "__globals__", {})), work:
        result = time_matmul(n, device, *args)
    return {
        "seconds": result,
        "products": work.costs,
        "places": sorted(work.places),
        "reads": work.reads,
        "syncs": len(devices.syncs()) - work.syncs_before,
    }


@contextmanager
def _clocks(read: Callable[[], float], names: dict[str, Any]) -> Iterator[None]:
    """Puts a clock in the place of those of `time`, also where a module has taken them by name."""

    def nanoseconds() -> int:
        return round(read() * 1e9)

    real = {name: getattr(time, name) for name in _CLOCKS}
    mine: dict[str, Any] = {name: nanoseconds if name.endswith("_ns") else read for name in _CLOCKS}
    taken = {own: name for own, value in names.items() for name in _CLOCKS if value is real[name]}
    timers: list[Any] = [timeit.Timer.__init__, timeit.timeit, timeit.repeat]
    defaults, default = [timer.__defaults__ for timer in timers], timeit.default_timer
    try:
        for name in _CLOCKS:
            setattr(time, name, mine[name])
        for own, name in taken.items():
            names[own] = mine[name]
        for timer in timers:
            timer.__defaults__ = tuple(read if value is default else value for value in timer.__defaults__)
        timeit.default_timer = read
        yield
    finally:
        for name in _CLOCKS:
            setattr(time, name, real[name])
        for own, name in taken.items():
            names[own] = real[name]
        for timer, before in zip(timers, defaults, strict=True):
            timer.__defaults__ = before
        timeit.default_timer = default
