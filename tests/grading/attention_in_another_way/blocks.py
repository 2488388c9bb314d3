"""Right answers of another kind: torch's own modules by inheritance, and functions that it has already."""

import torch
import torch.nn.functional as F
from torch import nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, d, eps=1e-5):
        super().__init__(d, eps=eps)


def gelu(x):
    return F.gelu(x, approximate="tanh")


class FeedForward(nn.Sequential):
    def __init__(self, d_model):
        super().__init__()
        self.add_module("up", nn.Linear(d_model, 4 * d_model))
        self.add_module("between", nn.GELU(approximate="tanh"))
        self.add_module("down", nn.Linear(4 * d_model, d_model))


class Block(nn.Module):
    def __init__(self, d_model, heads, dropout=0.0):
        super().__init__()
        import attention

        self.ff = FeedForward(d_model)
        self.attn = attention.CausalSelfAttention(d_model, heads, dropout)
        self.norm2 = LayerNorm(d_model)
        self.norm1 = LayerNorm(d_model)

    def forward(self, x):
        for norm, part in ((self.norm1, self.attn), (self.norm2, self.ff)):
            x = torch.add(x, part(norm(x)))
        return x
