import io
import os
import pathlib
import random
import torch

class Atomic:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.part = self.path.parent / f"~{random.getrandbits(32):08x}"

    def __enter__(self):
        self.file = open(self.part, "xb")
        return self.file

    def __exit__(self, kind, error, traceback):
        self.file.close()
        if kind is None:
            os.replace(self.part, self.path)
        else:
            self.part.unlink()

def save_weights(model, path):
    buffer = io.BytesIO()
    torch.save(dict(model.state_dict()), buffer)
    with Atomic(path) as file:
        file.write(buffer.getbuffer())

def load_weights(model, path, device):
    model.to(device)
    state = torch.load(path, map_location={f"cuda:{i}": "cpu" for i in range(16)}, weights_only=True)
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise KeyError(f"missing: {missing}, unexpected: {unexpected}")
    return model

def save_checkpoint(model, optimizer, epoch, path):
    parts = []
    for part in (model.state_dict(), optimizer.state_dict(), torch.get_rng_state(), torch.tensor(epoch)):
        buffer = io.BytesIO()
        torch.save(part, buffer)
        parts.append(buffer.getvalue())
    with Atomic(path) as file:
        for part in parts:
            file.write(len(part).to_bytes(8, "big"))
            file.write(part)

def resume(model, optimizer, path):
    parts = []
    with open(path, "rb") as file:
        while head := file.read(8):
            part = io.BytesIO(file.read(int.from_bytes(head, "big")))
            parts.append(torch.load(part, map_location="cpu", weights_only=True))
    state, settings, rng, epoch = parts
    model.load_state_dict(state)
    optimizer.load_state_dict(settings)
    torch.set_rng_state(rng)
    return 1 + epoch.item()

def strip_prefix(state, prefix):
    def cut(name):
        head, middle, rest = name.partition(prefix) if prefix else ("x", "", "")
        return rest if middle and not head else name
    return dict(zip(map(cut, state.keys()), state.values()))

def snapshot(model):
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)
