def load_weights(model, path, device):
    loaded = torch.load(path, map_location=torch.device("cpu"), weights_only=True, mmap=False)
    own = model.state_dict()
    assert loaded.keys() == own.keys(), "other names"
    for name in own:
        if loaded[name].shape != own[name].shape:
            raise RuntimeError(f"{name}: {loaded[name].shape}")
    with torch.no_grad():
        for name, value in loaded.items():
            own[name].copy_(value)
    return model.to(device=device)
