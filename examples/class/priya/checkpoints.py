import os

import torch


def save_weights(model, path):
    torch.save(model.state_dict(), path)


def load_weights(model, path, device):
    state = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state, strict=False)
    return model.to(device)


def save_checkpoint(model, optimizer, epoch, path):
    checkpoint = {"model": model.state_dict(), "epoch": epoch, "rng": torch.get_rng_state()}
    torch.save(checkpoint, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(model, optimizer, path):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    torch.set_rng_state(checkpoint["rng"])
    return checkpoint["epoch"] + 1


def strip_prefix(state, prefix):
    return {k.replace(prefix, ""): v for k, v in state.items()}


def snapshot(model):
    return dict(model.state_dict())
