"""Values in one line: short, bounded, and where that is possible a line to paste."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, tensor

from grader.border.proxies import Remote, note_maker
from grader.testkit import recipes, tensors
from grader.testkit.show import MAX_LINE, show, show_call

PASTED = {"tensor": tensor, "torch": torch, "nan": math.nan, "inf": math.inf}


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (1.0, "1.0"),
        (0.1 + 0.2, "0.3"),
        (1e20, "1e+20"),
        (math.nan, "nan"),
        (True, "True"),
        (None, "None"),
        ("a\nb", "'a\\nb'"),
        ((1,), "(1,)"),
        ((), "()"),
        ([1.0, "x"], "[1.0, 'x']"),
        ({"a": [1]}, "{'a': [1]}"),
        (torch.Size([2, 3]), "torch.Size([2, 3])"),
        (torch.device("cuda:1"), "torch.device('cuda:1')"),
        (torch.float16, "torch.float16"),
        (tensor([[1.0, 2.0]]), "tensor([[1., 2.]])"),
        (tensor([[1, 2], [3, 4]]).T, "tensor([[1, 2], [3, 4]]).mT"),
        (tensor(3), "tensor(3)"),
        (tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (torch.zeros(0, 3), "torch.zeros((0, 3))"),
        (torch.zeros(0, dtype=torch.int64), "torch.zeros((0,), dtype=torch.int64)"),
    ],
    ids=repr,
)
def test_a_value_is_shown_as_python_writes_it(value: Any, line: str) -> None:
    assert show(value) == line


@given(x=tensors(((0, 3), (0, 3)), dtype=(torch.float32, torch.int64, torch.float64, torch.bool), kind="small_ints"))
def test_a_tensor_of_small_numbers_can_be_pasted(x: Tensor) -> None:
    pasted = eval(show(x), dict(PASTED))
    assert pasted.dtype == x.dtype
    assert pasted.equal(x)


@pytest.mark.parametrize("value", [torch.randn(50, 50), "x" * 9999, list(range(9999)), {i: i for i in range(999)}])
def test_a_line_is_bounded(value: Any) -> None:
    line = show(value)
    assert len(line) <= MAX_LINE
    assert "\n" not in line
    assert "…" in line or "..." in line


@given(value=st.recursive(st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_data_is_one_line(value: Any) -> None:
    assert len(show(value).splitlines()) == 1


def test_a_call_is_shown_with_its_keywords() -> None:
    line = show_call("softmax", (tensor([1.0]),), {"dim": -1})
    assert line == "softmax(tensor([1.]), dim=-1)"


def test_no_line_holds_an_address() -> None:
    assert show(recipes.normal) == "normal"
    assert "0x" not in show([recipes.normal, recipes.Rows, print])


def test_an_object_of_a_recipe_is_shown_as_the_line_that_makes_it() -> None:
    channel: Any = None
    model, mystery = Remote(channel, 0, "Sequential"), Remote(channel, 1, "Thing")
    note_maker(model, recipes.mlp, ((4, 3),), {"seed": 1})
    assert show_call("fit", (model, mystery), {}) == "fit(recipes.mlp((4, 3), seed=1), <Thing>)"
    made = eval(show(model), {"recipes": recipes})
    assert [tuple(p.shape) for p in made.parameters()] == [(3, 4), (3,)]
