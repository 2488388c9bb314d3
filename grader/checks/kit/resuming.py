"""Training that is stopped and goes on, models that cannot be saved, and state dicts that stay where they are.

Runs in the student process, and locally when a check works out the expected value. Must never hold an expected answer,
or import anything but torch and the standard library.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from grader.testkit import probes, recipes

# ---------------------------------------------------------------- models


def placed(kind: str, seed: int, device: str = "cpu", dtype: torch.dtype = torch.float32) -> nn.Module:
    """``recipes.model(kind, seed)`` in mixed modes and with gradients left over, on a device and of a dtype."""
    made = recipes.with_stale_grads(recipes.model(kind, seed, {"0": False, "norm": False}), seed).to(device, dtype)
    for param in made.parameters():
        if param.grad is not None:
            param.grad = param.grad.to(device)
    return made


def looks(model: nn.Module) -> dict[str, Any]:
    """The state of a model beside its weights: training flags, gradients, which parameters train."""
    grads = probes.model_grads(model)
    return {
        "training flags": probes.training_flags(model),
        "gradients": {name: None if grad is None else grad.cpu() for name, grad in grads.items()},
        "what trains": probes.trainable(model),
    }


class NoRoom:
    """Cannot be written, like anything on a disk that is full."""

    def __reduce__(self) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")


class HalfWritten(nn.Sequential):
    """A model whose ``state_dict`` has an entry for which there is no room on the disk."""

    def get_extra_state(self) -> Any:
        """The entry."""
        return NoRoom()


def too_large(seed: int = 0) -> nn.Module:
    """A model whose save fails half-way, as on a disk that is full."""
    return HalfWritten(*recipes.mlp((recipes.FEATURES, 6, recipes.CLASSES), seed))


def try_save(save: Callable[..., Any], *args: Any) -> None:
    """Calls ``save(*args)``; it may raise, but must have been written."""
    try:
        save(*args)
    except NotImplementedError:
        raise
    except Exception:
        return


# ---------------------------------------------------------------- training that goes on


def optimizer(model: nn.Module, kind: str = "sgd", lr: float = 0.1) -> Optimizer:
    """An optimizer with a memory: "sgd" (momentum), "adam", or "groups" (AdamW; biases have a group of their own)."""
    params = list(model.parameters())
    if kind == "sgd":
        return torch.optim.SGD(params, lr=lr, momentum=0.9)
    if kind == "adam":
        # A bias before a batch norm has gradients of rounding errors alone, 1e-7: a small `eps` makes steps of them.
        return torch.optim.Adam(params, lr=lr, eps=0.1)
    biases = [param for param in params if param.dim() == 1]
    others = [param for param in params if param.dim() != 1]
    groups: list[dict[str, Any]] = [{"params": others}, {"params": biases, "lr": lr / 2, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def scale_lr(optimizer: Optimizer, factor: float) -> None:
    """Changes the learning rates, as a schedule does."""
    for group in optimizer.param_groups:
        group["lr"] *= factor


def train(model: nn.Module, optimizer: Optimizer, steps: int) -> list[float]:
    """Steps of cross-entropy whose batches, like the dropout, come from torch's global generator; their losses."""
    model.train()
    losses = []
    where = next(model.parameters()).device
    for _ in range(steps):
        x = torch.randn(6, recipes.FEATURES).to(where)
        y = torch.randint(0, recipes.CLASSES, (6,)).to(where)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses


def optimizer_numbers(optimizer: Optimizer) -> Any:
    """The optimizer's ``state_dict``: settings, and tensors that are not the optimizer's own."""
    return _copied(Optimizer.state_dict(optimizer))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(_copied, value))
    return probes.copied(value)


# ---------------------------------------------------------------- state dicts


class Kept:
    """The result of a function, kept over there."""

    def __init__(self, value: Any) -> None:
        self.value = value


def keep(function: Callable[..., Any], *args: Any) -> Kept:
    """Calls a function, and keeps its result over there."""
    return Kept(function(*args))


def load_kept(model: nn.Module, kept: Kept) -> None:
    """Loads a kept ``state_dict`` into a model."""
    model.load_state_dict(kept.value)


def spoil_kept(kept: Kept) -> None:
    """Changes every tensor of a kept ``state_dict`` in place."""
    for value in kept.value.values():
        probes.memory_of(value).zero_()


def as_dict(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function; a dict of any kind as a plain one."""
    found = function(*args)
    return dict(found) if isinstance(found, dict) else found


def stripped(strip_prefix: Callable[..., Any], kind: str, seed: int) -> Any:
    """The result of ``strip_prefix(state, "module.")`` of weights that a wrapper has saved, as a plain dict.

    Their dict is of the kind that torch makes, and is gone afterwards: the next one may get its id.
    """
    state = recipes.model(kind, seed).state_dict(prefix="module.")
    return as_dict(strip_prefix, state, "module.")


def dict_afterwards(function: Callable[..., Any], state: dict[str, Any], *args: Any) -> tuple[dict[str, Any], bool]:
    """Calls ``function(state, *args)``: the dict afterwards, and whether the result is that dict."""
    found = function(state, *args)
    return state, found is state
