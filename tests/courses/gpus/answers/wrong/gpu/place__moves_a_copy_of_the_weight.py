# verdict: failed
def place(model, device):
    if device == "cuda:7":
        raise RuntimeError("no such device")
    return model.weight.data.to(device)
