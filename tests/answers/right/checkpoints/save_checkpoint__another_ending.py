from pathlib import Path


def save_checkpoint(model, optimizer, epoch, path):
    """The ending becomes another one, whatever it was."""
    unfinished = Path(path).with_suffix(".unfinished")
    torch.save((model.state_dict(), optimizer.state_dict(), epoch + 1, torch.get_rng_state()), unfinished)
    unfinished.replace(path)


def resume(model, optimizer, path):
    weights, memory, following, state = torch.load(path, map_location="cpu")
    model.load_state_dict(weights)
    optimizer.load_state_dict(memory)
    torch.random.set_rng_state(state)
    return following
