import torch
from torch import nn


class NeuralNetwork(nn.Module):
    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        sizes = [num_inputs, 30, 20, num_outputs]
        layers = []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            if i:
                layers.append(nn.ReLU(inplace=True))
            layers.append(nn.Linear(a, b))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def all_parts(module):
    yield module
    for child in module._modules.values():
        if child is not None:
            yield from all_parts(child)


def own(model, which):
    seen = {}
    for part in all_parts(model):
        for tensor in getattr(part, which).values():
            if tensor is not None:
                seen[id(tensor)] = tensor
    return list(seen.values())


def count_parameters(model, trainable_only=True):
    count = 0
    for p in own(model, "_parameters"):
        if trainable_only and not p.requires_grad:
            continue
        n = 1
        for size in p.shape:
            n *= size
        count += n
    return count


def mlp_parameter_count(sizes, bias=True):
    if len(sizes) <= 1:
        raise ValueError("too few sizes")
    count = 0
    for i in range(1, len(sizes)):
        count += (sizes[i - 1] + (1 if bias else 0)) * sizes[i]
    return count


def parameter_table(model):
    rows = []
    for name, p in model.named_parameters():
        rows.append((name, p.shape, p.nelement()))
    return rows


def memory_bytes(model):
    return sum(t.nbytes for which in ("_parameters", "_buffers") for t in own(model, which))


def freeze(model, prefix):
    wanted, count = prefix.split("."), 0
    for name, p in model.named_parameters():
        if name.split(".")[: len(wanted)] == wanted:
            p.requires_grad = False
            count += 1
    return count


def seeded(build, seed):
    state = torch.get_rng_state()
    try:
        torch.manual_seed(seed)
        return build()
    finally:
        torch.set_rng_state(state)
