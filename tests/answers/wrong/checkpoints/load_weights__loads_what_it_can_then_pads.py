# verdict: failed
# message: no error is raised
def load_weights(model, path, device):
    state = torch.load(path, map_location=device, weights_only=True)
    own = model.state_dict()
    for name, value in state.items():
        own[name].resize_(own[name].shape)
        own[name].copy_(value.expand_as(own[name]))
    return model.to(device)
