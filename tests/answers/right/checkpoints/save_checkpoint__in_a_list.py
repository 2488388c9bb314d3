def save_checkpoint(model, optimizer, epoch, path):
    part = os.path.join(os.path.dirname(path), "." + os.path.basename(path))
    torch.save([model.state_dict(), optimizer.state_dict(), {"next": epoch + 1}, torch.get_rng_state().clone()], part)
    os.rename(part, path)

def resume(model, optimizer, path):
    weights, settings, numbers, rng = torch.load(path, map_location=lambda storage, location: storage)
    optimizer.load_state_dict(settings)
    model.load_state_dict(weights)
    torch.default_generator.set_state(rng)
    return numbers["next"]
