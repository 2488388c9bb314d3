"""Probes: small looks at objects in the student process, for what a value that crosses the border cannot carry.

They run over there through ``submission.there(probe, ...)`` and give plain values back. Must never hold an
expected answer, decide anything, or import anything but torch and the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.testkit.recipes import Leaves, Problem


def _copy(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().clone()


# ---------------------------------------------------------------- tensors with gradients


def values(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The numbers of each, without graph."""
    return [tensor.detach().clone() for tensor in tensors]


def grads(tensors: Sequence[Tensor]) -> list[Tensor | None]:
    """The ``.grad`` of each, or None."""
    return [_copy(tensor.grad) for tensor in tensors]


def leaf_facts(leaves: Leaves) -> list[dict[str, Any]]:
    """For each tensor that was in the list at first: what became of it.

    Returns:
        Dicts of ``value``; ``memory`` (the numbers at its first address); ``grad``; ``is_leaf``; ``requires_grad``;
        ``kept`` (the list still holds the very same tensor).
    """
    return [
        {
            "value": _copy(tensor),
            "memory": _copy(alias),
            "grad": _copy(tensor.grad),
            "is_leaf": tensor.is_leaf,
            "requires_grad": tensor.requires_grad,
            "kept": index < len(leaves) and leaves[index] is tensor,
        }
        for index, (tensor, alias) in enumerate(zip(leaves.at_first, leaves.aliases, strict=True))
    ]


def differentiate(gradients: Callable[..., Any], problem: Problem, times: int = 1) -> list[Any]:
    """What each of ``times`` calls ``gradients(loss, params)`` on the same graph gives."""
    return [gradients(problem.loss, problem.params) for _ in range(times)]


def problem_grads(problem: Problem) -> list[Tensor | None]:
    """The ``.grad`` of the parameters, then of the bystanders."""
    return grads([*problem.params, *problem.bystanders])


# ---------------------------------------------------------------- models


def state(model: nn.Module) -> dict[str, Tensor]:
    """Copies of the entries of ``state_dict()``, as a plain dict."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def weights(model: nn.Module) -> list[Tensor]:
    """Copies of the parameters, in order of registration."""
    return [param.detach().clone() for param in model.parameters()]


def model_grads(model: nn.Module) -> dict[str, Tensor | None]:
    """The ``.grad`` of each parameter by name, or None."""
    return {name: _copy(param.grad) for name, param in model.named_parameters()}


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


def layer_kinds(layers: Sequence[nn.Module]) -> list[str]:
    """For each layer ``"Linear(4, 3)"`` (``"Linear(4, 3, no bias)"``), or its class name."""
    return [
        f"Linear({layer.in_features}, {layer.out_features}{'' if layer.bias is not None else ', no bias'})"
        if isinstance(layer, nn.Linear)
        else next((base.__name__ for base in type(layer).__mro__ if base.__module__.startswith("torch.nn.")), "other")
        for layer in layers
    ]


# ---------------------------------------------------------------- objects and calls


def is_a(thing: object, name: str) -> bool:
    """Whether it is an instance (a class: a subclass) of a class of torch: ``is_a(m, "torch.nn.Linear")``."""
    wanted: Any = torch
    for part in name.split(".")[1:]:
        wanted = getattr(wanted, part)
    return issubclass(thing, wanted) if isinstance(thing, type) else isinstance(thing, wanted)


def apply_once(function: Any, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``function.apply(x)``, its elements weighed by ``weight`` and summed, differentiated.

    Returns:
        The value of ``function.apply(x)``, the gradient at ``x``, and ``x`` as it is afterwards.
    """
    leaf = x.detach().clone().requires_grad_(True)
    out = function.apply(leaf)
    (grad,) = torch.autograd.grad((out * weight).sum(), leaf)
    return out, grad, leaf.detach()


def apply_between(function: Any, x: Tensor) -> Tensor:
    """The gradient of ``sin(function.apply(2x + x²)).sum() + function.apply(x).mean()`` at ``x``."""
    leaf = x.detach().clone().requires_grad_(True)
    out = function.apply(2 * leaf + leaf**2).sin().sum() + function.apply(leaf).mean()
    (grad,) = torch.autograd.grad(out, leaf)
    return grad


def gradcheck(function: Any, x: Tensor) -> bool:
    """Whether the backward of ``function.apply`` agrees with central differences at float64 ``x``.

    What ``torch.autograd.gradcheck`` asks, without the 0.25 s that its ``grad_outputs`` takes to import.
    """
    leaf = x.detach().clone().requires_grad_(True)
    value = function.apply(leaf)
    weights = torch.linspace(-1.0, 2.0, value.numel(), dtype=torch.float64).reshape(value.shape)
    (analytic,) = torch.autograd.grad((value * weights).sum(), leaf)
    numeric = torch.zeros_like(x)
    for index in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=torch.float64)
        step[index] = 1e-6
        change = function.apply(x + step.reshape(x.shape)) - function.apply(x - step.reshape(x.shape))
        numeric.view(-1)[index] = (change * weights).sum() / 2e-6
    return bool(torch.allclose(analytic, numeric, rtol=1e-4, atol=1e-6))


def rng_stream() -> Tensor:
    """The state of torch's global CPU generator."""
    return torch.random.get_rng_state()


def draw_from_global(count: int = 3) -> Tensor:
    """The next numbers of torch's global generator (which moves on)."""
    return torch.rand(count)


def start_global(seed: int) -> None:
    """Puts torch's global CPU generator at a known place, a few numbers into the stream of ``seed``."""
    torch.default_generator.manual_seed(seed)
    torch.rand(7)
