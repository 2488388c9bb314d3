import io
import itertools
import threading
import uuid
import warnings
from collections import namedtuple
from typing import ClassVar
from unittest.mock import create_autospec, patch

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from pkg import derived
from pkg.derived import Bag, Layer, Numbers, Point, between, cube, echo, host
from torch.func import grad, jacrev, vmap
from torch.utils.data import DataLoader

from .common import Sized

Own = namedtuple("Own", "x y")
HOST = derived.Host("b")
ON = [derived.Host("a"), pytest.param(HOST, marks=pytest.mark.skipif(not derived.Host("b").is_on(), reason="off"))]


def test_second_derivative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (grad,) = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), x)
    assert grad.tolist() == [3.0, 12.0] and second.tolist() == [6.0, 12.0]


def test_transforms_of_torch():
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(vmap(grad(cube))(x), 3 * x**2) and torch.equal(jacrev(cube)(x), torch.diag(3 * x**2))
    value, pull = torch.func.vjp(cube, x)
    assert torch.equal(value, x**3) and torch.equal(pull(torch.ones(2))[0], 3 * x**2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced, scripted = torch.jit.trace(cube, x), torch.jit.script(cube)
    assert torch.equal(traced(2 * x), 8 * x**3) and torch.equal(scripted(2 * x), 8 * x**3)
    assert grad(lambda y: y**2)(torch.tensor(3.0)) == 6


def test_layer():
    seen, layer = [], Layer()
    layer.inner.register_full_backward_hook(lambda module, given, got: seen.append(got[0].tolist()))
    layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    assert seen == [[[2.0, 2.0]]]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.ones(1, 2)).dtype == torch.bfloat16
    assert torch.compile(Layer(), backend="eager")(torch.ones(1, 2)).shape == (1, 2)


def test_tools_of_torch():
    layer, x = Layer(), torch.ones(1, 2)
    before, traced = layer(x), torch.fx.symbolic_trace(layer)
    assert torch.equal(traced(x), before) and "inner" in traced.code
    torch.nn.utils.parametrizations.weight_norm(layer.inner)  # the same weight, but for its rounding
    torch.testing.assert_close(layer(x), before)
    names = {name for name, _ in layer.inner.named_parameters()}
    assert names == {"bias", "parametrizations.weight.original0", "parametrizations.weight.original1"}


def test_loader_with_workers():
    assert [one.tolist() for one in DataLoader(Numbers(), 3, num_workers=2)] == [[0, 2, 4], [6, 8, 10]]


def test_loader_whose_workers_have_a_shard_each():
    parts = DataLoader(derived.Shards(5), None, num_workers=2, worker_init_fn=derived.begin_at_one)
    assert [*parts] == [*parts] == [1, 2, 3, 4, 5]


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


Bags.TestCase.settings = settings(max_examples=5, stateful_step_count=8, derandomize=True)
TestBag = Bags.TestCase


@patch("builtins.input", side_effect=["a", "quit"])
@patch("sys.stdout", new_callable=io.StringIO)
def test_echo(out, ask):
    echo()
    assert out.getvalue() == "A\n"


@pytest.mark.parametrize("one", ON, ids=["on", "off"])
def test_asked_while_collecting(one):
    assert one.name == "a" and HOST.name == "b"


def test_module_of_the_test_is_changed():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU())
    wanted, seen = model[0].weight.detach() * 2, []
    derived.adapt(model, seen.append)
    assert not model.training and isinstance(model[0], derived.Doubled) and model.rank == 1
    torch.testing.assert_close(model(torch.eye(2)), wanted.T.relu())
    assert seen == [(2, 2)] and len(model[1]._forward_hooks) == 1
    assert [name for name, _ in model.named_parameters()] == ["0.inner.weight"]


def test_modes_that_a_submission_sets():
    with derived.doubles():
        assert torch.ones(1).dtype == torch.float64
    assert torch.ones(1).dtype == torch.float32
    assert issubclass(derived.Halving, torch.optim.lr_scheduler.LRScheduler)


def test_exceptions_that_the_test_raises():
    def fail():
        raise derived.Late("again", 3)

    assert derived.attempt(fail, (KeyError, derived.Late)) == "again"
    with derived.ignoring(derived.Late):
        raise derived.Late("never", 1)
    with pytest.raises(derived.Late) as info:
        derived.attempt(fail, KeyError)
    assert info.value.args[0] == "again"


