"""Tensors and optimizers that a test and a submission both have: what one side changes, the other is sent."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from torch import nn

from grader.suites.passing import put
from grader.testkit.far.side import changes, detached, is_same, is_same_state, is_sent, now_both_have

_NEW: Final = (None, None, False)


class Twins:
    """Those of one check.

    Args:
        may: whether a kind of argument may be changed by the submission: see `Bridge.may`.
    """

    def __init__(self, may: Callable[[str], bool]) -> None:
        self._may = may
        self._tensors: dict[int, torch.Tensor] = {}
        self._keys: dict[int, int] = {}
        self._last: dict[int, tuple[Any, Any, bool]] = {}
        self._optimizers: dict[int, tuple[Any, Any]] = {}
        self._numbers = itertools.count(1)

    def new_key(self) -> int:
        """A key that nothing has yet."""
        return next(self._numbers)

    def key_of(self, tensor: torch.Tensor) -> int:
        """The key of a tensor of the test that has a twin from now on."""
        if id(tensor) not in self._keys:
            self._add(self.new_key(), tensor)
        return self._keys[id(tensor)]

    def has(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self._keys

    def tensor(self, key: int) -> torch.Tensor | None:
        return self._tensors.get(key)

    def leaves(self) -> Iterator[tuple[int, torch.Tensor]]:
        """The test's tensors that collect gradients, with their keys."""
        return ((key, one) for key, one in self._tensors.items() if key > 0 and one.is_leaf and one.requires_grad)

    def value(self, key: int) -> torch.Tensor:
        """The tensor with this key."""
        return self._tensors[key]

    def new_tensor(
        self, key: int, data: torch.Tensor, grad: torch.Tensor | None, requires_grad: bool, is_parameter: bool
    ) -> torch.Tensor:
        """A tensor of the submission that the test gets."""
        tensor = nn.Parameter(data, requires_grad) if is_parameter else data.requires_grad_(requires_grad)
        tensor.grad = grad
        self._add(key, tensor)
        self._last[key] = detached(tensor), detached(grad), requires_grad
        return tensor

    def take_place(self, own: torch.Tensor, made: torch.Tensor) -> None:
        """Has a tensor of the test instead of one that was made of what came, if that is a twin."""
        if (key := self._keys.pop(id(made), None)) is not None:
            self._add(key, own)
            own.requires_grad_(made.requires_grad)
            own.grad = made.grad

    def add_optimizer(self, number: int, value: torch.optim.Optimizer) -> None:
        """From now on, both sides have the state of an optimizer of the test, by its number."""
        self._optimizers.setdefault(number, (value, None))

    def pushes(self) -> list[tuple[Any, ...]]:
        """The twins that have changed here, and the optimizers' states, which have no data."""
        found: list[tuple[Any, ...]] = []
        for number, (optimizer, last) in self._optimizers.items():
            state = optimizer.state_dict()
            if last is None or not is_same_state(state, last):
                self._optimizers[number] = optimizer, copy.deepcopy(state)
                found.append((number, None, state, False, False))
        for key, tensor in self._tensors.items():
            changed = changes(tensor, self._last.get(key, _NEW))
            if changed is not None:
                self._last[key] = changed[0]
                found.append((key, *changed[1], isinstance(tensor, nn.Parameter)))
        return found

    def pull(self, pulls: Sequence[Any]) -> None:
        """Takes over the submission's changes, as far as it may make them."""
        for key, data, grad, requires_grad in pulls:
            if data is None:
                optimizer, _ = self._optimizers[key]
                if self._may(type(optimizer).__name__):
                    optimizer.load_state_dict(grad)
                    self._optimizers[key] = optimizer, copy.deepcopy(optimizer.state_dict())
                continue
            if (tensor := self._tensors.get(key)) is not None:
                is_changed = is_sent(data) and not is_same(tensor.detach(), data)
                if is_changed and (key < 0 or self._may(type(tensor).__name__)):  # else a graph would notice
                    put(tensor, data)
                if tensor.is_leaf:
                    tensor.requires_grad_(requires_grad)
                if tensor.is_leaf and is_sent(grad):
                    if key > 0 and not is_same(tensor.grad, grad) and not self._may("a gradient"):
                        grad = tensor.grad
                    tensor.grad = detached(grad)
                self._last[key] = now_both_have(self._last[key], tensor, data, grad)

    def _add(self, key: int, tensor: torch.Tensor) -> None:
        self._keys[id(tensor)], self._tensors[key] = key, tensor
