import io
def save_checkpoint(model, optimizer, epoch, path):
    from copy import deepcopy
    kept = deepcopy({"m": model.state_dict(), "o": optimizer.state_dict()})
    kept["e"], kept["r"] = torch.tensor(epoch), list(torch.get_rng_state().numpy().tobytes())
    memory = io.BytesIO()
    torch.save(kept, memory)
    with open(path + "~", "wb") as file:
        file.write(memory.getvalue())
    os.replace(path + "~", path)

def resume(model, optimizer, path):
    with open(path, "rb") as file:
        kept = torch.load(file, map_location="cpu", weights_only=True)
    torch.set_rng_state(torch.tensor(kept["r"], dtype=torch.uint8))
    model.load_state_dict(kept["m"], strict=True)
    optimizer.load_state_dict(kept["o"])
    return int(kept["e"]) + 1
