"""Tools over there for promises about what is as before, after a call or a block: a model with much to be changed.

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


class BrokenBlock(RuntimeError):
    """Raised inside of a block."""


def nested() -> nn.Module:
    """Logits of parts within parts: some in eval mode, some frozen, with gradients left over."""
    inner = nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Sequential(nn.Dropout(0.5), nn.Linear(WIDTH, WIDTH)))
    last = nn.Linear(WIDTH, recipes.CLASSES)
    model = nn.Sequential(nn.Linear(recipes.FEATURES, WIDTH), nn.Sequential(inner, nn.ReLU()), last)
    for index, param in enumerate(model.parameters()):
        param.data = recipes.normal(param.shape, 50 + index)
    recipes.with_stale_grads(model, 3)
    for name, module in model.named_modules():
        module.training = name not in EVAL
    model[0].weight.requires_grad_(False)  # type: ignore[union-attr]
    return model


def after(call: Callable[..., Any], recording: bool, *args: Any) -> dict[str, Any]:
    """Everything that ``call(model, *args)`` may have left changed.

    Args:
        recording: whether gradients are recorded where the call is made.
    """
    model = nested()
    with torch.set_grad_enabled(recording):
        call(model, *args)
        return {**_facts(model), "gradients are recorded": _is_recording()}


def untouched(recording: bool) -> dict[str, Any]:
    """The same of a call that changes nothing."""
    return {**_facts(nested()), "gradients are recorded": recording}


def in_float64(call: Callable[..., Any], kind: str, seed: int, x: Tensor) -> Any:
    """``call(model, x)`` for a model in float64; x has that dtype, too."""
    return call(recipes.model(kind, seed).double(), x)


# ---------------------------------------------------------------- blocks


def block(manager: Callable[..., Any], recording: bool, raises: bool, x: Tensor) -> dict[str, Any]:
    """The state inside of ``with manager(model):`` and after it.

    Args:
        recording: whether gradients are recorded where the block is.
        raises: whether the block raises an error.
    """
    model, found, came_through = nested(), {}, False
    with torch.set_grad_enabled(recording):
        try:
            with manager(model):
                out = model(x)
                facts = {"output": probes.copied(out), "output requires grad": probes.exact(out).requires_grad}
                found["inside"] = {**_modes(model), **facts}
                if raises:
                    raise BrokenBlock("this block does not work")
        except BrokenBlock:
            came_through = True
        found["after"] = {**_facts(model), "gradients are recorded": _is_recording()}
    return {**found, "the error came through": came_through}


def _modes(model: nn.Module) -> dict[str, Any]:
    return {"training flags": probes.training_flags(model), "gradients are recorded": _is_recording()}


def block_in_block(manager: Callable[..., Any]) -> list[dict[str, Any]]:
    """What is seen between the ends of two blocks of one model, and after both."""
    model = nested()
    with manager(model):
        with manager(model):
            pass
        between = _modes(model)
    return [between, {**_facts(model), "gradients are recorded": _is_recording()}]


def _with_flags(seed: int) -> nn.Module:
    model = nested()
    for module, flag in zip(model.modules(), recipes.labels(20, 2, seed).tolist(), strict=False):
        module.training = bool(flag)
    return model


def some_flags(seed: int) -> dict[str, bool]:
    """Training flags that follow from a seed."""
    return probes.training_flags(_with_flags(seed))


def one_after_the_other(manager: Callable[..., Any], seed: int, count: int) -> list[dict[str, bool]]:
    """The training flags of some models, each after a block of its own."""
    found = []
    for place in range(count):
        model = _with_flags(seed + place)
        with manager(model):
            pass
        found.append(probes.training_flags(model))
    return found


# ---------------------------------------------------------------- looks


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
