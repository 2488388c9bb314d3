from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class _Norm(nn.Module):
    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + self.eps)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return torch.mul(_Norm(eps)(x), weight).add(bias)


def embed(ids: Tensor, table: Tensor) -> Tensor:
    """A product with one-hot rows."""
    return F.one_hot(ids, len(table)).to(table.dtype) @ table


def dropout(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    if not 0.0 <= p < 1.0:
        raise ValueError(f"dropout probability has to be in [0, 1), but got {p}")
    if training and p > 0.0:
        dropped = torch.rand(x.numel(), generator=generator, dtype=torch.float64).reshape(x.shape) < p
        return x.masked_fill(dropped, 0).div(1 - p)
    return x


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0) -> Tensor:
    """One place of the window after the other, each for all images, channels and outputs."""
    x = F.pad(x, (padding, padding, padding, padding))
    kh, kw = weight.shape[2:]
    rows, columns = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    found = torch.zeros(len(x), len(weight), rows, columns, dtype=x.dtype)
    for r in range(kh):
        for s in range(kw):
            part = x[:, :, r : r + rows * stride : stride, s : s + columns * stride : stride]
            found = found + torch.einsum("nchw,oc->nohw", part[:, :, :rows, :columns], weight[:, :, r, s])
    if bias is not None:
        found = found + bias.reshape(1, -1, 1, 1)
    return found


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)).div(q.shape[-1] ** 0.5)
    if mask is None:
        return F.softmax(scores, dim=-1).matmul(v)
    nothing = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~(mask | nothing), float("-inf"))
    return F.softmax(scores, dim=-1).masked_fill(nothing, 0.0).matmul(v)


class Adam(torch.optim.Optimizer):
    """A proper optimizer of torch, with a step of its own."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                state["m"].lerp_(p.grad, 1 - first)
                state["v"].lerp_(p.grad.square(), 1 - second)
                m, v = (state[one] / (1 - beta ** state["t"]) for one, beta in (("m", first), ("v", second)))
                p.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))
