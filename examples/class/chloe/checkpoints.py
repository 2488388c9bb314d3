"""Week 8."""

import copy

import torch
from helpers import write_then_rename


def save_weights(model, path):
    weights = model.state_dict()
    write_then_rename(weights, path)


def load_weights(model, path, device):
    weights = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
    report = model.load_state_dict(weights, strict=True)
    assert not report.missing_keys
    return model.to(device)


def save_checkpoint(model, optimizer, epoch, path):
    content = {}
    content["state of the model"] = model.state_dict()
    content["state of the optimizer"] = optimizer.state_dict()
    content["last epoch"] = epoch
    content["random numbers"] = torch.random.get_rng_state()
    write_then_rename(content, path)


def resume(model, optimizer, path):
    content = torch.load(path, map_location="cpu", weights_only=False)  # I wrote this file myself
    model.load_state_dict(content["state of the model"])
    optimizer.load_state_dict(content["state of the optimizer"])
    torch.random.set_rng_state(content["random numbers"])
    next_epoch = content["last epoch"] + 1
    return next_epoch


def strip_prefix(state, prefix):
    length = len(prefix)
    result = {}
    for name, tensor in state.items():
        if name[:length] == prefix:
            result[name[length:]] = tensor
        else:
            result[name] = tensor
    return result


def snapshot(model):
    return copy.deepcopy(model.state_dict())
