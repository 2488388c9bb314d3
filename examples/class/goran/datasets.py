"""Datasets and loaders: what a training loop reads, and how it is cut into batches.

A dataset answers two questions: how many examples there are, and what example number i is. A loader asks for examples
in some order and stacks them into batches. Many training bugs start here and raise no error: a target that is off by
one, a row in both training and validation, an order that nobody can reproduce.

Read:
- PyTorch docs, torch.utils.data: https://docs.pytorch.org/docs/stable/data.html
- PyTorch tutorial, Datasets and DataLoaders: https://docs.pytorch.org/tutorials/beginner/basics/data_tutorial.html
- Raschka, PyTorch in One Hour, section 6: https://sebastianraschka.com/teaching/pytorch-1h/
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Subset


class ToyDataset(Dataset):
    """Features and labels in memory, one example per index.

    Example:
        >>> data = ToyDataset(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]))
        >>> len(data)
        2
        >>> data[1]
        (tensor([3., 4.]), tensor(1))

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.6 "Setting up efficient data loaders";
    PyTorch docs, `torch.utils.data.Dataset`.
    """

    def __init__(self, features: Tensor, labels: Tensor) -> None:
        """Store both.

        Args:
            features: shape ``(n, ...)``; ``n`` may be 0.
            labels: shape ``(n,)``.

        Raises:
            ValueError: if the two are not equally long.
        """
        # look at the lengths first
        raise NotImplementedError("write `ToyDataset.__init__` here")

    def __len__(self) -> int:
        """The number of examples."""
        # one line is enough
        raise NotImplementedError("write `ToyDataset.__len__` here")

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One example.

        Args:
            index: from ``-n`` to ``n - 1``; a negative one counts from the end, as in a list.

        Returns:
            ``(x, y)``: row ``index`` of the features, and its label (a tensor with no dimensions).

        Raises:
            IndexError: for any other index. A plain ``for example in dataset`` asks for 0, 1, 2, ... and
                ends when it gets this error.
        """
        # one line is enough
        raise NotImplementedError("write `ToyDataset.__getitem__` here")


def make_loaders(train_ds: Dataset, test_ds: Dataset, batch_size: int, seed: int) -> tuple[DataLoader, DataLoader]:
    """A loader to train with, and a loader to test with.

    Args:
        train_ds: at least ``batch_size`` examples. Any dataset: all that is known is ``len`` and ``[i]``.
        test_ds: any number of examples.
        batch_size: of both loaders.
        seed: decides the order of the training examples.

    Returns:
        ``(train, test)``. **train** gives the examples in random order, a new order each time that you iterate over it
        (each epoch), and leaves out the last batch if that is short. Two fresh train loaders made with the same seed
        give the same orders, epoch for epoch, whatever other code draws random numbers meanwhile; another seed gives
        other orders. Neither making the train loader nor iterating over it changes torch's global random numbers.
        **test** gives every example, in the order of the dataset; its last batch may be short.

    Example:
        >>> data = ToyDataset(torch.arange(10.0)[:, None], torch.arange(10))
        >>> train, test = make_loaders(data, data, batch_size=4, seed=1)
        >>> [len(y) for x, y in train], [y.tolist() for x, y in test]
        ([4, 4], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        >>> again, _ = make_loaders(data, data, batch_size=4, seed=1)
        >>> [y.tolist() for x, y in make_loaders(data, data, 4, 1)[0]] == [y.tolist() for x, y in again]
        True

    Read: Raschka, appendix A.6 "Setting up efficient data loaders"; PyTorch docs, `torch.utils.data.DataLoader`
    (mind ``generator``) and "Reproducibility".
    """
    # the train loader gets random numbers of its own
    raise NotImplementedError("write `make_loaders` here")


def num_batches(n: int, batch_size: int, drop_last: bool) -> int:
    """How many batches an epoch has, by arithmetic alone.

    Args:
        n: the number of examples, 0 or more.
        batch_size: 1 or more.
        drop_last: whether a last batch that is not full is left out.

    Returns:
        What ``len`` of such a ``DataLoader`` is, an int: exact, however large ``n`` is.

    Raises:
        ValueError: if ``n`` is negative, or ``batch_size`` less than 1.

    Example:
        >>> num_batches(10, 4, drop_last=False), num_batches(10, 4, drop_last=True), num_batches(8, 4, drop_last=False)
        (3, 2, 2)

    Read: Raschka, appendix A.6 "Setting up efficient data loaders".
    """
    # whole batches, and perhaps one more
    raise NotImplementedError("write `num_batches` here")


