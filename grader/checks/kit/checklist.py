"""Tools over there for the checks of efficient training: models whose arithmetic shows how they run, scalers, looks.

Recipes are also called locally by a check; the same arguments give the same bits. Must never hold an expected answer,
or import anything but torch and the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import GradScaler

from grader.testkit import recipes

_is_recording, _is_in_inference, _DataParallel, _is_autocast = (
    torch.is_grad_enabled, torch.is_inference_mode_enabled, nn.DataParallel, torch.is_autocast_enabled,
)  # fmt: skip

# ---------------------------------------------------------------- mixed precision


class _Product(torch.autograd.Function):
    """``x @ w`` whose backward is a matrix product of torch: autocast, if it is on, makes it coarse as well."""

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


_LOSSES = ("cross_entropy", "log_softmax", "softmax", "logsumexp")


class _Logits(Tensor):
    """Logits that know whether autocast is on when a loss takes them. What is computed from them is a plain tensor."""

    watched: Watched

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of `func`."""
        given = args[0] if args else None
        with torch._C.DisableTorchFunctionSubclass():
            is_loss = isinstance(given, cls) and getattr(func, "__name__", "") in _LOSSES
            if is_loss and not _is_autocast("cpu") and given.dtype is not torch.float32:
                given.watched.note("the loss runs outside of autocast, on logits of 16 bits")
            return func(*args, **(kwargs or {}))


