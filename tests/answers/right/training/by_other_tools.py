import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

criterion = nn.CrossEntropyLoss()
no_grad = torch.no_grad()

def train_step(model, features, labels, optimizer):
    model.train()
    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = F.nll_loss(F.log_softmax(model(features), dim=-1), labels)
        loss.backward()
        return loss
    return optimizer.step(closure).item()

def train_epoch(model, loader, optimizer):
    model.train()
    total, seen = torch.zeros(()), 0
    for batch in loader:
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction="sum")
        (loss / y.shape[0]).backward()
        optimizer.step()
        total += loss.detach()
        seen += y.shape[0]
    return (total / seen).item()

def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [loss.item() for loss in losses]

@torch.no_grad()
def evaluate(model, loader):
    flags = [m.training for m in model.modules()]
    model.train(False)
    loss_sum = correct = n = 0
    try:
        for x, y in DataLoader(loader.dataset, loader.batch_size, drop_last=loader.drop_last):
            out = model(x)
            loss_sum += criterion(out, y).item() * len(y)
            correct += int((out.max(dim=1)[1] == y).sum())
            n += len(y)
    finally:
        for m, flag in zip(model.modules(), flags):
            m.train(flag) if not list(m.children()) else setattr(m, "training", flag)
    return loss_sum / n, correct / n

def _predict(model, x, f):
    flags = [(m, m.training) for m in model.modules()]
    try:
        with torch.set_grad_enabled(False):
            return f(model.eval()(x))
    finally:
        for m, flag in flags:
            m.training = flag

def predict_proba(model, x):
    return _predict(model, x, nn.Softmax(dim=-1))

def predict_labels(model, x):
    return _predict(model, x, lambda logits: torch.topk(logits, 1).indices.squeeze(1))

def fit_best(model, train_loader, val_loader, epochs, lr):
    best = None
    for epoch in range(epochs):
        train_epoch(model, train_loader, torch.optim.SGD(model.parameters(), lr=lr, momentum=0))
        loss, _ = evaluate(model, val_loader)
        if best is None or loss < best[0]:
            best = loss, copy.deepcopy(model)
    with torch.no_grad():
        for mine, its in zip([*model.parameters(), *model.buffers()], [*best[1].parameters(), *best[1].buffers()]):
            mine.copy_(its)
    return best[0]

def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    total = nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=2.0, error_if_nonfinite=True)
    optimizer.step()
    return float(total)

TRAIN_FEATURES = [[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]]
TRAIN_LABELS = [0, 0, 0, 1, 1]
TEST_FEATURES = [[-0.8, 2.8], [2.6, -1.6]]
TEST_LABELS = [0, 1]

from datasets import ToyDataset
from parameters import NeuralNetwork

class Experiment:
    def __init__(self, seed):
        self.train = ToyDataset(torch.Tensor(TRAIN_FEATURES), torch.LongTensor(TRAIN_LABELS))
        self.test = ToyDataset(torch.Tensor(TEST_FEATURES), torch.LongTensor(TEST_LABELS))
        torch.manual_seed(seed)
        self.model = NeuralNetwork(2, 2)
    def accuracy(self, rows):
        return evaluate(self.model, DataLoader(rows, batch_size=1))[1]
    def run(self):
        losses = fit(self.model, DataLoader(dataset=self.train, batch_size=2, shuffle=True, drop_last=True), 3, 0.5)
        with torch.no_grad():
            probabilities = self.model(self.train.features).softmax(-1)
        return dict(
            losses=losses, train_accuracy=self.accuracy(self.train), test_accuracy=self.accuracy(self.test),
            probabilities=probabilities,
        )

def experiment(seed=123):
    return Experiment(seed).run()


def init_weights(model, generator):
    def visit(module):
        if isinstance(module, nn.Linear):
            torch.nn.init.uniform_(module.weight, -(6 / module.in_features) ** 0.5, (6 / module.in_features) ** 0.5, generator)
            if module.bias is not None:
                torch.nn.init.constant_(module.bias, 0.0)

    for module in model.modules():
        visit(module)


def parameter_groups(model, weight_decay):
    trainable = filter(lambda p: p.requires_grad, model.parameters())
    groups = ({"params": [], "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0})
    for p in trainable:
        groups[int(p.ndim < 2)]["params"].append(p)
    return list(groups)


def warmup_cosine(step, warmup, total, peak, floor=0.0):
    if warmup < 0 or total <= warmup:
        raise ValueError
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    parameter = nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.SGD([parameter], lr=peak)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, total - 1 - warmup), eta_min=floor)
    optimizer.step()
    for _ in range(min(step, total - 1) - warmup):
        scheduler.step()
    return scheduler.get_last_lr()[0]
