"""Classic wrong answers of datasets, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Subset

from grader.testkit import misconception

# ---------------------------------------------------------------- ToyDataset


class _Toy(Dataset):
    """The right one, for wrong ones to differ from."""

    def __init__(self, features: Tensor, labels: Tensor) -> None:
        if len(features) != len(labels):
            raise ValueError("lengths differ")
        self.features = features
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.features[index], self.labels[index]


@misconception(
    "ToyDataset",
    tell="Your length is one too small. Indices run from 0 to n - 1, but there are n examples: the last one would "
    "never be seen.",
    name="length_one_short",
)
class LengthOneShort(_Toy):
    def __len__(self) -> int:
        return len(self.labels) - 1


@misconception(
    "ToyDataset",
    tell="Your length is the number of features of one row. The length of a dataset is its number of rows.",
    name="counts_columns",
)
class CountsColumns(_Toy):
    def __len__(self) -> int:
        return self.features.shape[-1]


@misconception(
    "ToyDataset",
    tell="Your index wraps around (modulo), or is clamped to the last row: no IndexError is ever raised, and a plain "
    "for loop over the dataset never ends.",
    name="wraps_around",
)
class WrapsAround(_Toy):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        index = index % len(self.labels)
        return self.features[index], self.labels[index]


@misconception(
    "ToyDataset",
    tell="You return slices (index : index + 1): each example has an extra batch dimension of 1, and past the end you "
    "return an empty slice instead of raising an IndexError.",
    name="slices_a_row",
)
class SlicesARow(_Toy):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.features[index : index + 1], self.labels[index : index + 1]


@misconception(
    "ToyDataset",
    tell="You refuse negative indices. As in a list, dataset[-1] is the last example.",
    name="refuses_negative_indices",
)
class RefusesNegativeIndices(_Toy):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not 0 <= index < len(self.labels):
            raise IndexError(index)
        return self.features[index], self.labels[index]


@misconception(
    "ToyDataset", tell="Label and features are the wrong way round: an example is (x, y).", name="label_first"
)
class LabelFirst(_Toy):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.labels[index], self.features[index]


@misconception(
    "ToyDataset",
    tell="You accept features and labels of different lengths. That is a mistake in the data: raise a ValueError here.",
    name="no_length_check",
)
class NoLengthCheck(_Toy):
    def __init__(self, features: Tensor, labels: Tensor) -> None:
        self.features = features
        self.labels = labels


@misconception(
    "ToyDataset",
    tell="You check the lengths with assert. Asserts are for checking your own code (python -O removes them); for a "
    "caller's mistake raise a ValueError.",
    name="asserts_the_lengths",
    seen="asserts",
)
class AssertsTheLengths(_Toy):
    def __init__(self, features: Tensor, labels: Tensor) -> None:
        assert len(features) == len(labels)
        self.features = features
        self.labels = labels


@misconception(
    "ToyDataset",
    tell="You convert the features, or the labels, to another dtype. A dataset returns what it was given.",
    name="converts_the_dtype",
    seen="calls('float', 'double', 'half', 'long', 'int')",
)
class ConvertsTheDtype(_Toy):
    def __init__(self, features: Tensor, labels: Tensor) -> None:
        super().__init__(features.float(), labels.long())


@misconception(
    "ToyDataset",
    tell="You store the tensors in the class, which all datasets share: making a second one changes the first. Assign "
    "to self.features, in __init__.",
    name="stores_in_the_class",
)
class StoresInTheClass(_Toy):
    def __init__(self, features: Tensor, labels: Tensor) -> None:
        super().__init__(features, labels)
        StoresInTheClass.rows = features, labels

    def __len__(self) -> int:
        return len(StoresInTheClass.rows[1])

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        features, labels = StoresInTheClass.rows
        return features[index], labels[index]


@misconception(
    "ToyDataset",
    tell="You wrote into the caller's features. They are not yours alone: keep them as they are, or change a copy.",
    name="empties_the_features",
)
class EmptiesTheFeatures(_Toy):
    def __init__(self, features: Tensor, labels: Tensor) -> None:
        super().__init__(features.clone(), labels)
        features.zero_()


# ---------------------------------------------------------------- make_loaders


def _own(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@misconception(
    "make_loaders",
    tell="You shuffle the test set too. Its order changes no result, and without shuffling the predictions are in the "
    "order of the rows.",
    seen="shuffles('test_ds')",
)
def shuffles_the_test_set(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=_own(seed))
    return train, DataLoader(test_ds, batch_size, shuffle=True, generator=_own(seed))


@misconception(
    "make_loaders",
    tell="The loaders are the wrong way round: the first of the two that you return must be the train loader.",
)
def loaders_the_wrong_way_round(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=_own(seed))
    return DataLoader(test_ds, batch_size), train


@misconception(
    "make_loaders",
    tell="You drop the last short batch of the test set: those rows are never measured. drop_last is for training.",
)
def drops_test_rows(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=_own(seed))
    return train, DataLoader(test_ds, batch_size, drop_last=True)


@misconception(
    "make_loaders",
    tell="The last short batch of the training set is still there. A batch of one row makes a noisy step, and "
    "BatchNorm cannot even take it: drop_last.",
    seen="lacks('drop_last', 'batch_sampler', at='DataLoader')",
)
def keeps_the_short_batch(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    return DataLoader(train_ds, batch_size, shuffle=True, generator=_own(seed)), DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders",
    tell="Your training order is shuffled once and then the same in every epoch. The loader must shuffle again for "
    "each epoch.",
)
def same_order_every_epoch(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    order = torch.randperm(len(train_ds), generator=_own(seed)).tolist()
    train = DataLoader(Subset(train_ds, order), batch_size, drop_last=True, generator=_own(seed))
    return train, DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders",
    tell="You do not shuffle the training set: the model sees the rows in the order of the file, epoch after epoch.",
    seen="lacks('shuffle', 'randperm', 'sampler', 'batch_sampler', at='DataLoader')",
)
def never_shuffles(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    return DataLoader(train_ds, batch_size, drop_last=True), DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders",
    tell="torch.manual_seed seeds all of torch's random numbers, not only the loader's: any code that draws some "
    "before the epoch changes the order, and dropout or initial weights get other numbers. Give the loader its "
    "own generator.",
    seen="seeds_the_global_stream",
)
def seeds_the_global_rng(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    torch.manual_seed(seed)
    return DataLoader(train_ds, batch_size, shuffle=True, drop_last=True), DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders",
    tell="Your training order does not follow from the seed: the loader shuffles with torch's global random numbers. "
    "Give it its own generator, seeded with `seed`.",
    seen="lacks('generator', 'worker_init_fn', 'sampler', 'batch_sampler', at='DataLoader')",
)
def ignores_the_seed(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    return DataLoader(train_ds, batch_size, shuffle=True, drop_last=True), DataLoader(test_ds, batch_size)


@misconception("make_loaders", tell="You seed with a fixed number. The order must follow from the argument `seed`.")
def always_the_same_seed(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=_own(123))
    return train, DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders",
    tell="Both loaders have the same generator. A loader draws from its generator each time that you iterate over it, "
    "so the training order depends on when you test. Only the train loader needs one.",
)
def one_generator_for_both(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    generator = _own(seed)
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=generator)
    return train, DataLoader(test_ds, batch_size, generator=generator)


_GENERATOR = torch.Generator()


@misconception(
    "make_loaders",
    tell="All your train loaders share one generator: making or using one changes the order of the others. Make a "
    "generator for each call.",
)
def one_generator_for_all_calls(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    _GENERATOR.manual_seed(seed)
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=_GENERATOR)
    return train, DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders",
    tell="The rows that do not fill a batch are cut off before the shuffling, so the last rows of the dataset are "
    "never trained on. drop_last leaves out other rows in each epoch.",
)
def never_trains_on_the_last_rows(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    whole = len(train_ds) // batch_size * batch_size
    train = DataLoader(Subset(train_ds, range(whole)), batch_size, shuffle=True, generator=_own(seed))
    return train, DataLoader(test_ds, batch_size)


class _InBlocks(torch.utils.data.Sampler):
    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        self.starts = [start for start in range(0, count - batch_size + 1, batch_size)]
        self.batch_size = batch_size
        self.generator = _own(seed)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self):
        for number in torch.randperm(len(self.starts), generator=self.generator).tolist():
            yield list(range(self.starts[number], self.starts[number] + self.batch_size))


@misconception(
    "make_loaders",
    tell="You shuffle the batches, not the rows: the same rows are always together in a batch. Shuffle before "
    "the batches are cut.",
)
def shuffles_the_batches(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    train = DataLoader(train_ds, batch_sampler=_InBlocks(len(train_ds), batch_size, seed), generator=torch.Generator())
    return train, DataLoader(test_ds, batch_size)


@misconception(
    "make_loaders", tell="The last batch is always left out, also when it is full. Leave it out only if it is short."
)
def drops_a_full_batch(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int):
    order = torch.utils.data.RandomSampler(
        train_ds, num_samples=max(0, len(train_ds) - 1) // batch_size * batch_size, generator=_own(seed)
    )
    train = DataLoader(train_ds, batch_size, sampler=order, generator=torch.Generator())
    return train, DataLoader(test_ds, batch_size)


# ---------------------------------------------------------------- num_batches


def _refuse(n: int, batch_size: int) -> None:
    if n < 0 or batch_size < 1:
        raise ValueError("bad sizes")


@misconception(
    "num_batches",
    tell="The short last batch is missing when it is not to be dropped: n / batch_size is rounded up then.",
)
def always_floor(n: int, batch_size: int, drop_last: bool) -> int:
    _refuse(n, batch_size)
    return n // batch_size


@misconception(
    "num_batches",
    tell="You always round up: with drop_last the short last batch does not count.",
    seen="calls('ceil', unless=('drop_last',))",
)
def always_ceil(n: int, batch_size: int, drop_last: bool) -> int:
    _refuse(n, batch_size)
    return math.ceil(n / batch_size)


@misconception(
    "num_batches",
    tell="You add one batch even if nothing is left over: n // batch_size + 1 is one too many when it divides evenly.",
)
def always_one_more(n: int, batch_size: int, drop_last: bool) -> int:
    _refuse(n, batch_size)
    return n // batch_size + (0 if drop_last else 1)


@misconception(
    "num_batches", tell="drop_last is the wrong way round: True means that the short last batch is left out."
)
def drop_last_inverted(n: int, batch_size: int, drop_last: bool) -> int:
    _refuse(n, batch_size)
    return math.ceil(n / batch_size) if drop_last else n // batch_size


@misconception(
    "num_batches",
    tell="n / batch_size is a float, which keeps 15 digits or so: large numbers lose their last digits before they are "
    "rounded. // is exact for ints.",
)
def rounds_a_float(n: int, batch_size: int, drop_last: bool) -> int:
    _refuse(n, batch_size)
    return n // batch_size if drop_last else math.ceil(n / batch_size)


@misconception("num_batches", tell="That is a float. A number of batches is an integer: use //.")
def true_division(n: int, batch_size: int, drop_last: bool) -> float:
    _refuse(n, batch_size)
    return float(n // batch_size) if drop_last else n / batch_size


@misconception(
    "num_batches",
    tell="You do not check the sizes: a batch size of 0 ends in a ZeroDivisionError, a negative number in a negative "
    "count. Both are ValueErrors.",
)
def no_check_of_sizes(n: int, batch_size: int, drop_last: bool) -> int:
    return n // batch_size if drop_last else -(-n // batch_size)


@misconception("num_batches", tell="You refuse 0 examples. An empty dataset is fine: it makes 0 batches.")
def refuses_an_empty_dataset(n: int, batch_size: int, drop_last: bool) -> int:
    if n < 1 or batch_size < 1:
        raise ValueError("bad sizes")
    return n // batch_size if drop_last else math.ceil(n / batch_size)


# ---------------------------------------------------------------- split


def _check(val_fraction: float) -> None:
    if not 0 <= val_fraction <= 1:
        raise ValueError("not in [0, 1]")


@misconception(
    "split",
    tell="You draw the two parts independently, so they overlap: validation then measures rows that were trained on. "
    "Shuffle the indices once and cut them once.",
)
def parts_overlap(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    generator, size = _own(seed), round(len(dataset) * val_fraction)
    train = torch.randperm(len(dataset), generator=generator)[size:]
    val = torch.randperm(len(dataset), generator=generator)[:size]
    return Subset(dataset, train.tolist()), Subset(dataset, val.tolist())


@misconception("split", tell="The training part is the whole dataset: the validation rows are still in it.")
def trains_on_everything(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    return Subset(dataset, order), Subset(dataset, order[: round(len(order) * val_fraction)])


@misconception(
    "split",
    tell="Your split does not follow from the seed: it draws torch's global random numbers, or seeds nothing. "
    "Give randperm or random_split a seeded generator.",
)
def not_reproducible(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])


@misconception(
    "split",
    tell="int() cuts the fraction off: of 7 rows, 0.5 should be 4 for validation (3.5, rounded), not 3. Use round().",
    seen="calls('int', unless=('round',))",
)
def cuts_instead_of_rounding(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = int(len(order) * val_fraction)
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])


@misconception(
    "split",
    tell="The parts are the wrong way round, or have each other's size: val_fraction is the part for validation, and "
    "validation is the second result.",
)
def parts_swapped(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[:size]), Subset(dataset, order[size:])


@misconception(
    "split",
    tell="Both sizes are rounded down, so a row can get lost between the parts. Compute one size; the other part is "
    "the rest.",
)
def loses_a_row(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[size : size + int(len(order) * (1 - val_fraction))]), Subset(dataset, order[:size])


@misconception(
    "split",
    tell="With nothing for validation you cut at -0, which is 0: [:-0] is empty, and [-0:] is everything. Cut at "
    "n - n_val, counted from the front.",
)
def cuts_at_minus_nothing(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[:-size]), Subset(dataset, order[-size:])


@misconception(
    "split",
    tell="The row at the cut is in neither part: one part ends before it, and the other one begins after it. Cut both "
    "at the same number.",
)
def loses_the_row_at_the_cut(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[size + 1 :]), Subset(dataset, order[:size])


@misconception(
    "split",
    tell="You cut without shuffling. Files are often sorted, by class or by date: the last rows are not a fair "
    "sample. The seed decides which rows go.",
    seen="lacks('randperm', 'shuffle', 'sample', 'random_split', 'permutation', 'rand', 'choice', 'argsort')",
)
def cuts_without_shuffling(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    cut = len(dataset) - round(len(dataset) * val_fraction)
    return Subset(dataset, range(cut)), Subset(dataset, range(cut, len(dataset)))


@misconception(
    "split",
    tell="A fraction outside [0, 1] goes through. It is most likely a percentage (20 for 0.2): refuse it with a "
    "ValueError.",
)
def no_check_of_the_fraction(dataset: Dataset, val_fraction: float, seed: int):
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])


@misconception("split", tell="0 and 1 are valid fractions too: one part is empty then.")
def refuses_nothing_and_all(dataset: Dataset, val_fraction: float, seed: int):
    if not 0 < val_fraction < 1:
        raise ValueError("not in (0, 1)")
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])


@misconception(
    "split",
    tell="Validation is one block of neighbouring rows: the seed only decides where it begins. In a sorted file a "
    "block is not a fair sample; shuffle the indices.",
)
def rotates_the_rows(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    n = len(dataset)
    first = int(torch.randint(max(n, 1), (1,), generator=_own(seed)))
    order = [(first + i) % n for i in range(n)]
    size = round(n * val_fraction)
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])


@misconception(
    "split", tell="You look at how the dataset stores its rows. All that is known of it is len(dataset) and dataset[i]."
)
def knows_the_inside(dataset: Dataset, val_fraction: float, seed: int):
    _check(val_fraction)
    order = torch.randperm(len(dataset), generator=_own(seed)).tolist()
    size = round(len(order) * val_fraction)
    rows = dataset.features
    return [rows[i] for i in order[size:]], [rows[i] for i in order[:size]]


# ---------------------------------------------------------------- check_labels


def _refuse_floats(labels: Tensor) -> None:
    if labels.is_floating_point():
        raise ValueError("floats")


@misconception(
    "check_labels", tell="You check for labels that are too large, but not for negative ones: -1 is not a class either."
)
def only_the_upper_bound(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    for label in labels.tolist():
        if label >= num_classes:
            raise ValueError(f"label {label}")


@misconception(
    "check_labels",
    tell="You accept the label num_classes itself. Classes count from 0, so the largest label is num_classes - 1.",
)
def lets_num_classes_through(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    for label in labels.tolist():
        if label < 0 or label > num_classes:
            raise ValueError(f"label {label}")


@misconception("check_labels", tell="You count classes from 1 and refuse the label 0. In torch they count from 0.")
def counts_from_one(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    for label in labels.tolist():
        if not 1 <= label <= num_classes:
            raise ValueError(f"label {label}")


@misconception("check_labels", tell="You name the largest (or smallest) label. Name the first wrong one.")
def names_the_extreme(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    if len(labels) and labels.max() >= num_classes:
        raise ValueError(f"label {labels.max().item()}")
    if len(labels) and labels.min() < 0:
        raise ValueError(f"label {labels.min().item()}")


@misconception("check_labels", tell="Your message does not contain the wrong value. Put the first wrong label into it.")
def names_nothing(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    if any(not 0 <= label < num_classes for label in labels.tolist()):
        raise ValueError(f"labels must be in [0, {num_classes})")


@misconception(
    "check_labels", tell="You return whether the labels are right. A caller can ignore that; raise a ValueError."
)
def returns_a_bool(labels: Tensor, num_classes: int) -> bool:
    return not labels.is_floating_point() and all(0 <= label < num_classes for label in labels.tolist())


@misconception(
    "check_labels",
    tell="You raise with assert, which is an AssertionError; wrong data is a ValueError.",
    seen="asserts",
)
def asserts(labels: Tensor, num_classes: int) -> None:
    assert not labels.is_floating_point(), "floats"
    for label in labels.tolist():
        assert 0 <= label < num_classes, f"label {label}"


@misconception(
    "check_labels",
    tell="You accept floats whose values are integers. cross_entropy takes a float target for something else: refuse "
    "the dtype, whatever the values are.",
)
def accepts_whole_floats(labels: Tensor, num_classes: int) -> None:
    for label in labels.tolist():
        if label != int(label) or not 0 <= label < num_classes:
            raise ValueError(f"label {label}")


@misconception(
    "check_labels",
    tell="An empty tensor raises an error in your version: max() and min() of no elements fail. An empty tensor has "
    "no wrong labels.",
)
def fails_on_no_labels(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    if labels.min() < 0 or labels.max() >= num_classes:
        wrong = labels[(labels < 0) | (labels >= num_classes)]
        raise ValueError(f"label {wrong[0].item()}")


@misconception("check_labels", tell="You accept only int64. int32 or uint8 labels are integers as well.")
def int64_only(labels: Tensor, num_classes: int) -> None:
    if labels.dtype is not torch.int64:
        raise ValueError(f"dtype {labels.dtype}")
    for label in labels.tolist():
        if not 0 <= label < num_classes:
            raise ValueError(f"label {label}")


@misconception(
    "check_labels",
    tell="Your message does not name the first wrong value: they are looked for in another order than the tensor's, as "
    "after a sort or unique(), or by a search for those below 0 first.",
)
def names_the_smallest(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    for label in labels.unique().tolist():
        if not 0 <= label < num_classes:
            raise ValueError(f"label {label}")


@misconception("check_labels", tell="Your message says where the first wrong label is. Say which value it has.")
def names_the_position(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    for place, label in enumerate(labels.tolist()):
        if not 0 <= label < num_classes:
            raise ValueError(f"wrong label at index {place}")


@misconception(
    "check_labels",
    tell="You convert the labels to int32 before you compare: large values become small ones, and pass. Compare them "
    "as they are.",
)
def compares_as_int32(labels: Tensor, num_classes: int) -> None:
    _refuse_floats(labels)
    for label in labels.int().tolist():
        if not 0 <= label < num_classes:
            raise ValueError(f"label {label}")


# ---------------------------------------------------------------- pad_collate

Batch = Sequence[tuple[Tensor, Tensor]]


def _padded(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    sequences, labels = zip(*batch)
    padded = pad_sequence(sequences, batch_first=True)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return padded, torch.arange(padded.shape[1]) < lengths[:, None], torch.stack(labels)


@misconception(
    "pad_collate",
    tell="Your mask is inverted: it is True on padding. Here True marks real tokens (torch's own attention has "
    "masks of both kinds, so always look it up).",
)
def mask_inverted(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded, ~mask, labels


@misconception(
    "pad_collate",
    tell="You made the mask from the values (padded != 0), but 0 may be a real token. Make the mask from the lengths.",
)
def mask_from_the_values(batch: Batch):
    padded, _, labels = _padded(batch)
    return padded, padded != 0, labels


@misconception(
    "pad_collate",
    tell="You pad to a fixed length. Padding to the longest sequence of this batch wastes less, and "
    "fits sequences of any length.",
)
def pads_to_a_fixed_length(batch: Batch):
    sequences, labels = zip(*batch)
    padded = torch.zeros(len(batch), 512, dtype=sequences[0].dtype)
    mask = torch.zeros(len(batch), 512, dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        padded[row, : len(sequence)] = sequence[:512]
        mask[row, : len(sequence)] = True
    return padded, mask, torch.stack(labels)


@misconception("pad_collate", tell="You pad on the left. The tokens come first here, and the zeros after them.")
def pads_on_the_left(batch: Batch):
    padded, mask, labels = _padded(batch)
    sequences = [sequence for sequence, _ in batch]
    width = padded.shape[1]
    left = [torch.cat([sequence.new_zeros(width - len(sequence)), sequence]) for sequence in sequences]
    return torch.stack(left), mask.flip(1), labels


@misconception(
    "pad_collate",
    tell="Your batch is (max L, B): pad_sequence puts the sequence dimension first unless you pass batch_first=True.",
)
def time_first(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded.T, mask.T, labels


@misconception(
    "pad_collate",
    tell="You cut every sequence to the shortest one: tokens are lost. Make the short ones longer instead.",
)
def cuts_to_the_shortest(batch: Batch):
    width = min(len(sequence) for sequence, _ in batch)
    padded = torch.stack([sequence[:width] for sequence, _ in batch])
    return padded, torch.ones_like(padded, dtype=torch.bool), torch.stack([label for _, label in batch])


@misconception(
    "pad_collate",
    tell="Your mask holds numbers. A mask has dtype bool: as an index, numbers select positions instead of masking.",
)
def mask_of_numbers(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded, mask.long(), labels


@misconception("pad_collate", tell="You do not pad with 0.")
def pads_with_minus_one(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded.masked_fill(~mask, -1), mask, labels


@misconception(
    "pad_collate",
    tell="The padded tensor is always float (torch.zeros makes floats by default). Token ids must stay integers: keep "
    "the sequences' dtype.",
)
def always_float(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded.float(), mask, labels


@misconception("pad_collate", tell="The labels are still a list. Make them one tensor of shape (B,).")
def labels_stay_a_list(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded, mask, list(labels)


@misconception(
    "pad_collate",
    tell="You sort the batch by length. The rows of the padded tensor are in the order of the batch.",
    seen="calls('sorted', 'sort')",
)
def sorts_by_length(batch: Batch):
    return _padded(sorted(batch, key=lambda pair: -len(pair[0])))


@misconception(
    "pad_collate",
    tell="The padded tensor is always int64. Keep the sequences' dtype: they may be floats.",
    seen="calls('long')",
)
def always_int64(batch: Batch):
    padded, mask, labels = _padded(batch)
    return padded.long(), mask, labels


# ---------------------------------------------------------------- WindowDataset


class _Windows(Dataset):
    """The right one, for wrong ones to differ from."""

    def __init__(self, tokens: Tensor, context: int, stride: int) -> None:
        self.tokens = tokens
        self.context = context
        self.stride = stride

    def __len__(self) -> int:
        return max(0, (len(self.tokens) - self.context - 1) // self.stride + 1)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.cut(index * self.stride)

    def cut(self, start: int) -> tuple[Tensor, Tensor]:
        stop = start + self.context
        return self.tokens[start:stop], self.tokens[start + 1 : stop + 1]


@misconception(
    "WindowDataset",
    tell="Target and input are the same tokens. The target is one further on: tokens[s + 1 : s + context + 1].",
    name="target_not_shifted",
)
class TargetNotShifted(_Windows):
    def cut(self, start: int) -> tuple[Tensor, Tensor]:
        return (self.tokens[start : start + self.context],) * 2


@misconception(
    "WindowDataset",
    tell="Your target is the one token after the window. Every position has a next token: the target is as long as "
    "the input.",
    name="one_token_as_target",
)
class OneTokenAsTarget(_Windows):
    def cut(self, start: int) -> tuple[Tensor, Tensor]:
        return self.tokens[start : start + self.context], self.tokens[start + self.context]


@misconception(
    "WindowDataset",
    tell="The last window is missing. (n - context - 1) // stride is the index of the last one; there is one more "
    "window than that.",
    name="last_window_lost",
)
class LastWindowLost(_Windows):
    def __len__(self) -> int:
        return max(0, (len(self.tokens) - self.context - 1) // self.stride)


@misconception(
    "WindowDataset",
    tell="Your last window has no whole target: the target needs one token more than the input, so a window needs "
    "context + 1 tokens.",
    name="last_target_ragged",
)
class LastTargetRagged(_Windows):
    def __len__(self) -> int:
        return max(0, (len(self.tokens) - self.context) // self.stride + 1)


@misconception(
    "WindowDataset",
    tell="You begin windows wherever there are tokens left, so the last ones are too short to be stacked into a batch. "
    "Only whole windows count.",
    name="ragged_windows",
)
class RaggedWindows(_Windows):
    def __len__(self) -> int:
        return math.ceil(len(self.tokens) / self.stride)


@misconception(
    "WindowDataset",
    tell="No IndexError is raised past the end: a slice beyond it is just empty. A plain for loop over your dataset "
    "never ends; compare the index with len(self).",
    name="endless_iteration",
)
class EndlessIteration(_Windows):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.cut(index * self.stride)


@misconception(
    "WindowDataset",
    tell="Your windows begin at the index itself. Window i begins at i * stride.",
    name="ignores_the_stride",
)
class IgnoresTheStride(_Windows):
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.cut(index)


@misconception(
    "WindowDataset",
    tell="Your windows follow each other without overlap, context tokens apart. They begin stride tokens apart.",
    name="steps_by_context",
)
class StepsByContext(_Windows):
    def __len__(self) -> int:
        return max(0, (len(self.tokens) - 1) // self.context)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.cut(index * self.context)


@misconception(
    "WindowDataset",
    tell="With too few tokens your length is negative, which len() refuses with a ValueError. It is 0 then.",
    name="negative_length",
)
class NegativeLength(_Windows):
    def __len__(self) -> int:
        return (len(self.tokens) - self.context - 1) // self.stride + 1


@misconception(
    "WindowDataset",
    tell="You store the tokens in the class, which all datasets share. Assign to self, in __init__.",
    name="tokens_in_the_class",
)
class TokensInTheClass(_Windows):
    def __init__(self, tokens: Tensor, context: int, stride: int) -> None:
        TokensInTheClass.tokens = tokens
        TokensInTheClass.context = context
        TokensInTheClass.stride = stride


@misconception(
    "WindowDataset",
    tell="You convert the tokens to another dtype. A window has the dtype of the tokens.",
    name="converts_the_tokens",
    seen="calls('float', 'double', 'half', 'long', 'int')",
)
class ConvertsTheTokens(_Windows):
    def cut(self, start: int) -> tuple[Tensor, Tensor]:
        inputs, targets = super().cut(start)
        return inputs.long(), targets.long()


@misconception(
    "WindowDataset",
    tell="You wrote into the caller's tokens. They are not yours alone: keep them as they are, or change a copy.",
    name="empties_the_tokens",
)
class EmptiesTheTokens(_Windows):
    def __init__(self, tokens: Tensor, context: int, stride: int) -> None:
        super().__init__(tokens.clone(), context, stride)
        tokens.zero_()


@misconception(
    "WindowDataset",
    tell="The target begins one stride later. It is the same window moved by one token, whatever the stride is.",
    name="target_a_stride_later",
)
class TargetAStrideLater(_Windows):
    def cut(self, start: int) -> tuple[Tensor, Tensor]:
        following = start + self.stride
        return self.tokens[start : start + self.context], self.tokens[following : following + self.context]


# ---------------------------------------------------------------- suggest_num_workers


@misconception("suggest_num_workers", tell="Without a GPU you divide by zero. Return 0 workers then.")
def divides_by_zero(cpu_count: int, gpu_count: int) -> int:
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    return cpu_count // gpu_count


@misconception("suggest_num_workers", tell="That is a float. The number of processes must be an integer: use //.")
def half_workers(cpu_count: int, gpu_count: int) -> float:
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    return cpu_count / gpu_count if gpu_count else 0


@misconception(
    "suggest_num_workers",
    tell="Without a GPU you return all cores. The result should be 0: the training process needs the cores itself.",
)
def all_cores_without_a_gpu(cpu_count: int, gpu_count: int) -> int:
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    return cpu_count // gpu_count if gpu_count else cpu_count


@misconception(
    "suggest_num_workers", tell="You return at least one worker. With more GPUs than cores, the result is 0 per GPU."
)
def at_least_one(cpu_count: int, gpu_count: int) -> int:
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    return max(1, cpu_count // gpu_count) if gpu_count else 0


@misconception(
    "suggest_num_workers",
    tell="You round up: the GPUs together get more workers than there are cores. Use //.",
    seen="calls('ceil')",
)
def rounds_up(cpu_count: int, gpu_count: int) -> int:
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    return math.ceil(cpu_count / gpu_count) if gpu_count else 0


@misconception(
    "suggest_num_workers",
    tell="Negative numbers are accepted, or become 0. A machine cannot have -1 GPUs: raise a ValueError.",
)
def accepts_negative_numbers(cpu_count: int, gpu_count: int) -> int:
    return max(0, cpu_count // gpu_count) if gpu_count > 0 else 0


@misconception(
    "suggest_num_workers",
    tell="You look for a missing GPU before you look for negative numbers, so -4 cores and 0 GPUs are accepted. Check "
    "for negative numbers first.",
)
def checks_too_late(cpu_count: int, gpu_count: int) -> int:
    if gpu_count == 0:
        return 0
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    return cpu_count // gpu_count
