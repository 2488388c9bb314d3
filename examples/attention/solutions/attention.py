"""Attention: every position looks at the others, and takes from each as much as their scores say.

Have you written `attention` of the topic layers, in the shipped course? What is new here: it returns its weights, too,
and it becomes a module with heads.

Read: Raschka, *Build a Large Language Model (From Scratch)*, chapter 3 "Coding attention mechanisms".
"""

import math

import torch
from torch import Tensor, nn


def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """How well each query fits each key: their dot product, divided by the square root of the width.

    Args:
        q: queries, shape ``(..., t, d)``, float32 or float64.
        k: keys, shape ``(..., s, d)`` of the same dtype; the dims in front are those of ``q``, there may be none.

    Returns:
        Shape ``(..., t, s)``, of the same dtype: entry ``[..., i, j]`` is ``q[..., i, :]`` dot ``k[..., j, :]``, over
        the square root of ``d``.

    Example:
        >>> q, k = torch.tensor([[2.0, 0, 0, 0]]), torch.tensor([[3.0, 1, 1, 1], [0, 5, 0, 0]])
        >>> attention_scores(q, k)
        tensor([[3., 0.]])

    Read: Raschka, section 3.4.1 "Computing the attention weights step by step".
    """
    # solution: one matrix product does it for all dims in front
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    # end


def causal_mask(t: int) -> Tensor:
    """Which positions each position may see, if none may see what comes after it.

    Args:
        t: how many positions, 0 or more.

    Returns:
        Shape ``(t, t)``, bool: entry ``[i, j]`` is True if position i may see position j, so if j is not after i.

    Example:
        >>> causal_mask(3)
        tensor([[ True, False, False],
                [ True,  True, False],
                [ True,  True,  True]])

    Read: Raschka, section 3.5.1 "Applying a causal attention mask".
    """
    # solution:
    return torch.ones(t, t, dtype=torch.bool).tril()
    # end


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Mixes the values for each query, by weights that follow from the scores.

    The weights of a query are the softmax of its scores over the keys that it may see; they are 0 for all others. The
    output is the sum of the values, each times its weight. A query that may see no key at all has weights 0 and output
    0. Gradients are finite in any case, and 0 for what no query sees.

    Args:
        q: queries, shape ``(..., t, d)``.
        k: keys, shape ``(..., s, d)``.
        v: values, shape ``(..., s, e)``, where e may be another width than d.
        mask: bool, a shape that broadcasts to ``(..., t, s)``, such as ``(t, s)``: True where a query may see a key.
            None: every query sees every key.

    Returns:
        The output, shape ``(..., t, e)``, and the weights, shape ``(..., t, s)``, of the dtype of ``q``.

    Example:
        >>> q, k = torch.zeros(2, 4), torch.ones(2, 4)
        >>> output, weights = attention(q, k, torch.tensor([[1.0], [3.0]]), torch.tensor([[True, False], [True, True]]))
        >>> output
        tensor([[1.],
                [2.]])
        >>> weights
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])

    Read: Raschka, sections 3.4.1 and 3.5.1.
    """
    # solution: what is hidden gets a score that softmax makes 0, and a row without any is set to 0 afterwards
    scores = attention_scores(q, k)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        lowest = torch.finfo(scores.dtype).min  # not minus infinity: a row of those has the softmax NaN
        weights = scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
    return weights @ v, weights
    # end


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cuts the width into heads, each with a part of it: head 0 has the first ``d // heads`` numbers of every position.

    No number is copied: the result is a view of ``x``. `merge_heads`, below, is the other half of this exercise.

    Args:
        x: shape ``(b, t, d)``, contiguous.
        heads: how many, at least 1.

    Returns:
        Shape ``(b, heads, t, d // heads)``.

    Raises:
        ValueError: if ``heads`` does not divide d.

    Example:
        >>> split_heads(torch.arange(8.0).reshape(1, 2, 4), 2)
        tensor([[[[0., 1.],
                  [4., 5.]],
        <BLANKLINE>
                 [[2., 3.],
                  [6., 7.]]]])

    Read: Raschka, section 3.6.2 "Implementing multi-head attention with weight splits".
    """
    # solution: first cut the width in two dims, then exchange two dims
    b, t, d = x.shape
    if d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")
    return x.view(b, t, heads, d // heads).transpose(1, 2)
    # end


def merge_heads(x: Tensor) -> Tensor:
    """Puts the heads side by side again: the inverse of `split_heads`.

    What `split_heads` returned becomes a view of the same numbers; for any other memory layout it may be a copy.

    Args:
        x: shape ``(b, heads, t, w)``, of any memory layout.

    Returns:
        Shape ``(b, t, heads * w)``.

    Example:
        >>> x = torch.arange(8.0).reshape(1, 2, 4)
        >>> torch.equal(merge_heads(split_heads(x, 2)), x)
        True
    """
    # solution:
    return x.transpose(1, 2).flatten(start_dim=2)
    # end


class CausalSelfAttention(nn.Module):
    """Self-attention with heads: positions of a text look at themselves and at those before them.

    The module has four layers and no other parameters: ``query``, ``key``, ``value`` and ``out``, each a ``nn.Linear``
    from ``d_model`` to ``d_model`` with a bias. ``heads`` is kept as an attribute. The forward pass

    1. makes queries, keys and values of the input by the first three layers, and cuts each into heads as `split_heads`
       does;
    2. lets each head attend on its own, causally, with scores divided by the square root of the width of a head;
    3. in training, drops attention weights: each is set to 0 with probability ``dropout``, after the softmax, and the
       others are divided by ``1 - dropout``; there is no dropout anywhere else;
    4. puts the heads side by side, and applies ``out``.

    Args:
        d_model: the width of every position.
        heads: how many heads; each has the width ``d_model // heads``.
        dropout: from 0 to 1.

    Raises:
        ValueError: if ``heads`` does not divide ``d_model``.

    ``forward(x)`` takes shape ``(b, t, d_model)`` and returns the same shape, for any t, on the device of ``x`` (the
    module is there, too).

    Example:
        >>> module = CausalSelfAttention(d_model=8, heads=2)
        >>> module(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])

    Read: Raschka, sections 3.5.2 "Masking additional attention weights with dropout" and 3.6.2.
    """

    # solution: everything is there already: four layers, and the functions above
    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % heads:
            raise ValueError(f"{heads} heads do not divide a width of {d_model}")
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (split_heads(layer(x), self.heads) for layer in (self.query, self.key, self.value))
        _, weights = attention(q, k, v, causal_mask(x.shape[1]).to(x.device))
        return self.out(merge_heads(self.dropout(weights) @ v))

    # end
