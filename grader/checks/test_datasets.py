"""Checks of datasets: the items of a dataset, how loaders shuffle and make batches, and the content of a batch.

Never decide what the contract leaves open: whether a pair is a tuple or a list and a label a tensor or a number,
which order a seed gives, by which class loaders and parts of a split are made, negative indices of a WindowDataset.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Grid,
    Mismatch,
    Submission,
    assert_equal,
    assert_global_numbers,
    assert_that,
    counted,
    exercise,
    observe,
    picture,
    probes,
    raises,
    recipes,
    seeds,
)

SEEDS = seeds()
OTHER_SEEDS = (1, 2, 100, 256, 1000, 65_536)
"""Steps to other seeds: none of them may be taken for the same, as by ``seed % 256``."""
COUNTS = st.integers(0, 60)
FEW = settings(max_examples=4)
"""For checks that go through loaders: with worker processes, an epoch costs a tenth of a second."""


def as_pair(item: object) -> object:
    """A pair as a tuple."""
    return tuple(item) if isinstance(item, (list, tuple)) and len(item) == 2 else item


def as_pairs(items: list[Any]) -> list[object]:
    """Each item of a list as a tuple, if it is a pair."""
    return [as_pair(item) for item in items]


# ---------------------------------------------------------------- ToyDataset


def toy_data(rows: int, seed: int, shape: tuple[int, ...] = (3,), dtype: torch.dtype = torch.int64) -> list[Tensor]:
    """Features and labels of as many rows, no two alike; labels of a floating dtype are not whole numbers."""
    y = torch.arange(rows) * 7 + seed % 5
    return [recipes.normal((rows, *shape), seed), y.to(dtype) + 0.5 if dtype.is_floating_point else y.to(dtype)]


@exercise("datasets.ToyDataset")
@given(n=st.integers(2, 8), seed=SEEDS, shape=st.sampled_from([(), (3,), (2, 2)]))
def test_one_pair_per_index(submission: Submission, n: int, seed: int, shape: tuple[int, ...]) -> None:
    """len is the number of rows, and [i] is row i of the features with label i."""
    check_pairs(submission, n, seed, shape)


@exercise("datasets.ToyDataset", when="with one row, or none")
@pytest.mark.parametrize("n", [1, 0])
def test_one_row_or_none(submission: Submission, n: int) -> None:
    """A dataset may have a single row, or none."""
    check_pairs(submission, n, 1, (3,))


def check_pairs(submission: Submission, n: int, seed: int, shape: tuple[int, ...]) -> None:
    x, y = toy_data(n, seed, shape)
    dataset = submission.ToyDataset(x, y)
    assert_equal(len(dataset), n, what="len")
    found = submission.there(probes.items, dataset)
    assert_equal(as_pairs(found), [(x[i], y[i]) for i in range(n)])


@exercise("datasets.ToyDataset", when="for other dtypes and memory layouts")
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32], ids=str)
def test_dtypes_and_memory_layouts(submission: Submission, dtype: torch.dtype) -> None:
    """Features and labels of any dtype, in any memory layout, are returned unchanged."""
    x, y = toy_data(4, 1, dtype=dtype)
    x = (100 * x).to(torch.int64 if dtype.is_floating_point else torch.float64)
    dataset = submission.ToyDataset(features=x.T.contiguous().T, labels=y)
    found = submission.there(probes.items, dataset)
    assert_equal(as_pairs(found), [(x[i], y[i]) for i in range(4)])


@exercise("datasets.ToyDataset", when="with two datasets at a time")
@given(seed=SEEDS)
@FEW
def test_two_datasets_at_a_time(submission: Submission, seed: int) -> None:
    """Each dataset keeps its own rows, also when another one is made later."""
    kept = [toy_data(n, seed + n) for n in (4, 3)]
    datasets = [submission.ToyDataset(x, y) for x, y in kept]
    for dataset, (x, y) in zip(datasets, kept, strict=True):
        found = submission.there(probes.items, dataset)
        assert_equal(as_pairs(found), [(x[i], y[i]) for i in range(len(y))])


@exercise("datasets.ToyDataset", when="for a negative index")
@given(seed=SEEDS)
@FEW
def test_negative_indices_count_from_the_end(submission: Submission, seed: int) -> None:
    """dataset[-1] is the last pair, dataset[-n] the first."""
    x, y = toy_data(5, seed)
    dataset = submission.ToyDataset(x, y)
    for index in (-1, -3, -5):
        assert_equal(as_pair(dataset[index]), (x[index], y[index]), what=f"dataset[{index}]")


@exercise("datasets.ToyDataset")
def test_index_error_outside(submission: Submission) -> None:
    """An index past either end raises an IndexError; in an empty dataset, every index does."""
    for n, outside in ((5, (5, 6, 11, -6)), (1, (1, -2)), (0, (0, -1))):
        dataset = submission.ToyDataset(*toy_data(n, 3))
        for index in outside:
            with raises(IndexError, what=f"[{index}] of {counted(n, 'row')}"):
                dataset[index]


@exercise("datasets.ToyDataset", when="in a plain for loop")
def test_a_plain_for_ends(submission: Submission) -> None:
    """ToyDataset is a torch Dataset, and a plain for loop over one gives every pair once, and ends."""
    for n in (3, 0):
        x, y = toy_data(n, 4)
        dataset = submission.ToyDataset(x, y)
        for _ in range(2):
            found = submission.there(probes.walked, dataset)
            assert_equal(len(found), n, what="how many pairs a for loop gives")
            assert_equal(as_pairs(found), [(x[i], y[i]) for i in range(n)])
    a_dataset = submission.there(probes.is_a, submission.ToyDataset, "torch.utils.data.Dataset")
    assert_equal(a_dataset, True, what="whether ToyDataset is a torch.utils.data.Dataset")


@exercise("datasets.ToyDataset")
def test_lengths_that_differ(submission: Submission) -> None:
    """Features and labels of different lengths are refused with a ValueError."""
    for rows, others in ((4, 3), (3, 4), (0, 1), (1, 0)):
        with raises(ValueError):
            submission.ToyDataset(toy_data(rows, 5)[0], toy_data(others, 5)[1])


# ---------------------------------------------------------------- make_loaders


def loaders(
    submission: Submission, n: int, batch_size: int, seed: int, kind: str = "pairs", n_test: int = 5, start: int = 0
) -> Any:
    """A student's two loaders over numbered rows, made and used from one place of the global stream."""
    submission.there(probes.start_global, start)
    train_ds = submission.there(recipes.numbered, n, kind)
    return submission.make_loaders(train_ds, submission.there(recipes.numbered, n_test, kind), batch_size, seed)


