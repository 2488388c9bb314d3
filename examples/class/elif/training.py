import torch
import torch.nn.functional as F


def train_step(model, features, labels, optimizer):
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, loader, optimizer):
    model.train()
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for features, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def evaluate(model, loader):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    loss, right, n = 0.0, 0, 0
    try:
        with torch.no_grad():
            for features, labels in loader:
                logits = model(features)
                loss += F.cross_entropy(logits, labels).item() * len(labels)
                right += (logits.argmax(dim=1) == labels).sum().item()
                n += len(labels)
    finally:
        for m in modes:
            m.training = modes[m]
    return loss / n, right / n


def predict_proba(model, x):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            p = torch.softmax(model(x), dim=1)
    finally:
        for m in modes:
            m.training = modes[m]
    return p


def predict_labels(model, x):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            out = model(x).argmax(dim=1)
    finally:
        for m in modes:
            m.training = modes[m]
    return out


def fit_best(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss, best_state = float("inf"), None
    for _ in range(epochs):
        train_epoch(model, train_loader, optimizer)
        loss, _ = evaluate(model, val_loader)
        if loss < best_loss:
            best_loss = loss
            best_state = model.state_dict()
    model.load_state_dict(best_state)
    return best_loss


def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()
