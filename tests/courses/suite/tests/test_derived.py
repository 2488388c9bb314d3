import io
from collections import namedtuple
from unittest.mock import patch

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from pkg.derived import Bag, Layer, Numbers, Point, between, cube, echo, host
from torch.utils.data import DataLoader

from .common import Sized

Own = namedtuple("Own", "x y")


def test_second_derivative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (grad,) = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), x)
    assert grad.tolist() == [3.0, 12.0] and second.tolist() == [6.0, 12.0]


def test_layer():
    seen, layer = [], Layer()
    layer.inner.register_full_backward_hook(lambda module, given, got: seen.append(got[0].tolist()))
    layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    assert seen == [[[2.0, 2.0]]]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.ones(1, 2)).dtype == torch.bfloat16
    assert torch.compile(Layer(), backend="eager")(torch.ones(1, 2)).shape == (1, 2)


def test_loader_with_workers():
    assert [one.tolist() for one in DataLoader(Numbers(), 3, num_workers=2)] == [[0, 2, 4], [6, 8, 10]]


def test_named_tuples():
    assert between(Point(1, 2), Own(4, 6)) == 5
    assert (Point(1, 2) + Point(2, 2)).norm() == 5 and Point(1) == (1, 0)
    assert host("http://a.b/c").hostname == "a.b"


class TestNumbers(Sized):
    made, size = Numbers, 6


class Bags(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.bag, self.own = Bag(), []

    @rule(value=st.integers(0, 9))
    def push(self, value):
        self.bag.push(value)
        self.own.append(value)

    @precondition(lambda self: self.own)
    @rule()
    def pop(self):
        self.own.remove(largest := max(self.own))
        assert self.bag.pop() == largest


Bags.TestCase.settings = settings(max_examples=5, stateful_step_count=8)
TestBag = Bags.TestCase


@patch("builtins.input", side_effect=["a", "quit"])
@patch("sys.stdout", new_callable=io.StringIO)
def test_echo(out, ask):
    echo()
    assert out.getvalue() == "A\n"
