from pathlib import Path

import torch


def save_weights(model, path):
    part = Path(path).with_name(Path(path).name + ".part")
    with open(part, "wb") as file:
        torch.save(model.state_dict(), file)
    part.replace(path)


def load_weights(model, path, device):
    model.to(device)
    with open(path, "rb") as file:
        saved = torch.load(file, map_location=lambda storage, where: storage)
    model.load_state_dict(saved, strict=True)
    return model


def save_checkpoint(model, optimizer, epoch, path):
    part = Path(path).with_name(Path(path).name + ".part")
    torch.save([model.state_dict(), optimizer.state_dict(), epoch + 1, torch.random.get_rng_state()], part)
    part.replace(path)


def resume(model, optimizer, path):
    weights, state, next_epoch, dice = torch.load(path, map_location="cpu")
    model.load_state_dict(weights)
    optimizer.load_state_dict(state)
    torch.random.set_rng_state(dice)
    return next_epoch


def strip_prefix(state, prefix):
    out = {}
    for name in state:
        short = name[len(prefix) :] if name.startswith(prefix) else name
        out[short] = state[name]
    return out


def snapshot(model):
    kept = {}
    for name, tensor in model.state_dict().items():
        kept[name] = torch.empty_like(tensor).copy_(tensor)
    return kept
