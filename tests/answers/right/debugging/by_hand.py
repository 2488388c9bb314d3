import torch
import torch.distributed as dist
from torch.utils.data import Subset


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
    numbers = series.tolist()
    count = len(numbers) * 4 // 5
    mean = sum(numbers[:count]) / count
    std = (sum((v - mean) ** 2 for v in numbers[:count]) / (count - 1)) ** 0.5
    z = [(v - mean) / std for v in numbers]
    pairs = [(z[i - window:i], z[i]) for i in range(window, len(z))]
    known = pairs[:count - window]
    g = torch.Generator()
    g.manual_seed(seed)
    w = (0.1 * torch.randn(window, generator=g)).tolist()
    b = 0.0
    losses = []
    for _ in range(epochs):
        order = torch.randperm(len(known), generator=g).tolist()
        squares = 0.0
        for first in range(0, len(order), 16):
            batch = [known[i] for i in order[first:first + 16]]
            grad_w, grad_b = [0.0] * window, 0.0
            for x, y in batch:
                off = sum(p * q for p, q in zip(x, w)) + b - y
                squares += off * off
                grad_b += 2 * off / len(batch)
                grad_w = [g_w + 2 * off * v / len(batch) for g_w, v in zip(grad_w, x)]
            w = [v - lr * g_w for v, g_w in zip(w, grad_w)]
            b -= lr * grad_b
        losses.append(squares / len(known))
    said = [(sum(p * q for p, q in zip(x, w)) + b) * std + mean for x, _ in pairs[count - window:]]
    came = numbers[count:]
    return dict(losses=losses, forecasts=said, error=sum(abs(p - q) for p, q in zip(said, came)) / len(came))


def classify(features, labels, epochs, lr, seed):
    g = torch.Generator()
    g.manual_seed(seed)
    order = torch.randperm(len(labels), generator=g).tolist()
    held = len(labels) // 4
    val, train = order[:held], order[held:]
    classes = max(labels.tolist()) + 1
    sizes = [(16, features.shape[1]), (16,), (classes, 16), (classes,)]
    weights = [(0.3 * torch.randn(size, generator=g)).requires_grad_() for size in sizes]
    speeds = [torch.zeros(size) for size in sizes]

    def scores(x):
        return torch.tanh(x @ weights[0].T + weights[1]) @ weights[2].T + weights[3]

    rates, losses, answers = [], [], []
    for epoch in range(epochs):
        if epoch:
            train = [train[i] for i in torch.randperm(len(train), generator=g).tolist()]
        rates.append(lr / 2 ** (epoch // 2))
        for first in range(0, len(train), 8):
            rows = train[first:first + 8]
            grads = torch.autograd.grad(nll(scores(features[rows]), labels[rows]), weights)
            with torch.no_grad():
                for w, v, grad in zip(weights, speeds, grads):
                    v.mul_(0.9).add_(grad)
                    w.sub_(rates[-1] * v)
        with torch.no_grad():
            out = scores(features[val])
        losses.append(nll(out, labels[val]).item())
        answers.append(out.argmax(1).tolist())
    best = losses.index(min(losses))
    accuracy = []
    for k in range(classes):
        hits = [said == k for said, row in zip(answers[best], val) if labels[row] == k]
        accuracy.append(sum(hits) / len(hits) if hits else 0.0)
    return {"rates": rates, "losses": losses, "best": best, "accuracy": accuracy}
