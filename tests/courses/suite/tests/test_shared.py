import collections
import random

import numpy as np
import pytest
import torch
from pkg import shared
from pkg.shared import Descent, Keeper, Layer


@pytest.mark.parametrize("kept", [[], collections.deque(), collections.deque(maxlen=9)])
def test_list(kept):
    keeper = Keeper(kept)
    assert keeper.add(1) == 1 and keeper.add(2) == 2
    assert [*kept] == [1, 2] and keeper.kept is kept
    kept.append(3)
    assert keeper.total() == 6 and keeper.add(4) == 4 and [*kept] == [1, 2, 3, 4]
    kept.clear()
    assert keeper.total() == 0 and keeper.add(5) == 1 and [*kept] == [5]


def test_set():
    kept = {1}
    keeper = Keeper(kept)
    keeper.add(2)
    kept.discard(1)
    assert keeper.add(3) == 2 and kept == {2, 3}


@pytest.mark.parametrize("kept", [{}, collections.Counter(), collections.OrderedDict(), collections.defaultdict(int)])
def test_dict(kept):
    kept["b"] = 4
    keeper, count = Keeper(kept), shared.counter(kept)
    assert keeper.count("a") == 1 and count("a") == 2 and kept == {"b": 4, "a": 2}
    kept["a"] = 9
    assert count("a") == keeper.kept["a"] == 10 and [*kept] == ["b", "a"]


def test_list_in_two_objects():
    kept = []
    one, other = Keeper(kept), Keeper()
    other.kept = kept
    one.add(1)
    other.add(2)
    assert kept == [1, 2] and one.total() == other.total() == 3 and one.kept is other.kept


def test_list_of_the_object():
    keeper, counts = Keeper([]), {}
    count, kept, told = shared.counter(counts), keeper.kept, shared.told()
    keeper.add(1, [2])
    kept[1].append(3)
    count("a")
    shared.tell("a")
    assert kept == [1, [2, 3]] and keeper.kept is kept and counts == {"a": 1} and told[-1] == "a"
    for number in range(40):
        assert keeper.add(number) == number + 3 == len(keeper.kept)
    told.append("b")
    kept[0], kept[1] = kept[1], kept[0]
    keeper.set(0, 1, 5)
    assert kept[:2] == [[2, 5], 1] and shared.told()[-1] == "b"


def test_order_of_a_dict():
    keeper = Keeper({"a": 1, "b": 2})
    kept = keeper.kept
    kept["a"] = kept.pop("b")
    assert keeper.first() == ("a", 2)
    keeper.count("c")
    keeper.last_first()
    assert [*kept] == ["c", "a"]


def test_dict_that_the_test_goes_through():
    kept = {"a": 1, "b": 2}
    keeper = Keeper(kept)
    for word in kept:
        keeper.count(word)
    assert kept == {"a": 2, "b": 3}


def test_nested_list():
    rows = [[0, 0], [0, 0]]
    first, keeper = rows[0], Keeper(rows)
    keeper.set(0, 1, 5)
    assert first == [0, 5] and rows == [[0, 5], [0, 0]]
    rows[1][0] = 3
    keeper.set(1, 1, 4)
    assert rows == [[0, 5], [3, 4]]


def test_list_of_objects():
    kept = [Keeper([1]), Keeper([2])]
    keeper = Keeper(kept)
    keeper.add(Keeper([3]))
    assert [one.total() for one in kept] == [1, 2, 3]
    kept.pop(0)
    assert keeper.add(4) == 3 and kept[0].kept == [2]


@pytest.mark.parametrize("made", [np.ones, torch.ones])
def test_numbers(made):
    w, b = made((2, 2)), made(2)
    descent = Descent((w, b))
    descent.step([made((2, 2)), made(2)])
    assert w.sum() == 2 and b.sum() == 1
    w[:] = 3
    descent.step([made((2, 2)), made(2)])
    assert w.sum() == 10 and b.sum() == 0
    keeper = Keeper(w)
    keeper.halve()
    assert w.sum() == 5 and descent.params[0] is w


def test_numeric_gradient():
    params, x = {"W": np.ones((3, 2)), "b": np.zeros(2)}, np.arange(6.0).reshape(2, 3)
    layer = Layer(params)
    before = layer.forward(x).sum()
    found = np.zeros_like(params["W"])
    for at in np.ndindex(3, 2):
        params["W"][at] += 0.5
        found[at] = (layer.forward(x).sum() - before) / 0.5
        params["W"][at] -= 0.5
    np.testing.assert_allclose(layer.backward(np.ones((2, 2)))["W"], found)
    layer.params["b"] += 1
    assert layer.forward(x).sum() == before + 4 and params["b"].sum() == 2


