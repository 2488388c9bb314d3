"""Week 6. I have no GPU at home, so I could not try the half of it."""

import math
import time

import torch
from torch import nn
from torch.utils.data import DataLoader


def cpu():
    device = torch.device("cpu")
    return device


def gpu(i=0):
    device = torch.device("cuda", index=i)
    return device


def num_gpus():
    return torch.cuda.device_count()


def try_gpu(i=0):
    has_this_gpu = torch.cuda.device_count() > i
    if has_this_gpu:
        return torch.device("cuda", i)
    else:
        return torch.device("cpu")


def try_all_gpus():
    devices = []
    for i in range(num_gpus()):
        devices.append(try_gpu(i))
    if len(devices) == 0:
        devices.append(cpu())
    return devices


def pick_device():
    if torch.cuda.is_available():
        name = "cuda"
    elif torch.backends.mps.is_available():
        name = "mps"
    else:
        name = "cpu"
    return torch.device(name)


def to_device(batch, device, non_blocking=False):
    if isinstance(batch, torch.Tensor):
        if batch.device == device:
            return batch
        return batch.to(device, non_blocking=non_blocking)
    elif isinstance(batch, dict):
        moved = {}
        for key in batch:
            moved[key] = to_device(batch[key], device, non_blocking=non_blocking)
        return moved
    elif isinstance(batch, (list, tuple)):
        moved = []
        for item in batch:
            moved.append(to_device(item, device, non_blocking=non_blocking))
        if isinstance(batch, list):
            return moved
        is_named = hasattr(batch, "_fields")
        if is_named:
            return batch.__class__(**dict(zip(batch._fields, moved)))
        return tuple(moved)
    else:
        return batch


def add_across(x, y):
    device_of_x = x.device
    y_on_that_device = y.to(device_of_x)
    total = x + y_on_that_device
    return total


class ScaledAttentionMask(nn.Module):
    """The mask has 0 where one may look and -inf where not, so that it can be added."""

    def __init__(self, size):
        super().__init__()
        mask = torch.zeros(size, size)
        for row in range(size):
            mask[row, row + 1 :] = -math.inf
        self.register_buffer("mask", mask)

    def forward(self, scores):
        number_of_tokens = scores.shape[-1]
        scaled = scores / math.sqrt(number_of_tokens)
        mask = self.mask[:number_of_tokens, :number_of_tokens]
        return scaled + mask.to(scaled.dtype)


def prepare(model, device, lr):
    moved_model = model.to(device)
    optimizer = torch.optim.SGD(moved_model.parameters(), lr=lr)
    return moved_model, optimizer


def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    loss_function = nn.CrossEntropyLoss()
    losses_on_the_device = []
    for features, labels in loader:
        features = features.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = loss_function(model(features), labels)
        losses_on_the_device.append(loss.detach().clone())
        loss.backward()
        optimizer.step()
    in_one_tensor = torch.stack(losses_on_the_device)
    on_the_cpu = in_one_tensor.to("cpu")
    return [float(loss) for loss in on_the_cpu]


class DeviceTrainer:
    def __init__(self, device):
        self.device = device

    def prepare_model(self, model):
        model.to(self.device)
        return model

    def prepare_batch(self, batch):
        return to_device(batch, self.device)

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        loss_function = nn.CrossEntropyLoss()
        losses = []
        for epoch in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                loss = loss_function(model(features), labels)
                losses.append(loss.item())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return losses


def loader_for(dataset, batch_size, device):
    is_cuda = torch.device(device).type == "cuda"
    return DataLoader(dataset, batch_size=batch_size, shuffle=False, pin_memory=is_cuda)


def time_matmul(n, device, repeats=3):
    is_cuda = device.type == "cuda"
    left = torch.rand((n, n), device=device)
    right = torch.rand((n, n), device=device)
    torch.mm(left, right)  # to warm up
    best_time = None
    for repeat in range(repeats):
        if is_cuda:
            torch.cuda.synchronize(device)
        time_before = time.perf_counter()
        torch.mm(left, right)
        if is_cuda:
            torch.cuda.synchronize(device)
        time_after = time.perf_counter()
        seconds = time_after - time_before
        if best_time is None or seconds < best_time:
            best_time = seconds
    return best_time
