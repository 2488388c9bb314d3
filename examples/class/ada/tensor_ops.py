import math

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.ndim, tuple(x.shape), x.dtype


def as_float32(x):
    return x.float()


def flatten_rows(x):
    return x.reshape(len(x), math.prod(x.shape[1:]))


def swap_last_axes(x):
    return x.mT


def gram(x):
    return x @ x.T


def standardize(x, eps=1e-5):
    return (x - x.mean(0)) / (x.std(0) + eps)


def pairwise_sq_dists(a, b):
    return (a[:, None] - b).square().sum(-1)


def softmax(x, dim):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def accuracy(logits, labels):
    if not len(labels):
        return 0.0
    return (logits.argmax(1) == labels).double().mean().item()


def true_class_scores(scores, labels):
    return scores[torch.arange(len(labels)), labels]


def masked_mean(x, mask):
    weights = mask.to(x.dtype).unsqueeze(-1)
    return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


def outer_sum(a, b):
    return a[..., None] + b[..., None, :]


def one_hot(labels, num_classes):
    bad = (labels < 0) | (labels >= num_classes)
    if bad.any():
        raise ValueError(f"no such class: {labels[bad][0].item()}")
    return torch.eye(num_classes)[labels]