def order_of(epoch: list[Any]) -> list[int]:
    """Which rows the batches of an epoch hold, in order, by their labels."""
    try:
        return [int(label) for _, labels in epoch for label in labels]
    except (TypeError, ValueError, RuntimeError):
        raise AssertionError("the train loader does not give batches of features and labels") from None


def is_shuffled(order: list[int]) -> bool:
    """Whether an order of 0, 1, ... is as good as random: not rotated, nor strided, nor shuffled only here and there.

    Of 64 rows, one random order in a thousand million is taken for something else.
    """
    steps = Counter((second - first) % len(order) for first, second in pairwise(order))
    moved = sum(abs(place - row) for place, row in enumerate(order)) / len(order)
    return max(steps.values()) <= len(order) // 5 and moved > len(order) / 6


@exercise("datasets.make_loaders")
@pytest.mark.parametrize("short", [True, False], ids=["a_short_rest", "no_rest"])
@given(whole=st.integers(1, 8), more=st.integers(0, 3), rest=st.integers(0, 3), seed=SEEDS)
@settings(max_examples=2)
def test_train_batches_are_full(
    submission: Submission, short: bool, whole: int, more: int, rest: int, seed: int
) -> None:
    """The train loader gives full batches of different rows, each with its own label, and no short last batch."""
    batch_size = 1 + short + more
    n = whole * batch_size + short * (1 + rest % (batch_size - short))
    train, _ = loaders(submission, n, batch_size, seed)
    (found,) = submission.there(probes.epochs, train)
    rows = order_of(found)
    assert_equal([len(labels) for _, labels in found], [batch_size] * whole, what="sizes of train batches")
    assert_that(len(set(rows)) == len(rows) and set(rows) <= set(range(n)), "a row comes more than once in an epoch")
    features = torch.stack([recipes.numbered(n)[row][0] for row in rows])
    assert_equal(torch.cat([x for x, _ in found]), features, what="features of the rows whose labels came with them")


@exercise("datasets.make_loaders")
@given(batch_size=st.sampled_from([4, 8]), seed=SEEDS)
@settings(max_examples=2)
def test_train_order_is_random_and_new_each_epoch(submission: Submission, batch_size: int, seed: int) -> None:
    """The train loader shuffles the rows: a random order in each epoch, with other rows together in a batch."""
    train, _ = loaders(submission, 64, batch_size, seed)
    orders = [order_of(epoch) for epoch in submission.there(probes.epochs, train, 3)]
    for order in orders:
        assert_equal(sorted(order), list(range(64)), what="the rows of an epoch")
        assert_that(order != list(range(64)), "the train loader gives the rows in the order of the dataset")
        assert_that(is_shuffled(order), f"the order of the rows is not random: {order}")
    for first, second in combinations(orders, 2):
        assert_that(first != second, "two epochs have the same order")
        assert_that(is_shuffled([first.index(row) for row in second]), "an epoch follows the order of the one before")


