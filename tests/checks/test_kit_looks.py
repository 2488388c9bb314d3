"""The kit looks at models and tensors by itself: no method that submitted code puts in place of theirs is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
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


class Lying(nn.Parameter):
    """A class that submitted code can give to a parameter."""

    grad = property(lambda self: None)  # type: ignore[assignment]
    is_leaf = requires_grad = property(lambda self: True)  # type: ignore[assignment]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.zeros(())


def lie(*tensors: torch.Tensor) -> torch.Tensor:
    for tensor in tensors:
        tensor.__class__ = Lying
    return tensors[0]


@pytest.mark.parametrize("look", ["grads", "leaf_facts", "backward_again"])
def test_a_parameter_of_another_class_says_nothing_of_itself(look: str) -> None:
    autograd = KIT["kit.autograd"]
    leaves = autograd.leaves([(2, 3)])
    lie(*leaves)
    with pytest.raises(TypeError, match="the class Lying, which is not torch's own"):
        getattr(autograd, look)(leaves, *([1] if look == "backward_again" else []))


def test_nor_does_one_in_a_model() -> None:
    model = recipes.model("mlp", 1)
    lie(next(model.parameters()))
    with pytest.raises(TypeError, match="Lying"):
        KIT["kit.parameters"].gradients_by_name(model, 0)
    with pytest.raises(TypeError, match="Lying"):
        KIT["kit.training"].kept_parameters(lambda *_: None, model, torch.Generator())


def test_a_loss_with_a_backward_of_its_own_is_differentiated_by_torch() -> None:
    def loss_of(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        loss = (x @ w).sum() + b.sum()
        vars(loss)["backward"] = lambda: None
        return loss

    _, w_grad, _ = KIT["kit.autograd"].backward_from(loss_of, torch.ones(2, 3), *map(torch.ones, (2, 3, 1)))
    assert w_grad.tolist() == [2.0] * 3


def test_a_copy_that_does_nothing_hides_no_shared_memory() -> None:
    def keep(x: torch.Tensor) -> torch.Tensor:
        vars(x)["copy_"] = vars(x)["unsqueeze_"] = lambda *_: None
        return x.view(3)

    first, after = KIT["kit.tensor_ops"].result_and_itself(keep, torch.zeros(3), torch.ones(3))
    assert (first.tolist(), after.tolist()) == ([0.0] * 3, [1.0] * 3)


def test_a_tensor_with_a_storage_of_its_own_is_seen_to_be_copied() -> None:
    def copy(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.__class__ = type("Elsewhere", (torch.Tensor,), {"untyped_storage": lambda self: torch.UntypedStorage(1)})
        return a.contiguous().clone() + b

    _, names = KIT["kit.tensor_ops"].copies_of_one(copy, torch.ones(2), torch.ones(2))
    assert "clone" in names


def test_optimizers_and_scalers_are_asked_by_torchs_own_methods() -> None:
    model = recipes.model("mlp", 1)
    optimizer, scaler = KIT["kit.resuming"].optimizer(model), KIT["kit.checklist"].scaler()
    for one in (optimizer, scaler):
        vars(one)["state_dict"] = dict
    assert KIT["kit.resuming"].optimizer_numbers(optimizer)["param_groups"]
    assert KIT["kit.checklist"].scaler_state(scaler)["scale"] == 256.0


def test_ranks_that_cannot_communicate_are_called_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kit = KIT["kit.distributed"]
    assert kit.group_facts(3) == {"initialized": False, "sum": None}
    assert kit.trained(3)["group"] is None
    monkeypatch.setattr(kit.ranks, "here", lambda: SimpleNamespace(rank=0, size=1))
    monkeypatch.setattr(kit.dist, "init_process_group", lambda *_, **__: None)
    monkeypatch.chdir(tmp_path)
    assert kit.joins_again(3) == "joins a new one, and cannot communicate in it"
