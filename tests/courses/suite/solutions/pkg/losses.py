import torch
from torch import nn


def step(model, loss, optimizer, most):
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), most)
    optimizer.step()
    return norm


def gradients(loss, parameters):
    return torch.autograd.grad(loss, list(parameters))


def accumulate(losses, optimizer):
    optimizer.zero_grad()
    for loss in losses:
        loss /= len(losses)
        loss.backward()
    optimizer.step()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)


def square(x):
    return x * x


def scaled_step(loss, optimizer, scaler):
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def new_scaler(size):
    return torch.amp.GradScaler("cpu", init_scale=size)


def start_again(log):
    log.lines.append("old")
    log.lines = []
