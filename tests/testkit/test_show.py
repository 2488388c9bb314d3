"""Values in one line: short, bounded, and where that is possible a line to paste."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, tensor

from grader.border.proxies import Call, Remote, RemoteFunction
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
        (np.array([[1, 2], [3, 4]]), "np.array([[1, 2], [3, 4]])"),
        (np.array([0.5], dtype=np.float32), "np.array([0.5], dtype=np.float32)"),
        (np.zeros((0, 2)), "np.zeros((0, 2), dtype=np.float64)"),
        (np.float32(0.1), "np.float32(0.1)"),
        (np.int64(3), "np.int64(3)"),
        (Path("a/b"), "Path('a/b')"),
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
    line = show_call(Call("softmax", (tensor([1.0]),), {"dim": -1}))
    assert line == "softmax(tensor([1.]), dim=-1)"


def test_no_line_holds_an_address() -> None:
    assert show(recipes.normal) == "recipes.normal"
    assert "0x" not in show([recipes.normal, recipes.Rows, print])


def test_an_object_of_a_recipe_is_shown_as_the_line_that_makes_it() -> None:
    channel: Any = None
    model, mystery = Remote(channel, 0, "Sequential"), Remote(channel, 1, "Thing")
    object.__setattr__(model, "_made", Call("recipes.mlp", ((4, 3),), {"seed": 1}))
    assert show_call(Call("fit", (model, 3), {})) == "fit(recipes.mlp((4, 3), seed=1), 3)"
    assert show_call(Call("fit", (model, mystery), {})) == "fit with recipes.mlp((4, 3), seed=1), <Thing>"
    made = eval(show(model), {"recipes": recipes})
    assert [tuple(p.shape) for p in made.parameters()] == [(3, 4), (3,)]


def made(number: int, call: Call | None) -> Remote:
    """An object of the submission that such a call made."""
    handle = Remote(cast(Any, None), number, "Thing")
    object.__setattr__(handle, "_made", call)
    return handle


def test_uses_of_an_object_begin_with_what_made_it() -> None:
    rows = made(0, Call("Rows", (tensor([1.0]),), {}))
    assert show_call(Call("[]", (-1,), {}, rows)) == "Rows(tensor([1.]))[-1]"
    assert show_call(Call("layers", (), {}, rows, is_read=True)) == "Rows(tensor([1.])).layers"
    assert show_call(Call("", (2,), {}, rows)) == "Rows(tensor([1.]))(2)"
    assert show_call(Call("len", (rows,), {})) == "len(Rows(tensor([1.])))"
    method = made(1, Call("fit", (), {}, rows, is_read=True))
    assert show_call(Call("", (3,), {}, method)) == "Rows(tensor([1.])).fit(3)"


def test_what_cannot_be_pasted_does_not_look_like_a_call() -> None:
    model = made(0, Call("recipes.mlp", ((4, 3),), {}))
    optimizer = made(1, Call("recipes.sgd", (model,), {}))
    shown = show_call(Call("step", (model, optimizer), {}))
    assert shown == "step with recipes.mlp((4, 3)), recipes.sgd(recipes.mlp((4, 3)))", "two models, where there is one"
    assert show_call(Call("[]", (0,), {}, made(2, None))) == "<Thing> with 0"
    assert show_call(Call("gram", (torch.ones(2000),), {})).startswith("gram with tensor([1.")
    assert show_call(Call("torchrun --nproc-per-node=2 ddp.py", (), {})) == "torchrun --nproc-per-node=2 ddp.py"


def test_of_a_probe_the_function_that_it_calls_is_shown() -> None:
    function = RemoteFunction(cast(Any, None), "predict_logits")
    probe = Call("kit.restoring.after", (function, True, None, "eval", tensor([1.0])), {})
    assert show_call(probe) == "predict_logits with tensor([1.])"
    assert show_call(Call("kit.restoring.after", (function,), {})) == "predict_logits"
