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


def true_class_scores(scores, labels):
    return torch.einsum("nc,nc->n", scores, torch.eye(scores.shape[1], dtype=scores.dtype)[labels])


def masked_mean(x, mask):
    weights = mask.to(x.dtype)
    return torch.einsum("ntd,nt->nd", x, weights) / torch.einsum("nt->n", weights).clamp(min=1)[:, None]


def outer_sum(a, b):
    rows = b.unsqueeze(-2)
    return rows + a.unsqueeze(-1)


def one_hot(labels, num_classes):
    if labels.numel() and not (0 <= labels.min() and labels.max() < num_classes):
        wrong = next(label for label in labels.flatten().tolist() if not 0 <= label < num_classes)
        raise ValueError(f"label {wrong} of {num_classes}")
    found = torch.zeros(labels.shape + (num_classes,))
    found.view(-1, num_classes)[torch.arange(labels.numel()), labels.flatten()] = 1.0
    return found
