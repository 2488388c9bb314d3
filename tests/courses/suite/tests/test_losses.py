"""Losses with a graph in the test, through which the submission goes back; and what training steps have beside."""

import copy

import pytest
import torch
from pkg import losses
from torch import nn


@pytest.fixture
def parts():
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    return model, torch.optim.SGD(model.parameters(), lr=0.05), torch.randn(6, 4)


def test_step(parts):
    model, optimizer, x = parts
    found, twin = [], copy.deepcopy(model)
    for _ in range(2):
        loss = model(x).square().mean()
        found.append(loss.item())
        norm = losses.step(model, loss, optimizer, 0.1)
    assert found[1] < found[0] and norm > 0.1 and not torch.equal(model.weight, twin.weight)
    assert torch.stack([one.grad.norm() for one in model.parameters()]).norm().item() == pytest.approx(0.1)


def test_step_of_their_model(parts):
    _, _, x = parts
    model, given = losses.Model(), x.clone().requires_grad_()
    loss = model(given).square().mean()
    expected = torch.autograd.grad(model(given).square().mean(), (given, model.layer.bias))
    before = model.layer.bias.detach().clone()
    losses.step(model, loss, torch.optim.SGD(model.parameters(), lr=1.0), 1e9)
    torch.testing.assert_close(before - model.layer.bias.detach(), expected[1])
    torch.testing.assert_close(given.grad, expected[0])


def test_gradients(parts):
    model, _, x = parts
    found = losses.gradients(model(x).square().mean(), model.parameters())
    expected = torch.autograd.grad(model(x).square().mean(), list(model.parameters()))
    assert all(map(torch.allclose, found, expected)) and len(found) == 2


def test_gradients_of_their_parameters(parts):
    _, _, x = parts
    model, given = losses.Model(), x.clone().requires_grad_()
    of_x, of_bias = torch.autograd.grad(model(given).sum(), (given, model.layer.bias))
    assert of_bias.tolist() == [6.0] and torch.allclose(of_x[0], model.layer.weight[0])
    assert model.layer.bias.grad is None and model.layer.weight.grad is None and given.grad is None
    found = torch.autograd.grad(model(x).square().mean(), list(model.parameters()), create_graph=True)
    sum(one.square().sum() for one in found).backward()
    assert model.layer.weight.grad.abs().sum() > 0
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(model(x).sum(), [model.layer.bias, nn.Parameter(torch.ones(1))])


def test_accumulate(parts):
    model, optimizer, x = parts
    twin = copy.deepcopy(model)
    losses.accumulate([model(x[:3]).square().mean(), model(x[3:]).square().mean()], optimizer)
    twin(x).square().mean().backward()
    assert torch.allclose(model.weight, twin.weight - 0.05 * twin.weight.grad)


def test_the_test_goes_back(parts):
    model, _, x = parts
    losses.square(model(x).mean()).backward()
    found = model.weight.grad.clone()
    model.zero_grad()
    model(x).mean().square().backward()
    assert torch.allclose(found, model.weight.grad)
    at = torch.tensor(3.0, requires_grad=True)
    (slope,) = torch.autograd.grad(losses.square(at * 2), at, create_graph=True)
    assert slope.item() == 24 and torch.autograd.grad(losses.square(slope), at)[0].item() == 384


def test_scaler(parts):
    model, optimizer, x = parts
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2)
    for _ in range(4):
        losses.scaled_step(model(x).square().mean(), optimizer, scaler)
    assert scaler.get_scale() == 256
    kept = model.weight.detach().clone()
    losses.scaled_step(model(x * float("inf")).sum(), optimizer, scaler)
    assert scaler.get_scale() == 128 and torch.equal(model.weight, kept)


def test_scaler_of_theirs():
    scaler = losses.new_scaler(8.0)
    assert isinstance(scaler, torch.amp.GradScaler) and scaler.scale(torch.ones(())).item() == 8


class Log:
    def __init__(self):
        self.lines = []


def test_equal_list_in_the_place_of_another():
    log = Log()
    losses.start_again(log)
    assert log.lines == []
