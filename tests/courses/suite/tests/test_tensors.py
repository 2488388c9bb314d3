import copy

import numpy as np
import pytest
import torch
from torch import nn

from .adapters import Layer, get_optimizer, pair, relu_, run_through, scale, softmax_, top, train


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.factor = 2.0

    def forward(self, x):
        return self.factor * self.fc(x)


class Twice(Layer):
    def forward(self, x):
        return 2 * super().forward(x)


def test_optimizer_class():
    """The optimizer takes the same steps as torch's."""
    torch.manual_seed(0)
    model, ours = (nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)) for _ in range(2))
    ours.load_state_dict(model.state_dict())
    opt = get_optimizer()(model.parameters(), lr=0.1)
    theirs = torch.optim.SGD(ours.parameters(), lr=0.1)
    for _ in range(3):
        for one, optimizer in ((model, opt), (ours, theirs)):
            loss = one(torch.ones(4, 3)).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert torch.allclose(model[0].weight, ours[0].weight)


def test_in_place_and_identity():
    x = torch.tensor([-1.0, 2.0])
    out = relu_(x)
    assert out is x
    assert x.tolist() == [0.0, 2.0]
    array = np.array([1.0, 2.0])
    assert scale(array, 3) is None
    expected = [3.0, 6.0]
    np.testing.assert_allclose(expected, array)
    rows = [[1.0, 2.0]]
    first = rows[0]
    assert scale(rows, 1) is None
    assert rows[0] is first


def test_own_module_passed():
    torch.manual_seed(0)
    model = Model()
    out = run_through(model, torch.ones(1, 3))
    torch.testing.assert_close(out, model(torch.ones(1, 3)))
    out.sum().backward()
    torch.testing.assert_close(model.fc.weight.grad, torch.full((2, 3), 2.0))


def test_their_layer():
    layer = Layer(3, 2)
    assert isinstance(layer, nn.Module)
    layer.weight.data = torch.ones(2, 3)
    x = torch.ones(3, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert layer.weight.grad.shape == (2, 3)
    assert len(list(layer.parameters())) == 1
    assert set(layer.state_dict()) == {"weight"}
    twin = copy.deepcopy(layer)
    twin.weight.data.zero_()
    assert layer.weight.sum() == 6


def test_subclass():
    layer = Twice(3, 2)
    layer.weight.data.fill_(1.0)
    assert layer(torch.ones(3)).tolist() == [6.0, 6.0]
    assert isinstance(layer, Layer)
    from .adapters import Layer as OnlyHere

    class Minus(OnlyHere):
        def forward(self, x):
            return -super().forward(x)

    layer = Minus(3, 2)
    layer.weight.data.fill_(1.0)
    assert layer(torch.ones(3)).tolist() == [-3.0, -3.0]


def test_callbacks():
    seen = []

    def log(step, loss):
        seen.append((step, loss))
        return step == 2

    assert train(5, log) == 3
    assert seen == [(0, 0.0), (1, 0.5), (2, 1.0)]


def test_callback_raises():
    def bad(step, loss):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        train(5, bad)


@pytest.mark.parametrize("function", [softmax_, torch.softmax])
def test_parametrized(function):
    assert torch.allclose(function(torch.zeros(2), 0), torch.tensor([0.5, 0.5]))


def test_named():
    w = torch.ones(2, requires_grad=True)
    out = pair(w)
    out.loss.backward()
    assert w.grad.tolist() == [1.0, 1.0] and out.n == 2 and out[1] == 2
    assert top(torch.tensor([1.0, 3.0])).indices == 1
