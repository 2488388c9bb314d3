import json
import pathlib
from collections import OrderedDict
from copy import deepcopy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Sampler, TensorDataset

from checkpoints import load_weights, resume, save_checkpoint, save_weights, snapshot, strip_prefix
from datasets import split
from ddp import sharded_loader
from training import evaluate, init_weights, parameter_groups, train_epoch, warmup_cosine

N_PER_CLASS, NOISE, VAL_FRACTION = 200, 0.1, 0.2
HIDDEN, DEPTH = 32, 2
BATCH_SIZE, WEIGHT_DECAY = 60, 0.01
WARMUP, PEAK, FLOOR = 3, 0.02, 0.0002

def make_spirals(n_per_class, noise, seed):
    if not (n_per_class >= 2 and noise >= 0):
        raise ValueError((n_per_class, noise))
    generator = torch.Generator().manual_seed(seed)
    z = torch.stack([torch.randn(n_per_class, generator=generator) for _ in range(3)])
    r = torch.linspace(0, 1, n_per_class).expand(3, -1)
    points = torch.polar(r.contiguous(), 4 * r + torch.arange(3)[:, None] * (2 * torch.pi / 3) + noise * z)
    return torch.view_as_real(points).reshape(-1, 2), torch.arange(3 * n_per_class).div(n_per_class, rounding_mode="floor")

class SpiralNet(nn.Sequential):
    def __init__(self, hidden, depth):
        widths = [2] + [hidden] * depth
        parts = OrderedDict()
        for number, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            parts[f"linear{number}"] = nn.Linear(inputs, outputs)
            parts[f"bend{number}"] = nn.ReLU(inplace=True)
        parts["logits"] = nn.Linear(hidden, 3)
        super().__init__(parts)
        init_weights(self, torch.Generator().manual_seed(0))

class Orders(Sampler):
    """A new order in each epoch, which only the seed and the number of the epoch decide."""
    def __init__(self, count, seed):
        self.count, self.seed, self.epoch = count, seed, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        generator = torch.Generator().manual_seed(hash((self.seed, self.epoch)) % (1 << 60))
        return iter(torch.randperm(self.count, generator=generator).tolist())

def train_spirals(seed, epochs):
    # an iterator of epochs, and the best of them by max()
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    generator = torch.Generator().manual_seed(seed)
    loader = DataLoader(train, BATCH_SIZE, shuffle=True, generator=generator)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY), lr=PEAK)

    def done():
        for number in range(epochs):
            for group in optimizer.param_groups:
                group.update(lr=warmup_cosine(number, WARMUP, epochs, PEAK, FLOOR))
            lost = train_epoch(model, loader, optimizer)
            yield (lost, *evaluate(model, DataLoader(val, 50)), deepcopy(model.state_dict()))

    train_losses, val_losses, accuracies, weights = zip(*done())
    best = max(range(epochs), key=lambda number: -val_losses[number])
    return {
        "train_losses": list(train_losses), "val_losses": list(val_losses),
        "val_accuracy": accuracies[best], "weights": weights[best],
    }

def run(seed, epochs, path=None, stop_after=None):
    # a scheduler of torch; losses as JSON, the best weights by save_weights
    dataset = TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed))
    train, val = split(dataset, VAL_FRACTION, seed)
    order = Orders(len(train), seed)
    train_loader = DataLoader(train, batch_size=BATCH_SIZE, sampler=order)
    val_loader = DataLoader(val, batch_size=7)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY), lr=PEAK)
    start, best = 0, None
    history = {"train_losses": [], "val_losses": [], "accuracies": []}
    if path is not None and pathlib.Path(path).exists():
        start = resume(model, optimizer, path)
        history = json.loads(pathlib.Path(path + ".json").read_text())
        history = {name: values[:start] for name, values in history.items()}
        first_best = history["val_losses"].index(min(history["val_losses"]))
        best = snapshot(load_weights(SpiralNet(HIDDEN, DEPTH), f"{path}.best{first_best}", torch.device("cpu")))
    for group in optimizer.param_groups:
        group["initial_lr"] = PEAK
    scheduler = LambdaLR(optimizer, lambda e: warmup_cosine(e, WARMUP, epochs, PEAK, FLOOR) / PEAK, last_epoch=start - 1)
    for order.epoch in range(start, epochs):
        if stop_after is not None and order.epoch >= stop_after:
            break
        history["train_losses"].append(train_epoch(model, train_loader, optimizer))
        loss, accuracy = evaluate(model, val_loader)
        history["val_losses"].append(loss)
        history["accuracies"].append(accuracy)
        scheduler.step()
        if loss == min(history["val_losses"]):
            best = deepcopy(model.state_dict())
            if path is not None:
                save_weights(model, f"{path}.best{order.epoch}")
        if path is not None:
            other = pathlib.Path(path + ".json.new")
            other.write_text(json.dumps(history))
            other.replace(path + ".json")
            save_checkpoint(model, optimizer, order.epoch, path)
    accuracies = history.pop("accuracies")
    accuracy = accuracies[history["val_losses"].index(min(history["val_losses"]))]
    return {**history, "val_accuracy": accuracy, "weights": best}

def decision_grid(model, low, high, steps):
    net = deepcopy(model).eval().requires_grad_(False)
    where = next(net.parameters()).device
    ys = torch.linspace(high, low, steps, device=where)
    xs = torch.linspace(low, high, steps, device=where)
    points = torch.cartesian_prod(ys, xs)[:, [1, 0]]
    return net(points).max(dim=1).indices.unflatten(0, (steps, steps))

def run_on_ranks(rank, world_size, seed, epochs):
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    loader = sharded_loader(train, BATCH_SIZE // world_size, rank, world_size, seed)
    net = DistributedDataParallel(SpiralNet(HIDDEN, DEPTH))
    optimizer = torch.optim.AdamW(parameter_groups(net, WEIGHT_DECAY))
    schedule = LambdaLR(optimizer, lambda epoch: warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR) / 1e-3)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        train_epoch(net, loader, optimizer)
        schedule.step()
    own = [val[index] for index in range(len(val)) if index % world_size == rank]
    x, y = map(torch.stack, zip(*own))
    with torch.inference_mode():
        hits = int((net.module.eval()(x).argmax(dim=1) == y).sum())
    every = [None] * world_size
    dist.all_gather_object(every, (hits, len(own)))
    accuracy = sum(one for one, _ in every) / sum(count for _, count in every)
    return {"weights": strip_prefix(snapshot(net), "module."), "val_accuracy": accuracy}

TEXT = """best epoch: {best} of {count}
validation: loss {loss:.4f}, accuracy {accuracy:.4f}
still improving: {answer}"""

def report(history):
    losses = torch.tensor(history["val_losses"], dtype=torch.float64)
    best = int((losses == losses.min()).nonzero()[0])
    answer = {True: "yes", False: "no"}[best + 1 == len(losses)]
    loss, accuracy = float(losses[best]), history["val_accuracy"]
    return TEXT.format(best=best + 1, count=len(losses), loss=loss, accuracy=accuracy, answer=answer)
