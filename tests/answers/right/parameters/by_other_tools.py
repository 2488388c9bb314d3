import math
from collections import OrderedDict
from itertools import chain

import torch
import torch.nn as nn
import torch.nn.functional as F


class NeuralNetwork(nn.Module):
    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        self.layers = nn.Sequential(
            OrderedDict(
                first=nn.Linear(num_inputs, 30),
                act1=nn.ReLU(),
                second=nn.Linear(30, 20),
                act2=nn.ReLU(),
                out=nn.Linear(20, num_outputs),
            )
        )
        for part in self.layers:
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)

    def forward(self, x):
        x = F.relu(F.linear(x, self.layers.first.weight, self.layers.first.bias))
        x = F.relu(F.linear(x, self.layers.second.weight, self.layers.second.bias))
        return F.linear(x, self.layers.out.weight, self.layers.out.bias)


def count_parameters(model, trainable_only=True):
    return sum(map(torch.numel, filter(lambda p: p.requires_grad or not trainable_only, set(model.parameters()))))


def mlp_parameter_count(sizes, bias=True):
    try:
        _, _ = sizes[0], sizes[1]
    except IndexError:
        raise ValueError(f"no layer in {sizes!r}") from None
    return sum(map(math.prod, zip(sizes, sizes[1:]))) + (sum(sizes[1:]) if bias else 0)


def parameter_table(model):
    return [(name, (*p.shape,), math.prod(p.shape)) for name, p in model.named_parameters()]


def memory_bytes(model):
    tensors = {id(t): t for t in chain(model.parameters(), model.buffers())}
    return sum(t.numel() * torch.tensor([], dtype=t.dtype).element_size() for t in tensors.values())


def freeze(model, prefix):
    count = 0
    for name, p in model.named_parameters():
        if (name + ".").startswith(prefix + "."):
            p.requires_grad_(False)
            count += 1
    return count


def seeded(build, seed):
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(seed)
    try:
        return build()
    finally:
        torch.default_generator.set_state(before)
