"""Right answers to datasets and training that are written in other ways than the solution's: all must pass.

Where the contract is silent, no check may decide. Never put a wrong answer here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.grading.protocol import Fault, WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission

PATIENCE = 240.0

DATASETS = {
    "by hand": """
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, random_split

class ToyDataset(Dataset):
    def __init__(self, features, labels):
        if features.shape[0] != labels.shape[0]:
            raise ValueError("lengths")
        self.rows = [[x, y] for x, y in zip(features, labels)]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.rows[index]

class Shuffled(Sampler):
    def __init__(self, n, seed):
        self.n, self.seed, self.epoch = n, seed, 0
    def __len__(self):
        return self.n
    def __iter__(self):
        self.epoch += 1
        g = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        return iter(torch.randperm(self.n, generator=g).tolist())

def make_loaders(train_ds, test_ds, batch_size, seed):
    sampler = BatchSampler(Shuffled(len(train_ds), seed), batch_size, True)
    train = DataLoader(train_ds, batch_sampler=sampler, generator=torch.Generator())
    return [train, DataLoader(test_ds, batch_size=batch_size, shuffle=False, drop_last=False)]

def num_batches(n, batch_size, drop_last):
    import math
    if not (n >= 0 and batch_size > 0):
        raise ValueError
    return math.floor(n / batch_size) if drop_last else math.ceil(n / batch_size)

def split(dataset, val_fraction, seed):
    if val_fraction < 0 or val_fraction > 1:
        raise ValueError("fraction")
    n_val = int(round(len(dataset) * val_fraction))
    return random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(seed))

def check_labels(labels, num_classes):
    if labels.dtype in (torch.float16, torch.float32, torch.float64, torch.bfloat16):
        raise ValueError("float labels")
    for i, label in enumerate(labels):
        if label < 0 or label >= num_classes:
            raise ValueError(f"labels[{i}] = {label}")
    return True

def pad_collate(batch):
    width = max([len(s) for s, _ in batch])
    padded = torch.stack([torch.cat([s, torch.zeros(width - len(s), dtype=s.dtype)]) for s, _ in batch])
    mask = torch.tensor([[i < len(s) for i in range(width)] for s, _ in batch], dtype=torch.bool)
    return [padded, mask, torch.tensor([int(y) for _, y in batch])]

class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.inputs, self.targets = [], []
        for s in range(0, len(tokens) - context, stride):
            self.inputs.append(tokens[s : s + context].clone())
            self.targets.append(tokens[s + 1 : s + context + 1].clone())
    def __len__(self):
        return len(self.inputs)
    def __getitem__(self, index):
        return [self.inputs[index], self.targets[index]]

def suggest_num_workers(cpu_count, gpu_count):
    if min(cpu_count, gpu_count) < 0:
        raise ValueError
    try:
        return cpu_count // gpu_count
    except ZeroDivisionError:
        return 0
""",
    "by other tools": """
import random

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset

class ToyDataset(Dataset):
    def __init__(self, features, labels):
        super().__init__()
        if len(features) != len(labels):
            raise ValueError("lengths")
        self.features, self.labels = features.clone(), labels.tolist()
    def __len__(self):
        return self.features.size(0)
    def __getitem__(self, i):
        if i >= len(self) or i < -len(self):
            raise IndexError(i)
        return self.features[i], self.labels[i]

def make_loaders(train_ds, test_ds, batch_size, seed):
    g = torch.Generator()
    g.manual_seed(seed)
    train = DataLoader(train_ds, batch_size, sampler=RandomSampler(train_ds, generator=g), drop_last=True, generator=g)
    return train, DataLoader(test_ds, batch_size=batch_size, generator=g)

def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size <= 0:
        raise ValueError("sizes")
    return len(range(0, n if not drop_last else n - batch_size + 1, batch_size))

class Part:
    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices
    def __len__(self):
        return len(self.indices)
    def __getitem__(self, i):
        return self.dataset[self.indices[i]]

def split(dataset, val_fraction, seed):
    if not 0.0 <= val_fraction <= 1.0:
        raise ValueError("fraction")
    indices = list(range(len(dataset)))
    random.Random(seed).shuffle(indices)
    cut = len(indices) - round(len(indices) * val_fraction)
    return [Part(dataset, indices[:cut]), [dataset[i] for i in sorted(indices[cut:])]]

def check_labels(labels, num_classes):
    if labels.is_floating_point():
        raise ValueError(labels.dtype)
    bad = [v for v in labels.tolist() if v not in range(num_classes)]
    if bad:
        raise ValueError("not classes: %s" % bad)

