"""Probes: small looks at objects in the student process, for facts that a value which crosses the border cannot carry.

They run over there through ``submission.there(probe, ...)`` and return plain values. Must never hold an
expected answer, decide anything, or ask an object of submitted code for a fact about itself that torch can tell.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import torch
from torch import Tensor, nn

from grader.border.tensor_facts import copy, copy_of, grad_of, name_of_class, parts, plain, registered, requires_grad
from grader.errors import suggest_names

_is_grad_enabled: Final = torch.is_grad_enabled
_CLASSES: Final = {
    f"{home.__name__}.{name}": kind
    for home in (nn, torch.optim, torch.utils.data)
    for name, kind in vars(home).items()
    if isinstance(kind, type)
}
"""Classes by name as they were before submitted code could replace them."""

# ---------------------------------------------------------------- models


def state(model: nn.Module) -> dict[str, Tensor]:
    """Copies of the parameters and persistent buffers under their names in ``state_dict()``, as a plain dict."""
    found: dict[str, Tensor] = {}
    for name, fields in parts(model, each_name=True):
        own = {**fields["_parameters"]}
        own |= {
            key: value for key, value in fields["_buffers"].items() if key not in fields["_non_persistent_buffers_set"]
        }
        found |= {f"{name}.{key}" if name else key: copy_of(value) for key, value in own.items() if value is not None}
    return found


def parameters(model: nn.Module) -> dict[str, Any]:
    """The parameters themselves by name, each once, whatever the model says of itself; for kits."""
    return registered(model, "_parameters")


def parameter_shapes(model: nn.Module) -> list[dict[str, tuple[int, ...]]]:
    """The shape of each parameter, in order of registration: under its name, or under each of its names if it is
    shared."""
    found: dict[int, dict[str, tuple[int, ...]]] = {}
    for name, fields in parts(model, each_name=True):
        for key, value in fields["_parameters"].items():
            if value is not None:
                shape = tuple(plain(value).shape)
                found.setdefault(id(value), {})[f"{name}.{key}" if name else key] = shape
    return list(found.values())


def put_weights(model: nn.Module, numbers: Sequence[Tensor]) -> None:
    """Writes numbers into the parameters, in order of registration; checks use `grader.testkit.load_weights`."""
    for parameter, new in zip(parameters(model).values(), numbers, strict=True):
        copy(plain(parameter), new)


def weights(model: nn.Module) -> list[Tensor]:
    """Copies of the parameters, in order of registration."""
    return [copy_of(param) for param in parameters(model).values()]


def model_grads(model: nn.Module) -> dict[str, Tensor | None]:
    """The ``.grad`` of each parameter by name, or None."""
    grads = {name: grad_of(param) for name, param in parameters(model).items()}
    return {name: None if grad is None else copy_of(grad) for name, grad in grads.items()}


def trainable(model: nn.Module) -> dict[str, bool]:
    """``requires_grad`` of each parameter by name."""
    return {name: requires_grad(param) for name, param in parameters(model).items()}


def training_flags(model: nn.Module) -> dict[str, bool]:
    """The training flag of the model (``""``) and of each submodule by name."""
    return {name: fields["training"] for name, fields in parts(model)}


def devices(model: nn.Module) -> list[str]:
    """Type and index of every device that a parameter or buffer is on, sorted."""
    tensors = [*registered(model, "_parameters").values(), *registered(model, "_buffers").values()]
    return sorted({str(tensor.device) for tensor in tensors})


def forward_modes(call: Callable[..., Any], model: nn.Module, *args: object) -> dict[str, list[bool]]:
    """Calls ``call(model, *args)`` and says in which mode each forward of the model ran.

    Returns:
        ``training``: whether any submodule was in training mode; ``grad``: whether gradients were being recorded;
        one entry per forward of the model through ``model(...)``, copies of the model included.
    """
    seen: dict[str, list[bool]] = {"training": [], "grad": []}

    def look(module: nn.Module, inputs: object) -> None:
        seen["training"].append(any(fields["training"] for _, fields in parts(module)))
        seen["grad"].append(_is_grad_enabled())

    handle = nn.Module.register_forward_pre_hook(model, look)
    try:
        call(model, *args)
    finally:
        handle.remove()
    return seen


# ---------------------------------------------------------------- tensors


def copied(value: Any) -> Any:
    """A copy of a tensor, whatever it says of itself by methods of its own; anything else as it is."""
    return copy_of(value) if issubclass(type(value), Tensor) else value


def exact(tensor: Tensor) -> Any:
    """The tensor itself, if its class is still torch's own: then its attributes and operators are torch's, too.

    Submitted code can change the class of a tensor to one whose ``grad`` returns anything. Call a method by the
    class: ``Tensor.backward(probes.exact(loss))``.

    Raises:
        TypeError: its class is neither `torch.Tensor` nor `torch.nn.Parameter`.
    """
    if type(tensor) not in (Tensor, nn.Parameter):
        raise TypeError(f"a tensor has the class {name_of_class(type(tensor))}, which is not torch's own")
    return tensor


def memory_of(tensor: Tensor) -> Tensor:
    """The same memory as a plain tensor without a graph, whatever the tensor says of itself."""
    return plain(tensor)


# ---------------------------------------------------------------- objects and calls


def is_a(thing: object, name: str) -> bool:
    """Whether it is an instance (a class: a subclass) of a class of torch: ``is_a(m, "torch.nn.Linear")``."""
    wanted: Any = _CLASSES.get(name, torch)
    for part in name.split(".")[1:] if wanted is torch else ():
        wanted = getattr(wanted, part)
    if type(thing) is Tensor:
        return isinstance(thing, wanted)  # a buffer is a tensor with a flag
    kind: Any = thing if issubclass(type(thing), type) else type(thing)
    return issubclass(kind, wanted)


def draw_from_global(count: int = 3) -> Tensor:
    """The next numbers of torch's global generator (which moves on)."""
    return torch.rand(count)


def start_global(seed: int) -> None:
    """Puts torch's global CPU generator at a known place, a few numbers into the stream of ``seed``."""
    torch.default_generator.manual_seed(seed)
    torch.rand(7)


def imported(topic: str, name: str) -> Any:
    """What the submission's module of another topic defines, such as a class: for an exercise that needs it."""
    return getattr(importlib.import_module(topic), name)


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
