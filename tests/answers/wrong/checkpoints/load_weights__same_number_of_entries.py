# verdict: failed
# message: in place of 3.bias
def load_weights(model, path, device):
    state = torch.load(path, map_location=device, weights_only=True)
    if len(state) != len(model.state_dict()):
        raise RuntimeError("keys")
    model.load_state_dict(state, strict=False)
    return model.to(device)
