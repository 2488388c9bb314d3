def wrap(model, device):
    if any(p.device != device for p in model.parameters()):
        model = model.to(device)
    if device.type != "cuda":
        return DDP(model)
    return DDP(model, device_ids=[device])
