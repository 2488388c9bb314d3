import copy

import torch
from torch import nn

def ce(logits, labels):
    return -logits.log_softmax(1)[torch.arange(len(labels)), labels].sum() / len(labels)

def train_step(model, features, labels, optimizer):
    for p in model.parameters():
        p.grad = None
    loss = ce(model(features), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)

def train_epoch(model, loader, optimizer):
    for module in model.modules():
        module.training = True
    losses = []
    for x, y in loader:
        losses += [train_step(model, x, y, optimizer)] * len(x)
    return sum(losses) / len(losses)

def fit(model, loader, epochs, lr):
    model.train()
    losses = []
    for epoch in range(epochs):
        for x, y in loader:
            model.zero_grad()
            loss = ce(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= lr * p.grad
            losses.append(loss.detach().item())
    return losses

def evaluate(model, loader):
    flags = {name: m.training for name, m in model.named_modules()}
    model.eval()
    try:
        with torch.inference_mode():
            pairs = [(model(x), y) for x, y in loader]
    finally:
        for name, m in model.named_modules():
            m.training = flags[name]
    logits, y = torch.cat([a for a, _ in pairs]), torch.cat([b for _, b in pairs])
    return ce(logits, y).item(), (logits.argmax(-1) == y).double().mean().item()

def predict_proba(model, x):
    twin = copy.deepcopy(model).eval()
    with torch.inference_mode():
        logits = twin(x)
        e = (logits - logits.amax(1, keepdim=True)).exp()
        return e / e.sum(1, keepdim=True)

def predict_labels(model, x):
    return predict_proba(model, x).max(1).indices

def fit_best(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr)
    history = []
    for epoch in range(epochs):
        train_epoch(model, train_loader, optimizer)
        history.append((evaluate(model, val_loader)[0], {k: v.clone() for k, v in model.state_dict().items()}))
    best = min(range(epochs), key=lambda i: history[i][0])
    model.load_state_dict(history[best][1])
    model.eval()
    return history[best][0]

def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = sum((g**2).sum() for g in grads).sqrt().item()
    if norm > max_norm:
        for g in grads:
            g *= max_norm / norm
    optimizer.step()
    optimizer.zero_grad()
    return norm

TRAIN_FEATURES = [[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]]
TRAIN_LABELS = [0, 0, 0, 1, 1]
TEST_FEATURES = [[-0.8, 2.8], [2.6, -1.6]]
TEST_LABELS = [0, 1]

def experiment(seed=123):
    import datasets
    import parameters
    torch.manual_seed(seed)
    net = parameters.NeuralNetwork(num_inputs=2, num_outputs=2)
    def rows(features, labels):
        return datasets.ToyDataset(torch.tensor(features, dtype=torch.float32), torch.tensor(labels))
    train, test = rows(TRAIN_FEATURES, TRAIN_LABELS), rows(TEST_FEATURES, TEST_LABELS)
    shuffled = torch.utils.data.DataLoader(train, 2, True, drop_last=True)
    result = {"losses": fit(net, shuffled, 3, 0.5)}
    x, y = zip(*[train[i] for i in range(len(train))])
    p = predict_proba(net, torch.stack(x))
    result["probabilities"] = p.clone()
    result["train_accuracy"] = sum(int(a == b) for a, b in zip(p.argmax(1), y)) / len(y)
    _, result["test_accuracy"] = evaluate(net, torch.utils.data.DataLoader(test, len(test)))
    return result


def init_weights(model, generator):
    for m in model.modules():
        if type(m) is nn.Linear:
            limit = (6.0 / m.in_features) ** 0.5
            with torch.no_grad():
                m.weight[...] = torch.empty(m.weight.shape).uniform_(-limit, limit, generator=generator)
                if m.bias is not None:
                    m.bias[...] = 0


def parameter_groups(model, weight_decay):
    seen, matrices, rest = set(), [], []
    for m in model.modules():
        for p in m.parameters(recurse=False):
            if p.requires_grad and id(p) not in seen:
                seen.add(id(p))
                (matrices if p.dim() >= 2 else rest).append(p)
    return [{"params": rest, "weight_decay": 0.0}, {"params": matrices, "weight_decay": weight_decay}]


def warmup_cosine(step, warmup, total, peak, floor=0.0):
    if total < warmup + 1 or warmup < 0:
        raise ValueError("bad counts")
    rates = [peak * (i + 1) / (warmup + 1) for i in range(warmup)]
    last = total - 1 - warmup
    for i in range(last + 1):
        share = 0.5 + 0.5 * torch.tensor(i / max(last, 1) * torch.pi, dtype=torch.float64).cos().item()
        rates.append(peak * share + floor * (1 - share))
    return rates[step] if step < len(rates) else floor
