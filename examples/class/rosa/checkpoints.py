import copy
import os

import torch


def save_weights(model, path):
    torch.save(model.state_dict(), path + ".new")
    os.replace(path + ".new", path)


def load_weights(model, path, device):
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.to(device)


def save_checkpoint(model, optimizer, epoch, path):
    everything = {
        "weights": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
        "rng_state": torch.get_rng_state(),
    }
    torch.save(everything, path + ".new")
    os.replace(path + ".new", path)


def resume(model, optimizer, path):
    everything = torch.load(path, map_location=torch.device("cpu"))
    model.load_state_dict(everything["weights"])
    optimizer.load_state_dict(everything["optimizer"])
    torch.set_rng_state(everything["rng_state"])
    return everything["epoch"] + 1


def strip_prefix(state, prefix):
    return {k[len(prefix) :] if k.startswith(prefix) else k: v for k, v in state.items()}


def snapshot(model):
    return copy.deepcopy(dict(model.state_dict()))
