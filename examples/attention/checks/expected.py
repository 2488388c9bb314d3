"""What modules with known weights compute, for several check files: by torch's own functions, on plain tensors.

It goes to students with the checks, so it holds no function that answers an exercise; `reference` does.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.testkit import recipes

Weights = Mapping[str, Tensor]


def attention(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Output and weights, if every query sees a key. With rows of the identity as values the output is the weights."""
    rows = torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-1], k.shape[-2])
    output, weights = (F.scaled_dot_product_attention(q, k, values, attn_mask=seen) for values in (v, rows))
    return output, weights


def not_later(t: int) -> Tensor:
    """True where column j is not after row i."""
    return torch.tensor([[j <= i for j in range(t)] for i in range(t)], dtype=torch.bool).reshape(t, t)


def cut(x: Tensor, heads: int) -> Tensor:
    """``(b, t, d)`` to ``(b, heads, t, d / heads)``."""
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def linear(x: Tensor, weights: Weights, name: str) -> Tensor:
    """A layer by its name."""
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def self_attention(x: Tensor, weights: Weights, heads: int, prefix: str = "") -> Tensor:
    """Causal self-attention with heads."""
    q, k, v = (cut(linear(x, weights, f"{prefix}{name}"), heads) for name in ("query", "key", "value"))
    found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return linear(torch.cat(list(found.unbind(dim=1)), dim=-1), weights, f"{prefix}out")


def layer_norm(x: Tensor, weights: Weights, prefix: str = "", eps: float = 1e-5) -> Tensor:
    """Layer normalization over the last dim."""
    return F.layer_norm(x, x.shape[-1:], weights[f"{prefix}weight"], weights[f"{prefix}bias"], eps)


def feed_forward(x: Tensor, weights: Weights, prefix: str = "") -> Tensor:
    """The network of each position."""
    wide = F.gelu(linear(x, weights, f"{prefix}up"), approximate="tanh")
    return linear(wide, weights, f"{prefix}down")


def block(x: Tensor, weights: Weights, heads: int, prefix: str = "") -> Tensor:
    """A block with the normalization first."""
    x = x + self_attention(layer_norm(x, weights, f"{prefix}norm1."), weights, heads, f"{prefix}attn.")
    return x + feed_forward(layer_norm(x, weights, f"{prefix}norm2."), weights, f"{prefix}ff.")


def gpt(ids: Tensor, weights: Weights, heads: int, layers: int) -> Tensor:
    """Logits of all places."""
    x = F.embedding(ids, weights["tokens.weight"]) + weights["positions.weight"][: ids.shape[1]]
    for layer in range(layers):
        x = block(x, weights, heads, f"blocks.{layer}.")
    return F.linear(layer_norm(x, weights, "norm."), weights["tokens.weight"])


# ---------------------------------------------------------------- weights, by the names of the docstrings

Shapes = dict[str, tuple[int, ...]]


def linear_shapes(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def attention_shapes(d: int, prefix: str = "") -> Shapes:
    return {
        key: shape
        for name in ("query", "key", "value", "out")
        for key, shape in linear_shapes(f"{prefix}{name}", d, d).items()
    }


def feed_forward_shapes(d: int, prefix: str = "") -> Shapes:
    return linear_shapes(f"{prefix}up", d, 4 * d) | linear_shapes(f"{prefix}down", 4 * d, d)


def block_shapes(d: int, prefix: str = "") -> Shapes:
    norms = {f"{prefix}{name}.{part}": (d,) for name in ("norm1", "norm2") for part in ("weight", "bias")}
    return norms | attention_shapes(d, f"{prefix}attn.") | feed_forward_shapes(d, f"{prefix}ff.")


def gpt_shapes(vocab: int, context: int, d: int, layers: int) -> Shapes:
    shapes: Shapes = {"tokens.weight": (vocab, d), "positions.weight": (context, d)}
    for layer in range(layers):
        shapes |= block_shapes(d, f"blocks.{layer}.")
    return shapes | {"norm.weight": (d,), "norm.bias": (d,)}


def drawn(shapes: Shapes, seed: int) -> dict[str, Tensor]:
    """Weights of these shapes; no two numbers are alike, and none is what a module begins with."""
    return {name: recipes.normal(shape, seed + place) * 0.7 for place, (name, shape) in enumerate(shapes.items())}
