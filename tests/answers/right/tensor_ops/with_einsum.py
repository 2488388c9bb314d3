import torch
from torch import Tensor


def make_tensor(values):
    return torch.as_tensor(values, dtype=torch.float64).float()


def describe(x):
    return x.ndim, torch.Size(x.shape), x.dtype


def as_float32(x):
    return x.float()


def flatten_rows(x):
    return x.flatten(1) if x.ndim > 1 else x[:, None]


def swap_last_axes(x):
    return torch.einsum("...ij->...ji", x)


def gram(x):
    return torch.einsum("id,jd->ij", x, x)


def standardize(x, eps=0.00001):
    std, mean = torch.std_mean(x, 0, keepdim=True)
    return x.sub(mean).div(std.add(eps))


def pairwise_sq_dists(a, b):
    squares = torch.einsum("id,id->i", a, a)[:, None] + torch.einsum("jd,jd->j", b, b)
    return torch.relu(squares - 2 * torch.einsum("id,jd->ij", a, b))


def softmax(x: Tensor, dim: int) -> Tensor:
    return torch.exp(x - torch.logsumexp(x, dim, keepdim=True))


def accuracy(logits, labels):
    guesses = logits.topk(1, dim=-1).indices.squeeze(-1)
    return guesses.eq(labels).double().sum().item() / max(1, labels.numel())
