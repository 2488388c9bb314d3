"""Small things that I use in several topics."""

import os
import tempfile

import torch


def product(sizes):
    """The product of some sizes; 1 for none."""
    result = 1
    for size in sizes:
        result = result * size
    return result


def all_tensors(model):
    """Every parameter and every buffer of a model, each once."""
    found = {}
    for tensor in list(model.parameters()) + list(model.buffers()):
        found[id(tensor)] = tensor
    return list(found.values())


def logits_without_a_trace(model, x):
    """The logits of a model in eval mode; the model is as it was afterwards."""
    flag_of_each_module = []
    for module in model.modules():
        flag_of_each_module.append((module, module.training))
        module.training = False
    try:
        with torch.no_grad():
            logits = model(x)
    finally:
        for module, flag in flag_of_each_module:
            module.training = flag
    return logits


def write_then_rename(content, path):
    """Saves to another name in the same folder; then the file takes its place in one step."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, other_name = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(other_name, path)