@exercise("datasets.make_loaders", when="over several epochs")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_every_row_has_its_turn(submission: Submission, seed: int) -> None:
    """Which rows are left out with the short last batch is random as well: over some epochs, every row comes."""
    train, _ = loaders(submission, 9, 4, seed)
    came = {row for epoch in submission.there(probes.epochs, train, 10) for row in order_of(epoch)}
    assert_equal(sorted(came), list(range(9)), what="rows that came in 10 epochs of 8 of 9 rows")


@exercise("datasets.make_loaders", when="with the same seed again")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_the_seed_decides_the_order(submission: Submission, seed: int) -> None:
    """Two fresh train loaders with one seed give the same orders, whatever the global random numbers are."""
    expected = [order_of(epoch) for epoch in submission.there(probes.epochs, loaders(submission, 24, 4, seed)[0], 2)]
    pairs = [loaders(submission, 24, 4, seed, start=start) for start in (9, 7)]
    found: list[list[list[int]]] = [[], []]
    for _ in range(2):
        for orders, (train, test) in zip(found, pairs, strict=True):
            orders += [order_of(epoch) for epoch in submission.there(probes.epochs, train)]
            submission.there(probes.epochs, test)
            submission.there(probes.draw_from_global)
    assert_equal(found, [expected] * 2, what="two epochs of two more loaders with this seed, used in turns")


@exercise("datasets.make_loaders")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_another_seed_gives_another_order(submission: Submission, seed: int) -> None:
    """Other seeds give other orders."""
    found = [
        order_of(submission.there(probes.epochs, loaders(submission, 64, 8, one)[0])[0])
        for one in (seed, *(seed + step for step in OTHER_SEEDS))
    ]
    for first, second in combinations(found, 2):
        assert_that(first != second, "two seeds give the same order")


@exercise("datasets.make_loaders", when="in torch's global random numbers")
@pytest.mark.parametrize("times", [0, 2])
@given(seed=SEEDS)
@settings(max_examples=1)
def test_global_random_numbers_are_not_touched(submission: Submission, times: int, seed: int) -> None:
    """Making the train loader and iterating over it does not change torch's global random numbers."""
    train, _ = loaders(submission, 12, 4, seed=seed, start=1)
    assert_global_numbers(submission, 1, seed, "making the loaders")
    if times:
        submission.there(probes.start_global, 1)
        submission.there(probes.epochs, train, times)
        why = "a DataLoader draws one for each loop over it, unless DataLoader itself gets generator="
        assert_global_numbers(submission, 1, seed, "looping over the train loader", why)


@exercise("datasets.make_loaders", when="in the test loader")
@given(n_test=st.integers(3, 12), batch_size=st.integers(1, 5))
@FEW
def test_the_test_loader_keeps_every_row(submission: Submission, n_test: int, batch_size: int) -> None:
    """The test loader gives every row in the order of the dataset, in batches, each time; the last one may be short."""
    check_test_loader(submission, n_test, batch_size)


@exercise("datasets.make_loaders", when="with one test row, or none")
@pytest.mark.parametrize("n_test", [1, 0])
def test_few_test_rows(submission: Submission, n_test: int) -> None:
    """There may be a single test row, or none."""
    check_test_loader(submission, n_test, 2)


def check_test_loader(submission: Submission, n_test: int, batch_size: int) -> None:
    _, test = loaders(submission, 8, batch_size, 0, n_test=n_test)
    rows = [recipes.numbered(n_test)[i] for i in range(n_test)]
    parts = [rows[start : start + batch_size] for start in range(0, n_test, batch_size)]
    expected = [(torch.stack([x for x, _ in part]), torch.stack([y for _, y in part])) for part in parts]
    for found in submission.there(probes.epochs, test, 2):
        assert_equal(as_pairs(found), expected)


