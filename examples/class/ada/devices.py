import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


def cpu():
    return torch.device("cpu")


def gpu(i=0):
    return torch.device(f"cuda:{i}")


def num_gpus():
    return torch.cuda.device_count()


def try_gpu(i=0):
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus():
    return [gpu(i) for i in range(num_gpus())] or [cpu()]


def pick_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def to_device(batch, device, non_blocking=False):
    match batch:
        case torch.Tensor():
            return batch.to(device, non_blocking=non_blocking)
        case dict():
            return {k: to_device(v, device, non_blocking) for k, v in batch.items()}
        case tuple() if hasattr(batch, "_fields"):
            return batch._make(to_device(v, device, non_blocking) for v in batch)
        case list() | tuple():
            return type(batch)(to_device(v, device, non_blocking) for v in batch)
    return batch


def add_across(x, y):
    return x + y.to(x.device)


class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mask", torch.triu(torch.ones(size, size), diagonal=1).bool())

    def forward(self, scores):
        t = scores.size(-1)
        return (scores / t**0.5).masked_fill(self.mask[:t, :t], float("-inf"))


def prepare(model, device, lr):
    model = model.to(device)
    return model, torch.optim.SGD(model.parameters(), lr=lr)


def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu().tolist()


class DeviceTrainer:
    def __init__(self, device):
        self.device = device

    def prepare_model(self, model):
        return model.to(self.device)

    def prepare_batch(self, batch):
        return to_device(batch, self.device)

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        losses = []
        for _ in range(epochs):
            for batch in loader:
                x, y = self.prepare_batch(batch)
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return losses


def loader_for(dataset, batch_size, device):
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, pin_memory=device.type == "cuda")


def time_matmul(n, device, repeats=3):
    a = torch.randn(n, n, device=device)
    b = torch.randn(n, n, device=device)
    best = float("inf")
    for i in range(repeats + 1):  # the first one warms up
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        start = time.perf_counter()
        a @ b
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if i:
            best = min(best, time.perf_counter() - start)
    return best
