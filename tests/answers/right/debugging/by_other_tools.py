import copy
import pickle
import random
from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset, random_split


def train_one(model, loader, optimizer):
    total = torch.zeros(())
    count = 0
    for x, y in loader:
        loss = torch.nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        total += loss.detach() * len(y)
        count += len(y)
    return (total / count).item()


def loss_goes_down(model, loader, lr, epochs):
    optimizer = torch.optim.SGD(model.train().parameters(), lr, foreach=True)
    return [train_one(model, loader, optimizer) for _ in range(epochs)]


def probabilities_learn(model, loader, lr, epochs):
    optimizer = torch.optim.Adam(model.train().parameters(), lr)
    return [train_one(model, loader, optimizer) for _ in range(epochs)]


def memory_stays_flat(model, loader):
    model.train()
    return train_one(model, loader, torch.optim.SGD(model.parameters(), 0.1))


@contextmanager
def as_after_training(model):
    flags = [module.training for module in model.modules()]
    model.eval()
    yield
    for module, flag in zip(model.modules(), flags):
        module.training = flag


def evaluation_repeats(model, loader):
    with as_after_training(model), torch.inference_mode():
        right = torch.cat([model(x).argmax(-1).eq(y) for x, y in loader])
    return right.double().mean().item()


def honest_split(dataset, val_fraction, seed):
    held_out = round(len(dataset) * val_fraction)
    lengths = [len(dataset) - held_out, held_out]
    train, val = random_split(dataset, lengths, generator=torch.Generator().manual_seed(seed))
    return train, val


def each_epoch_new(dataset, batch_size, seed, epochs):
    orders = []
    for epoch in range(epochs):
        generator = torch.Generator().manual_seed(hash((seed, epoch)) % (1 << 40))
        sampler = BatchSampler(RandomSampler(dataset, generator=generator), batch_size, drop_last=False)
        loader = DataLoader(dataset, batch_sampler=sampler, generator=torch.Generator())
        orders.append(torch.cat(list(loader)).tolist())
    return orders


def no_nan(logits, labels):
    return torch.logsumexp(logits, dim=1).sub(logits[torch.arange(len(labels)), labels]).mean()


no_nan_in_one = F.cross_entropy


def best_weights_kept(model, loader, val_loader, lr, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr)
    kept = []
    for _ in range(epochs):
        model.train()
        train_one(model, loader, optimizer)
        model.eval()
        with torch.no_grad():
            total = torch.stack([F.cross_entropy(model(x), y, reduction="sum") for x, y in val_loader]).sum()
        kept.append((total.item(), copy.deepcopy(model.state_dict())))
    losses = [loss for loss, _ in kept]
    model.load_state_dict(kept[losses.index(min(losses))][1])
    return losses


class Checkpoint:
    def __init__(self, **parts):
        self.parts = parts

    def save(self, path):
        with open(path, "wb") as file:
            pickle.dump({name: copy.deepcopy(part.state_dict()) for name, part in self.parts.items()}, file)

    def load(self, path):
        with open(path, "rb") as file:
            for name, state in pickle.load(file).items():
                self.parts[name].load_state_dict(state)


def same_after_resume(make, data, path, stop, epochs):
    for first, last in ((0, stop), (stop, epochs)):
        model, optimizer, scheduler = make()
        checkpoint = Checkpoint(model=model, optimizer=optimizer, scheduler=scheduler)
        if (first, last) == (stop, epochs) and checkpoint_is_there:
            checkpoint.load(path)
        for _ in range(first, last):
            optimizer.zero_grad()
            train_one(model, data, optimizer)
            scheduler.step()
        checkpoint.save(path)
        checkpoint_is_there = True
    return model


def gpu_not_waiting(model, loader, device, lr):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr)
    losses = torch.zeros(0, device=device)
    for batch in loader:
        x, y = (part.to(device, non_blocking=True) for part in batch)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses = torch.cat([losses, loss.detach().reshape(1)])
    return losses.tolist()


