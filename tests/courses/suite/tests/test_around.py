import collections
import io
import json
import logging
import random
import sys
import threading
import time
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
import torch
from pkg import *  # noqa: F403
from torch import nn

from . import adapters
from .adapters import Held, Square, ask, bound, draw, fit, minimize, parse, pause, save, seed, swap, total, warn


def test_random_state():
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    first = *draw(), torch.rand(2).tolist(), np.random.randn(), random.random()
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    ours = torch.randn(3).tolist(), np.random.randn(), random.gauss(0, 1)
    assert first == (*ours, torch.rand(2).tolist(), np.random.randn(), random.random())
    np.random.seed(4)
    one, two, three = np.random.randn(3)
    np.random.seed(4)
    assert (np.random.randn(), draw()[1], np.random.randn()) == (one, two, three)  # NumPy draws two at a time


def test_their_seed():
    seed(5)
    first = torch.rand(2), np.random.rand(), random.random()
    seed(5)
    assert torch.equal(first[0], torch.rand(2)) and first[1:] == (np.random.rand(), random.random())


def test_place(monkeypatch, tmp_path):
    monkeypatch.setenv("SUITE_HOME", "here")
    monkeypatch.chdir(tmp_path)
    save("out.txt")
    assert (tmp_path / "out.txt").read_text() == "here"


def test_patched(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Ada\nBob\n"))
    assert (ask(), ask(), pause(2), slept) == ("Ada", "Bob", None, [2])
    with mock.patch("builtins.input", return_value="Eve"), mock.patch("pkg.double", return_value=9):
        assert (ask(), shout(1)) == ("Eve", 9)  # noqa: F405
    assert not hasattr(adapters, "nothing")


def test_warning():
    with pytest.warns(DeprecationWarning, match="old"):
        warn()


def test_modes():
    weight = nn.Parameter(torch.ones(2))
    with torch.no_grad():
        bound(weight)
    assert weight.tolist() == [0.5, 0.5]


def test_exceptions():
    with pytest.raises(ZeroDivisionError) as caught:
        adapters.divide(1, 0)
    assert caught.type is ZeroDivisionError and caught.value.args == ("division by zero",)
    with pytest.raises(json.JSONDecodeError) as caught:
        parse("{")
    assert caught.value.pos == 1 and isinstance(caught.value, ValueError)


def test_values_of_libraries():
    assert total(collections.deque([1, 2])) == total(range(3)) == 3
    assert total([Fraction(1, 2), Fraction(1, 2)]) == Fraction(1)
    counted = adapters.count("aab")
    assert counted["z"] == 0 and counted.most_common(1) == [("a", 2)]
    assert isinstance(logging.getLogger("x"), logging.Logger)  # a star gives the library itself
    assert isinstance(swap(torch.zeros(2, 3)), torch.Size)
    generator = torch.Generator().manual_seed(1)
    assert adapters.drawn(generator) != adapters.drawn(generator)


def test_function_of_theirs():
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Square.apply, (x,))
    (saved,) = Square.apply(x).grad_fn.saved_tensors
    assert torch.equal(saved, x)


def test_function_of_ours():
    target = torch.tensor([1.0, 2.0])
    found = minimize(lambda x: ((x - target) ** 2).sum(), torch.zeros(2))
    assert torch.allclose(found, target, atol=1e-3)


def test_training():
    torch.manual_seed(0)
    model, x = nn.Linear(2, 1), torch.randn(8, 2)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = fit(model, loader, optimizer, nn.functional.mse_loss)
    assert losses[-1] < losses[0] and len(optimizer.state) == 2
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_saved(tmp_path):
    adapters.save_tensor(torch.ones(2), tmp_path / "x.pt")
    assert torch.equal(torch.load(tmp_path / "x.pt")["x"], torch.ones(2))
    adapters.save_tensor(torch.ones(2), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes() == b"\x89PNG\0" * 300_000


def test_objects():
    held = Held()
    held.groups[0]["lr"] = 5
    held.items.append(1)
    assert held.sum() == 6 and not Held(0) and held
    with held as inside:
        assert inside.is_open
    with held:
        raise KeyError("kept back")
    threads = [threading.Thread(target=held.add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held.added == 8
