import torch
from torch import nn


class NeuralNetwork(nn.Module):
    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        sizes = [num_inputs, 30, 20, num_outputs]
        layers = []
        for i in range(3):
            if i:
                layers.append(nn.ReLU())
            layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def count_parameters(model, trainable_only=True):
    total = 0
    for p in model.parameters():
        if trainable_only and not p.requires_grad:
            continue
        size = 1
        for s in p.shape:
            size *= s
        total += size
    return total


def mlp_parameter_count(sizes, bias=True):
    if len(sizes) < 2:
        raise ValueError(sizes)
    total = 0
    for i in range(1, len(sizes)):
        total += sizes[i - 1] * sizes[i]
        if bias:
            total += sizes[i]
    return total


def parameter_table(model):
    rows = []
    for name, p in model.named_parameters():
        rows.append((name, p.shape, p.numel()))
    return rows


def memory_bytes(model):
    total = 0
    for tensors in (model.parameters(), model.buffers()):
        for t in tensors:
            total += t.numel() * t.element_size()
    return total


def freeze(model, prefix):
    want = prefix.split(".")
    frozen = 0
    for name, p in model.named_parameters():
        if name.split(".")[: len(want)] == want:
            p.requires_grad_(False)
            frozen += 1
    return frozen


def seeded(build, seed):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    try:
        return build()
    finally:
        torch.set_rng_state(state)
