"""Week 10."""

import io

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, Sampler, DataLoader


def steps(model, loader, optimizer):
    model.train()
    return [(one_step(model, x, y, optimizer), len(y)) for x, y in loader]


def one_step(model, x, y, optimizer):
    loss = None

    def closure():
        nonlocal loss
        optimizer.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(x), dim=-1), y)
        loss.backward()
        return loss

    optimizer.step(closure)
    return loss.item()


def weighed(pairs):
    return sum(loss * n for loss, n in pairs) / sum(n for _, n in pairs)


def loss_goes_down(model, loader, lr, epochs):
    optimizer = torch.optim.SGD([{"params": [p]} for p in model.parameters()], lr=lr)
    return [weighed(steps(model, loader, optimizer)) for _ in range(epochs)]


def probabilities_learn(model, loader, lr, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, foreach=False)
    return [weighed(steps(model, loader, optimizer)) for _ in range(epochs)]


def memory_stays_flat(model, loader):
    return weighed(steps(model, loader, torch.optim.SGD(model.parameters(), lr=0.1)))


def evaluation_repeats(model, loader):
    flags = {name: module.training for name, module in model.named_modules()}
    model.apply(lambda module: setattr(module, "training", False))
    right = torch.zeros((), dtype=torch.int64)
    rows = 0
    try:
        for x, y in loader:
            with torch.no_grad():
                right += (model(x).argmax(dim=1) == y).sum()
            rows += y.numel()
    finally:
        for name, module in model.named_modules():
            module.training = flags[name]
    return float(right) / rows


class Part(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def honest_split(dataset, val_fraction, seed):
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed))
    cut = len(dataset) - round(len(dataset) * val_fraction)
    train, val = order.tensor_split([cut])
    return Part([dataset[int(i)] for i in train]), Part([dataset[int(i)] for i in val])


class Shuffled(Sampler):
    def __init__(self, n, seed):
        self.n, self.generator = n, torch.Generator().manual_seed(seed)

    def __iter__(self):
        return iter(torch.randperm(self.n, generator=self.generator).tolist())

    def __len__(self):
        return self.n


def each_epoch_new(dataset, batch_size, seed, epochs):
    loader = DataLoader(dataset, batch_size, sampler=Shuffled(len(dataset), seed), generator=torch.Generator())
    return [[int(row) for batch in loader for row in batch] for _ in range(epochs)]


def no_nan(logits, labels):
    return nn.NLLLoss()(nn.LogSoftmax(dim=1)(logits), labels)