def test_iterators():
    pulled, rest = [], iter([1, 2, 3])
    assert derived.take(2, itertools.count()) == [0, 1]
    assert derived.take(2, (pulled.append(one) or one for one in itertools.count())) == [0, 1] == pulled
    assert derived.take(2, rest) == [1, 2] and [*rest] == [3]
    assert derived.Kept(lambda one=one: 2 * one for one in range(3)).call() == [0, 2, 4]


def test_values_of_more_kinds():
    inner = [1]
    nested = {"inner": inner}
    assert derived.first_of(uuid.UUID(int=3), ...) == (uuid.UUID(int=3), True)
    assert derived.parts("ab") == {frozenset("a"), frozenset("ab")}
    derived.extend(nested)
    assert inner == [1, 2] and derived.Lower(A=1) == {"a": 1}
    spec = create_autospec(Bag, instance=True)
    spec.pop.return_value = 4
    assert derived.popped(spec) == 4


def test_parameters():
    def add(a: int, b: float = 2.0) -> str: ...

    assert derived.describe(add) == "add(a: int, b: float) -> str"


def test_schedules_and_distributions():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    derived.advance(schedule, 2)
    assert optimizer.param_groups[0]["lr"] == 0.25 and schedule.last_epoch == 2
    normal = derived.shifted(torch.distributions.Normal(torch.zeros(2), torch.ones(2)), 3.0)
    assert isinstance(normal, torch.distributions.Normal) and normal.mean.tolist() == [3.0, 3.0]


HEARD = []
BEGUN = 0


class Spy:
    calls: ClassVar = []
    begun = 0

    def begin(self):
        Spy.begun += 1

    def hear(self, number):
        self.calls.append(number)


def test_variables_that_classes_of_the_test_change():
    order, total, by_kind = [], 0, {"odd": [], "even": []}

    class Ear(derived.Listener):
        def begin(self):
            global BEGUN
            BEGUN += 1

        def hear(self, number):
            nonlocal total
            total += number
            order.append(number)
            HEARD.append(number)
            by_kind["odd" if number % 2 else "even"].append({"it": number})

    derived.tell(Ear(), 3, lambda number: order.append(-10 * number))
    assert order == [0, 0, 1, -10, 2, -20] and total == 3 and BEGUN == 1 and HEARD == [0, 1, 2]
    assert by_kind == {"odd": [{"it": 1}], "even": [{"it": 0}, {"it": 2}]}
    order.clear()
    derived.tell(Ear(), 1)
    assert order == [0]


def test_variables_of_classes_of_the_test():
    spy = Spy()
    derived.tell(spy, 2)
    assert spy.calls == Spy.calls == [0, 1] and Spy.begun == 1


def test_object_made_of_a_class_of_the_test():
    spy = derived.made(Spy)
    assert isinstance(spy, Spy) and not isinstance(spy, Bag)


def test_many_objects_of_the_test():
    spies = [Spy() for _ in range(100)]
    for number, spy in enumerate(spies):
        spy.number = number
    adders = [Adder(one) for one in spies]
    assert derived.Pipe(adders).run(0) == 4950
    assert [one.last for one in adders][:3] == [0, 1, 3] and adders[99].last == 4950


class Adder:
    def __init__(self, spy):
        self.spy, self.last = spy, None

    def apply(self, x):
        self.last = x + self.spy.number
        return self.last


def test_function_that_is_called_without_gradients():
    assert derived.quietly(torch.is_grad_enabled) is False
    assert derived.quietly(lambda: torch.is_grad_enabled()) is False


def test_objects_of_the_test_that_are_used_later():
    class Step:
        def __init__(self, by):
            self.by, self.seen, self.last = by, [], None

        def apply(self, x):
            self.seen.append(x)
            self.last = x + self.by
            return self.last

    first, second = Step(1), Step(10)
    pipe, seen = derived.Pipe([first, second]), first.seen
    assert pipe.run(0) == 11 and pipe.run(1) == 12
    assert first.seen == seen == [0, 1] and second.seen == [1, 2] and second.last == 12
    first.by, first.lock = 5, threading.Lock()
    seen.clear()
    assert pipe.run(0) == 15 and first.seen == [0]
