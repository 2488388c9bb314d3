"""Found and repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset, Subset
from typing import Any

Batches = Iterable[tuple[Tensor, Tensor]]


def loss_goes_down(model: nn.Module, loader: Batches, lr: float, epochs: int) -> list[float]:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


def probabilities_learn(model: nn.Module, loader: Batches, lr: float, epochs: int) -> list[float]:
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


def memory_stays_flat(model: nn.Module, loader: Batches) -> float:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for features, labels in loader:
        loss = F.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
    return float(total / count)


def evaluation_repeats(model: nn.Module, loader: Batches) -> float:
    flags = {module: module.training for module in model.modules()}
    model.eval()
    right, count = 0, 0
    with torch.no_grad():
        for features, labels in loader:
            predicted = model(features).argmax(dim=1)
            right += (predicted == labels).sum().item()
            count += len(labels)
    for module, training in flags.items():
        module.training = training
    return right / count


def honest_split(dataset: Dataset, val_fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    count = len(dataset)
    held_out = round(count * val_fraction)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(count, generator=generator).tolist()
    val = Subset(dataset, order[:held_out])
    train = Subset(dataset, order[held_out:])
    return train, val


def each_epoch_new(dataset: Dataset, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    orders = []
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=generator)
        order = []
        for batch in loader:
            order += batch.tolist()
        orders.append(order)
    return orders


def no_nan(logits: Tensor, labels: Tensor) -> Tensor:
    log_probabilities = torch.log_softmax(logits, dim=1)
    rows = torch.arange(len(labels), device=labels.device)
    of_labels = log_probabilities[rows, labels]
    return -of_labels.mean()


def best_weights_kept(model: nn.Module, loader: Batches, val_loader: Batches, lr: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        model.train()
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(features), labels).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val_loss = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in val_loader)
        if val_loss < best_loss:
            best_loss = val_loss
            best_weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(best_weights)


def same_after_resume(
    make: Callable[[], tuple[nn.Module, Optimizer, LRScheduler]],
    data: Sequence[tuple[Tensor, Tensor]],
    path: str,
    stop: int,
    epochs: int,
) -> nn.Module:
    def train(count: int) -> None:
        for _ in range(count):
            for features, labels in data:
                optimizer.zero_grad()
                F.cross_entropy(model(features), labels).backward()
                optimizer.step()
            scheduler.step()

    model, optimizer, scheduler = make()
    train(stop)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.save({name: part.state_dict() for name, part in parts.items()}, path)

    model, optimizer, scheduler = make()
    checkpoint = torch.load(path)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    model.load_state_dict(checkpoint["model"])
    train(epochs - stop)
    return model


def gpu_not_waiting(model: nn.Module, loader: Batches, device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        logits = model(features.to(device))
        loss = F.cross_entropy(logits, labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()


def ranks_agree(
    rank: int, world_size: int, model: nn.Module, dataset: Sequence[tuple[Tensor, Tensor]], epochs: int, lr: float
) -> None:
    for weight in model.state_dict().values():
        dist.broadcast(weight, src=0)
    own = [dataset[i] for i in range(rank, len(dataset), world_size)]
    features = torch.stack([x for x, _ in own])
    labels = torch.stack([y for _, y in own])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size
        optimizer.step()


def nobody_waits_for_ever(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    errors = [None]
    if rank == 0:
        try:
            torch.save(model.state_dict(), path)
        except Exception as error:
            errors = [error]
    dist.barrier()
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise errors[0]


def forecast(series: torch.Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    count = len(series) * 4 // 5
    known = series[:count]
    mean, std = known.mean(), known.std()
    values = (series - mean) / std

    rows = values.unfold(0, window + 1, 1)
    inputs, targets = rows[:, :window], rows[:, -1]
    places = torch.arange(len(rows)) + window
    is_training = places < count
    x, y = inputs[is_training], targets[is_training]

    generator = torch.Generator().manual_seed(seed)
    weight = (0.1 * torch.randn(window, generator=generator)).requires_grad_()
    bias = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.SGD([weight, bias], lr=lr)
    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(x), generator=generator).split(16):
            loss = F.mse_loss(x[batch] @ weight + bias, y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(x))

    with torch.no_grad():
        forecasts = (inputs[~is_training] @ weight + bias) * std + mean
        came = targets[~is_training] * std + mean
    return {"losses": losses, "forecasts": forecasts.tolist(), "error": (forecasts - came).abs().mean().item()}


def classify(features: torch.Tensor, labels: torch.Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    held = len(labels) // 4
    val_x, val_y = features[order[:held]], labels[order[:held]]
    x, y = features[order[held:]], labels[order[held:]]

    classes = int(labels.max()) + 1
    model = nn.Sequential(nn.Linear(features.shape[1], 16), nn.Tanh(), nn.Linear(16, classes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)

    rates, losses = [], []
    lowest, best = float("inf"), {}
    for epoch in range(epochs):
        if epoch > 0:
            order = torch.randperm(len(x), generator=generator)
            x, y = x[order], y[order]
        rates.append(optimizer.param_groups[0]["lr"])
        model.train()
        for batch_x, batch_y in zip(x.split(8), y.split(8), strict=True):
            optimizer.zero_grad()
            F.cross_entropy(model(batch_x), batch_y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(val_x), val_y).item())
        if losses[-1] < lowest:
            lowest = losses[-1]
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    model.load_state_dict(best)
    with torch.no_grad():
        is_right = model(val_x).argmax(dim=1) == val_y
    return {
        "rates": rates,
        "losses": losses,
        "best": losses.index(lowest),
        "accuracy": [is_right[val_y == k].float().mean().nan_to_num().item() for k in range(classes)],
    }
