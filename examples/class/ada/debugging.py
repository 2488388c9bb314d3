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
