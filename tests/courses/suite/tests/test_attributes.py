import dataclasses

import pytest
import torch
from pkg.attributes import Alarm, Checked, Counted, Doubling, Fixed, Halved, Point, Share, Slotted, Twin, Worker, scaled


def test_attributes_of_results():
    point = Point(1.0)
    assert point.x == 1.0
    assert [point.moved(k).x for k in range(3)] == [1.0, 2.0, 3.0]
    point.x -= 3.0
    assert (point.x, point.x, point.moved(1.0).x) == (-2.0, -2.0, -1.0)
    point.x, point.steps = 5, 2
    point.x = 6.0
    assert point.step() == 6.0 and point.steps == 3
    other = Point(7.0)
    assert (other.x, other.steps) == (7.0, 0)
    point.x = 8.0
    assert (other.x, point.x) == (7.0, 8.0)
    del point.x
    with pytest.raises(AttributeError):
        _ = point.x


@pytest.mark.parametrize("kind", [Halved, Checked])
def test_attribute_that_is_checked(kind):
    point = kind(2.0)
    assert point.x == 2.0
    with pytest.raises(ValueError, match="below zero"):
        point.x = -1.0
    point.x = 3.0
    assert point.x == 3.0
    assert [Share(k).x for k in (50, 75)] == [0.5, 0.75]
    assert [Counted(k).x for k in (1, 2)] == [2, 3]


def test_attribute_that_cannot_be():
    assert (Fixed().x, Slotted().x) == (0.0, 0.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Fixed(1.0).x = 2.0
    with pytest.raises(AttributeError):
        Slotted().y = 1.0


def test_attribute_that_two_objects_have():
    one, two = Twin(), Twin()
    one.x = 1.0
    assert (one.x, two.x) == (1.0, 1.0)
    one.x = 2.0
    assert two.x == 2.0


def test_attribute_that_a_thread_sets():
    assert not Worker().done
    worker = Worker()
    worker.start()
    while not worker.done:
        pass


def test_attribute_that_an_alarm_sets():
    assert not Alarm(60).rang
    alarm = Alarm(0.01)
    while not alarm.rang:
        pass


def test_attribute_that_a_function_of_the_test_sets():
    point = Point(1.0)

    def change():
        point.x = 4.0

    assert point.x == 1.0 and point.ask(change) == 4.0


def test_attribute_that_a_gradient_depends_on():
    point, x = Point(1.0), torch.ones(2, requires_grad=True)
    result = scaled(x, point)
    assert point.x == 1.0
    point.x = 3.0
    result.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_method_that_is_held(monkeypatch):
    point = Point(1.0)
    step = point.step
    Doubling(point)
    assert (step(), point.step()) == (1.0, 2.0)
    moved = point.moved
    monkeypatch.setattr(point, "moved", lambda by: 0)
    assert (moved(2.0).x, point.moved(2.0)) == (3.0, 0)
    step = point.step
    point.step = 0
    assert (step(), point.step) == (2.0, 0)
    first, second = Point(2.0).step, Point(5.0).step
    assert sorted([second(), first()]) == [2.0, 5.0]
    assert (first.__name__, second == first, first == first) == ("step", False, True)
