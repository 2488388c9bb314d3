import collections
import inspect
import pickle
import re
import unittest
from unittest.mock import patch

import pytest
import torch
from pkg import names
from pkg.names import Circle, Learner, Measured, Shape, Square, activation, double, make, scaled, squeezed, words

HANDLERS = {Circle: "c", Square: "s"}


def test_is():
    circle = make("circle", 2)
    assert type(circle) is Circle and type(circle) is not Square and circle.__class__ is names.Circle
    assert type(circle).__mro__[1] is Shape and Circle in Shape.__subclasses__()
    assert activation("double") is double and activation("tanh") is torch.tanh is not double


class TestIs(unittest.TestCase):
    def test_assert_is(self):
        self.assertIs(type(make("square", 2)), Square)
        self.assertIsNot(activation("double"), make)


def test_match():
    match make("square", 3):
        case names.Circle(r=2):
            pytest.fail("another size")
        case Square(r):
            assert r == 3
        case _:
            pytest.fail("no square")


def test_keys_that_are_classes():
    assert [HANDLERS[type(make(kind, 1))] for kind in ("circle", "square")] == ["c", "s"]
    assert words() == {Circle: "round", Square: "edged"} and {double: 1}[activation("double")] == 1


def test_classes_of_the_test():
    class Line(Shape):
        def area(self):
            return 0

    class Plane:
        def area(self):
            return 1

    assert names.KNOWN["Line"] is Line and isinstance(Plane(), Measured) and not isinstance(3, Measured)


def test_pickled(tmp_path):
    assert pickle.loads(pickle.dumps(make("circle", 4))).r == 4
    torch.save({"made": make("square", 5)}, tmp_path / "made.pt")
    assert torch.load(tmp_path / "made.pt", weights_only=False)["made"].area() == 25


def test_match_of_a_pattern():
    assert re.sub(r"\d", names.doubled, "a1b2") == "a2b4"


def test_source():
    assert inspect.getsource(double).startswith("def double(x)") and "2" in inspect.getsource(Square.area)


def test_layers_in_a_model_of_the_test():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    scaled(net)
    assert len([*net.parameters()]) == 6 and [name for name, _ in net.named_children()] == ["0", "1"]
    by = net[0].by
    net.to(torch.float64)
    assert by.dtype == net[1].inner.weight.dtype == torch.float64
    assert net(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64


def test_shape_changed_in_place():
    x = torch.ones(2)
    squeezed(x)
    assert x.shape == (1, 2)


def test_callback_that_gets_what_is_new():
    class Log:
        def after_fit(self):
            self.seen = self.learner.loss

    log = Log()
    Learner([log]).fit()
    assert log.seen == log.learner.loss == 0.5


def test_dicts_that_make_values():
    agent = names.Agent()
    agent.values["a"][1] = 5
    assert agent.best("a") == 5 and agent.best("b") == 0 and agent.values == {"a": [0, 5], "b": [0, 0]}
    assert names.first_of(collections.defaultdict(lambda: 3)) == 3


def test_class_in_a_dict_that_is_patched():
    with patch.dict("pkg.names.KNOWN", {"Round": Circle}):
        assert names.known("Round") is Circle
    with pytest.raises(KeyError):
        names.known("Round")


def test_tensor_that_requires_grad_from_now_on():
    x, w = torch.ones(2), torch.ones(3)
    assert names.tracked(x) is x and x.requires_grad
    (2 * x).sum().backward()
    kept = names.Kept()
    kept.update(w)
    assert x.grad.tolist() == [2, 2] and kept.value is w and w.requires_grad