@exercise("datasets.make_loaders", when="for rows that are dicts")
def test_any_kind_of_row(submission: Submission) -> None:
    """Rows need not be pairs: datasets of dicts give batches that are dicts."""
    train, test = loaders(submission, 8, 4, 7, kind="dicts")
    (found,) = submission.there(probes.epochs, test)
    x, name = torch.arange(5.0)[:, None], -torch.arange(5)
    assert_equal(found, [{"x": x[:4], "name": name[:4]}, {"x": x[4:], "name": name[4:]}], what="test batches")
    (found,) = submission.there(probes.epochs, train)
    rows = sorted(int(value) for batch in found for value in batch["name"])
    assert_equal(rows, sorted((-torch.arange(8)).tolist()), what="rows of the train batches")


@picture(
    "datasets.make_loaders",
    title="Which row comes when: the order is another one in each epoch, and no row comes twice in one",
)
def order_by_epoch(submission: Submission) -> Grid:
    train, _ = loaders(submission, 24, 4, 1)
    orders = [order_of(epoch) for epoch in submission.there(probes.epochs, train, 5)]
    return Grid(values=orders, x_label="place in the epoch; the shade is the row", y_label="epoch")


# ---------------------------------------------------------------- num_batches


@exercise("datasets.num_batches")
def test_the_example(submission: Submission) -> None:
    """10 rows in batches of 4 make 3 batches, or 2 without the short one; 8 rows make 2."""
    assert_equal(submission.num_batches(10, 4, drop_last=False), 3)
    assert_equal(submission.num_batches(10, 4, drop_last=True), 2)
    assert_equal(submission.num_batches(8, 4, drop_last=False), 2)


@exercise("datasets.num_batches")
@given(whole=st.integers(0, 50), rest=st.integers(0, 9), batch_size=st.integers(1, 40), drop_last=st.booleans())
def test_as_many_as_a_loader_has(
    submission: Submission, whole: int, rest: int, batch_size: int, drop_last: bool
) -> None:
    """The result is the length of such a DataLoader, for any sizes, 0 rows included."""
    n = whole * batch_size + rest % batch_size
    expected = len(torch.utils.data.DataLoader(recipes.numbered(n, "numbers"), batch_size, drop_last=drop_last))
    assert_equal(submission.num_batches(n, batch_size, drop_last), expected)


@exercise("datasets.num_batches", when="for a very large number of rows")
def test_arithmetic_alone(submission: Submission) -> None:
    """No rows are made in order to count them: a thousand million rows are no more work than ten. No number is too
    large to be exact, as it would be for floats."""
    assert_equal(submission.num_batches(10**9 + 1, 10**4, False), 10**5 + 1)
    assert_equal(submission.num_batches(10**9 + 1, 10**4, True), 10**5)
    assert_equal(submission.num_batches(2**60 + 1, 2**58, False), 5, what="num_batches(2**60 + 1, 2**58, False)")
    assert_equal(submission.num_batches(2**60 - 1, 2**58, True), 3, what="num_batches(2**60 - 1, 2**58, True)")


@exercise("datasets.num_batches")
def test_bad_sizes_are_refused(submission: Submission) -> None:
    """A negative number of rows, or a batch size below 1, raises a ValueError."""
    for n, batch_size in ((-1, 4), (-8, 4), (10, 0), (10, -2), (0, 0)):
        for drop_last in (False, True):
            with raises(ValueError):
                submission.num_batches(n, batch_size, drop_last)


# ---------------------------------------------------------------- split


def parts_of(submission: Submission, n: int, fraction: float, seed: int, kind: str = "numbers", start: int = 0) -> Any:
    """The items of the two parts that a student's split gives."""
    submission.there(probes.start_global, start)
    parts = submission.split(submission.there(recipes.numbered, n, kind), fraction, seed)
    return items_of(submission, parts)


def items_of(submission: Submission, parts: Any) -> Any:
    """The items of the two parts."""
    if not isinstance(parts, (list, tuple)) or len(parts) != 2:
        raise Mismatch("not a pair of two datasets", parts, "(train, val)")
    return [submission.there(probes.items, part) for part in parts]


@exercise("datasets.split")
@given(n=COUNTS, fraction=st.floats(0, 1, width=32), seed=SEEDS)
@settings(max_examples=30)
def test_every_row_is_in_one_part(submission: Submission, n: int, fraction: float, seed: int) -> None:
    """No row is in both parts, none is lost, and round(n * val_fraction) are in the second."""
    train, val = parts_of(submission, n, fraction, seed)
    assert_equal(len(val), round(n * fraction), what=f"rows for validation, {fraction:g} of {counted(n, 'row')}")
    assert_equal(len(train), n - round(n * fraction), what="rows for training")
    both = set(map(repr, train)) & set(map(repr, val))
    assert_that(not both, f"in both parts: row {', row '.join(sorted(both)[:5])}")
    assert_equal(sorted([*train, *val], key=repr), sorted(range(n), key=repr), what="the rows of both parts")


