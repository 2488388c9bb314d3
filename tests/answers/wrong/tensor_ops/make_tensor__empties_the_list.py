# verdict: failed
# message: the list was changed


def make_tensor(values):
    if isinstance(values, (int, float)):
        return torch.tensor(float(values), dtype=torch.float32)
    parts = []
    while values:
        parts.append(make_tensor(values.pop(0)))
    return torch.stack(parts)
