import dataclasses
import io
import unittest
from contextlib import redirect_stdout
from unittest import mock

import pkg
import pkg.deep.ops as ops
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats
from pkg import Scalar
from pkg.deep.ops import *  # noqa: F403

small = floats(-10, 10)
scalars = small.map(lambda x: Scalar(x))
ONE = Scalar(1.0)


@given(small, small)
@settings(max_examples=20)
def test_add(a, b):
    print("a print of the test's own")
    assert add(a, b) == a + b  # noqa: F405


def test_same():
    assert ops.add(1, 2) == pkg.add(1, 2)
    assert callable(getattr(pkg, "work", add))  # noqa: F405


@given(scalars)
@settings(max_examples=20)
def test_drawn(s):
    assert (s + ONE).data == pytest.approx(s.data + 1.0)
    assert (2.0 * s).data == pytest.approx(2.0 * s.data)


def test_equal():
    assert Scalar(1.0) == ONE
    assert isinstance(ONE, Scalar)
    assert not isinstance(3, Scalar)


def test_raises():
    with pytest.raises(ZeroDivisionError):
        ops.div(1, 0)
    with pytest.raises(pkg.BadScalar) as caught:
        Scalar("x")
    assert caught.value.text == "x"
    with pytest.raises(dataclasses.FrozenInstanceError):
        pkg.Still(1).x = 2


def test_values():
    assert repr(Scalar(1.0)) == "Scalar(1.0)"
    assert pkg.LIMIT == 3
    assert float(Scalar(2.5)) == 2.5
    assert pkg.total(self=1, name=2, target=3, operation=4, function=5, shown=6, keywords=7) == 28


@pytest.mark.parametrize(("name", "function", "expected"), pkg.table())
def test_table(name, function, expected):
    assert function(2) == expected


class Param:
    def __init__(self):
        self.is_asked = False

    def ask(self):
        self.is_asked = True
        return self


def test_own_object():
    param = Param()
    assert pkg.ask(param) is param
    assert param.is_asked


class TestMany:
    @pytest.fixture(autouse=True)
    def made(self):
        self.one = Scalar(3.0)

    def test_uses(self):
        assert self.one.data == 3.0


@pytest.fixture
def one():
    one = Scalar(1.0)
    yield one
    assert one.data == 1.0


class Cases(unittest.TestCase):
    def setUp(self):
        self.addCleanup(repr, Scalar(2.0))

    def test_unit(self):
        self.assertEqual(Scalar(3.0).data, 3.0)
        with self.assertRaises(pkg.BadScalar):
            Scalar("x")

    def test_patched(self):
        printed = io.StringIO()
        with mock.patch("pkg.double", return_value=5), self.assertLogs("pkg") as logs, redirect_stdout(printed):
            self.assertEqual(pkg.shout(2), 5)
        self.assertEqual((logs.output, printed.getvalue()), (["WARNING:pkg:low"], "loud\n"))
        self.assertEqual(pkg.double(2), 4)
        with mock.patch.object(pkg.Scalar, "__float__", lambda self: 7.0):
            self.assertEqual(float(Scalar(1.0)), 7.0)
        self.assertEqual(float(Scalar(1.0)), 1.0)

    def test_parts(self):
        for x in (1, 3):
            with self.subTest(x=x):
                self.assertEqual(pkg.half(x), x / 2)


def test_itself():
    one = Scalar(2.0)
    assert one.keep().data == 2.0
    assert one.keep() is one and one.keep().data == 2.0


def test_fixture(one):
    assert one + ONE == Scalar(2.0)
