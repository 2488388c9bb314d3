"""Tools over there for the checks of devices: nested batches, masks, optimizers, trainers with a part replaced.

Recipes are also called locally by a check; the same arguments give the same bits. Must never hold an expected answer,
or import anything but torch, the standard library and the testkit.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from grader.testkit import devices, probes, recipes
from kit import graphs

# ---------------------------------------------------------------- batches


class NamedBatch(NamedTuple):
    """A batch with names."""

    features: Any
    labels: Any


class Parcel:
    """An object with a method ``to`` that is no tensor."""

    was_sent = False

    def to(self, *args: Any, **kwargs: Any) -> Parcel:
        """Another one, which says that it was sent."""
        other = Parcel()
        other.was_sent = True
        return other


_NESTS: Final[dict[str, Callable[[Tensor, Tensor], Any]]] = {
    "tensor": lambda x, y: x,
    "list": lambda x, y: [x, y],
    "tuple": lambda x, y: (x, y),
    "dict": lambda x, y: {"x": x, "y": y, 3: x},
    "named tuple": lambda x, y: NamedBatch(x, y),
    "list of batches": lambda x, y: [(x, y), {"y": y}, [x]],
    "deep": lambda x, y: {"a": [x, {"b": (y, NamedBatch([x], None))}], "c": NamedBatch(y, {"d": x})},
    "others": lambda x, y: {"x": x, "ids": ["one", 2, 3.5, None], "flag": None, "none": [], "empty": ({}, ())},
    "nothing": lambda x, y: ["text", 7, None, 0, False, "", Parcel()],
    "two places": lambda x, y: [x.cpu(), {"y": y}, x.cpu()],
    "ordered": lambda x, y: OrderedDict(y=[y], x=OrderedDict(x=x)),
    "odd shapes": lambda x, y: [x[0, 0].clone(), x[:0], {"none": y[:0], "flags": y > 0}],
}
NESTS: Final = tuple(_NESTS)


def nest(kind: str, device: str = "cpu", seed: int = 1) -> Any:
    """A batch of that kind (one of `NESTS`) whose tensors are on a device."""
    return _NESTS[kind](recipes.normal((3, 2), seed).to(device), recipes.labels(3, seed=seed + 1).to(device))


class Held:
    """An object that stays where it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


def held_nest(kind: str, device: str = "cpu", seed: int = 1) -> Held:
    """The batch of `nest`, over there."""
    return Held(nest(kind, device, seed))


def held(batch: Held) -> Any:
    """The batch of `held_nest` as it is now, by `unfolded`."""
    return unfolded(batch.value)


def moved(to_device: Callable[..., Any], batch: Held, device: torch.device, *args: Any, **kwargs: Any) -> Any:
    """The result of ``to_device(batch, device)``, by `unfolded`."""
    return unfolded(to_device(batch.value, device, *args, **kwargs))


