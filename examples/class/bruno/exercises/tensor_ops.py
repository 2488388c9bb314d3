import torch
from torch import einsum


def make_tensor(values):
    return torch.FloatTensor(values) if isinstance(values, list) else torch.tensor(values, dtype=torch.float32)


def describe(x):
    shape = tuple(int(size) for size in x.size())
    return len(shape), shape, x.dtype


def as_float32(x):
    if x.dtype == torch.float32:
        return x
    return x.type(torch.float32)


def flatten_rows(x):
    rows = [row.flatten() for row in x]
    if rows:
        return torch.stack(rows)
    width = 1
    for size in x.shape[1:]:
        width *= size
    return x.new_empty((0, width))


def swap_last_axes(x):
    return einsum("...ij->...ji", x)


def gram(x):
    return einsum("id,jd->ij", x, x)


def standardize(x, eps=1e-5):
    n = x.shape[0]
    centered = x - einsum("nd->d", x) / n
    variance = einsum("nd,nd->d", centered, centered) / (n - 1)
    return centered / (variance.sqrt() + eps)


def pairwise_sq_dists(a, b):
    difference = a.unsqueeze(1) - b.unsqueeze(0)
    return einsum("nmd,nmd->nm", difference, difference)


def softmax(x, dim):
    slices = []
    for scores in x.movedim(dim, -1).reshape(-1, x.shape[dim]):
        weights = torch.exp(scores - scores.max())
        slices.append(weights / weights.sum())
    return torch.stack(slices).reshape(x.movedim(dim, -1).shape).movedim(-1, dim)


def accuracy(logits, labels):
    right = 0
    for scores, label in zip(logits.tolist(), labels.tolist()):
        right += scores.index(max(scores)) == label
    return right / max(len(labels), 1)


def true_class_scores(scores, labels):
    rows = torch.zeros_like(scores).scatter(1, labels[:, None], 1)
    return einsum("nc,nc->n", scores, rows)


def masked_mean(x, mask):
    keep = mask.to(x.dtype)
    counts = keep.sum(dim=1, keepdim=True)
    return einsum("ntd,nt->nd", x, keep / torch.where(counts == 0, torch.ones_like(counts), counts))


def outer_sum(a, b):
    column, row = torch.broadcast_tensors(a.unsqueeze(-1), b.unsqueeze(-2))
    return torch.add(column, row)


def one_hot(labels, num_classes):
    for label in labels.flatten().tolist():
        if not 0 <= label < num_classes:
            raise ValueError(f"{label} is no class")
    return torch.zeros(*labels.shape, num_classes).scatter_(-1, labels[..., None], 1.0)
