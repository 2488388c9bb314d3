import math
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

N_PER_CLASS, NOISE, VAL_FRACTION = 200, 0.1, 0.2
HIDDEN, DEPTH = 32, 2
BATCH_SIZE, WEIGHT_DECAY = 60, 0.01
WARMUP, PEAK, FLOOR = 3, 0.02, 0.0002


def make_spirals(n_per_class, noise, seed):
    if n_per_class < 2:
        raise ValueError("too few points")
    if noise < 0:
        raise ValueError("negative noise")
    g = torch.Generator()
    g.manual_seed(seed)
    points, labels = [], []
    for k in range(3):
        z = torch.randn(n_per_class, generator=g).tolist()
        for i in range(n_per_class):
            r = i / (n_per_class - 1)
            angle = 4 * r + 2 * math.pi * k / 3 + noise * z[i]
            points.append([r * math.cos(angle), r * math.sin(angle)])
            labels.append(k)
    return torch.tensor(points), torch.tensor(labels)


class SpiralNet(nn.Module):
    def __init__(self, hidden, depth):
        super().__init__()
        import training

        self.hidden = nn.ModuleList()
        for number in range(depth):
            self.hidden.append(nn.Linear(hidden if number else 2, hidden))
        self.out = nn.Linear(hidden, 3)
        g = torch.Generator()
        g.manual_seed(0)
        training.init_weights(self, g)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.out(x)


def run(seed, epochs, path=None, stop_after=None):
    # each epoch is a file of its own; the order of an epoch follows from its number
    from checkpoints import resume, save_checkpoint
    from datasets import split
    from training import parameter_groups, train_step, warmup_cosine

    features, labels = make_spirals(N_PER_CLASS, NOISE, seed)
    train, val = split(range(len(labels)), VAL_FRACTION, seed)
    train, val = torch.tensor(list(train)), torch.tensor(list(val))
    net = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(net, WEIGHT_DECAY))
    start = resume(net, optimizer, path) if path and os.path.isfile(path) else 0
    records = [torch.load(f"{path}-{epoch}", weights_only=True) for epoch in range(start)]
    last = epochs if stop_after is None else min(stop_after, epochs)
    for epoch in range(start, last):
        lr = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = lr
        g = torch.Generator().manual_seed(1000 * seed + epoch)
        losses = 0.0
        for rows in train[torch.randperm(len(train), generator=g)].split(BATCH_SIZE):
            losses += len(rows) * train_step(net, features[rows], labels[rows], optimizer)
        with torch.no_grad():
            logits = net(features[val])
        record = {
            "train": losses / len(train),
            "val": F.cross_entropy(logits, labels[val]).item(),
            "accuracy": (logits.argmax(1) == labels[val]).double().mean().item(),
            "weights": {name: value.clone() for name, value in net.state_dict().items()},
        }
        records.append(record)
        if path:
            torch.save(record, f"{path}-part")
            os.replace(f"{path}-part", f"{path}-{epoch}")
            save_checkpoint(net, optimizer, epoch, path)
    best = min(records, key=lambda record: record["val"])
    return {
        "weights": best["weights"],
        "val_accuracy": best["accuracy"],
        "train_losses": [record["train"] for record in records],
        "val_losses": [record["val"] for record in records],
    }


def decision_grid(model, low, high, steps):
    device = next(model.parameters()).device
    width = (high - low) / (steps - 1)
    points = [[low + column * width, high - row * width] for row in range(steps) for column in range(steps)]
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            logits = model(torch.tensor(points, dtype=torch.float32, device=device))
    finally:
        for module, flag in flags:
            module.training = flag
    return logits.argmax(dim=1).view(steps, steps)


def run_on_ranks(rank, world_size, seed, epochs):
    # without DDP: gradients are added up by hand, and every rank looks up its rows in the same shuffled list
    from datasets import split
    from training import parameter_groups, warmup_cosine

    features, labels = make_spirals(N_PER_CLASS, NOISE, seed)
    train, val = (list(part) for part in split(list(range(len(labels))), VAL_FRACTION, seed))
    net = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(net, WEIGHT_DECAY))
    size = BATCH_SIZE // world_size
    share = len(train) // world_size
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group.update(lr=warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR))
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed + 31 * epoch))
        for rows in order[rank * share : (rank + 1) * share].split(size):
            rows = torch.tensor(train)[rows]
            optimizer.zero_grad()
            F.cross_entropy(net(features[rows]), labels[rows]).backward()
            for p in net.parameters():
                dist.all_reduce(p.grad)
                p.grad /= world_size
            optimizer.step()
    rows = torch.tensor(val[rank::world_size])
    with torch.no_grad():
        right = (net(features[rows]).argmax(1) == labels[rows]).sum()
    dist.all_reduce(right)
    return {"val_accuracy": right.item() / len(val), "weights": {k: v.clone() for k, v in net.state_dict().items()}}


def report(history):
    best, lowest = 0, math.inf
    for number, loss in enumerate(history["val_losses"], 1):
        if loss < lowest:
            best, lowest = number, loss
    count = len(history["val_losses"])
    lines = ["best epoch: %d of %d" % (best, count)]
    lines.append("validation: loss %.4f, accuracy %.4f" % (lowest, history["val_accuracy"]))
    lines.append("still improving: " + ("yes" if best == count else "no"))
    return "\n".join(lines)


def train_spirals(seed, epochs):
    return run(seed, epochs)
