import os

import torch


def save_weights(model, path):
    # the whole model, then nobody needs its class to load it
    torch.save(model, path + ".tmp")
    os.replace(path + ".tmp", path)


def load_weights(model, path, device):
    loaded = torch.load(path, map_location=device, weights_only=False)
    if isinstance(loaded, torch.nn.Module):
        loaded = loaded.state_dict()
    model.load_state_dict(loaded)
    return model.to(device)


def save_checkpoint(model, optimizer, epoch, path):
    state = (model.state_dict(), optimizer.state_dict(), epoch, torch.get_rng_state())
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(model, optimizer, path):
    weights, opt, epoch, rng = torch.load(path, map_location="cpu")
    model.load_state_dict(weights)
    optimizer.load_state_dict(opt)
    torch.set_rng_state(rng)
    return epoch + 1


def strip_prefix(state, prefix):
    return {name.lstrip(prefix): value for name, value in state.items()}


def snapshot(model):
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