def unfolded(value: Any) -> Any:
    """The same as plain data: a named tuple says its type, a `Parcel` whether it was sent."""
    if isinstance(value, Parcel):
        return f"an object with a method `to`, which was {'called' if value.was_sent else 'not called'}"
    if isinstance(value, dict):
        return {key: unfolded(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {f"named tuple {type(value).__name__}": {name: unfolded(getattr(value, name)) for name in value._fields}}
    if type(value) in (list, tuple):
        return type(value)(map(unfolded, value))
    return value


def returned_itself(to_device: Callable[..., Any], batch: Held, device: torch.device) -> list[bool]:
    """For each tensor in the result of ``to_device(batch, device)``: whether it is one of the batch, not a copy."""
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
    tensors are attributes like any other, and the devices of the ``state_dict``."""
    state = nn.Module.state_dict(module)
    return {
        "entries": len(state),
        "parameters": len(probes.parameters(module)),
        "plain": sum(isinstance(value, Tensor) for value in vars(module).values()),
        "devices": sorted({devices.device_of(tensor) for tensor in state.values()}),
    }


def turn_kept(module: nn.Module) -> int:
    """Transposes every square matrix in a module's ``state_dict``, and loads it again; how many there are."""
    state = nn.Module.state_dict(module)
    squares = {name: value for name, value in state.items() if value.dim() > 1 and value.shape[-1] == value.shape[-2]}
    nn.Module.load_state_dict(module, {**state, **{name: value.mT.clone() for name, value in squares.items()}})
    return len(squares)


def score_gradients(module: Any, scores: Tensor, weights: Tensor) -> Tensor | None:
    """The gradient, with respect to scores, of a weighted sum of the attention that a module makes of them."""
    scores = scores.clone().requires_grad_()
    result = (module(scores).softmax(-1) * weights).sum()
    if not result.requires_grad:
        return None
    return torch.autograd.grad(result, scores, allow_unused=True)[0]


def covers(optimizer: Any, model: nn.Module) -> bool:
    """Whether an optimizer has the very parameters of a model, each once, and no others."""
    held = [id(param) for group in optimizer.param_groups for param in group["params"]]
    return sorted(held) == sorted(map(id, probes.parameters(model).values()))


def with_grads(model: nn.Module, seed: int = 0) -> nn.Module:
    """`recipes.with_stale_grads`, with each gradient where its parameter is."""
    for index, param in enumerate(model.parameters()):
        if param.requires_grad:
            param.grad = recipes.normal(param.shape, seed + index, param.dtype).to(param.device)
    return model


def two_steps(model: nn.Module, optimizer: Any, seed: int = 0) -> None:
    """Two steps of the optimizer, each with other gradients."""
    for step in range(2):
        with_grads(model, seed + 100 * step)
        optimizer.step()


def learning_rates(optimizer: Any) -> list[float]:
    """The learning rates of its groups, each once."""
    return sorted({group["lr"] for group in optimizer.param_groups})


# ---------------------------------------------------------------- training


class GraphCounting(nn.Module):
    """A model whose logits grow when graphs of earlier batches, but for the last one, are still in memory."""

    def __init__(self, model: nn.Module, amount: float) -> None:
        super().__init__()
        self.model = model
        self.amount = amount
        self._alive: weakref.WeakSet[graphs.Token] = weakref.WeakSet()

    def forward(self, x: Tensor) -> Tensor:
        """The model's logits, times ``1 + amount`` for each graph too many."""
        too_many = max(0, len(self._alive) - 1)
        return graphs.counted(self.model(x), self._alive) * (1 + self.amount * too_many)


def graph_counting(kind: str, seed: int, amount: float) -> nn.Module:
    """``recipes.model(kind, seed)`` as a `GraphCounting` model."""
    return GraphCounting(recipes.model(kind, seed), amount)


class Passes:
    """An iterable and nothing more, without a length or a dataset, whose batches are others in each pass."""

    def __init__(self, sizes: list[int], seed: int) -> None:
        self.sizes = sizes
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        self.seed += 1
        return iter(recipes.batches(self.sizes, seed=self.seed))


def passes(sizes: list[int], seed: int) -> Passes:
    """A loader with batches of these sizes, of other rows in each pass."""
    return Passes(sizes, seed)


def defaults() -> dict[str, Any]:
    """The state of the program after a call: the device of new tensors, and whether gradients are recorded."""
    number = torch.ones(1, requires_grad=True)
    return {
        "device of a new tensor": devices.device_of(number),
        "dtype of a new tensor": number.dtype,
        "gradients are recorded": (2 * number).requires_grad,
    }


def read_back(times: int) -> None:
    """Reads a number from the GPU this many times."""
    number = torch.ones((), device="cuda")
    for _ in range(times):
        number.item()


def waits() -> tuple[list[str], list[str]]:
    """The operations that made Python wait: before the last batch was on its way to a GPU, and after that."""
    events = devices.events()
    last = max((n for n, one in enumerate(events) if one["kind"] == "transfer" and one["to"] != "cpu"), default=0)
    before, after = ([one["what"] for one in part if one["kind"] == "sync"] for part in (events[:last], events[last:]))
    return before, after


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
    """A model on top of another one, with a scale that is trained too."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.scale = nn.Parameter(torch.full((), 3.0, device=next(model.parameters()).device))

    def forward(self, x: Tensor) -> Any:
        """The model's logits times the scale, which begins with 3."""
        return self.scale * self.model(x)


_OWN: dict[str, Any] = {}
"""The student's own functions while `with_right_names` has put others in their place."""


def with_right_names() -> None:
    """Gives the student's module right versions of `cpu`, `gpu` and `num_gpus`, until `with_own_names`.

    So a mistake in one of these costs nothing in the exercises that use them.
    """
    module = vars(sys.modules["devices"])
    right = {"cpu": _cpu, "gpu": _gpu, "num_gpus": torch.cuda.device_count}
    _OWN.update({name: module[name] for name in right if name in module})
    module.update(right)


def with_own_names() -> None:
    """Gives the student's module its own functions back."""
    vars(sys.modules["devices"]).update(_OWN)


def _cpu() -> torch.device:
    return torch.device("cpu")


def _gpu(i: int = 0) -> torch.device:
    return torch.device("cuda", i)
