# verdict: failed
def make_tensor(values):
    return torch.tensor(values).float() if not isinstance(values, (int, float)) else torch.tensor(float(values))
