"""Calls of torch are counted as a student has written them: those of their own lines, not of the library below."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.testkit.torch_calls import count

SOURCE = """
import torch
from torch import nn
from torch.nn import functional

def operators(x):
    return (x @ x.T + 1).sum() if x.shape[0] and x.requires_grad is False else x

def library(x):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    functional.cross_entropy(model(x), torch.zeros(2, dtype=torch.int64)).backward()
    optimizer.step()

class Own(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1

def own_module(x):
    for _ in range(3):
        x = Own()(x)
    return x
"""


@pytest.mark.parametrize(
    ("call", "calls"),
    [
        ("operators(torch.ones(2, 2))", 3),  # the product, the sum with 1, the sum of all: attributes are no calls
        ("operators(torch.ones(2, 2)).item()", 3),  # what the example itself calls is none of them
        ("own_module(torch.ones(2))", 6),
        ("undefined(1)", 0),
    ],
)
def test_each_call_of_the_file_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, calls: int
) -> None:
    (tmp_path / "counted_answers.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "counted_answers", raising=False)
    names = ["operators", "library", "own_module"]
    assert count("counted_answers", "", names, [f"{call}\n"], 0) == calls


def test_a_call_of_a_library_counts_once_however_much_torch_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted_answers.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "counted_answers", raising=False)
    found = count("counted_answers", "", ["library"], ["library(torch.ones(2, 2))\n"], 0)
    assert found == 6  # the layer that draws its weights, the model, the zeros, the loss, backward and a step
