"""The parts of a modern network, each written by hand: what is inside of LayerNorm, attention, Adam and others.

torch has all of them ready-made. Here each is a few tensor operations, so that you know what they compute, what flows
back through them, and what can go wrong. Each gives what torch's own gives, and does not call it.

Read:
- PyTorch docs, attention: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
- Dive into Deep Learning, Convolutional Neural Networks: https://d2l.ai/chapter_convolutional-neural-networks/index.html
- Dive into Deep Learning, Adam: https://d2l.ai/chapter_optimization/adam.html
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Each position gets mean 0 and variance 1 over its own numbers, then a learned scale and shift.

    ``(x - mean) / sqrt(variance + eps) * weight + bias``, with the mean and the variance of the last dimension. The
    variance is the biased one: the mean of the squared distances from the mean. Gradients flow back to all three.

    Args:
        x: shape ``(..., d)``, floats; not changed.
        weight: shape ``(d,)``.
        bias: shape ``(d,)``.
        eps: a small number inside the root.

    Returns:
        The shape and dtype of ``x``. To 1e-5 it is what torch's own layer norm gives, which is not called.

    Example:
        >>> layer_norm(torch.tensor([[1.0, 3.0], [20.0, 10.0]]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 5.0]))
        tensor([[-1.0000,  7.0000],
                [ 1.0000,  3.0000]])

    Read: Raschka, chapter 4.2 "Normalizing activations with layer normalization"; PyTorch docs, `nn.LayerNorm`.
    """
    # mean and variance keep the last dimension, so that they broadcast
    raise NotImplementedError("write `layer_norm` here")


def embed(ids: Tensor, table: Tensor) -> Tensor:
    """The row of a table for each id: this is how tokens become vectors.

    Args:
        ids: int64, any shape, each from 0 to one less than the rows of the table.
        table: shape ``(rows, d)``, floats; learned, so gradients flow back to it. A row that is used several times
            gets the gradients of all its uses, one that is not used gets zeros.

    Returns:
        The shape of ``ids`` with a last dimension ``d``, in the dtype of the table. torch's own embedding is not
        called.

    Example:
        >>> table = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        >>> embed(torch.tensor([[2, 0]]), table)
        tensor([[[4., 5.],
                 [0., 1.]]])

    Read: Raschka, chapter 2.7 "Creating token embeddings"; PyTorch docs, `nn.Embedding`.
    """
    # an index of any shape picks rows
    raise NotImplementedError("write `embed` here")


