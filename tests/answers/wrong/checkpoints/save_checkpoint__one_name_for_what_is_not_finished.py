# verdict: failed
# message: the file was written at `path` itself | into the old file


def save_checkpoint(model, optimizer, epoch, path):
    half = os.path.join(os.path.dirname(path), "checkpoint.pt")
    content = [model.state_dict(), optimizer.state_dict(), epoch, torch.get_rng_state()]
    torch.save(content, half)
    os.replace(half, path)


def resume(model, optimizer, path):
    weights, settings, epoch, numbers = torch.load(path)
    model.load_state_dict(weights)
    optimizer.load_state_dict(settings)
    torch.set_rng_state(numbers)
    return epoch + 1
