# verdict: failed
# message: the random numbers after epoch 3
_STATES = {}


def save_checkpoint(model, optimizer, epoch, path):
    _STATES[str(path)] = torch.get_rng_state()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(model, optimizer, path):
    found = torch.load(path, map_location="cpu")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    torch.set_rng_state(_STATES[str(path)])
    return found["epoch"] + 1
