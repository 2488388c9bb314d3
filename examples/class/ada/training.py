import copy
import math
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn


@contextmanager
def evaluating(model):
    """Eval mode and no gradients, and every flag back afterwards."""
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for m, training in modes:
            m.training = training


def train_step(model, features, labels, optimizer):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, loader, optimizer):
    model.train()
    total, seen = 0.0, 0
    for features, labels in loader:
        total += len(labels) * train_step(model, features, labels, optimizer)
        seen += len(labels)
    return total / seen


def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    return [train_step(model, x, y, optimizer) for _ in range(epochs) for x, y in loader]


def evaluate(model, loader):
    loss = right = seen = 0
    with evaluating(model):
        for x, y in loader:
            logits = model(x)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            right += (logits.argmax(1) == y).sum().item()
            seen += len(y)
    return loss / seen, right / seen


def predict_proba(model, x):
    with evaluating(model):
        return model(x).softmax(dim=-1)


def predict_labels(model, x):
    with evaluating(model):
        return model(x).argmax(dim=-1)


def fit_best(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best = float("inf")
    for _ in range(epochs):
        train_epoch(model, train_loader, optimizer)
        loss, _ = evaluate(model, val_loader)
        if loss < best:
            best, weights = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)
    return best


def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()


TRAIN_FEATURES = [[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]]
TRAIN_LABELS = [0, 0, 0, 1, 1]
TEST_FEATURES = [[-0.8, 2.8], [2.6, -1.6]]
TEST_LABELS = [0, 1]


def experiment(seed=123):
    from torch.utils.data import DataLoader

    from datasets import ToyDataset
    from parameters import NeuralNetwork

    train = ToyDataset(torch.tensor(TRAIN_FEATURES), torch.tensor(TRAIN_LABELS))
    test = ToyDataset(torch.tensor(TEST_FEATURES), torch.tensor(TEST_LABELS))
    torch.manual_seed(seed)
    model = NeuralNetwork(2, 2)
    losses = fit(model, DataLoader(train, batch_size=2, shuffle=True, drop_last=True), 3, 0.5)
    return {
        "losses": losses,
        "train_accuracy": evaluate(model, DataLoader(train, batch_size=5))[1],
        "test_accuracy": evaluate(model, DataLoader(test, batch_size=5))[1],
        "probabilities": predict_proba(model, torch.tensor(TRAIN_FEATURES)),
    }


def init_weights(model, generator):
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def parameter_groups(model, weight_decay):
    params = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in params if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup, total, peak, floor=0.0):
    if warmup < 0 or total <= warmup:
        raise ValueError(f"{warmup=} {total=}")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - 1 - warmup))
    return floor + 0.5 * (peak - floor) * (1 + math.cos(math.pi * progress))
