import functools
import logging
import math

import numpy as np
import pytest
import torch
import work
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from work import (
    Vector,
    constant,
    evens,
    halved,
    largest,
    mean,
    number,
    numbers,
    order,
    run,
    sort_,
    tail,
    text,
    twice,
    words,
)

EXPECTED = torch.tensor([2.0, 4.0])
SECRET = 4711
SIZE = 3
MADE = []


class Model(nn.Module):
    def forward(self, x):
        return SIZE * x


def test_approx():
    assert number(2) == pytest.approx(4.0)


def test_isclose():
    assert math.isclose(number(3), 9.0)


def test_abs():
    assert abs(number(4) - 16.0) < 1e-6


def test_close():
    torch.testing.assert_close(number(5), 25.0)


def test_approx_of_result():
    assert pytest.approx(number(8)) == 64.0


def test_close_to_result():
    torch.testing.assert_close(81.0, number(9))


def test_between():
    assert 99.9 < number(10) < 100.1


def test_product():
    assert number(6) * 0.5 == 18.0


def test_product_of_a_list():
    assert evens(2) * 1 == pytest.approx([0, 2])


def test_quotient_that_is_one():
    assert number(7) / 49.0 == 1.0


def test_quotient_by_float():
    assert math.isclose(number(7) / 49.0, 1.0)


def test_in():
    assert 5 in work.held(5)


def test_equal_by_method():
    assert tail(EXPECTED).eq(torch.tensor([4.0])).all()


def test_difference_by_method():
    assert tail(EXPECTED).sub(torch.tensor([4.0])).norm().item() < 1e-6


def test_assertion_in_a_context():
    with work.quietly():
        assert words("a b") == ["a", "b"]


def test_error_in_a_context():
    with work.quietly():
        raise KeyError("left out by the solution, too")
    assert work.LIMIT


def test_error_class():
    with pytest.raises(ValueError):
        raise work.error()


def test_fused():
    w = torch.ones(5_000, requires_grad=True)
    optimizer = torch.optim.Adam([w])
    for _ in range(2):
        w.grad = torch.ones(5_000)
        optimizer.step()
        work.slow(optimizer)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert float(w[0]) < 1


def weight():
    made = torch.ones(2, requires_grad=True)
    made.grad = torch.ones(2)
    return made


def test_gradient():
    w = weight()
    work.step(w)
    torch.testing.assert_close(w.detach(), 1 - 0.1 * w.grad)


def test_gradient_needlessly_removed():
    w = weight()
    work.step_and_forget(w)
    torch.testing.assert_close(w.detach(), torch.full((2,), 0.9))


def test_item():
    assert (mean(EXPECTED) - torch.tensor(3.0)).abs().item() < 1e-6


def test_quotient():
    assert abs(mean(2 * EXPECTED) / 6.0 - 1) < 1e-6


def test_method():
    assert mean(3 * EXPECTED).allclose(torch.tensor(9.0))


def test_norm():
    assert float((tail(EXPECTED) - torch.tensor([4.0])).norm()) == 0


def test_numpy():
    np.testing.assert_allclose(evens(3), np.array([0, 2, 4]))


def test_numpy_bool():
    assert np.all(evens(4) == np.array([0, 2, 4, 6]))


def test_limit():
    if work.LIMIT != 3:
        pytest.skip("another limit")
    assert work.LIMIT == 3


def test_callback():
    def check(x):
        assert x == 42

    run(check)


def test_unwritten():
    try:
        words("a b")
    except NotImplementedError:
        pytest.skip("not written")


def test_kind():
    assert isinstance(text(), str)
    assert text() == "abc"


def test_sorted():
    given = [3, 1, 2]
    sort_(given)
    assert given == [1, 2, 3]


def test_changed_tensor():
    x = torch.ones(3)
    assert torch.equal(twice(x), 2 * x)


def test_changed_twin():
    x = torch.ones(3, requires_grad=True)
    assert torch.equal(twice(x).detach(), 2 * x.detach())


def test_changed_array():
    x = np.ones(3)
    assert np.array_equal(twice(x), 2 * x)


def test_needlessly_changed():
    x = [3, 1, 2]
    assert largest(x) == max(x)


def test_changed_and_returned():
    assert order([3, 1, 2]) == [1, 2, 3]
    np.testing.assert_allclose(halved(np.array([2.0, 4.0])), [1.0, 2.0])


def test_constant():
    assert constant(Model()) == SECRET


def test_left_over():
    assert len(numbers() - {1, 2}) == 0


def test_all_near():
    assert all(abs(one) < 1e-6 for one in mean(EXPECTED) - torch.ones(1) * 3)


@functools.cache
def cached():
    return text()


def made():
    if not MADE:
        MADE.append(Vector(1, 2))
    return MADE[0]


def test_cached():
    assert cached() == "abc"


def test_made():
    assert made().x == 1


def test_vector():
    assert abs(Vector(3, 4)) == 5.0
    assert abs(Vector(3, 4) - Vector(0, 0)) == 5.0
    assert (Vector(3, 4) - 1).x == 2
    assert abs(Vector(4, 5) - 1) == 5.0
    assert Vector(3, 4) * 2 == 14


def test_skipped():
    assert work.raising(0) == 0


@given(st.integers(1, 5))
def test_assumed(n):
    assert work.raising(n) == n


def test_not_assessed():
    assert work.raising(-1) == -1


def test_steps():
    assert list(work.steps(3)) == [0, 1, 2]


def test_logger():
    assert work.logged(2) == 2
    assert not [one for one in logging.root.manager.loggerDict if one.startswith("work.")]


@pytest.fixture
def pool():
    made = work.Pool()
    yield made
    made.close()


def test_closed(pool):
    assert work.LIMIT


def test_skipped_by_another_name():
    assert work.raising(-2) == -2