def dropout(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    """Set each number to zero with probability p, by chance, and make the others larger for it.

    In training each element, on its own, becomes 0 with probability ``p``; the others are multiplied by
    ``1 / (1 - p)``, so that the expected sum stays what it was. For use, nothing happens.

    Args:
        x: any shape, floats; not changed.
        p: from 0 up to, not including, 1.
        training: whether numbers are dropped at all.
        generator: all random numbers come from it, in an order of your choice: generators in the same state give the
            same result, and the next call another one. torch's global random numbers go on as if nothing had been
            drawn.

    Returns:
        The shape and dtype of ``x``; ``x`` itself if not in training or if ``p`` is 0. Gradients flow back through the
        numbers that stay, with the same factor. torch's own dropout is not called.

    Raises:
        ValueError: if ``p`` is outside of ``[0, 1)``.

    Example:
        >>> found = dropout(torch.ones(1000), 0.75, True, torch.Generator().manual_seed(0))
        >>> sorted(set(found.tolist())), 200 < (found > 0).sum().item() < 300
        ([0.0, 4.0], True)
        >>> x = torch.ones(3)
        >>> dropout(x, 0.75, False, torch.Generator()) is x
        True

    Read: Raschka, chapter 3.5.2 "Masking additional attention weights with dropout"; PyTorch docs, `nn.Dropout` and
    `torch.Generator`.
    """
    # a uniform number for each element says whether it stays
    raise NotImplementedError("write `dropout` here")


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0) -> Tensor:
    """Slide small windows of weights over images: a two-dimensional convolution.

    Output ``[n, o, i, j]`` is the sum over all channels and all places ``(r, s)`` of the window of
    ``x[n, c, i * stride + r, j * stride + s] * weight[o, c, r, s]``, plus ``bias[o]``. The window is not flipped. With
    padding, the images have that many rows and columns of zeros more on each of their four sides.

    Args:
        x: images, shape ``(n, c, h, w)``, floats; not changed.
        weight: shape ``(o, c, kh, kw)``; kh and kw may differ.
        bias: shape ``(o,)``, or None for none.
        stride: how far the window moves, 1 or more; what does not fill a whole window at the end is left out.
        padding: 0 or more.

    Returns:
        Shape ``(n, o, (h + 2 * padding - kh) // stride + 1, (w + 2 * padding - kw) // stride + 1)``. To 1e-5 it is what
        torch's own convolution gives, which is not called; the same holds for the gradients. The number of torch calls
        is the same however many images, channels and places there are.

    Example:
        >>> x = torch.arange(9.0).reshape(1, 1, 3, 3)
        >>> conv2d(x, torch.tensor([[[[1.0, 0.0], [0.0, -1.0]]]]), torch.tensor([10.0]))
        tensor([[[[6., 6.],
                  [6., 6.]]]])

    Read: Dive into Deep Learning, "Convolutions for Images" and "Padding and Stride"; PyTorch docs, `nn.Conv2d`,
    `nn.Unfold` and `Tensor.unfold`.
    """
    # all windows as columns of a matrix; then one product does everything
    raise NotImplementedError("write `conv2d` here")


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Every position looks at the others, and takes from each as much as their scores say.

    The score of query i and key j is their dot product divided by the square root of d. The weights of a query are the
    softmax of its scores over the keys that it may see; the result is the sum of the values by these weights.

    Args:
        q: queries, shape ``(..., t, d)``, floats; so are ``k``, the keys, and ``v``, the values. None of them is
            changed. Scores may be large.
        k: as ``q``.
        v: as ``q``.
        mask: bool, a shape that broadcasts to ``(..., t, t)``; True at ``[..., i, j]``: position i may see position j.
            None: every position sees every other. A position that may see nothing gets zeros.

    Returns:
        The shape and dtype of ``q``. To 1e-5 it is what torch's own attention gives, which is not called. Gradients are
        finite in any case: 0 for what nobody sees, and for a position that sees nothing.

    Example:
        >>> q, k = torch.zeros(2, 4), torch.ones(2, 4)
        >>> v = torch.tensor([[1.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 8.0]])
        >>> attention(q, k, v, torch.tensor([[True, False], [True, True]]))
        tensor([[1., 0., 0., 0.],
                [2., 0., 0., 4.]])

    Read: Raschka, chapter 3.4 "Implementing self-attention with trainable weights" and 3.5 "Hiding future words with
    causal attention"; PyTorch docs, `F.scaled_dot_product_attention`.
    """
    # hidden scores get the lowest finite number, and hidden weights are made zero after the softmax
    raise NotImplementedError("write `attention` here")


class Adam:
    """The optimizer that most networks are trained with: each number has a step size of its own.

    For each parameter it keeps two running means, of the gradients and of their squares, both 0 at first:
    ``m = b1 * m + (1 - b1) * grad`` and ``v = b2 * v + (1 - b2) * grad ** 2``. After the parameter's t-th step they are
    corrected for beginning at 0, ``m / (1 - b1 ** t)`` and ``v / (1 - b2 ** t)``, and the parameter moves by
    ``-lr * corrected m / (sqrt(corrected v) + eps)``.

    Example:
        >>> p = torch.tensor([2.0, 2.0], requires_grad=True)
        >>> optimizer = Adam([p], lr=0.5)
        >>> p.grad = torch.tensor([0.001, -40.0])
        >>> optimizer.step()
        >>> p
        tensor([1.5000, 2.5000], requires_grad=True)
        >>> optimizer.step()
        >>> p
        tensor([1.0000, 3.0000], requires_grad=True)

    Read: Dive into Deep Learning, "Adam"; PyTorch docs, `torch.optim.Adam` (the algorithm).
    """

    def __init__(
        self, params: Sequence[Tensor], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        """Keep the parameters and the settings; nothing moves yet.

        Args:
            params: a list of leaf tensors that require grad.
            lr: the learning rate.
            betas: b1 and b2.
            eps: added outside of the root.
        """
        # two running means and a count for each parameter
        raise NotImplementedError("write `Adam.__init__` here")

    def step(self) -> None:
        """Move every parameter, in its own memory, by what its ``.grad`` says.

        A parameter whose ``.grad`` is None is skipped: it does not move, its two means stay as they are, and it is no
        step of its own. No graph is recorded: the parameters are still leaves that require grad. Their ``.grad`` is as
        before. Over many steps all of this is what torch's own Adam does, which is not called.
        """
        # the formulas of the class, without recording
        raise NotImplementedError("write `Adam.step` here")

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters, so that the next ``backward()`` starts from nothing."""
        # two lines
        raise NotImplementedError("write `Adam.zero_grad` here")
