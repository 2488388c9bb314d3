import copy
import io
import os
import shutil
import tempfile
import torch

def write(thing, path):
    folder = os.path.dirname(os.path.abspath(path))
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        torch.save(thing, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(name, path)

def save_weights(model, path):
    write(copy.deepcopy(model.state_dict()), path)

def load_weights(model, path, device):
    with open(path, "rb") as file:
        state = torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)
    model = model.to(device)
    model.load_state_dict(state, strict=True)
    return model

def save_checkpoint(model, optimizer, epoch, path):
    write((epoch + 1, torch.random.get_rng_state(), optimizer.state_dict(), model.state_dict()), path)

def resume(model, optimizer, path):
    epoch, rng, opt, state = torch.load(path, map_location=torch.device("cpu"))
    optimizer.load_state_dict(opt)
    model.load_state_dict(state)
    torch.random.set_rng_state(rng)
    return epoch

def strip_prefix(state, prefix):
    n = len(prefix)
    new = type(state)()
    for key in state:
        new[key[n:] if key[:n] == prefix else key] = state[key].clone()
    return new

def snapshot(model):
    return copy.deepcopy(model.state_dict())
