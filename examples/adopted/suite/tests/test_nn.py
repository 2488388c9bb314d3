"""Layers and losses, beside saved arrays and torch's own."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from .adapters import run_batches, run_cross_entropy, run_linear, run_softmax


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(x, dim):
    """Softmax over any dimension."""
    torch.testing.assert_close(run_softmax(x, dim), F.softmax(x, dim))


def test_softmax_large_entries(x):
    """Entries in the hundreds give no nan."""
    torch.testing.assert_close(run_softmax(100 * x + 500, 1), F.softmax(100 * x + 500, 1))


def test_linear(x, snapshot):
    """The layer that was saved, on a batch."""
    weight = torch.linspace(-1, 1, 20).view(4, 5)
    snapshot("linear", out=run_linear(weight, x))


def test_linear_keeps_leading_dimensions(x):
    weight = torch.ones(2, 5)
    assert run_linear(weight, x.expand(7, 3, 5)).shape == (7, 3, 2)


def test_cross_entropy(x):
    """The mean over the batch."""
    targets = torch.tensor([0, 4, 2])
    loss = run_cross_entropy(x, targets)
    assert loss.shape == ()
    assert loss.item() == pytest.approx(F.cross_entropy(x, targets).item(), rel=1e-5)


def test_cross_entropy_gradient(x):
    """Gradients flow into the logits, and into what made them."""
    weight = torch.full((5,), 0.5, requires_grad=True)
    targets = torch.tensor([1, 1, 3])
    run_cross_entropy(x * weight, targets).backward()
    expected = weight.detach().clone().requires_grad_()
    F.cross_entropy(x * expected, targets).backward()
    torch.testing.assert_close(weight.grad, expected.grad)


def test_batches():
    """Pieces of the array, and the same one place later."""
    ids = np.arange(50)
    inputs, targets = run_batches(ids, 4, 8, seed=3)
    assert inputs.shape == targets.shape == (4, 8)
    assert (targets == inputs + 1).all()
    np.testing.assert_array_equal(np.diff(inputs.numpy(), axis=1), 1)
