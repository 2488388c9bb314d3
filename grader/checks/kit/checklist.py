"""What the checks of efficient training need over there: models whose arithmetic shows how they run, scalers, looks.

Recipes are also called locally by a check; the same arguments give the same bits. Must never hold an expected answer,
or import anything but torch and the standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import GradScaler

from grader.testkit import recipes

# ---------------------------------------------------------------- mixed precision


class _Product(torch.autograd.Function):
    """``x @ w`` whose backward is a matrix product of torch: autocast, where it is on, makes it coarse as well."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return x.float() @ w

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        grad = grads[0].float()
        return (grad @ w.T).to(x.dtype), (x.float().T @ grad).to(w.dtype)


class Product(nn.Module):
    """A linear layer, without bias, with a backward of its own."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """``x @ weight``."""
        return _Product.apply(x, self.weight)  # type: ignore[no-any-return,no-untyped-call]


def amp_model(seed: int = 0, device: str = "cpu") -> nn.Module:
    """Logits of ``(n, FEATURES)``, by layers that autocast computes in half precision; in float32 all results differ,
    and they also differ when backward runs under autocast."""
    with recipes.seeded(seed):
        made = nn.Sequential(nn.Linear(recipes.FEATURES, 16), nn.Tanh(), Product(16, 8), nn.Linear(8, recipes.CLASSES))
    return made.to(device)


def scaler(device: str = "cpu", scale: float = 256.0, interval: int = 2, enabled: bool = True) -> Any:
    """A GradScaler.

    Args:
        scale: by how much it multiplies at first.
        interval: after so many good steps in a row it doubles the scale.
    """
    return GradScaler(device, init_scale=scale, growth_interval=interval, enabled=enabled)


def scaler_state(scaler: Any) -> dict[str, Any]:
    """The scale, and how many good steps there were since it changed; an empty dict if it is switched off."""
    state = scaler.state_dict()
    return {name: state[name] for name in ("scale", "_growth_tracker") if name in state}


# ---------------------------------------------------------------- loaders, flags, optimizers


def loader_facts(loader: Any) -> dict[str, Any]:
    """The settings of a DataLoader that decide how batches reach the device."""
    return {
        "pin_memory": loader.pin_memory,
        "persistent_workers": loader.persistent_workers,
        "num_workers": loader.num_workers,
    }


def benchmark_after(configure: Callable[..., Any], fixed_shapes: bool, before: bool) -> Any:
    """``torch.backends.cudnn.benchmark`` after ``configure(fixed_shapes)``, when it was ``before``; then restored."""
    flags = torch.backends.cudnn
    at_first = flags.benchmark, flags.deterministic, flags.enabled
    try:
        flags.benchmark = before
        configure(fixed_shapes)
        return flags.benchmark
    finally:
        flags.benchmark, flags.deterministic, flags.enabled = at_first


def grouped_sgd(model: nn.Module, leave_out: str = "") -> torch.optim.Optimizer:
    """SGD with momentum and one group per parameter.

    Args:
        leave_out: the name of a parameter that it does not have.
    """
    groups = [{"params": [param]} for name, param in model.named_parameters() if name != leave_out]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9)


def step(optimizer: torch.optim.Optimizer) -> None:
    """One step with the gradients that are there."""
    optimizer.step()


def inner_module(model: nn.Module, wrapped: Any) -> str:
    """Whether ``wrapped`` is "the model" itself, or "the model in a DataParallel", or "something else"."""
    if wrapped is model:
        return "the model"
    inside = type(wrapped) is nn.DataParallel and wrapped.module is model
    return "the model in a DataParallel" if inside else "something else"


# ---------------------------------------------------------------- inference


def inferred(call: Callable[..., Any], model: nn.Module, x: Tensor) -> tuple[Any, list[tuple[bool, bool]]]:
    """What ``call(model, x)`` gives, and for each forward of the model through ``model(...)``: whether any submodule
    was in training mode, and whether inference mode was on."""
    seen: list[tuple[bool, bool]] = []

    def look(module: nn.Module, inputs: object) -> None:
        seen.append((any(part.training for part in module.modules()), torch.is_inference_mode_enabled()))

    handle = model.register_forward_pre_hook(look)
    try:
        result = call(model, x)
    finally:
        handle.remove()
    return (result.clone() if isinstance(result, Tensor) else result), seen
