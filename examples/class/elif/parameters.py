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
    return sum(p.numel() for p in model.parameters())


def mlp_parameter_count(sizes, bias=True):
    if len(sizes) < 2:
        raise ValueError("too few sizes")
    return sum(a * b for a, b in pairwise(sizes))


def parameter_table(model):
    return [(name, tuple(p.shape), p.numel()) for name, p in model.named_parameters()]


def memory_bytes(model):
    return sum(t.nbytes for t in [*model.parameters(), *model.buffers()])


def freeze(model, prefix):
    n = 0
    for name, p in model.named_parameters():
        if name.startswith(prefix):
            p.requires_grad = False
            n += 1
    return n


def seeded(build, seed):
    torch.manual_seed(seed)
    return build()
