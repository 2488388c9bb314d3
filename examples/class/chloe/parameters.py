"""Week 3."""

import torch
from helpers import all_tensors, product
from torch import nn


class NeuralNetwork(nn.Module):
    """Two hidden layers."""

    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        first = nn.Linear(in_features=num_inputs, out_features=30)
        second = nn.Linear(in_features=30, out_features=20)
        third = nn.Linear(in_features=20, out_features=num_outputs)
        self.layers = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), third)

    def forward(self, x):
        logits = self.layers(x)
        return logits


def count_parameters(model, trainable_only=True):
    total = 0
    for parameter in model.parameters():
        if parameter.requires_grad:
            total = total + product(parameter.shape)
        elif not trainable_only:
            total = total + product(parameter.shape)
    return total


def mlp_parameter_count(sizes, bias=True):
    number_of_layers = len(sizes) - 1
    if number_of_layers < 1:
        raise ValueError("at least two sizes are needed")
    weights = 0
    biases = 0
    for layer in range(number_of_layers):
        weights = weights + sizes[layer] * sizes[layer + 1]
        biases = biases + sizes[layer + 1]
    if bias:
        return weights + biases
    return weights


def parameter_table(model):
    table = []
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        row = (name, shape, product(shape))
        table.append(row)
    return table


def memory_bytes(model):
    total = 0
    for tensor in all_tensors(model):
        total = total + product(tensor.shape) * tensor.element_size()
    return total


def freeze(model, prefix):
    number_of_frozen_tensors = 0
    for name, parameter in model.named_parameters():
        is_that_parameter = name == prefix
        is_below_it = name.startswith(prefix + ".")
        if is_that_parameter or is_below_it:
            parameter.requires_grad = False
            number_of_frozen_tensors = number_of_frozen_tensors + 1
    return number_of_frozen_tensors


def seeded(build, seed):
    state_before = torch.get_rng_state()
    torch.manual_seed(seed)
    try:
        return build()
    finally:
        torch.set_rng_state(state_before)