@exercise("datasets.split", when="for rows that are equal")
def test_rows_may_be_equal(submission: Submission) -> None:
    """A row that is equal to another one is a row of its own: it is not lost."""
    rows = [7, 7, 7, 7, 8, 8, 8, 8, 8, 8]
    train, val = items_of(submission, submission.split(rows, 0.3, 1))
    assert_equal(len(val), 3, what="how many of 10 rows are for validation")
    assert_equal(sorted([*train, *val], key=repr), rows, what="the rows of both parts")


@exercise("datasets.split")
def test_how_many_go_to_validation(submission: Submission) -> None:
    """The second part has round(n * val_fraction) rows, and the first part the others."""
    for n, fraction in ((5, 0.5), (7, 0.5), (3, 0.25), (10, 0.29), (1, 0.9)):
        train, val = parts_of(submission, n, fraction, 1)
        sizes = n - round(n * fraction), round(n * fraction)
        assert_equal((len(train), len(val)), sizes, what=f"sizes of the parts of {counted(n, 'row')}")


@exercise("datasets.split", when="for the fractions 0 and 1")
def test_nothing_or_all_for_validation(submission: Submission) -> None:
    """0 and 1 are valid fractions: one part is empty then."""
    for fraction, sizes in ((0.0, (5, 0)), (1.0, (0, 5))):
        train, val = parts_of(submission, 5, fraction, 1)
        assert_equal((len(train), len(val)), sizes, what="sizes of the parts of 5 rows")


@exercise("datasets.split", when="with the same seed again")
@given(seed=SEEDS)
def test_the_same_seed_gives_the_same_split(submission: Submission, seed: int) -> None:
    """One seed gives one split, whatever the global random numbers are."""
    first = parts_of(submission, 20, 0.4, seed)
    assert_equal(parts_of(submission, 20, 0.4, seed, start=8), first, what="the rows of both parts")


@exercise("datasets.split")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_rows_are_drawn_by_the_seed(submission: Submission, seed: int) -> None:
    """The validation rows are drawn at random: from everywhere, and other seeds give other rows."""
    drawn = [parts_of(submission, 60, 0.25, seed + step)[1] for step in (0, *OTHER_SEEDS)]
    for rows in drawn:
        assert_that(are_drawn(rows, 60), f"the rows for validation do not look random: {rows}")
    for first, second in combinations(map(sorted, drawn), 2):
        assert_that(first != second, "two seeds give the same split")


def are_drawn(rows: list[Any], n: int) -> bool:
    """Whether rows of 0, ..., n - 1 were drawn one by one: gaps between neighbours of three lengths at least.

    A block of rows, also one that wraps around, has two; every fourth row has one.
    """
    places = sorted(row for row in rows if type(row) is int)
    return len({(second - first) % n for first, second in pairwise([*places, *places[:1]])}) > 2


@exercise("datasets.split")
@given(seed=SEEDS)
@settings(max_examples=1)
def test_every_row_can_go_to_either_part(submission: Submission, seed: int) -> None:
    """Over some seeds, every row is for validation at least once, and for training at least once."""
    splits = [parts_of(submission, 8, 0.5, seed + i) for i in range(30)]
    for number, part in enumerate(("training", "validation")):
        rows = sorted({row for split in splits for row in split[number]})
        assert_equal(rows, list(range(8)), what=f"rows that were for {part} in 30 splits of 8 rows")


@exercise("datasets.split", when="for rows of another kind")
def test_rows_of_any_kind(submission: Submission) -> None:
    """The parts give the dataset's own items, of whatever kind."""
    for kind in ("pairs", "dicts"):
        train, val = parts_of(submission, 6, 0.5, 3, kind)
        order = [int(item[1]) if kind == "pairs" else -int(item["name"]) for item in [*train, *val]]
        rows = probes.items(recipes.numbered(6, kind))
        assert_equal([len(train), len(val)], [3, 3], what="sizes")
        assert_equal([*train, *val], [rows[row] for row in order], what="items of both parts")


@exercise("datasets.split", when="in a plain for loop over the parts")
@given(n=st.integers(1, 8), fraction=st.sampled_from([0.0, 0.4, 1.0]), seed=SEEDS)
@FEW
def test_a_plain_for_over_the_parts_ends(submission: Submission, n: int, fraction: float, seed: int) -> None:
    """A plain for loop over both parts, one after the other, gives every row once."""
    parts = submission.split(submission.there(recipes.numbered, n, "numbers"), fraction, seed=seed)
    rows = [row for part in parts for row in submission.there(probes.walked, part)]
    assert_equal(sorted(rows, key=repr), sorted(range(n), key=repr), what="what for loops over both parts give")


