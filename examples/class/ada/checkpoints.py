import os

import torch


def save_atomically(obj, path):
    tmp = f"{path}.tmp"
    torch.save(obj, tmp)
    os.replace(tmp, path)


def save_weights(model, path):
    save_atomically(model.state_dict(), path)


def load_weights(model, path, device):
    model.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    return model.to(device)


def save_checkpoint(model, optimizer, epoch, path):
    save_atomically(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": epoch,
            "rng": torch.get_rng_state(),
        },
        path,
    )


def resume(model, optimizer, path):
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["rng"])
    return checkpoint["epoch"] + 1


def strip_prefix(state, prefix):
    return {name.removeprefix(prefix): tensor for name, tensor in state.items()}


def snapshot(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}