def split(dataset: Dataset, val_fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Set some examples aside for validation.

    Args:
        dataset: of any kind: all that is known is ``len`` and ``[i]``.
        val_fraction: which part goes to validation, from 0 to 1.
        seed: decides which examples, at random: files are often sorted, and the last tenth of a file is not a fair
            sample.

    Returns:
        ``(train, val)``, two datasets of examples of the given one. Every example is in exactly one of them;
        ``round(n * val_fraction)`` of the ``n`` are in ``val``. The same seed gives the same split, whatever
        random numbers were drawn before.

    Raises:
        ValueError: if ``val_fraction`` is less than 0 or more than 1.

    Example:
        >>> train, val = split(list(range(10)), 0.3, seed=0)
        >>> len(train), len(val), sorted([*train, *val])
        (7, 3, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])

    Read: PyTorch docs, `torch.randperm`, `torch.utils.data.Subset` and `torch.utils.data.random_split`.
    """
    # shuffle the indices, cut them once
    raise NotImplementedError("write `split` here")


def check_labels(labels: Tensor, num_classes: int) -> None:
    """Refuse labels that would make the loss fail later, with an error that is hard to understand.

    Args:
        labels: shape ``(n,)``, of any integer dtype. ``n`` may be 0: then there is nothing to refuse. Not changed.
        num_classes: labels must be 0, 1, ..., ``num_classes - 1``.

    Raises:
        ValueError: if a label is less than 0, or ``num_classes`` or more; the message has the **first** such value in
            it, as a number. Also if the dtype is a floating one, whatever the values are: class indices are integers
            (of an empty tensor, both are right).

    Example:
        >>> check_labels(torch.tensor([0, 2, 1]), num_classes=3)
        >>> check_labels(torch.tensor([0, 7, -1]), num_classes=3)
        Traceback (most recent call last):
        ValueError: label 7 is not in [0, 3)

    Read: PyTorch docs, `nn.CrossEntropyLoss` (what may the target be?), `torch.Tensor.is_floating_point`.
    """
    # make a mask of the wrong labels
    raise NotImplementedError("write `check_labels` here")


def pad_collate(batch: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Make one batch of sequences that differ in length; a loader takes this as its ``collate_fn``.

    Args:
        batch: a list of ``(sequence, label)``, at least one: a sequence has shape ``(L_i,)``, and the lengths ``L_i``
            may differ; all have one dtype (integers or floats); a label is a tensor with no dimensions.
            A sequence may contain zeros itself, and may be empty. Not changed.

    Returns:
        ``(padded, mask, labels)``. ``padded`` has shape ``(B, max L)`` and the sequences' dtype: row i is sequence i,
        then 0 up to the length of the longest sequence of this batch. ``mask`` has the same shape and dtype bool:
        True where there is a token of the sequence, False where there is padding. ``labels`` has shape ``(B,)``.

    Example:
        >>> batch = [(torch.tensor([5, 0, 7]), torch.tensor(1)), (torch.tensor([8]), torch.tensor(0))]
        >>> padded, mask, labels = pad_collate(batch)
        >>> padded
        tensor([[5, 0, 7],
                [8, 0, 0]])
        >>> mask
        tensor([[ True,  True,  True],
                [ True, False, False]])
        >>> labels
        tensor([1, 0])

    Read: PyTorch docs, `torch.nn.utils.rnn.pad_sequence` and "Working with collate_fn" in `torch.utils.data`.
    """
    # torch can pad; the mask comes from the lengths, not from the values
    raise NotImplementedError("write `pad_collate` here")


class WindowDataset(Dataset):
    """Training examples for a language model: a window of tokens, and the same window shifted by one token.

    Item ``i`` begins at ``s = i * stride``: its input is ``tokens[s : s + context]``, its target
    ``tokens[s + 1 : s + context + 1]``, so that each position's target is the next token. There are only whole
    windows: both tensors always have ``context`` tokens.

    Example:
        >>> data = WindowDataset(torch.arange(10), context=4, stride=2)
        >>> len(data)
        3
        >>> data[1]
        (tensor([2, 3, 4, 5]), tensor([3, 4, 5, 6]))
        >>> [inputs.tolist() for inputs, targets in data]
        [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]

    Read: Raschka, "Build a Large Language Model (From Scratch)", chapter 2.6 "Data sampling with a sliding window".
    """

    def __init__(self, tokens: Tensor, context: int, stride: int) -> None:
        """Store what the windows are cut from.

        Args:
            tokens: shape ``(n,)``, token ids; there may be too few for a single window.
            context: the length of a window, 1 or more.
            stride: how far the next window begins after this one, 1 or more; it may be larger than ``context``.
        """
        # three lines
        raise NotImplementedError("write `WindowDataset.__init__` here")

    def __len__(self) -> int:
        """The number of whole windows, 0 if there is none."""
        # the last window needs context + 1 tokens
        raise NotImplementedError("write `WindowDataset.__len__` here")

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One window.

        Args:
            index: from 0 to ``len(self) - 1``.

        Returns:
            ``(inputs, targets)``, each of shape ``(context,)``.

        Raises:
            IndexError: if ``index`` is ``len(self)`` or more. A slice never raises an IndexError, so raise it yourself:
                otherwise a plain ``for window in dataset`` never ends.
        """
        # check, then cut twice
        raise NotImplementedError("write `WindowDataset.__getitem__` here")


def suggest_num_workers(cpu_count: int, gpu_count: int) -> int:
    """How many loader processes each GPU can have, if the machine's cores are shared out evenly.

    Args:
        cpu_count: cores of the machine.
        gpu_count: GPUs of the machine, each with a training process and a loader of its own.

    Returns:
        The whole number of cores per GPU; 0 if there is no GPU (0 workers: the training process loads by itself).

    Raises:
        ValueError: if either number is negative.

    Example:
        >>> suggest_num_workers(16, 3), suggest_num_workers(8, 0)
        (5, 0)

    Read: *Deep Learning with GPU*, training checklist; PyTorch docs, `torch.utils.data.DataLoader`
    (``num_workers``); Raschka, appendix A.6.
    """
    # two cases, after the check
    raise NotImplementedError("write `suggest_num_workers` here")
