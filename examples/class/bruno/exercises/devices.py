from time import perf_counter

import torch
from torch import nn
from torch.utils.data import DataLoader


def cpu():
    return torch.zeros(0, device="cpu").device


def gpu(i=0):
    return torch.device(type="cuda", index=i)


def num_gpus():
    n = 0
    if torch.cuda.is_available():
        n = torch.cuda.device_count()
    return n


def try_gpu(i=0):
    gpus = [gpu(k) for k in range(num_gpus())]
    return gpus[i] if i < len(gpus) else cpu()


def try_all_gpus():
    if num_gpus() == 0:
        return [cpu()]
    gpus = []
    for i in range(num_gpus()):
        gpus.append(gpu(i))
    return gpus


def pick_device():
    name = "cpu"
    if torch.backends.mps.is_available():
        name = "mps"
    if torch.cuda.is_available():
        name = "cuda"
    return torch.device(name)


def to_device(batch, device, non_blocking=False):
    def move(x):
        return to_device(x, device, non_blocking)

    if torch.is_tensor(batch):
        return batch.to(device=device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return dict(zip(batch.keys(), map(move, batch.values())))
    if isinstance(batch, list):
        return list(map(move, batch))
    if isinstance(batch, tuple):
        moved = tuple(map(move, batch))
        return moved if type(batch) is tuple else type(batch)(*moved)
    return batch


def add_across(x, y):
    return torch.add(x, y.to(x.device))


class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        rows = torch.arange(size)
        self.register_buffer("visible", rows[:, None] >= rows[None, :])

    def forward(self, scores):
        t = scores.shape[-1]
        hidden = torch.full_like(scores, float("-inf"))
        return torch.where(self.visible[:t, :t], scores * t**-0.5, hidden)


def prepare(model, device, lr):
    model.to(device)
    params = list(model.parameters())
    return model, torch.optim.SGD(params, lr=lr)


def train_on(model, loader, device, lr):
    model.to(device)
    ce = nn.CrossEntropyLoss()
    all_losses = torch.empty(0, device=device)
    for batch in loader:
        x, y = to_device(batch, device)
        model.zero_grad(set_to_none=True)
        loss = ce(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.sub_(p.grad, alpha=lr)
        all_losses = torch.cat([all_losses, loss.detach().reshape(1)])
    return all_losses.tolist()


class DeviceTrainer:
    def __init__(self, device):
        self.device = torch.device(device)

    def prepare_model(self, model):
        for module in model.children():
            module.to(self.device)
        return model.to(self.device)

    def prepare_batch(self, batch):
        return to_device(batch, self.device, non_blocking=True)

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        sgd = torch.optim.SGD(model.parameters(), lr=lr)
        ce = nn.CrossEntropyLoss()
        losses = []
        for _ in range(epochs):
            for x, y in map(self.prepare_batch, loader):
                loss = ce(model(x), y)
                sgd.zero_grad()
                loss.backward()
                sgd.step()
                losses.append(loss.detach())
        return [float(loss) for loss in losses]


def loader_for(dataset, batch_size, device):
    options = {"batch_size": batch_size}
    if "cuda" in str(device):
        options["pin_memory"] = True
    return DataLoader(dataset, **options)


def time_matmul(n, device, repeats=3):
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda _: None
    a = torch.ones(n, n, device=device)
    torch.matmul(a, a)
    times = []
    for _ in range(repeats):
        wait(device)
        start = perf_counter()
        torch.matmul(a, a)
        wait(device)
        times.append(perf_counter() - start)
    return sorted(times)[0]
