"""Probes: small looks at a student's modules, in the student process; they give plain values back."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.testkit import probes


def there_and_back(split: Callable[..., Any], merge: Callable[..., Any], x: Tensor, heads: int) -> tuple[Any, bool]:
    """``merge(split(x, heads))``, and whether it has the memory of ``x``."""
    result = merge(split(x, heads))
    same = probes.memory_of(result).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return result, same


def gradients(module: nn.Module, x: Tensor) -> dict[str, Tensor | None]:
    """The gradient of the sum of squares of ``module(x)`` with respect to each parameter, by name."""
    named = probes.parameters(module)
    found = torch.autograd.grad(module(x).square().sum(), list(named.values()), allow_unused=True)
    return dict(zip(named, found, strict=True))


def spread(weight: Tensor) -> float:
    """The standard deviation of a weight."""
    return float(probes.memory_of(weight).std())


def saved(module: nn.Module) -> list[str]:
    """The names in its state_dict."""
    return sorted(module.state_dict())
