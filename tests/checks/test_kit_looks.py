"""The kit looks at models by itself: an instance attribute in the place of one of their methods tells it nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from grader.course import Course
from grader.kit import load
from grader.testkit import devices, probes, recipes

KIT = load(Course.load(None).kit)
LIES: dict[str, Callable[..., Any]] = {
    "parameters": lambda *_: iter([]),
    "named_parameters": lambda *_, **__: iter([]),
    "buffers": lambda *_: iter([]),
    "named_buffers": lambda *_, **__: iter([]),
    "modules": lambda *_: iter([]),
    "named_modules": lambda *_, **__: iter([]),
    "state_dict": lambda *_, **__: {},
    "load_state_dict": lambda *_, **__: None,
}


def told(model: nn.Module, seed: int = 0) -> list[Any]:
    """The facts that kits and probes take from a model."""
    parameters, moving = KIT["kit.parameters"], KIT["kit.moving"]
    parameters.change(model)
    kept = moving.kept_tensors(model)
    turned = moving.turn_kept(model)
    grads = parameters.gradients_by_name(model, seed)
    covered = moving.covers(torch.optim.SGD(nn.Module.parameters(recipes.model("mlp", 3))), model)
    facts = [kept, turned, sorted(grads), covered, devices.device_map(model), probes.state(model)]
    return [*facts, [float(grad.sum()) for grad in grads.values() if grad is not None]]


@pytest.mark.parametrize("name", LIES)
def test_methods_that_are_replaced_on_a_model_change_no_fact(name: str) -> None:
    honest, lying = (recipes.model("mlp", 1) for _ in range(2))
    vars(lying)[name] = LIES[name]
    for one, other in zip(told(honest), told(lying), strict=True):
        if isinstance(one, dict) and any(isinstance(value, torch.Tensor) for value in one.values()):
            assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)
        else:
            assert one == other
