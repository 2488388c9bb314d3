"""Tools over there for promises about afterwards: a model in which everything can be left changed.

Called locally by a check too; the same arguments give the same bits. Must never hold an expected answer, or import
anything but torch, the standard library and the testkit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn

from grader.testkit import probes, recipes

WIDTH: Final = 6
EVAL: Final = ("1.0.0", "1.0", "2")
"""The parts of the model that are in eval mode: also parts of parts."""
_is_recording: Final = torch.is_grad_enabled


class BrokenModel(RuntimeError):
    """Raised by a model that does not work."""


class _Broken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise BrokenModel("this model does not work")


def nested(broken: bool = False) -> nn.Module:
    """Logits of parts within parts: some in eval mode, some frozen, with gradients left over.

    Args:
        broken: whether the last part raises `BrokenModel`.
    """
    inner = nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Sequential(nn.Dropout(0.5), nn.Linear(WIDTH, WIDTH)))
    last = _Broken() if broken else nn.Linear(WIDTH, recipes.CLASSES)
    model = nn.Sequential(nn.Linear(recipes.FEATURES, WIDTH), nn.Sequential(inner, nn.ReLU()), last)
    for index, param in enumerate(model.parameters()):
        param.data = recipes.normal(param.shape, 50 + index)
    recipes.with_stale_grads(model, 3)
    for name, module in model.named_modules():
        module.training = name not in EVAL
    model[0].weight.requires_grad_(False)  # type: ignore[union-attr]
    return model


def after(call: Callable[..., Any], recording: bool, broken: bool, *args: Any) -> dict[str, Any]:
    """Everything that ``call(model, *args)`` may have left changed, and whether the model's error came through.

    Args:
        recording: whether gradients are recorded where the call is made.
        broken: see `nested`.
    """
    model = nested(broken)
    raised = False
    with torch.set_grad_enabled(recording):
        try:
            call(model, *args)
        except BrokenModel:
            raised = True
        found = {**_facts(model), "gradients are recorded": _is_recording()}
    return {**found, "the model's error came through": raised}


def untouched(recording: bool, broken: bool) -> dict[str, Any]:
    """The same of a call that changes nothing."""
    found = {**_facts(nested(broken)), "gradients are recorded": recording}
    return {**found, "the model's error came through": broken}


def _facts(model: nn.Module) -> dict[str, Any]:
    return {
        "training flags": probes.training_flags(model),
        "requires_grad": probes.trainable(model),
        "weights and buffers": probes.state(model),
        "gradients": probes.model_grads(model),
    }


def before_and_after_a_change(call: Callable[..., Any], *args: Any) -> list[Any]:
    """Two results for the very same objects: the model's weights change between the calls."""
    model = nested().train()
    first = call(model, *args)
    with torch.no_grad():
        for param in model.parameters():
            param.mul_(-1.5)
    return [first, call(model, *args)]
