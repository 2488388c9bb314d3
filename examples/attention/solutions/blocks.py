"""Blocks: normalization, a small network for each position, and the block that a language model repeats.

Have you written `layer_norm` of the topic layers, in the shipped course? What is new here: it becomes a module, whose
weight and bias are parameters.

Read: Raschka, *Build a Large Language Model (From Scratch)*, chapter 4 "Implementing a GPT model from scratch to
generate text".
"""

import math

import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """Normalizes each position on its own: mean 0 and variance 1 over the width, then a scale and a shift.

    The module has two parameters of shape ``(d,)``: ``weight``, which is 1 at first, and ``bias``, which is 0 at first.
    The variance divides by d, not by d - 1, and ``eps`` is added to it before the square root is taken.

    Args:
        d: the width of the last dim.
        eps: above 0.

    ``forward(x)`` takes shape ``(..., d)`` and returns the same shape:
    ``(x - mean) / sqrt(variance + eps) * weight + bias``.

    Example:
        >>> LayerNorm(2)(torch.tensor([[1.0, 3.0], [40.0, 20.0]])).detach()
        tensor([[-1.0000,  1.0000],
                [ 1.0000, -1.0000]])

    Read: Raschka, section 4.2 "Normalizing activations with layer normalization".
    """

    # solution: mean and variance keep the last dim, so that they fit to x
    def __init__(self, d: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias

    # end


def gelu(x: Tensor) -> Tensor:
    """A smooth relative of ReLU, in the form with the hyperbolic tangent that GPT-2 uses:
    ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))``.

    Args:
        x: any shape, float32 or float64, numbers up to 1,000 in size.

    Returns:
        The same shape and dtype.

    Example:
        >>> gelu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1588,  0.0000,  0.8412])

    Read: Raschka, section 4.3 "Implementing a feed forward network with GELU activations".
    """
    # solution:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    # end


class FeedForward(nn.Module):
    """A small network that every position goes through on its own: four times as wide in the middle.

    The module has two layers and no other parameters: ``up``, a ``nn.Linear`` from ``d_model`` to ``4 * d_model``, and
    ``down``, a ``nn.Linear`` back, both with a bias; `gelu` is between them.

    Args:
        d_model: the width of every position.

    ``forward(x)`` takes shape ``(..., d_model)`` and returns the same shape.

    Read: Raschka, section 4.3.
    """

    # solution:
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(gelu(self.up(x)))

    # end


class Block(nn.Module):
    """One block of a GPT: attention, then the feed-forward network; each sees normalized input, and is added to it.

    The module has four parts: ``norm1``, a `LayerNorm`; ``attn``, your ``CausalSelfAttention`` of ``attention.py``
    (import it here, in the method) with ``dropout``; ``norm2``, a `LayerNorm`; ``ff``, a `FeedForward`. The
    normalization comes first ("pre-norm"), and what is added is the input before it: first ``x + attn(norm1(x))``, and
    to that the same with ``norm2`` and ``ff``.

    Args:
        d_model: the width of every position.
        heads: of the attention.
        dropout: of the attention.

    ``forward(x)`` takes shape ``(b, t, d_model)`` and returns the same shape.

    Read: Raschka, sections 4.4 "Adding shortcut connections" and 4.5 "Connecting attention and linear layers in a
    transformer block".
    """

    # solution: build the parts in this order; the forward pass is two lines
    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        from attention import CausalSelfAttention

        super().__init__()
        self.norm1 = LayerNorm(d_model)
        self.attn = CausalSelfAttention(d_model, heads, dropout)
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm2(x))

    # end