class Watched(nn.Module):
    """The identity, as the last layer: notes what runs outside of autocast on the CPU, or under it, and should not.

    Attributes:
        problems: in words, each once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []

    def note(self, text: str) -> None:
        """Keeps a problem, once."""
        if text not in self.problems:
            self.problems.append(text)

    def forward(self, x: Tensor) -> Tensor:
        """``x``."""
        if not _is_autocast("cpu"):
            self.note("the forward runs outside of autocast, in 32 bits")
        elif x.dtype is torch.float16:
            self.note("the forward runs in float16: torch.autocast's default for the CPU is bfloat16")
        if x.requires_grad:
            x.register_hook(self._in_backward)
        logits = x.as_subclass(_Logits)
        logits.watched = self
        return logits

    def _in_backward(self, grad: Tensor) -> None:
        if _is_autocast("cpu"):
            self.note("backward runs under autocast")


def problems_seen(model: nn.Module) -> list[str]:
    """The problems that the `Watched` layer of a model has seen."""
    return [text for one in model.modules() if isinstance(one, Watched) for text in one.problems]


class SeesDtype(nn.Module):
    """The identity, which keeps the dtype of its last input."""

    dtype = ""

    def forward(self, x: Tensor) -> Tensor:
        """``x``."""
        self.dtype = str(x.dtype)
        return x


def amp_model_on_cuda(seed: int) -> nn.Module:
    """An `amp_model` on a GPU whose logits have a dtype that `dtype_of_logits` reads."""
    made = amp_model(seed, "cuda:0")
    assert isinstance(made, nn.Sequential)
    return made.append(SeesDtype())


def dtype_of_logits(model: nn.Module) -> str:
    """The dtype of the last logits of an `amp_model_on_cuda`."""
    return next(one.dtype for one in model.modules() if isinstance(one, SeesDtype))


def watched_amp_model(seed: int = 0) -> nn.Module:
    """An `amp_model` on the CPU that sees what runs under autocast."""
    made = amp_model(seed)
    assert isinstance(made, nn.Sequential)
    return made.append(Watched())


def with_large_stale_grads(model: nn.Module, seed: int) -> nn.Module:
    """The same model, with gradients that still count when a scaler has divided them."""
    recipes.with_stale_grads(model, seed)
    for each in model.parameters():
        if each.grad is not None:
            each.grad *= 1000
    return model


def amp_model(seed: int = 0, device: str = "cpu") -> nn.Module:
    """Logits of ``(n, FEATURES)``, by layers that autocast computes in half precision; in float32 all results differ,
    and they also differ when backward runs under autocast, in eval mode, and when a forward ran before."""
    width = 16
    with recipes.seeded(seed):
        made = nn.Sequential(
            nn.Linear(recipes.FEATURES, width),
            nn.Tanh(),
            recipes.CountedDropout(),
            Product(width, 8),
            nn.Linear(8, recipes.CLASSES),
        )
    return made.to(device)


def scaler(device: str = "cpu", scale: float = 256.0, interval: int = 2, enabled: bool = True) -> Any:
    """A GradScaler.

    Args:
        scale: by how much it multiplies at first.
        interval: after this many good steps in a row it doubles the scale.
    """
    return GradScaler(device, init_scale=scale, growth_interval=interval, enabled=enabled)


def scaler_state(scaler: Any) -> dict[str, Any]:
    """The scale, and how many good steps there were since it changed; an empty dict if it is switched off."""
    state = GradScaler.state_dict(scaler)
    return {name: state[name] for name in ("scale", "_growth_tracker") if name in state}


# ---------------------------------------------------------------- memory


class _Kept:
    """A tensor that a graph keeps for its backward; while it lives, its rows count."""

    def __init__(self, memory: Memory, tensor: Tensor) -> None:
        self.tensor = tensor
        self._memory, self._rows = memory, len(tensor)
        memory.rows += self._rows

    def __del__(self) -> None:
        self._memory.rows -= self._rows


class Memory(nn.Module):
    """``tanh`` in a memory that holds the graph of a few examples only: more at a time are an error, as on a GPU.

    Args:
        capacity: how many rows.
        in_training: the number that is added in training mode.
    """

    def __init__(self, capacity: int, in_training: float) -> None:
        super().__init__()
        self.capacity = capacity
        self.in_training = in_training
        self.rows = 0

    def forward(self, x: Tensor) -> Tensor:
        """``tanh`` of each number, plus the number to be added.

        Raises:
            RuntimeError: if the memory is full.
        """
        if _is_recording() and self.rows + len(x) > self.capacity:
            raise RuntimeError(
                f"out of memory: there is room for the graph of {self.capacity} examples, not of {self.rows + len(x)}"
            )
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: _Kept(self, tensor), lambda held: held.tensor):
            return x.tanh() + self.in_training * self.training


def model_in_memory(capacity: int, seed: int = 0) -> nn.Module:
    """A model of ``(n, FEATURES)`` to logits that can hold the graph of ``capacity`` examples at a time."""
    memory = Memory(capacity, recipes.normal((), seed).item())
    with recipes.seeded(seed):
        return nn.Sequential(nn.Linear(recipes.FEATURES, 5), memory, nn.Linear(5, recipes.CLASSES))


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
    """SGD with momentum, and two parameters in each group; in the last one perhaps one.

    Args:
        leave_out: the name of a parameter that it does not have.
    """
    held = [param for name, param in model.named_parameters() if name != leave_out]
    groups = [{"params": held[start : start + 2]} for start in range(0, len(held), 2)]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9)


def step(optimizer: torch.optim.Optimizer) -> None:
    """One step with the gradients that are there."""
    optimizer.step()


def inner_module(model: nn.Module, wrapped: Any) -> str:
    """Whether ``wrapped`` is "the model" itself, or "the model in a DataParallel", or "None", or "something else"."""
    if wrapped is model or wrapped is None:
        return "None" if wrapped is None else "the model"
    inside = type(wrapped) is _DataParallel and wrapped.module is model
    return "the model in a DataParallel" if inside else "something else"


def spread_over(wrapped: Any) -> list[int]:
    """The GPUs that a DataParallel uses."""
    return list(wrapped.device_ids)


def frozen(model: nn.Module) -> nn.Module:
    """The same model, whose parameters no longer require gradients, and keep those that they have."""
    return model.requires_grad_(False)


# ---------------------------------------------------------------- inference


class ModeDependent(nn.Module):
    """Adds one amount in training mode, and another one outside of inference mode: its output says how it ran."""

    def __init__(self, in_training: float, outside: float) -> None:
        super().__init__()
        self.in_training = in_training
        self.outside = outside

    def forward(self, x: Tensor) -> Tensor:
        """``x``, plus the number that has to be added."""
        if self.training:
            x = x + self.in_training
        return x if _is_in_inference() else x + self.outside


def mode_dependent_model(seed: int, flags: Mapping[str, bool] | None = None) -> nn.Module:
    """A model of ``(n, FEATURES)`` whose layers say how they run, by amounts that follow from the seed.

    Args:
        flags: training flags by module name, True for all others.
    """
    amounts = recipes.normal((6,), seed).abs().add(0.5).tolist()
    with recipes.seeded(seed):
        made = nn.Sequential(
            nn.Linear(recipes.FEATURES, 5),
            ModeDependent(*amounts[:2]),
            nn.Sequential(ModeDependent(*amounts[2:4]), nn.Linear(5, recipes.CLASSES)),
            ModeDependent(*amounts[4:]),
        )
    for name, module in made.named_modules():
        module.training = (flags or {}).get(name, True)
    return made
