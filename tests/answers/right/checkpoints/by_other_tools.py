import os
from collections import OrderedDict
from pathlib import Path
import torch

def save_weights(model, path):
    path = Path(path)
    part = path.with_name("." + path.name + ".part")
    if path.exists():
        path.with_suffix(".bak").unlink(missing_ok=True)
        os.link(path, path.with_suffix(".bak"))
    torch.save({k: v.cpu() for k, v in model.state_dict().items()}, part)
    part.replace(path)

def load_weights(model, path, device):
    state = torch.load(path, map_location=lambda storage, location: storage, weights_only=True)
    wanted = model.state_dict()
    if set(state) != set(wanted) or any(state[k].shape != wanted[k].shape for k in wanted):
        raise ValueError("the file does not fit")
    model.load_state_dict(state)
    model.to(device)
    return model

def save_checkpoint(model, optimizer, epoch, path):
    part = str(path) + ".part"
    state = {"m": model.state_dict(), "o": optimizer.state_dict(), "e": {"epoch": epoch}}
    state["rng"] = torch.default_generator.get_state()
    torch.save(state, part, _use_new_zipfile_serialization=True)
    os.replace(part, path)

def resume(model, optimizer, path):
    saved = torch.load(path, map_location="cpu", weights_only=False)
    torch.default_generator.set_state(saved["rng"])
    model.load_state_dict(saved["m"])
    optimizer.load_state_dict(saved["o"])
    return saved["e"]["epoch"] + 1

def strip_prefix(state, prefix):
    return OrderedDict((k.removeprefix(prefix), v) for k, v in state.items())

def snapshot(model):
    with torch.no_grad():
        return OrderedDict((k, v.detach().cpu().clone()) for k, v in model.state_dict().items())
