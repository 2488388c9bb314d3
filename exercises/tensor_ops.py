"""Tensors and their operations: make them, look at them, reshape them, compute with whole ones.

Nearly everything here is one to three lines of torch. A Python loop over rows is never needed; if you
are about to write one, look for the tensor operation that does all rows at once. Never change a tensor that was passed
to you.

Read:
- Raschka, PyTorch in One Hour: https://sebastianraschka.com/teaching/pytorch-1h/
- PyTorch docs, torch.Tensor: https://docs.pytorch.org/docs/stable/tensors.html
- PyTorch docs, Tensor Views: https://docs.pytorch.org/docs/stable/tensor_view.html
- PyTorch docs, Broadcasting semantics: https://docs.pytorch.org/docs/stable/notes/broadcasting.html
- Dive into Deep Learning, Data Manipulation: https://d2l.ai/chapter_preliminaries/ndarray.html
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def make_tensor(values: Any) -> Tensor:
    """A float32 tensor with these numbers in it.

    Integers become floats too: models compute in float32.

    Args:
        values: a nested list of numbers of any depth, for example ``[1, 2]`` or ``[[1.5, 2], [3, 4]]``;
            also a bare number, which makes a tensor with no dimensions.

    Returns:
        A float32 tensor, whatever torch's default dtype is, whose shape is the shape of the nesting: one size per
        level, ``()`` for a number.

    Example:
        >>> make_tensor([[1, 2, 3], [4, 5, 6.5]])
        tensor([[1.0000, 2.0000, 3.0000],
                [4.0000, 5.0000, 6.5000]])
        >>> make_tensor(7)
        tensor(7.)

    Read: PyTorch docs, `torch.tensor`; Raschka, "Build a Large Language Model (From Scratch)",
    appendix A.2.1 "Scalars, vectors, matrices, and tensors" and A.2.2 "Tensor data types".
    """
    # one line is enough
    raise NotImplementedError("write `make_tensor` here")


def describe(x: Tensor) -> tuple[int, tuple[int, ...], torch.dtype]:
    """Rank, shape and dtype: the three questions to ask of any tensor.

    Args:
        x: a tensor of any shape and dtype.

    Returns:
        A tuple of the number of dimensions, the shape as a tuple of ints (a ``torch.Size`` is one) and the dtype.

    Example:
        >>> describe(torch.zeros(2, 3))
        (2, (2, 3), torch.float32)
        >>> describe(torch.tensor(5))
        (0, (), torch.int64)

    Read: PyTorch docs, `torch.Tensor.dim`, `torch.Tensor.shape`, `torch.Tensor.dtype`;
    Raschka, *PyTorch in One Hour*, "Understanding tensors".
    """
    # one line is enough
    raise NotImplementedError("write `describe` here")


def as_float32(x: Tensor) -> Tensor:
    """The same values as float32, without a needless copy.

    Args:
        x: a tensor of any shape, with an integer, boolean or floating-point dtype.

    Returns:
        A float32 tensor of the same shape with equal values. When ``x`` is float32 already, ``x``
        itself: the very same object, not a copy of it.

    Example:
        >>> as_float32(torch.tensor([True, False]))
        tensor([1., 0.])
        >>> x = torch.ones(2)
        >>> as_float32(x) is x
        True

    Read: PyTorch docs, `torch.Tensor.to` (what does it return when nothing has to change?);
    Raschka, "Build a Large Language Model (From Scratch)", appendix A.2.2 "Tensor data types".
    """
    # one line is enough
    raise NotImplementedError("write `as_float32` here")


def flatten_rows(x: Tensor) -> Tensor:
    """Each example of a batch as one flat row.

    Args:
        x: shape ``(n, a, b, ...)`` with any number of dimensions from one upwards. Its memory may be
            laid out in any way (a transposed tensor is not contiguous), and ``n`` may be 0.

    Returns:
        Shape ``(n, a * b * ...)``: row ``i`` holds the elements of ``x[i]`` in the same order.
        A vector ``(n,)`` becomes a column ``(n, 1)``.

    Example:
        >>> flatten_rows(torch.tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
        tensor([[1, 2, 3, 4],
                [5, 6, 7, 8]])
        >>> flatten_rows(torch.zeros(0, 2, 3)).shape
        torch.Size([0, 6])

    Read: PyTorch docs, `torch.reshape` and `torch.Tensor.view` (which of them may copy, and what
    ``-1`` can stand for); Raschka, appendix A.2.3 "Common PyTorch tensor operations".
    """
    # a -1 cannot be worked out when there are no elements
    raise NotImplementedError("write `flatten_rows` here")


def swap_last_axes(x: Tensor) -> Tensor:
    """The last two dimensions exchanged; for a matrix, its transpose.

    Args:
        x: shape ``(..., p, q)``, at least two dimensions.

    Returns:
        Shape ``(..., q, p)``: element ``[..., i, j]`` of ``x`` is element ``[..., j, i]`` of the result.
        A view: it shares ``x``'s memory, nothing is copied, and ``x`` keeps its shape.

    Example:
        >>> swap_last_axes(torch.tensor([[1, 2, 3], [4, 5, 6]]))
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
        >>> swap_last_axes(torch.zeros(5, 2, 3)).shape
        torch.Size([5, 3, 2])

    Read: PyTorch docs, `torch.transpose` and "Tensor Views";
    Raschka, appendix A.2.3 "Common PyTorch tensor operations".
    """
    # one line is enough
    raise NotImplementedError("write `swap_last_axes` here")


def gram(x: Tensor) -> Tensor:
    """Dot product of every row with every row.

    This is how attention scores are made: how similar two rows are, for all pairs at once.

    Args:
        x: shape ``(n, d)``, ``n`` rows of ``d`` numbers.

    Returns:
        Shape ``(n, n)``, in the dtype of ``x``; entry ``(i, j)`` is the dot product of rows ``i`` and ``j`` of ``x``.

    Example:
        >>> gram(torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([[ 5., 11.,  2.],
                [11., 25.,  4.],
                [ 2.,  4.,  1.]])

    Read: PyTorch docs, `torch.matmul`; Raschka, appendix A.2.3 "Common PyTorch tensor operations".
    """
    # one line is enough
    raise NotImplementedError("write `gram` here")


def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Each column shifted to mean 0 and scaled to standard deviation 1.

    Every column is a feature with a mean and a standard deviation of its own:
    ``(x - mean) / (std + eps)``, where ``std`` is the unbiased one (it divides by ``n - 1``) and
    ``eps`` is added after the square root, so that a constant column gives zeros and no division by 0.

    Args:
        x: shape ``(n, d)``, floats, ``n >= 2``. It is not changed.
        eps: a small positive number.

    Returns:
        Shape ``(n, d)``, in the dtype of ``x``.

    Example:
        >>> standardize(torch.tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), eps=1.0)
        tensor([[-0.5000,  0.0000],
                [ 0.0000,  0.0000],
                [ 0.5000,  0.0000]])

    Read: PyTorch docs, `torch.mean`, `torch.std` (mind ``dim`` and ``correction``) and "Broadcasting
    semantics".
    """
    # one line is enough
    raise NotImplementedError("write `standardize` here")


def pairwise_sq_dists(a: Tensor, b: Tensor) -> Tensor:
    """Squared Euclidean distance between every row of ``a`` and every row of ``b``.

    Let broadcasting make all pairs: the number of torch calls must be the same for 3 rows and for 3000, and no loop of
    Python may go over the rows.

    Args:
        a: shape ``(n, d)``, floats.
        b: shape ``(m, d)``, floats of the same dtype; ``m`` need not be ``n``.

    Returns:
        Shape ``(n, m)``, in the dtype of the tables; entry ``(i, j)`` is the sum over ``k`` of
        ``(a[i, k] - b[j, k]) ** 2``. Never negative, not even by a rounding error.

    Example:
        >>> a = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
        >>> b = torch.tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
        >>> pairwise_sq_dists(a, b)
        tensor([[ 0.,  1.,  9.],
                [25., 20., 16.]])

    Read: PyTorch docs, "Broadcasting semantics" and `torch.unsqueeze`.
    """
    # two steps, all differences (n, m, d), then their squares summed
    raise NotImplementedError("write `pairwise_sq_dists` here")


def softmax(x: Tensor, dim: int) -> Tensor:
    """Scores turned into probabilities: ``exp(x)`` divided by its sum along ``dim``.

    ``exp(100.)`` is infinite in float32, so the formula as written fails for large scores. Adding one
    number to all scores of a slice does not change its probabilities; use that.

    Args:
        x: floats, any shape with at least one dimension. Scores as large as 1e4 or as low as -1e4 occur.
        dim: the dimension along which the result sums to 1; negative ones count from the end.

    Returns:
        The shape and dtype of ``x``, every entry in [0, 1], finite, summing to 1 along ``dim``. Write it without
        torch's own softmax in any form (``torch.softmax``, ``F.softmax``, ``nn.Softmax``, ``log_softmax``).

    Example:
        >>> softmax(torch.tensor([[0.0, 0.0], [1e4, -1e4]]), dim=1)
        tensor([[0.5000, 0.5000],
                [1.0000, 0.0000]])
        >>> softmax(torch.tensor([[0.0, 0.0], [1e4, -1e4]]), dim=0)
        tensor([[0., 1.],
                [1., 0.]])

    Read: PyTorch docs, `torch.amax` and the formula in `torch.nn.Softmax`; mind ``keepdim``.
    """
    # shift, exponentiate, divide
    raise NotImplementedError("write `softmax` here")


def true_class_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """From each row of scores, the one at the row's label: one column per row, picked by indexing.

    A cross-entropy needs just these. Gradients flow through the result, and no Python loop goes over the rows: the
    number of torch calls is the same for 3 rows and for 3000.

    Args:
        scores: shape ``(n, C)``, floats, one row of scores per example; ``n`` may be 0.
        labels: shape ``(n,)``, int64, for each row a column in ``[0, C)``.

    Returns:
        Shape ``(n,)``, in the dtype of ``scores``: entry ``i`` is ``scores[i, labels[i]]``.

    Example:
        >>> scores = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
        >>> true_class_scores(scores, torch.tensor([2, 0]))
        tensor([0.2000, 0.5000])

    Read: PyTorch docs, `torch.gather`; NumPy docs, "Indexing on ndarrays", "Integer array indexing" (torch follows
    the same rules).
    """
    # one line is enough
    raise NotImplementedError("write `true_class_scores` here")


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """The mean over those positions of each sequence that are real, and not padding.

    Args:
        x: shape ``(n, t, d)``, floats: ``n`` sequences of ``t`` positions with ``d`` numbers each.
        mask: shape ``(n, t)``, bool: True at the positions that count.

    Returns:
        Shape ``(n, d)``, in the dtype of ``x``: for each sequence the mean of its positions where the mask is True.
        Zeros for a sequence without any, and the gradient at such a sequence is zero, never nan.

    Example:
        >>> x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]], [[9.0, 9.0], [9.0, 9.0]]])
        >>> masked_mean(x, torch.tensor([[True, True], [False, True], [False, False]]))
        tensor([[2., 3.],
                [7., 8.],
                [0., 0.]])

    Read: PyTorch docs, "Broadcasting semantics", `torch.Tensor.masked_fill` and `torch.clamp`.
    """
    # a sum of what counts, divided by how many count, at least 1
    raise NotImplementedError("write `masked_mean` here")


def outer_sum(a: Tensor, b: Tensor) -> Tensor:
    """Every number of ``a`` plus every number of ``b``: a table of sums, made by broadcasting.

    Neither input is copied before the sum: dimensions of size 1 cost no memory.

    Args:
        a: shape ``(..., n)``.
        b: shape ``(..., m)``, of the same dtype. The dimensions before the last broadcast with those of ``a``, and
            there may be more of them in one than in the other.

    Returns:
        Shape ``(..., n, m)``: entry ``[..., i, j]`` is ``a[..., i] + b[..., j]``.

    Example:
        >>> outer_sum(torch.tensor([10, 20]), torch.tensor([1, 2, 3]))
        tensor([[11, 12, 13],
                [21, 22, 23]])
        >>> outer_sum(torch.zeros(5, 2), torch.zeros(3)).shape
        torch.Size([5, 2, 3])

    Read: PyTorch docs, "Broadcasting semantics" and `torch.unsqueeze`.
    """
    # a as a column, b as a row
    raise NotImplementedError("write `outer_sum` here")


def one_hot(labels: Tensor, num_classes: int) -> Tensor:
    """Class numbers as rows with a single 1.

    Args:
        labels: int64, of any shape: also without dimensions, or without elements.
        num_classes: at least 1.

    Returns:
        Float32, the shape of ``labels`` and ``num_classes`` after it: 1 at the label, 0 elsewhere. Write it without
        ``F.one_hot``.

    Raises:
        ValueError: if a label is below 0 or not below ``num_classes``; the message has the first such label in it.

    Example:
        >>> one_hot(torch.tensor([2, 0]), 3)
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
        >>> one_hot(torch.tensor([1, 7]), 3)
        Traceback (most recent call last):
        ValueError: label 7 is not in [0, 3)

    Read: PyTorch docs, `torch.arange`, "Broadcasting semantics", `torch.Tensor.scatter_`.
    """
    # compare each label with all classes
    raise NotImplementedError("write `one_hot` here")


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """The fraction of examples whose largest score is at the right class.

    Args:
        logits: shape ``(n, C)``, one row of scores per example.
        labels: shape ``(n,)``, int64, the right class of each example.

    Returns:
        A plain Python float in [0, 1] (not a tensor, not a percentage); 0.0 when ``n`` is 0.

    Example:
        >>> logits = torch.tensor([[2.0, 1.0], [0.0, 3.0], [5.0, 4.0], [1.0, 0.0]])
        >>> accuracy(logits, torch.tensor([0, 1, 1, 0]))
        0.75

    Read: PyTorch docs, `torch.argmax` and `torch.Tensor.item`; Raschka, appendix A.7 "A typical
    training loop".
    """
    # count the right ones, divide by how many there are
    raise NotImplementedError("write `accuracy` here")
