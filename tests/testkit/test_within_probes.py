"""The call of the submission's function that a probe makes, as a message shows it; none where that is not plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.border.proxies import Call, RemoteFunction
from grader.testkit.show import show_call

NOBODY: Any = None
GRAM = RemoteFunction(NOBODY, "gram")
X, Y = torch.ones(1, 2), torch.zeros(2)


def with_a_copy(function: Callable[..., Any], x: Tensor, later: Tensor) -> tuple[Any, Any]:
    x = x.clone()
    result = function(x)
    Tensor.copy_(x, later)
    return result, later


def with_all(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options), 3


def twice(function: Callable[..., Any], x: Tensor, name: str = "b") -> Any:
    return function(x, 2, flag=True), function(x, 2, flag=True)


def by_an_attribute(function: Any, x: Tensor) -> Any:
    return function.apply(x)


def with_two_inputs(function: Callable[..., Any], x: Tensor, y: Tensor) -> Any:
    return function(x), function(y)


def with_another_value(function: Callable[..., Any], x: Tensor, y: Tensor) -> Any:
    x = x + y
    return function(x)


def with_a_part(function: Callable[..., Any], x: Tensor, y: Tensor) -> Any:
    return function(x[0])


def by_a_helper(function: Callable[..., Any], x: Tensor, y: Tensor) -> Any:
    return function(x), list(map(function, [y]))


@pytest.mark.parametrize(
    ("probe", "args", "shown"),
    [
        (with_a_copy, (X, Y), "gram(tensor([[1., 1.]]))"),
        (with_all, (X, Y), "gram(tensor([[1., 1.]]), tensor([0., 0.]))"),
        (twice, (X,), "gram(tensor([[1., 1.]]), 2, flag=True)"),
        (by_an_attribute, (X,), "gram.apply(tensor([[1., 1.]]))"),
        (with_two_inputs, (X, Y), "gram with tensor([[1., 1.]]), tensor([0., 0.])"),
        (with_another_value, (X, Y), "gram with tensor([[1., 1.]]), tensor([0., 0.])"),
        (with_a_part, (X, Y), "gram with tensor([[1., 1.]]), tensor([0., 0.])"),
        (by_a_helper, (X, Y), "gram with tensor([[1., 1.]]), tensor([0., 0.])"),
    ],
)
def test_the_call_in_a_probe_is_shown_if_it_is_plain_which_one(
    probe: Callable[..., Any], args: tuple[Any, ...], shown: str
) -> None:
    assert show_call(Call(f"kit.{probe.__name__}", (GRAM, *args), {}, probe=probe)) == shown
