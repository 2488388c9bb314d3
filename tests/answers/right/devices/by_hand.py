import time
import timeit
import torch
from collections.abc import Mapping
from time import perf_counter_ns
from torch import nn
from torch.cuda import device_count
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

def cpu():
    return torch.device(type="cpu")

def gpu(i=0):
    return torch.device(f"cuda:{i}")

def num_gpus():
    n = 0
    while torch.cuda.is_available() and n < device_count():
        n += 1
    return n

def try_gpu(i=0):
    return gpu(i) if num_gpus() >= i + 1 else cpu()

def try_all_gpus():
    devices = []
    for i in range(torch.cuda.device_count()):
        devices.append(torch.device("cuda:" + str(i)))
    if not devices:
        devices.append(torch.device("cpu"))
    return devices

def pick_device():
    if device_count():
        return torch.device("cuda:0")
    if torch.backends.mps.is_available():
        return torch.device("mps:0")
    return cpu()

def to_device(batch, device, non_blocking=False):
    match batch:
        case torch.Tensor():
            return batch if batch.device == device else batch.to(device=device, non_blocking=non_blocking)
        case dict():
            return dict(zip(batch, (to_device(v, device, non_blocking) for v in batch.values())))
        case tuple() if hasattr(batch, "_make"):
            return batch._make(to_device(v, device, non_blocking) for v in batch)
        case tuple():
            return tuple(to_device(v, device, non_blocking) for v in batch)
        case list():
            return [to_device(v, device, non_blocking) for v in batch]
    return batch

def add_across(x, y):
    return torch.add(y.to(x.device), x)

class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("bias", torch.full((1, 1, size, size), float("-inf")).triu(1))

    def forward(self, scores):
        t = scores.size(-1)
        return scores * t ** -0.5 + self.bias[0, 0, :t, :t]

def prepare(model, device, lr):
    import copy
    model = copy.deepcopy(model).to(device)
    for p in model.parameters():
        p.grad = None
    return model, torch.optim.SGD([{"params": [p]} for p in model.parameters()], lr)

def train_on(model, loader, device, lr):
    model.to(device)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss().to(device)
    losses = torch.zeros(0, device=device)
    for x, y in loader:
        opt.zero_grad(set_to_none=False)
        loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
        loss.backward()
        opt.step()
        with torch.no_grad():
            losses = torch.cat([losses, loss.reshape(1)])
    return losses.cpu().tolist()

class DeviceTrainer:
    def __init__(self, device):
        self.where = device

    def prepare_model(self, model):
        model.to(self.where)
        return model

    def prepare_batch(self, batch):
        return [part.to(self.where) for part in batch]

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        losses = []
        for epoch in range(epochs):
            for x, y in map(self.prepare_batch, loader):
                model.zero_grad()
                loss = nn.functional.nll_loss(model(x).log_softmax(1), y)
                loss.backward()
                with torch.no_grad():
                    for p in model.parameters():
                        if p.grad is not None:
                            p -= lr * p.grad
                losses.append(loss.item())
        return losses

def loader_for(dataset, batch_size, device):
    sampler = BatchSampler(RandomSampler(dataset), batch_size, drop_last=False)
    return DataLoader(dataset, batch_sampler=sampler, pin_memory=str(device).startswith("cuda"))

def time_matmul(n, device, repeats=3):
    x = torch.eye(n, device=device)
    for _ in range(2):
        torch.mm(x, x)
    best = float("inf")
    for _ in range(repeats):
        if x.is_cuda:
            torch.cuda.synchronize(x.device)
        start = perf_counter_ns()
        torch.mm(x, x)
        if x.is_cuda:
            torch.cuda.synchronize(x.device)
        best = min(best, (perf_counter_ns() - start) / 1e9)
    return best