@exercise("datasets.split")
def test_fractions_outside_are_refused(submission: Submission) -> None:
    """A fraction below 0 or above 1 raises a ValueError."""
    dataset = submission.there(recipes.numbered, 10)
    for fraction in (-0.1, -1e-9, -1.0, 1.01, 20.0):
        with raises(ValueError):
            submission.split(dataset, fraction, 0)


# ---------------------------------------------------------------- check_labels

INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@exercise("datasets.check_labels")
@given(n=st.integers(0, 8), classes=st.integers(1, 5), dtype=st.sampled_from(INTEGERS), seed=SEEDS)
def test_right_labels_pass(submission: Submission, n: int, classes: int, dtype: torch.dtype, seed: int) -> None:
    """Labels from 0 to num_classes - 1, of any integer dtype, raise no error and are not changed; an empty tensor
    too."""
    seen = observe(submission.check_labels, recipes.labels(n, classes, seed).to(dtype), classes)
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("datasets.check_labels")
@pytest.mark.parametrize("values", [[0, 1, 57, 2, 98], [2, 98, 57, -46], [1, 2, 0, -46, 57], [0, -81, -46]], ids=str)
def test_the_first_wrong_value_is_named(submission: Submission, values: list[int]) -> None:
    """The message of the ValueError contains the first value that is not a class."""
    first = next(value for value in values if not 0 <= value < 3)
    with raises(ValueError, match=str(first)):
        submission.check_labels(torch.tensor(values), num_classes=3)


