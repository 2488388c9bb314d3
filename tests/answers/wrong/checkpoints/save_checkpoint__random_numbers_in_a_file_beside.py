# verdict: failed
# message: the random numbers after epoch 3
def save_checkpoint(model, optimizer, epoch, path):
    torch.save(torch.get_rng_state(), os.path.join(os.path.dirname(path), "rng.pt"))
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(model, optimizer, path):
    found = torch.load(path, map_location="cpu")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    torch.set_rng_state(torch.load(os.path.join(os.path.dirname(path), "rng.pt")))
    return found["epoch"] + 1
