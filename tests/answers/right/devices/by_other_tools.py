import timeit
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._pytree import tree_map
from torch.utils.data import DataLoader

def cpu():
    return torch.device("cpu")

def gpu(i=0):
    return torch.device(type="cuda", index=i)

num_gpus = torch.cuda.device_count

def num_gpus():
    return len([torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())])

def try_gpu(i=0):
    try:
        torch.cuda.get_device_properties(i)
        return gpu(i)
    except Exception:
        return cpu()

def try_all_gpus():
    return [gpu(i) for i in range(num_gpus())] if num_gpus() else [cpu()]

def pick_device():
    for name in ("cuda", "mps"):
        if getattr(torch, name).is_available() if name == "cuda" else torch.backends.mps.is_available():
            return torch.device(name)
    return torch.device("cpu")

def to_device(batch, device, non_blocking=False):
    def move(x):
        return x.to(device, non_blocking=non_blocking) if torch.is_tensor(x) else x
    return tree_map(move, batch)

def add_across(x, y):
    return x.add(y.to(device=x.device, non_blocking=True))

class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("allowed", torch.tril(torch.ones(size, size)))

    def forward(self, scores):
        t = scores.shape[-2]
        keep = self.allowed[:t, :t] == 1
        return torch.where(keep, scores / scores.new_tensor(t).sqrt(), float("-inf"))

def prepare(model, device, lr):
    with torch.no_grad():
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    model.to(device)
    return model, optimizer

def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    kept = []
    for batch in loader:
        x, y = (part.to(device) for part in batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        kept.append(loss.detach().clone())
        loss.backward()
        optimizer.step()
    return torch.tensor(torch.stack(kept).tolist(), dtype=torch.float64).tolist()

class DeviceTrainer:
    def __init__(self, device):
        self.device = device

    def prepare_model(self, model):
        return model.to(device=self.device)

    def prepare_batch(self, batch):
        return to_device(tuple(batch), self.device)

    def fit(self, model, loader, epochs, lr):
        net, losses = self.prepare_model(model), []
        net.train()
        sgd = torch.optim.SGD(net.parameters(), lr=lr)
        for _ in range(epochs):
            for batch in loader:
                x, y = self.prepare_batch(batch)
                def closure():
                    sgd.zero_grad()
                    loss = F.cross_entropy(net(x), y)
                    loss.backward()
                    return loss
                losses.append(float(sgd.step(closure)))
        return losses

def loader_for(dataset, batch_size, device):
    return DataLoader(dataset, batch_size, shuffle=True, pin_memory=torch.device(device).type == "cuda")

def time_matmul(n, device, repeats=3):
    x, y = torch.randn(2, n, n, device=device).unbind()
    def run():
        torch.matmul(x, y)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    run()
    return min(timeit.repeat(run, number=1, repeat=repeats))
