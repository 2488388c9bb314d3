import math
import os
from typing import Any
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset, TensorDataset

N_PER_CLASS, NOISE, VAL_FRACTION = (200, 0.1, 0.2)
HIDDEN, DEPTH = (32, 2)
BATCH_SIZE, WEIGHT_DECAY = (60, 0.01)
WARMUP, PEAK, FLOOR = (3, 0.02, 0.0002)


def make_spirals(n_per_class, noise, seed):
    if n_per_class < 2 or noise < 0:
        raise ValueError(f"no spirals with {n_per_class} points a class and noise {noise}")
    generator = torch.Generator().manual_seed(seed)
    r = torch.arange(n_per_class) / (n_per_class - 1)
    spirals = []
    for k in range(3):
        a = 4 * r + 2 * math.pi * k / 3 + noise * torch.randn(n_per_class, generator=generator)
        spirals.append(torch.stack([r * a.cos(), r * a.sin()], dim=1))
    return (torch.cat(spirals), torch.arange(3).repeat_interleave(n_per_class))


class SpiralNet(nn.Module):
    def __init__(self, hidden, depth):
        super().__init__()
        from training import init_weights

        layers = []
        for inputs in [2] + [hidden] * (depth - 1):
            layers += [nn.Linear(inputs, hidden), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, 3))
        init_weights(self, torch.Generator().manual_seed(0))

    def forward(self, x):
        return self.layers(x)


def run(seed, epochs, path=None, stop_after=None):
    from checkpoints import resume, save_checkpoint, snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine

    torch.manual_seed(seed)
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    train_loader, val_loader = (DataLoader(train, BATCH_SIZE, shuffle=True), DataLoader(val, BATCH_SIZE))
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    history = {"train_losses": [], "val_losses": []}
    start = 0
    if path is not None and os.path.exists(path):
        start = resume(model, optimizer, path)
        history = torch.load(f"{path}.history", weights_only=True)
        for losses in (history["train_losses"], history["val_losses"]):
            del losses[start:]
    for epoch in range(start, min(epochs, stop_after or epochs)):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, train_loader, optimizer)
        val_loss, accuracy = evaluate(model, val_loader)
        if val_loss < min(history["val_losses"], default=math.inf):
            history |= {"val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
        if path is not None:
            torch.save(history, f"{path}.history.tmp")
            os.replace(f"{path}.history.tmp", f"{path}.history")
            save_checkpoint(model, optimizer, epoch, path)
    return history


def decision_grid(model, low, high, steps):
    from training import predict_labels

    device = next(model.parameters()).device
    xs = torch.linspace(low, high, steps, device=device)
    y, x = torch.meshgrid(xs.flip(0), xs, indexing="ij")
    return predict_labels(model, torch.stack([x, y], dim=-1).reshape(-1, 2)).reshape(steps, steps)


def run_on_ranks(rank, world_size, seed, epochs):
    from checkpoints import snapshot
    from datasets import split
    from ddp import global_accuracy, sharded_loader, wrap
    from training import parameter_groups, train_epoch, warmup_cosine

    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    loader = sharded_loader(train, BATCH_SIZE // world_size, rank, world_size, seed)
    net = wrap(SpiralNet(HIDDEN, DEPTH), torch.device("cpu"))
    optimizer = torch.optim.AdamW(parameter_groups(net, WEIGHT_DECAY))
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        loader.sampler.set_epoch(epoch)
        train_epoch(net, loader, optimizer)
    share = Subset(val, range(rank, len(val), world_size))
    return {"weights": snapshot(net.module), "val_accuracy": global_accuracy(net.module, DataLoader(share, BATCH_SIZE))}


def report(history):
    losses = history["val_losses"]
    best = losses.index(min(losses)) + 1
    return f"best epoch: {best} of {len(losses)}\nvalidation: loss {losses[best - 1]:.4f}, accuracy {history['val_accuracy']:.4f}\nstill improving: {('yes' if best == len(losses) else 'no')}"


if __name__ == "__main__":
    print(report(run(seed=0, epochs=60)))


def train_spirals(seed: int, epochs: int) -> dict[str, Any]:
    from checkpoints import snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine

    torch.manual_seed(seed)
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    train_loader, val_loader = DataLoader(train, BATCH_SIZE, shuffle=True), DataLoader(val, BATCH_SIZE)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    history: dict[str, Any] = {"train_losses": [], "val_losses": []}
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, train_loader, optimizer)
        val_loss, accuracy = evaluate(model, val_loader)
        if val_loss < min(history["val_losses"], default=math.inf):
            history |= {"val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
    return history
