import functools
import itertools
import math
import time
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, SequentialSampler

cpu = functools.partial(torch.device, "cpu")
gpu = lambda i=0: torch.device(f"cuda:{i}")
num_gpus = lambda: torch.cuda.device_count() if torch.cuda.is_available() else 0
try_gpu = lambda i=0: [*map(gpu, range(num_gpus())), *itertools.repeat(cpu(), i + 1)][i if i < num_gpus() else -1]
try_all_gpus = lambda: list(map(gpu, range(num_gpus()))) if num_gpus() > 0 else [cpu()]
pick_device = lambda: torch.device(
    next(name for name, there in [
        ("cuda", torch.cuda.is_available()), ("mps", torch.mps.device_count() > 0), ("cpu", True)] if there)
)

@functools.singledispatch
def move(batch, device, non_blocking):
    return batch

@move.register
def _(batch: torch.Tensor, device, non_blocking):
    return batch.to(device, non_blocking=non_blocking)

@move.register
def _(batch: dict, device, non_blocking):
    return {key: move(value, device, non_blocking) for key, value in batch.items()}

@move.register
def _(batch: list, device, non_blocking):
    return [move(value, device, non_blocking) for value in batch]

@move.register
def _(batch: tuple, device, non_blocking):
    values = [move(value, device, non_blocking) for value in batch]
    return batch._replace(**dict(zip(batch._fields, values))) if hasattr(batch, "_fields") else (*values,)

def to_device(batch, device, non_blocking=False):
    return move(batch, device, non_blocking)

def add_across(x, y):
    if y.device != x.device:
        y = y.to(x.device)
    return torch.add(x, y, alpha=1)

class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.mask = nn.Buffer(torch.zeros(size, size).masked_fill_(~torch.tril(torch.ones(size, size)).bool(), -torch.inf))

    def forward(self, scores):
        *_, t = scores.shape
        return torch.einsum("...ij,->...ij", scores, torch.rsqrt(scores.new_tensor(float(t)))) + self.mask[:t, :t]

def prepare(model, device, lr):
    for module in model.children():
        module.to(device)
    return model.to(device), torch.optim.SGD([{"params": list(model.parameters()), "lr": lr}], lr=1.0)

def train_on(model, loader, device, lr):
    model.to(device)
    with torch.no_grad():
        kept = torch.empty(0, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss = -logits.log_softmax(-1)[torch.arange(len(y), device=device), y].mean()
        params = [param for param in model.parameters() if param.requires_grad]
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for param, grad in zip(params, grads):
                param.sub_(grad, alpha=lr)
            kept = torch.cat([kept, loss[None]])
    return kept.tolist()

class DeviceTrainer:
    device = property(lambda self: self.__dict__["where"])

    def __init__(self, device):
        self.__dict__["where"] = device

    def prepare_model(self, model):
        return to_device(model.to(self.device), self.device)

    def prepare_batch(self, batch):
        return tuple(to_device(list(batch), self.device))

    def steps(self, model, optimizer, loader):
        for x, y in (self.prepare_batch(batch) for batch in loader):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model.forward(x) if False else model(x), y, reduction="sum") / len(y)
            loss.backward()
            optimizer.step()
            yield float(loss.detach().cpu())

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        optimizer = torch.optim.SGD(params=model.parameters(), lr=lr)
        return list(itertools.chain.from_iterable(self.steps(model, optimizer, loader) for _ in range(epochs)))

def loader_for(dataset, batch_size, device):
    options = dict(sampler=SequentialSampler(dataset), drop_last=False)
    return DataLoader(dataset, batch_size, pin_memory=device.type in {"cuda"}, **options)

def time_matmul(n, device, repeats=3):
    a = torch.randn((n, n), device=device)
    b = a.t().contiguous()
    out = a.mm(b)
    wait = functools.partial(torch.cuda.synchronize, device) if device.type == "cuda" else lambda: None
    best = math.inf
    for _ in range(repeats):
        wait()
        begin = time.monotonic()
        out = a.mm(b)
        wait()
        best = min(best, time.monotonic() - begin)
    del out
    return best
