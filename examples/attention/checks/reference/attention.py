"""A reference implementation of attention: an answer, so this folder is never handed out."""

import math

import torch
from torch import Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Output and weights, row by row; a query that sees nothing has zeros, and finite gradients."""
    scores = torch.einsum("...td,...sd->...ts", q, k) / math.sqrt(q.shape[-1])
    rows = []
    for row, visible in zip(scores, seen.expand(scores.shape), strict=True):
        full = torch.zeros_like(row)
        if visible.any():
            full = full.masked_scatter(visible, row[visible].softmax(dim=0))
        rows.append(full)
    weights = torch.stack(rows)
    return weights @ v, weights