def pad_collate(batch):
    lengths = [s.numel() for s, _ in batch]
    padded = batch[0][0].new_zeros(len(batch), max(lengths))
    mask = torch.zeros_like(padded).bool()
    for i, (s, _) in enumerate(batch):
        padded[i, : lengths[i]] = s
        mask[i, : lengths[i]] = True
    return padded, mask, torch.as_tensor([y for _, y in batch])

class WindowDataset(TensorDataset):
    def __init__(self, tokens, context, stride):
        if len(tokens) > context:
            windows = tokens.unfold(0, context + 1, stride)
        else:
            windows = tokens.new_zeros(0, context + 1)
        super().__init__(windows[:, :-1], windows[:, 1:])

def suggest_num_workers(cpu_count, gpu_count):
    for number in (cpu_count, gpu_count):
        if number < 0:
            raise ValueError(number)
    return 0 if gpu_count == 0 else int(cpu_count / gpu_count)
""",
}

TRAINING = {
    "by hand": """
import copy

import torch
from torch import nn

def ce(logits, labels):
    return -logits.log_softmax(1)[torch.arange(len(labels)), labels].sum() / len(labels)

def train_step(model, features, labels, optimizer):
    for p in model.parameters():
        p.grad = None
    loss = ce(model(features), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)

def train_epoch(model, loader, optimizer):
    for module in model.modules():
        module.training = True
    losses = []
    for x, y in loader:
        losses += [train_step(model, x, y, optimizer)] * len(x)
    return sum(losses) / len(losses)

def fit(model, loader, epochs, lr):
    model.train()
    losses = []
    for epoch in range(epochs):
        for x, y in loader:
            model.zero_grad()
            loss = ce(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= lr * p.grad
            losses.append(loss.detach().item())
    return losses

def evaluate(model, loader):
    flags = {name: m.training for name, m in model.named_modules()}
    model.eval()
    with torch.inference_mode():
        pairs = [(model(x), y) for x, y in loader]
    for name, m in model.named_modules():
        m.training = flags[name]
    logits, y = torch.cat([a for a, _ in pairs]), torch.cat([b for _, b in pairs])
    return ce(logits, y).item(), (logits.argmax(-1) == y).double().mean().item()

def predict_proba(model, x):
    twin = copy.deepcopy(model).eval()
    with torch.inference_mode():
        logits = twin(x)
        e = (logits - logits.amax(1, keepdim=True)).exp()
        return e / e.sum(1, keepdim=True)

def predict_labels(model, x):
    return predict_proba(model, x).max(1).indices

def fit_best(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr)
    history = []
    for epoch in range(epochs):
        train_epoch(model, train_loader, optimizer)
        history.append((evaluate(model, val_loader)[0], {k: v.clone() for k, v in model.state_dict().items()}))
    best = min(range(epochs), key=lambda i: history[i][0])
    model.load_state_dict(history[best][1])
    model.eval()
    return history[best][0]

def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = sum((g**2).sum() for g in grads).sqrt().item()
    if norm > max_norm:
        for g in grads:
            g *= max_norm / norm
    optimizer.step()
    optimizer.zero_grad()
    return norm
""",
    "by other tools": """
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
    for x, y in DataLoader(loader.dataset, loader.batch_size, drop_last=loader.drop_last):
        out = model(x)
        loss_sum += criterion(out, y).item() * len(y)
        correct += int((out.max(dim=1)[1] == y).sum())
        n += len(y)
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
""",
}


@pytest.fixture(scope="module", params=["0", "41"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    worker = Worker()
    worker.configure(WorkerOptions(exercises=_exercises(), seed=int(request.param)))
    yield worker
    worker.end()


def _exercises() -> tuple[str, ...]:
    from grader.course import Course

    topics = [topic for topic in Course.load(None).topics if topic.name in ("datasets", "training")]
    return tuple(exercise.full_name for topic in topics for exercise in topic.exercises)


@pytest.mark.parametrize("way", ["by hand", "by other tools"])
def test_other_right_answers_pass(worker: Worker, way: str) -> None:
    files = {"datasets.py": DATASETS[way].encode(), "training.py": TRAINING[way].encode()}
    result = worker.grade(Submission("student", files), PATIENCE)
    assert not isinstance(result, Fault), result
    wrong = {
        f"{exercise.name}, {check.name}": check.message
        for exercise in result.exercises
        for check in exercise.checks
        if check.verdict != "passed"
    }
    assert wrong == {}
    assert result.score == result.max == 33.0