def ranks_agree(rank, world_size, model, dataset, epochs, lr):
    states = [model.state_dict() if rank == 0 else None]
    dist.broadcast_object_list(states, src=0)
    model.load_state_dict(states[0])
    random.seed(rank)
    rows = list(range(len(dataset)))[rank::world_size]
    random.shuffle(rows)
    loader = DataLoader(TensorDataset(*(torch.stack(part) for part in zip(*map(dataset.__getitem__, rows)))), len(rows))
    optimizer = torch.optim.SGD(model.parameters(), lr / world_size)
    for _ in range(epochs):
        for x, y in loader:
            F.cross_entropy(model(x), y).backward()
            for p in model.parameters():
                if p.grad is not None:
                    dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            optimizer.step()
            optimizer.zero_grad()


def nobody_waits_for_ever(rank, world_size, path, model):
    message = [b""]
    if rank == 0:
        try:
            torch.save(dict(model.state_dict()), path)
        except Exception as error:
            message = [pickle.dumps(error.with_traceback(None))]
    dist.broadcast_object_list(message, 0)
    dist.barrier()
    if message[0]:
        raise pickle.loads(message[0])


def forecast(series, window, epochs, lr, seed):
    from numpy.lib.stride_tricks import sliding_window_view

    past = int(0.8 * len(series) + 1e-9)
    std, mean = torch.std_mean(series[:past])
    rows = torch.from_numpy(sliding_window_view(((series - mean) / std).numpy(), window + 1).copy())
    train, test = rows[: past - window], rows[past - window :]
    generator = torch.Generator().manual_seed(seed)
    line = torch.nn.Linear(window, 1)
    line.load_state_dict({"weight": 0.1 * torch.randn(window, generator=generator)[None], "bias": torch.zeros(1)})
    losses = []
    for _ in range(epochs):
        sampler = BatchSampler(torch.randperm(len(train), generator=generator).tolist(), 16, drop_last=False)
        optimizer = torch.optim.SGD(line.parameters(), lr)
        loader = DataLoader(TensorDataset(train[:, :-1], train[:, -1:]), batch_sampler=sampler)
        seen = []
        for x, y in loader:
            loss = torch.nn.MSELoss()(line(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            seen.append(loss.item() * len(y))
        losses.append(sum(seen) / len(train))
    with torch.inference_mode():
        said = line(test[:, :-1])[:, 0].mul(std).add(mean)
    return {"losses": losses, "forecasts": said.tolist(), "error": F.l1_loss(said, series[past:]).item()}


def classify(features, labels, epochs, lr, seed):
    generator = torch.Generator().manual_seed(seed)
    val, train = torch.tensor_split(torch.randperm(len(labels), generator=generator), [len(labels) // 4])
    model = torch.nn.Sequential()
    model.append(torch.nn.Linear(features.size(1), 16)).append(torch.nn.Tanh())
    model.append(torch.nn.Linear(16, labels.max().item() + 1))
    flat = torch.cat([0.3 * torch.randn(p.shape, generator=generator).flatten() for p in model.parameters()])
    torch.nn.utils.vector_to_parameters(flat, model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)
    history = []
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = rate = lr * 0.5 ** (epoch // 2)
        for rows in train.split(8):
            optimizer.zero_grad(set_to_none=False)
            torch.nn.CrossEntropyLoss()(model(features[rows]), labels[rows]).backward()
            optimizer.step()
        with torch.inference_mode():
            out = model(features[val])
        history.append((F.cross_entropy(out, labels[val]).item(), rate, out.argmax(-1)))
        train = train[torch.randperm(len(train), generator=generator)]
    losses, rates, said = zip(*history)
    best = min(range(epochs), key=losses.__getitem__)
    truth = F.one_hot(labels[val], labels.max().item() + 1)
    hits = (truth * (said[best] == labels[val])[:, None]).sum(0)
    accuracy = (hits / truth.sum(0).clamp(min=1)).tolist()
    return {"best": best, "accuracy": accuracy, "rates": list(rates), "losses": list(losses)}
