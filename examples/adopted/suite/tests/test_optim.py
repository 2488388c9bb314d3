"""The optimizer beside torch's, on a model of the test's own."""

import copy

import pytest
import torch

from .adapters import get_momentum_cls, run_bisect, run_clip


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.layer(x).tanh() * self.scale


def _train(model, optimizer, steps=5):
    x = torch.linspace(-1, 1, 24).view(6, 4)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_momentum(momentum):
    """Five steps give the weights that torch's SGD gives."""
    torch.manual_seed(1)
    model = Net()
    other = copy.deepcopy(model)
    mine = _train(model, get_momentum_cls()(model.parameters(), lr=0.1, momentum=momentum))
    theirs = _train(other, torch.optim.SGD(other.parameters(), lr=0.1, momentum=momentum))
    torch.testing.assert_close(mine, theirs)


def test_momentum_refuses_negative_rates():
    with pytest.raises(ValueError):
        get_momentum_cls()([torch.nn.Parameter(torch.ones(1))], lr=-1.0)


@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_clip(limit):
    """Gradients change in place as by torch's own function."""
    model = Net()
    model(torch.ones(2, 4)).sum().backward()
    other = copy.deepcopy(model)
    for p, q in zip(model.parameters(), other.parameters()):
        q.grad = p.grad.clone()
    run_clip(model.parameters(), limit)
    torch.nn.utils.clip_grad_norm_(other.parameters(), limit)
    for p, q in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(p.grad, q.grad)


def test_bisect():
    """Asks the function that it gets, and few times."""
    asked = []

    def f(x):
        asked.append(x)
        return x**3 - 2

    assert run_bisect(f, 0.0, 2.0) == pytest.approx(2 ** (1 / 3), abs=2e-3)
    assert len(asked) < 40


def test_bisect_falling():
    assert run_bisect(lambda x: 1 - x, 0.0, 3.0) == pytest.approx(1, abs=2e-3)
