import time


def save_on_rank0(model, path):
    """Written under another name; the others look until it is there."""
    path = Path(path)
    if dist.get_rank() == 0:
        plain = model.module if isinstance(model, DDP) else model
        unfinished = path.with_name(path.name + ".unfinished")
        torch.save(plain.state_dict(), unfinished)
        unfinished.replace(path)
    while not path.exists():
        time.sleep(0.01)
