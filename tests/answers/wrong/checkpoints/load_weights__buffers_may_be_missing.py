# verdict: failed
# message: the file has no 1.running_mean
def load_weights(model, path, device):
    state = torch.load(path, map_location=device, weights_only=True)
    missing, unexpected = model.load_state_dict(state, strict=False)
    if unexpected or set(missing) & set(dict(model.named_parameters())):
        raise KeyError("the file does not fit")
    return model.to(device)