@exercise("datasets.check_labels")
@given(seed=SEEDS, classes=st.integers(1, 9), dtype=st.sampled_from(INTEGERS[:4]))
@settings(max_examples=10)
def test_any_wrong_value_is_named(submission: Submission, seed: int, classes: int, dtype: torch.dtype) -> None:
    """The first label that is not a class is in the message, wherever it stands and whatever comes after it."""
    right = recipes.labels(seed % 5, classes, seed)
    wrong = torch.tensor([[20 + seed % 50, -20 - seed % 50][seed // 2 % 2], 127, -128, 99])
    with raises(ValueError, match=str(wrong[0].item())):
        submission.check_labels(torch.cat([right, wrong, right]).to(dtype), classes)


@exercise("datasets.check_labels", when="for a label beyond 32 bits")
def test_large_values_are_compared_as_they_are(submission: Submission) -> None:
    """A label of 2**32 + 1 is no class, although its last 32 bits are those of 1."""
    with raises(ValueError, match=str(2**32 + 1)):
        submission.check_labels(torch.tensor([0, 1, 2**32 + 1]), 3)


@exercise("datasets.check_labels", when="for the label num_classes")
@given(classes=st.integers(1, 60), dtype=st.sampled_from(INTEGERS))
def test_the_number_of_classes_is_no_class(submission: Submission, classes: int, dtype: torch.dtype) -> None:
    """With num_classes classes, the label num_classes is already too large."""
    with raises(ValueError, match=str(classes)):
        submission.check_labels(torch.tensor([0, classes], dtype=dtype), classes)


@exercise("datasets.check_labels", when="for labels of a floating dtype")
def test_floats_are_refused(submission: Submission) -> None:
    """Labels of a floating dtype raise a ValueError, even if their values are integers.
    Without any label, an error and none are both right."""
    for values, dtype in (([0.0, 1.0], torch.float32), ([0.5], torch.float64), ([1.0, 2.0], torch.bfloat16)):
        with raises(ValueError):
            submission.check_labels(torch.tensor(values, dtype=dtype), 3)


# ---------------------------------------------------------------- pad_collate


def batch_of(lengths: list[int], seed: int, dtype: torch.dtype = torch.int64) -> list[tuple[Tensor, Tensor]]:
    """Sequences of these lengths with labels; every other token or so is 0."""
    generator = torch.Generator().manual_seed(seed)
    values = [torch.randint(0, 3, (length,), generator=generator) for length in lengths]
    scale = 1.5 if dtype.is_floating_point else 5
    return [((value * scale).to(dtype), torch.tensor((seed + 3 * i) % 7)) for i, value in enumerate(values)]


def padded(batch: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """The batch that they make."""
    width = max(len(tokens) for tokens, _ in batch)
    numbers = torch.zeros(len(batch), width, dtype=batch[0][0].dtype)
    mask = torch.zeros(len(batch), width, dtype=torch.bool)
    for row, (tokens, _) in enumerate(batch):
        numbers[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = True
    return numbers, mask, torch.stack([label for _, label in batch])


def check_padded(submission: Submission, batch: list[tuple[Tensor, Tensor]]) -> None:
    """The three tensors are right, and the batch is as it was."""
    seen = observe(submission.pad_collate, batch)
    found = tuple(seen.result) if isinstance(seen.result, list) else seen.result
    parts = ("padded (zeros on the right)", "mask (True on tokens)", "labels")
    assert_equal(found, padded(batch), what="(padded, mask, labels)", each=parts)
    assert_that(seen.changed == (), "an argument was changed in place")


@exercise("datasets.pad_collate")
def test_the_example_of_two(submission: Submission) -> None:
    """[5, 0, 7] and [8] become rows [5, 0, 7] and [8, 0, 0], and the mask is True on the three tokens and on the
    one."""
    tokens = torch.tensor([5, 0, 7]), torch.tensor([8])
    check_padded(submission, [(tokens[0], torch.tensor(1)), (tokens[1], torch.tensor(0))])


@exercise("datasets.pad_collate")
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5), seed=SEEDS)
def test_padded_to_the_longest(submission: Submission, lengths: list[int], seed: int) -> None:
    """Rows in the batch's order, with zeros on the right up to its longest sequence; the mask is True on tokens, also
    those that are 0."""
    check_padded(submission, batch_of(lengths, seed))


@exercise("datasets.pad_collate", when="with an empty sequence or a long one")
def test_empty_and_long_sequences(submission: Submission) -> None:
    """An empty sequence becomes a row of padding, and a long one keeps all of its tokens."""
    for lengths in ([3, 0, 2], [0, 4], [0], [0, 0], [40, 1], [700, 3]):
        check_padded(submission, batch_of(lengths, 5))


@exercise("datasets.pad_collate", when="with tokens below zero")
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=str)
def test_tokens_below_zero(submission: Submission, dtype: torch.dtype) -> None:
    """No number is special: a sequence may hold -1, -100 or any other, and the mask is True there."""
    values = [[-1, 4, -100, 0], [-2, -999], [-1]]
    check_padded(submission, [(torch.tensor(row, dtype=dtype), torch.tensor(i)) for i, row in enumerate(values)])


@exercise("datasets.pad_collate", when="for another dtype than int64")
def test_dtype_of_the_sequences(submission: Submission) -> None:
    """The padded tensor has the dtype of the sequences, whichever it is."""
    for dtype in (torch.float32, torch.int64, torch.float64, torch.int32):
        check_padded(submission, batch_of([2, 5, 1], 6, dtype))


@exercise("datasets.pad_collate", when="for a batch of one sequence")
@given(length=st.integers(1, 6), seed=SEEDS)
@FEW
def test_a_batch_of_one(submission: Submission, length: int, seed: int) -> None:
    """A single sequence makes a batch with one row and no padding, whatever its memory layout is."""
    ((tokens, label),) = batch_of([length], seed)
    check_padded(submission, [(torch.stack([tokens, tokens], dim=1)[:, 0], label)])


# ---------------------------------------------------------------- WindowDataset


def windows(tokens: Tensor, context: int, stride: int) -> list[tuple[Tensor, Tensor]]:
    """All whole windows with their targets, as long as a token follows the window."""
    starts = range(0, len(tokens) - context, stride)
    return [(tokens[start : start + context], tokens[start + 1 : start + context + 1]) for start in starts]


def sizes_in_words(n: int, context: int, stride: int) -> str:
    return f"{counted(n, 'token')}, context {context}, stride {stride}"


@exercise("datasets.WindowDataset")
@given(n=st.integers(0, 20), context=st.integers(1, 5), stride=st.integers(1, 6), seed=SEEDS)
def test_every_whole_window(submission: Submission, n: int, context: int, stride: int, seed: int) -> None:
    """len is the number of whole windows; each comes with its target, the same window shifted by one token."""
    tokens = torch.arange(n) * 3 + seed % 11
    dataset = submission.WindowDataset(tokens, context, stride)
    expected = windows(tokens, context, stride)
    assert_equal(len(dataset), len(expected), what=f"len for {sizes_in_words(n, context, stride)}")
    found: Any = as_pairs(submission.there(probes.items, dataset))
    for part, what in enumerate(("the windows", "the targets, each one token later,")):
        if all(isinstance(pair, tuple) and len(pair) == 2 for pair in found):
            one, other = ([pair[part] for pair in pairs] for pairs in (found, expected))
            assert_equal(one, other, what=f"{what} of {sizes_in_words(n, context, stride)}")
    assert_equal(found, expected, what="the windows and their targets")


@exercise("datasets.WindowDataset")
def test_first_and_last_window(submission: Submission) -> None:
    """Windows of 3 tokens from 9 to 12 tokens: the last window exists only if its target is whole."""
    for n, stride in ((9, 3), (10, 3), (11, 3), (12, 1)):
        tokens = torch.arange(100, 100 + n)
        expected = windows(tokens, 3, stride)
        dataset = submission.WindowDataset(tokens, 3, stride)
        assert_equal(len(dataset), len(expected), what=f"len for {sizes_in_words(n, 3, stride)}")
        assert_equal(as_pairs([dataset[0], dataset[len(expected) - 1]]), [expected[0], expected[-1]])


@exercise("datasets.WindowDataset", when="with two datasets at a time")
@given(seed=SEEDS)
@FEW
def test_windows_of_two_datasets(submission: Submission, seed: int) -> None:
    """Each dataset keeps its own tokens, with their dtype, also when another one is made later."""
    kept = [(torch.arange(n, dtype=dtype) + seed % 9, n // 4) for n, dtype in ((9, torch.int32), (14, torch.int64))]
    datasets = [submission.WindowDataset(tokens, context=size, stride=size) for tokens, size in kept]
    for dataset, (tokens, size) in zip(datasets, kept, strict=True):
        found = submission.there(probes.items, dataset)
        assert_equal(as_pairs(found), windows(tokens, size, size), what="the windows")


@exercise("datasets.WindowDataset", when="with hardly enough tokens for a window")
def test_hardly_enough_tokens(submission: Submission) -> None:
    """With a context of 4, five tokens make one window, and fewer make none: the length is 0, not negative."""
    for n in (5, 4, 1, 0):
        dataset = submission.WindowDataset(torch.arange(n), 4, 2)
        assert_equal(len(dataset), 1 if n == 5 else 0, what=f"len for {sizes_in_words(n, 4, 2)}")


@exercise("datasets.WindowDataset")
def test_index_error_after_the_last_window(submission: Submission) -> None:
    """An index of len or more raises an IndexError."""
    dataset = submission.WindowDataset(torch.arange(12), 4, 3)
    for index in (3, 4, 50):
        with raises(IndexError, what=f"[{index}] of 3 windows"):
            dataset[index]
    empty = submission.WindowDataset(torch.arange(4), 4, 1)
    with raises(IndexError, what="[0] of 0 windows"):
        empty[0]


@exercise("datasets.WindowDataset", when="in a plain for loop")
def test_a_plain_for_over_windows_ends(submission: Submission) -> None:
    """WindowDataset is a torch Dataset, and a plain for loop gives each window once, and ends."""
    tokens = torch.arange(11)
    found = submission.there(probes.walked, submission.WindowDataset(tokens, 4, 3))
    expected = windows(tokens, 4, 3)
    if len(found) >= probes.MAX_ITEMS_SEEN:
        raise AssertionError(f"a for loop over {len(expected)} windows does not end")
    assert_equal(as_pairs(found), expected, what="what a for loop gives")
    a_dataset = submission.there(probes.is_a, submission.WindowDataset, "torch.utils.data.Dataset")
    assert_equal(a_dataset, True, what="whether WindowDataset is a torch.utils.data.Dataset")


# ---------------------------------------------------------------- suggest_num_workers


@exercise("datasets.suggest_num_workers")
@given(cpus=st.integers(0, 300), gpus=st.integers(1, 16))
def test_cores_are_shared_out(submission: Submission, cpus: int, gpus: int) -> None:
    """Each GPU gets the number of cores per GPU, rounded down, perhaps 0."""
    assert_equal(submission.suggest_num_workers(cpus, gpus), cpus // gpus)


@exercise("datasets.suggest_num_workers", when="without a GPU")
def test_without_a_gpu(submission: Submission) -> None:
    """With no GPU the result is 0."""
    for cpus in (8, 0, 1, 96):
        assert_equal(submission.suggest_num_workers(cpus, 0), 0)


@exercise("datasets.suggest_num_workers")
def test_negative_numbers_are_refused(submission: Submission) -> None:
    """A negative number of cores or of GPUs raises a ValueError."""
    for cpus, gpus in ((-1, 2), (8, -1), (-8, -2), (0, -1)):
        with raises(ValueError):
            submission.suggest_num_workers(cpus, gpus)


@exercise("datasets.suggest_num_workers")
def test_negative_cores_without_a_gpu(submission: Submission) -> None:
    """A negative number of cores raises a ValueError even if there is no GPU."""
    with raises(ValueError):
        submission.suggest_num_workers(-4, 0)
