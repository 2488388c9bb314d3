"""Probes: small looks at objects in the student process, for what a value that crosses the border cannot carry.

They run over there through ``submission.there(probe, ...)`` and give plain values back. Must never hold an
expected answer, decide anything, or import anything but torch and the standard library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

import torch
from torch import Tensor, nn

from grader.errors import suggest_names

# ---------------------------------------------------------------- models


def state(model: nn.Module) -> dict[str, Tensor]:
    """Copies of the entries of ``state_dict()``, as a plain dict."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def weights(model: nn.Module) -> list[Tensor]:
    """Copies of the parameters, in order of registration."""
    return [param.detach().clone() for param in model.parameters()]


def model_grads(model: nn.Module) -> dict[str, Tensor | None]:
    """The ``.grad`` of each parameter by name, or None."""
    return {
        name: None if param.grad is None else param.grad.detach().clone() for name, param in model.named_parameters()
    }


def trainable(model: nn.Module) -> dict[str, bool]:
    """``requires_grad`` of each parameter by name."""
    return {name: param.requires_grad for name, param in model.named_parameters()}


def training_flags(model: nn.Module) -> dict[str, bool]:
    """The training flag of the model (``""``) and of each submodule by name."""
    return {name: module.training for name, module in model.named_modules()}


def devices(model: nn.Module) -> list[str]:
    """Type and index of every device that a parameter or buffer is on, sorted."""
    return sorted({str(tensor.device) for tensor in [*model.parameters(), *model.buffers()]})


def forward_modes(call: Callable[..., Any], model: nn.Module, *args: object) -> dict[str, list[bool]]:
    """Calls ``call(model, *args)`` and says in which mode each forward of the model ran.

    Returns:
        ``training``: whether any submodule was in training mode; ``grad``: whether gradients were being recorded;
        one entry per forward of the model through ``model(...)``, copies of the model included.
    """
    seen: dict[str, list[bool]] = {"training": [], "grad": []}

    def look(module: nn.Module, inputs: object) -> None:
        seen["training"].append(any(part.training for part in module.modules()))
        seen["grad"].append(torch.is_grad_enabled())

    handle = model.register_forward_pre_hook(look)
    try:
        call(model, *args)
    finally:
        handle.remove()
    return seen


# ---------------------------------------------------------------- objects and calls


def is_a(thing: object, name: str) -> bool:
    """Whether it is an instance (a class: a subclass) of a class of torch: ``is_a(m, "torch.nn.Linear")``."""
    wanted: Any = torch
    for part in name.split(".")[1:]:
        wanted = getattr(wanted, part)
    return issubclass(thing, wanted) if isinstance(thing, type) else isinstance(thing, wanted)


def draw_from_global(count: int = 3) -> Tensor:
    """The next numbers of torch's global generator (which moves on)."""
    return torch.rand(count)


def start_global(seed: int) -> None:
    """Puts torch's global CPU generator at a known place, a few numbers into the stream of ``seed``."""
    torch.default_generator.manual_seed(seed)
    torch.rand(7)


def has_group() -> bool:
    """Whether this process is in a process group of `torch.distributed`."""
    return torch.distributed.is_initialized()


# ---------------------------------------------------------------- datasets and loaders

MAX_ITEMS_SEEN: Final = 300
"""Items of a dataset, and batches of a loader, that are looked at."""


def items(dataset: Any) -> list[Any]:
    """Length and ``[i]`` of a dataset: every item from 0 to ``len - 1``, up to `MAX_ITEMS_SEEN`."""
    return [dataset[index] for index in range(min(len(dataset), MAX_ITEMS_SEEN))]


def walked(dataset: Iterable[Any]) -> list[Any]:
    """The items that a plain ``for`` gives, up to `MAX_ITEMS_SEEN`."""
    return list(islice(iter(dataset), MAX_ITEMS_SEEN))


def epochs(batches: Iterable[Any], times: int = 1) -> list[list[Any]]:
    """The batches of each of ``times`` passes through a loader, up to `MAX_ITEMS_SEEN` in each."""
    return [list(islice(iter(batches), MAX_ITEMS_SEEN)) for _ in range(times)]


suggest_names(sys.modules[__name__])
