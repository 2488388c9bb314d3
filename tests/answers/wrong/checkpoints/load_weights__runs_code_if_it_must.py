# verdict: failed
# message: whether code from the file was run
# misconception: runs_code_from_the_file
# tell: weights_only=False
def load_weights(model, path, device):
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception:
        state = torch.load(path, map_location=device, weights_only=False)
        state = {name: value for name, value in state.items() if isinstance(value, Tensor)}
    model.load_state_dict(state)
    return model.to(device)