def test_argument_that_a_function_of_the_test_looks_at():
    w = np.array([1.0, 2.0])
    np.testing.assert_allclose(shared.slopes(lambda _: (w**2).sum(), w), [2.5, 4.5])
    kept, seen = [5], []
    functions = [lambda: seen.append([*kept]), kept.clear, lambda: seen.append([*kept])]
    assert shared.append_between(kept, functions) is kept == [0] and seen == [[5, 1], [0]]


def test_function_that_keeps():
    heard = []
    shared.listen(heard)
    shared.tell("a")
    shared.tell("b")
    assert heard == ["a", "b"]


def test_generator_that_fills():
    out = []
    steps = shared.fill(out)
    assert next(steps) == 1 and out == []
    assert next(steps) == 2 and out == ["a"]
    assert [*steps] == [] and out == ["a", "b"]


def test_generator_of_the_test_that_takes_values():
    heard = []

    def sink():
        while True:
            heard.append((yield len(heard)))

    begun = sink()
    assert next(begun) == 0 and shared.pump([5, 6], begun) == [1, 2] and heard == [5, 6]
    assert shared.pump([None, 7], sink()) == [2, 3] and heard == [5, 6, 7]


def test_the_same_argument_twice():
    row = [0]
    keeper = Keeper([row, row])
    keeper.set(0, 0, 7)
    assert row == [7] and keeper.kept[1] is row


def test_no_longer_kept():
    kept, keeper = [], Keeper()
    for number in range(300):
        keeper.kept = other = [number]
        keeper.add(number)
        assert other == [number, number]
    keeper.kept = kept
    other.append(0)
    assert keeper.add(1) == 1 and kept == [1]


@pytest.mark.parametrize(
    ("make", "uses"),
    [
        (np.random.default_rng, [("integers", 9), ("normal", 0)]),
        (np.random.RandomState, [("randint", 9), ("normal", 0)]),
        (random.Random, [("randrange", 9), ("gauss", 0, 1)]),
    ],
)
def test_random_generator(make, uses):
    ours, twin = make(3), make(3)
    keeper = Keeper(ours)
    for _ in range(3):
        assert keeper.draw(uses) == [getattr(twin, name)(*args) for name, *args in uses]
        assert ours.random() == twin.random()
    if make is np.random.default_rng:
        assert ours.bit_generator.state == twin.bit_generator.state


def test_random_generator_of_torch():
    ours, twin = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    for seed in (None, 7, None):
        twin.manual_seed(seed) if seed else None
        assert shared.noise(ours, seed) == torch.randn(3, generator=twin).tolist()
        assert torch.equal(torch.rand(2, generator=ours), torch.rand(2, generator=twin))


def test_views():
    x = torch.zeros(2, 3)
    rows = shared.turned(x)
    rows[1, 0] = 5
    assert x[0, 1] == 5 and rows.data_ptr() == x.data_ptr()
    first, second = shared.halves(x)
    second += 1
    assert x.tolist() == [[0, 5, 0], [1, 1, 1]] and first.shape == (1, 3)
    array = np.zeros(4)
    shared.reversed_part(array)[0] = 7
    assert array.tolist() == [0, 0, 7, 0] and np.shares_memory(shared.reversed_part(array), array)
    every_other = torch.arange(8.0)[::2].view(2, 2)
    assert shared.turned(every_other).tolist() == [[0, 4], [2, 6]]
    assert shared.reversed_part(np.arange(8.0)[::2]).tolist() == [4, 2]
    complex_ones = torch.tensor([1 + 2j])
    assert shared.conjugate(complex_ones).imag.item() == -2


def test_arrays_that_are_no_values():
    records = shared.Records()
    records.of_numbers["a"][0] = 3
    assert records.of_numbers["a"].tolist() == [3, 0] and records.of_numbers[0]["a"] == 3
    assert [one.made for one in records.of_objects] == [1, 2]
    row = records.row(1)
    row[0] = 5
    records.row(0)[:] = 4
    assert records.total() == 4 + 4 + 5


def test_list_that_is_kept_by_a_call_that_raises():
    kept, keeper = [], Keeper()
    with pytest.raises(ValueError, match="empty"):
        keeper.keep(kept)
    assert keeper.add(5) == 1 and kept == [5] and keeper.kept is kept