def best_weights_kept(model, loader, val_loader, lr, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    lowest, best = None, io.BytesIO()
    for _ in range(epochs):
        steps(model, loader, optimizer)
        model.eval()
        with torch.no_grad():
            loss = weighed([(F.cross_entropy(model(x), y).item(), len(y)) for x, y in val_loader])
        if lowest is None or loss < lowest - 1e-9:
            lowest, best = loss, io.BytesIO()
            torch.save(model.state_dict(), best)
    best.seek(0)
    model.load_state_dict(torch.load(best))


def same_after_resume(make, data, path, stop, epochs):
    model, optimizer, scheduler = make()
    epoch = 0
    while epoch < stop:
        steps(model, data, optimizer)
        scheduler.step()
        epoch += 1
    whole = {"m": model.state_dict(), "o": optimizer.state_dict(), "s": scheduler.state_dict(), "epoch": epoch}
    torch.save(whole, str(path))
    del model, optimizer, scheduler, whole
    fresh, optimizer, scheduler = make()
    saved = torch.load(str(path), weights_only=False)
    scheduler.load_state_dict(saved["s"])
    optimizer.load_state_dict(saved["o"])
    fresh.load_state_dict(saved["m"])
    for _ in range(saved["epoch"], epochs):
        steps(fresh, data, optimizer)
        scheduler.step()
    return fresh


def gpu_not_waiting(model, loader, device, lr):
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = {}
    with torch.enable_grad():
        for number, (x, y) in enumerate(loader):
            x, y = x.to(device, copy=True), y.to(device=device)
            loss = F.nll_loss(model(x).log_softmax(dim=1), y)
            optimizer.zero_grad(set_to_none=False)
            torch.autograd.backward([loss])
            optimizer.step()
            with torch.no_grad():
                losses[number] = loss + 0
    return [float(loss) for loss in torch.stack(list(losses.values())).cpu()]


def ranks_agree(rank, world_size, model, dataset, epochs, lr):
    with torch.no_grad():
        for p in model.parameters():
            if rank != 0:
                p.zero_()
            dist.all_reduce(p)
    loader = DataLoader([dataset[i] for i in range(len(dataset)) if i % world_size == rank], len(dataset))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        ((x, y),) = loader
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(dataset)
        optimizer.zero_grad()
        loss.backward()
        flat = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        dist.all_reduce(flat)
        for p in model.parameters():
            if p.grad is not None:
                p.grad.copy_(flat[: p.numel()].view_as(p))
                flat = flat[p.numel() :]
        optimizer.step()


def nobody_waits_for_ever(rank, world_size, path, model):
    found = []
    try:
        if rank == 0:
            torch.save(model.state_dict(), path)
    except Exception as error:
        found.append(error)
    size = torch.tensor(len(found))
    dist.broadcast(size, 0)
    if size == 0:
        return
    found = found or [None]
    dist.broadcast_object_list(found, 0)
    raise found[0]


def forecast(series, window, epochs, lr, seed):
    cut = len(series) * 4 // 5
    z = (series - series[:cut].mean()) / series[:cut].std()
    x = torch.stack([z[i : len(z) - window + i] for i in range(window)], dim=1)
    y = z[window:]
    generator = torch.Generator().manual_seed(seed)
    both = nn.Parameter(torch.cat([0.1 * torch.randn(window, generator=generator), torch.zeros(1)]))
    ones = torch.cat([x, torch.ones(len(x), 1)], dim=1)
    optimizer = torch.optim.SGD([both], lr=lr)
    losses = []
    for _ in range(epochs):
        lost = []
        for rows in torch.split(torch.randperm(cut - window, generator=generator), 16):
            off = ones[rows] @ both - y[rows]
            both.grad = torch.autograd.grad(off.square().mean(), both)[0]
            optimizer.step()
            lost += off.detach().square().tolist()
        losses.append(sum(lost) / len(lost))
    found = (ones[cut - window :] @ both).detach() * series[:cut].std() + series[:cut].mean()
    return {"error": (found - series[cut:]).abs().mean().item(), "forecasts": list(map(float, found)), "losses": losses}


class Told(nn.Module):
    def __init__(self, inputs, classes, generator):
        super().__init__()
        self.a = nn.Linear(inputs, 16)
        self.b = nn.Linear(16, classes)
        for p in [self.a.weight, self.a.bias, self.b.weight, self.b.bias]:
            nn.init.normal_(p, 0.0, 1.0, generator=generator)
            p.data *= 0.3

    def forward(self, x):
        return self.b(self.a(x).tanh())


def classify(features, labels, epochs, lr, seed):
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    quarter = len(labels) // 4
    x, y = features.clone()[order], labels.clone()[order]
    classes = int(y.max()) + 1
    net = Told(x.shape[1], classes, generator)
    rows = list(range(quarter, len(y)))
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** (epoch // 2))
    rates, losses = [], []
    kept = io.BytesIO()
    for epoch in range(epochs):
        if epoch:
            rows = [rows[i] for i in torch.randperm(len(rows), generator=generator)]
        rates += schedule.get_last_lr()
        for first in range(0, len(rows), 8):
            batch = rows[first : first + 8]
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            losses.append(float(F.cross_entropy(net(x[:quarter]), y[:quarter])))
        if losses[-1] < min(losses[:-1], default=float("inf")):
            kept.seek(0)
            torch.save(net.state_dict(), kept)
    kept.seek(0)
    net.load_state_dict(torch.load(kept))
    said = net(x[:quarter]).argmax(dim=1)
    accuracy = [0.0] * classes
    for k in set(y[:quarter].tolist()):
        mask = y[:quarter] == k
        accuracy[k] = float((said[mask] == k).sum() / mask.sum())
    return {"rates": rates, "losses": losses, "best": losses.index(min(losses)), "accuracy": accuracy}
