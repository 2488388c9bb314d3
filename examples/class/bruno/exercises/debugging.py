"""Written anew, without the tools."""

import torch
import torch.distributed as dist
from torch.utils.data import Subset
from torch.utils.data import BatchSampler, DataLoader, TensorDataset
import torch.nn.functional as F


def nll(logits, labels):
    shifted = logits - logits.max(dim=1, keepdim=True).values
    chosen = shifted.gather(1, labels[:, None])[:, 0]
    return (shifted.exp().sum(dim=1).log() - chosen).mean()


no_nan = nll


def loss_goes_down(model, loader, lr, epochs):
    for module in model.modules():
        module.training = True
    means = []
    for _ in range(epochs):
        seen = []
        for x, y in loader:
            loss = nll(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= lr * p.grad
                        p.grad = None
            seen += [loss.item()] * len(y)
        means.append(sum(seen) / len(seen))
    return means


def probabilities_learn(model, loader, lr, epochs):
    model.train()
    memory = {p: (torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters() if p.requires_grad}
    t = 0
    means = []
    for _ in range(epochs):
        seen = []
        for x, y in loader:
            t += 1
            loss = nll(model(x), y)
            grads = torch.autograd.grad(loss, list(memory))
            with torch.no_grad():
                for (p, (m, v)), g in zip(memory.items(), grads):
                    m.mul_(0.9).add_(0.1 * g)
                    v.mul_(0.999).add_(0.001 * g * g)
                    p -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
            seen += [float(loss)] * len(y)
        means.append(sum(seen) / len(seen))
    return means


def memory_stays_flat(model, loader):
    (mean,) = loss_goes_down(model, loader, 0.1, 1)
    return mean


def evaluation_repeats(model, loader):
    were_training = [module for module in model.modules() if module.training]
    model.train(False)
    hits = []
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    for x, y in loader:
        hits += (model(x).max(1).indices == y).tolist()
    torch.set_grad_enabled(before)
    for module in were_training:
        module.training = True
    return sum(hits) / len(hits)


def honest_split(dataset, val_fraction, seed):
    n = len(dataset)
    keys = torch.rand(n, generator=torch.Generator().manual_seed(seed))
    val = set(keys.argsort()[: round(n * val_fraction)].tolist())
    return [Subset(dataset, [i for i in range(n) if (i in val) == wanted]) for wanted in (False, True)]


def each_epoch_new(dataset, batch_size, seed, epochs):
    generator = torch.Generator().manual_seed(seed)
    return [[int(dataset[i]) for i in torch.randperm(len(dataset), generator=generator)] for _ in range(epochs)]


def best_weights_kept(model, loader, val_loader, lr, epochs):
    best = None
    for _ in range(epochs):
        loss_goes_down(model, loader, lr, 1)
        model.eval()
        with torch.no_grad():
            pairs = [(model(x), y) for x, y in val_loader]
            loss = nll(torch.cat([a for a, _ in pairs]), torch.cat([b for _, b in pairs])).item()
        if best is None or loss < best[0]:
            best = loss, [t.detach().clone() for t in model.state_dict().values()]
    with torch.no_grad():
        for tensor, kept in zip(model.state_dict().values(), best[1]):
            tensor.copy_(kept)


def same_after_resume(make, data, path, stop, epochs):
    def one_epoch(model, optimizer, scheduler):
        for x, y in data:
            optimizer.zero_grad()
            nll(model(x), y).backward()
            optimizer.step()
        scheduler.step()

    parts = make()
    for _ in range(stop):
        one_epoch(*parts)
    torch.save([part.state_dict() for part in parts], path)
    parts = make()
    for part, state in zip(parts, torch.load(path, weights_only=False)):
        part.load_state_dict(state)
    for _ in range(stop, epochs):
        one_epoch(*parts)
    return parts[0]


def gpu_not_waiting(model, loader, device, lr):
    model.to(device)
    losses = []
    for x, y in loader:
        loss = nll(model(x.to(device)), y.to(device))
        params = [p for p in model.parameters() if p.requires_grad]
        for p, g in zip(params, torch.autograd.grad(loss, params)):
            p.data -= lr * g
        losses.append(loss.detach())
    return torch.stack(losses).cpu().tolist()


def ranks_agree(rank, world_size, model, dataset, epochs, lr):
    for p in model.parameters():
        every = [torch.empty_like(p) for _ in range(world_size)]
        dist.all_gather(every, p.data)
        p.data.copy_(every[0])
    own = range(len(dataset) * rank // world_size, len(dataset) * (rank + 1) // world_size)
    x, y = (torch.stack(column) for column in zip(*(dataset[i] for i in own)))
    for _ in range(epochs):
        params = [p for p in model.parameters() if p.requires_grad]
        grads = torch.autograd.grad(nll(model(x), y), params)
        for p, g in zip(params, grads):
            dist.all_reduce(g)
            p.data -= lr * g / world_size


def nobody_waits_for_ever(rank, world_size, path, model):
    problem = None
    if rank == 0:
        try:
            torch.save(model.state_dict(), path)
        except Exception as error:
            problem = error
    problems = [None] * world_size
    dist.all_gather_object(problems, problem)
    if problems[0]:
        raise problems[0]


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
